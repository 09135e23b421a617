"""Checks for students: ``from tacl_lib.checks import check_project`` and then ``check_project(project)``.

One module for each exercise of the coursework, named after the function that it asks for. They need NumPy only,
so that a check starts at once. Each holds a reference that is written in another way than the solution, and the
mistakes that it knows by name. Reading it before you have tried is like reading the last page of a detective story.
"""

from tacl_lib.checks.check import Check, CheckFailed
from tacl_lib.checks.run_metrics import check_run_metrics

#: the check of each exercise by the name of its function
CHECKS: dict[str, Check] = {check.name: check for check in (check_run_metrics,)}

__all__ = [
    "CHECKS",
    "CheckFailed",
    "check_run_metrics",
]

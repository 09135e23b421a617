"""Checks for students: ``from tacl_lib.teaching.checks import check_project`` and then ``check_project(project)``.

One module for each exercise of the coursework, named after the function that it asks for. They need NumPy only,
so that a check starts at once. Each holds a reference that is written in another way than the solution, and the
mistakes that it knows by name. Reading it before you have tried is like reading the last page of a detective story.
"""

from tacl_lib.teaching.checks.add_sample import check_add_sample
from tacl_lib.teaching.checks.check import Check, CheckFailed
from tacl_lib.teaching.checks.choose_leaver import check_choose_leaver
from tacl_lib.teaching.checks.count_held import check_count_held
from tacl_lib.teaching.checks.gram_projection import check_gram_projection
from tacl_lib.teaching.checks.learning_rates import check_learning_rates
from tacl_lib.teaching.checks.mixed_batches import check_mixed_batches
from tacl_lib.teaching.checks.ogd_projection import check_ogd_projection
from tacl_lib.teaching.checks.project import check_project
from tacl_lib.teaching.checks.read_timeline import check_read_timeline
from tacl_lib.teaching.checks.reference_gradient import check_reference_gradient
from tacl_lib.teaching.checks.run_metrics import check_run_metrics
from tacl_lib.teaching.checks.ta_agem_step import check_ta_agem_step

#: the check of each exercise by the name of its function, in the order of the sets
CHECKS: dict[str, Check] = {
    check.name: check
    for check in (
        check_run_metrics,
        check_project,
        check_reference_gradient,
        check_read_timeline,
        check_mixed_batches,
        check_ogd_projection,
        check_learning_rates,
        check_gram_projection,
        check_add_sample,
        check_count_held,
        check_ta_agem_step,
        check_choose_leaver,
    )
}

__all__ = [
    "CHECKS",
    "CheckFailed",
    "check_add_sample",
    "check_choose_leaver",
    "check_count_held",
    "check_gram_projection",
    "check_learning_rates",
    "check_mixed_batches",
    "check_ogd_projection",
    "check_project",
    "check_read_timeline",
    "check_reference_gradient",
    "check_run_metrics",
    "check_ta_agem_step",
]

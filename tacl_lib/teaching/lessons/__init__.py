"""What the lessons stand on: exercises that students write, and the notebooks made from ``notebooks/source``.

In a lesson: ``from tacl_lib.teaching.lessons import check``, and after a function was written ``project =
check(project)``. To make the notebooks from their sources: ``tacl lessons``.
"""

from collections.abc import Callable

from tacl_lib.errors import unknown_name
from tacl_lib.teaching.lessons import progress
from tacl_lib.teaching.lessons.exercises import EXERCISES


def check(function: Callable, skip: bool = False) -> Callable:
    """Try a function that a student wrote, and answer with the one that the lesson goes on with.

    Right: with itself. Wrong: a sentence says what the mistake is. Not written yet, or ``skip=True``: the solution.
    """
    name = getattr(function, "__name__", str(function))
    if name not in EXERCISES:
        raise unknown_name("exercise", name, EXERCISES)
    chosen = EXERCISES[name](function, skip)
    if chosen is function and chosen is not EXERCISES[name].solution:
        progress.note("exercise", name)
    return chosen


__all__ = ["check"]

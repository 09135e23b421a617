"""Variants: the same exercise with a number of the student's own, which the function must contain."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps


def _as_given(number: float, *given: object) -> tuple:
    return given


@dataclass(frozen=True)
class Twist:
    """How a number changes an exercise: what reaches the plain rule, and what is made of what it gives.

    numbers: those that students get.
    inner: from the number and the arguments of a call, the arguments that the plain rule gets.
    outer: from the number and plain arguments, a call from which ``inner`` makes them.
    after: from the number, the arguments of a call and what the plain rule gives, what the variant must give.
    """

    numbers: tuple[float, ...]
    inner: Callable[..., tuple] = _as_given
    outer: Callable[..., tuple] = _as_given
    after: Callable[[float, tuple, object], object] = lambda number, given, value: value

    def of(self, function: Callable, number: float) -> Callable:
        """A rule of the plain exercise, or a mistake in it, as that of a variant."""

        @wraps(function)
        def varied(*given: object) -> object:
            return self.after(number, given, function(*self.inner(number, *given)))

        return varied

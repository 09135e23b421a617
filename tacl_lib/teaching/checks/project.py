"""Set 1, exercise 2: A-GEM's projection, which does not harm a reference gradient."""

from collections.abc import Callable, Iterator

import numpy as np

from tacl_lib.teaching.checks.check import Check, Mistake
from tacl_lib.teaching.checks.twist import Twist


def project(gradient, reference):
    """The point nearest to the gradient whose product with the reference is not negative, by least squares."""
    if sum(a * b for a, b in zip(gradient, reference, strict=True)) >= 0:
        return gradient
    (along,), *_ = np.linalg.lstsq(np.asarray(reference)[:, None], gradient, rcond=None)
    return gradient - along * np.asarray(reference)


def _cases(rng: np.random.Generator) -> Iterator[tuple]:
    yield np.array([1.0, 2.0]), np.array([2.0, -1.0])  # at a right angle: nothing to do
    for turn, size in enumerate(np.sort(rng.integers(2, 7, 38))):
        gradient, reference = rng.integers(-9, 10, (2, size)) / 2 + rng.choice([0.25, -0.25], (2, size))
        # In turn, one that conflicts and one that does not; the reference is never of length 1, and some are short:
        # a small number that was added to the denominator then shows.
        sign = np.sign(gradient @ reference or 1.0) * (-1.0) ** turn
        yield gradient, reference * sign * (1e-3 if turn % 5 == 4 else 1.0)
    yield np.array([1.0, 2.0]), np.zeros(2)  # an empty memory has no gradient


def _if_in_conflict(remedy: Callable) -> Callable:
    return lambda g, r: remedy(g, r) if g @ r < 0 else g


def _along(g, r):
    return (g @ r) / (r @ r) * r


def _so_many_times(number, given, projected):
    """A variant's number: how many times the part that does harm is taken away."""
    gradient = np.asarray(given[0])
    return gradient + number * (np.asarray(projected) - gradient)


check_project = Check(
    project,
    _cases,
    twist=Twist((0.5, 0.6, 0.7, 0.8, 0.9, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.75), after=_so_many_times),
    mistakes=(
        Mistake(
            "you projected although the product is positive: then nothing is to be done", lambda g, r: g - _along(g, r)
        ),
        Mistake(
            "you projected where the product is positive, and not where it is negative: the condition is turned round",
            lambda g, r: g - _along(g, r) if g @ r > 0 else g,
        ),
        Mistake(
            "an empty memory gives a reference of zeros, and you divide by its square: a product of 0 is not negative",
            lambda g, r: g - _along(g, r) if g @ r <= 0 else g,
        ),
        Mistake("you never projected: where the product is negative, the gradient must change", lambda g, r: g),
        Mistake(
            "the sign is wrong: you added the part along the reference instead of taking it away",
            _if_in_conflict(lambda g, r: g + _along(g, r)),
        ),
        Mistake(
            "you divided by the length of the reference; divide by its square, ⟨reference, reference⟩",
            _if_in_conflict(lambda g, r: g - (g @ r) / np.sqrt(r @ r) * r),
        ),
        Mistake(
            "you did not divide: the part along the reference is ⟨g, r⟩ / ⟨r, r⟩ times r",
            _if_in_conflict(lambda g, r: g - (g @ r) * r),
        ),
        Mistake(
            "you divided by the gradient's product with itself; divide by the reference's",
            _if_in_conflict(lambda g, r: g - (g @ r) / (g @ g) * r),
        ),
        Mistake(
            "you returned the part along the reference; it must be taken away from the gradient",
            _if_in_conflict(_along),
        ),
        Mistake(
            "you exchanged the two: the gradient is projected, not the reference",
            _if_in_conflict(lambda g, r: r - (g @ r) / (g @ g) * g),
        ),
        Mistake(
            "you dropped the whole gradient; only its part along the reference does harm",
            _if_in_conflict(lambda g, r: np.zeros_like(g)),
        ),
    ),
)

"""Set 2, exercise 1: how many samples of two tasks are in each batch while one turns into the other."""

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from tacl_lib.teaching.checks.check import Check, Mistake
from tacl_lib.teaching.checks.twist import Twist


def mixed_batches(size_a, size_b, batch_size, epochs):
    """With exact fractions, ⌊q·z⌋ of A and ⌈(1-q)·z⌉ of B, epoch by epoch."""
    shown = min(size_a, size_b)
    lengths = [min(batch_size, shown - first) for first in range(0, shown, batch_size)] * epochs
    last = max(len(lengths) - 1, 1)
    counts = []
    for number, z in enumerate(lengths):
        q = 1 - Fraction(number, last)
        counts.append([math.floor(q * z), math.ceil((1 - q) * z)])
    return np.array(counts)


def _cases(rng: np.random.Generator) -> Iterator[tuple]:
    yield 2, 2, 1, 1
    yield 4, 4, 2, 1
    yield 3, 3, 2, 1
    yield 5, 3, 2, 2
    yield 3, 5, 2, 2
    yield 3, 3, 4, 1  # a single batch, smaller than the others would be
    for limit in np.sort(rng.integers(8, 40, 30)).tolist():
        yield *rng.integers(4, limit, 2).tolist(), int(rng.integers(2, 8)), int(rng.integers(1, 4))
    # Where floating point loses a sample: ⌊(1 - 9/10) · 10⌋ and ⌊1/49 · 49⌋ are 0 on a computer.
    yield 110, 110, 10, 1
    yield 49 * 25, 49 * 25, 49, 2


def _variant(
    shown=min,
    whole_batches=False,
    short_last=True,
    number=lambda epoch, step, steps: epoch * steps + step,
    last=lambda steps, epochs: max(steps * epochs - 1, 1),
    of_a=lambda number, z, last: (last - number) * z // last,
    of_b=lambda number, z, last: z - (last - number) * z // last,
):
    """The counts by whole numbers, with a mistake in one of the steps."""

    def answer(size_a, size_b, batch_size, epochs):
        size = shown(size_a, size_b)
        steps = max(size // batch_size, 1) if whole_batches else -(-size // batch_size)
        counts = []
        for epoch in range(epochs):
            for step in range(steps):
                z = min(batch_size, size - step * batch_size) if short_last else batch_size
                place = number(epoch, step, steps), z, last(steps, epochs)
                counts.append([of_a(*place), of_b(*place)])
        return np.array(counts)

    return answer


def _by_linspace(size_a, size_b, batch_size, epochs):
    size = min(size_a, size_b)
    z = np.array([min(batch_size, size - first) for first in range(0, size, batch_size)] * epochs)
    of_a = np.floor(np.linspace(1, 0, len(z)) * z)
    return np.stack([of_a, z - of_a], axis=1)


def _complement(of_a):
    """A and what is left of the batch for B."""
    return {"of_a": of_a, "of_b": lambda number, z, last: z - of_a(number, z, last)}


_ROUNDING = "the computer's rounding costs you a sample: "

# A variant's number: of samples of each task that are held out.

check_mixed_batches = Check(
    mixed_batches,
    _cases,
    twist=Twist(
        tuple(range(3, 21)),
        inner=lambda held_out, size_a, size_b, *others: (size_a - held_out, size_b - held_out, *others),
        outer=lambda held_out, size_a, size_b, *others: (size_a + held_out, size_b + held_out, *others),
    ),
    mistakes=(
        Mistake(
            "off by one: the very last batch must be all of B; n batches have n - 1 steps between them",
            _variant(last=lambda steps, epochs: steps * epochs),
        ),
        Mistake(
            "off by one: the very first batch must be all of A; batches count from 0",
            _variant(
                number=lambda epoch, step, steps: epoch * steps + step + 1, last=lambda steps, epochs: steps * epochs
            ),
        ),
        Mistake(
            "your mixing begins anew with every epoch; q falls once, over all batches of all epochs",
            _variant(number=lambda epoch, step, steps: step, last=lambda steps, epochs: max(steps - 1, 1)),
        ),
        Mistake(
            "your mixing changes from epoch to epoch only; q falls with every batch",
            _variant(number=lambda epoch, step, steps: epoch, last=lambda steps, epochs: max(epochs - 1, 1)),
        ),
        Mistake(
            "you exchanged A and B: A comes first and B is mixed in",
            _variant(
                of_a=lambda number, z, last: z - (last - number) * z // last,
                of_b=lambda number, z, last: (last - number) * z // last,
            ),
        ),
        Mistake(
            "you rounded A's share up: A gets ⌊q·z⌋, and B what is left",
            _variant(**_complement(lambda number, z, last: z - number * z // last)),
        ),
        Mistake(
            "you rounded A's share to the nearest number: A gets ⌊q·z⌋, and B what is left",
            _variant(**_complement(lambda number, z, last: round(Fraction((last - number) * z, last)))),
        ),
        Mistake(
            "you rounded both shares down, and the batch is too small: B gets what A leaves, ⌈(1-q)·z⌉",
            _variant(of_b=lambda number, z, last: number * z // last),
        ),
        Mistake(
            "the last batch of an epoch holds only the samples that are left; yours is always full",
            _variant(short_last=False),
        ),
        Mistake(
            "you left out the last batch of an epoch, which is smaller than the others",
            _variant(whole_batches=True),
        ),
        Mistake(
            "an epoch ends when the smaller of the two tasks is used up; yours ends with A",
            _variant(shown=lambda size_a, size_b: size_a),
        ),
        Mistake("an epoch ends when the smaller task is used up; yours ends with the larger one", _variant(shown=max)),
        Mistake(
            "an epoch has one batch of A mixed with one of B; yours adds up the samples of both tasks",
            _variant(shown=lambda size_a, size_b: size_a + size_b),
        ),
        Mistake(
            "with a single batch you divide by zero: that batch is all of A",
            _variant(last=lambda steps, epochs: steps * epochs - 1),
        ),
        Mistake(
            _ROUNDING + "1 - 0.9 is a little less than 0.1, and ⌊…⌋ drops what is left; use whole numbers and //",
            _variant(**_complement(lambda number, z, last: math.floor((1 - number / last) * z))),
        ),
        Mistake(
            _ROUNDING + "1 / 49 * 49 is a little less than 1; multiply first, then divide with //",
            _variant(**_complement(lambda number, z, last: math.floor((last - number) / last * z))),
        ),
        Mistake(
            _ROUNDING + "np.linspace gives fractions that are not exact; use whole numbers and //",
            _by_linspace,
        ),
    ),
)

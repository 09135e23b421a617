"""Set 2, exercise 3: the learning-rate scheduler of the paper's appendix."""

import math
from collections.abc import Callable, Iterator

import numpy as np

from tacl_lib.teaching.checks.check import Check, Mistake
from tacl_lib.teaching.checks.twist import Twist


def learning_rates(losses, first_rate, factor, min_rate, patience, threshold, reset_threshold):
    """Without counters: how long ago was the last progress, and how long ago the last calm batch?"""
    rate, best = first_rate, math.inf
    progress = calm = -1  # the numbers of these batches
    rates = []
    for number, loss in enumerate(losses):
        if loss < best * (1 - threshold):
            best, progress = loss, number
        if loss <= best + reset_threshold:
            calm = number
        if number - calm > patience:
            rate, best, calm = first_rate, loss, number
        if number - progress > patience:
            rate, progress = max(rate * factor, min_rate), number
        rates.append(rate)
    return np.array(rates)


def _cases(rng: np.random.Generator) -> Iterator[tuple]:
    settings = {"first_rate": 1.0, "factor": 0.5, "min_rate": 0.2, "patience": 2}
    rules = {"threshold": 0.105, "reset_threshold": 1.005}
    for losses in (
        [0.51, 0.51, 0.51, 0.51, 0.51],  # stagnates
        [0.51, 0.41, 0.31, 0.21, 0.11],  # falls
        [0.51, 0.49, 0.47, 0.45, 0.43, 0.41, 0.39],  # creeps
        [0.51, 0.51, 0.51, 0.31, 0.31, 0.31, 0.31],  # stagnates twice, but not for long enough
        [2.51, 2.35, 2.35, 2.35, 2.35],  # better by more than 0.105, but not by 10.5 %
        [0.51] * 16,  # down to the smallest rate
        [0.51] * 4 + [3.51, 3.51, 0.51, 3.51, 3.51, 0.51],  # spikes that do not last
        [0.51] * 4 + [3.51] * 9,  # a new task
        [0.51] * 5 + [3.51] * 3 + [2.51, 1.51, 0.91, 0.91],  # a new task that is learnt
        [0.51] * 4 + [2.51, 4.01, 6.01, 8.01, 10.01, 12.01],  # a loss that explodes
        [2.01] * 5 + [3.51] * 4 + [2.01] * 4,
    ):
        yield np.array(losses), *settings.values(), *rules.values()
    for _ in range(29):
        patience = int(rng.integers(1, 4))
        first_rate = float(rng.choice([1.0, 0.4]))
        others = {"first_rate": first_rate, "factor": float(rng.choice([0.5, 0.7])), "min_rate": first_rate / 5}
        thresholds = float(rng.choice([0.105, 0.155])), float(rng.choice([1.005, 0.805]))
        yield _losses(rng, patience), *(others | {"patience": patience}).values(), *thresholds


def _losses(rng: np.random.Generator, patience: int) -> np.ndarray:
    """Pieces of a training. Odd hundredths: none is exactly on a threshold, where rounding would decide."""
    level, losses = rng.uniform(0.5, 3), []
    for piece in rng.choice(["plateau", "creep", "fall", "spike", "jump", "climb"], rng.integers(4, 8)):
        count = int(rng.integers(1, 3 * patience + 2))
        if piece == "plateau":
            losses += (level * rng.uniform(0.98, 1.02, count)).tolist()
        elif piece in ("creep", "fall"):
            losses += (level * {"creep": 0.96, "fall": 0.8}[piece] ** np.arange(1, count + 1)).tolist()
            level = max(losses[-1], 0.1)
        elif piece == "spike":
            losses += [level + 1.5] * int(rng.integers(1, patience + 1)) + [level]
        elif piece == "jump":
            level += rng.uniform(1.2, 3)
            losses += [level] * (patience + count)
        else:
            losses += (level + 1.3 * np.arange(1, patience + count + 1)).tolist()
    return (2 * np.floor(np.array(losses) * 50) + 1) / 100


def _variant(
    better: Callable = lambda loss, best, before, threshold: loss < best * (1 - threshold),
    worse: Callable | None = None,
    any_best: bool = False,
    forgives: bool = True,
    spiked: Callable = lambda loss, best, before, reset_threshold: loss > best + reset_threshold,
    calms: bool = True,
    too_long: Callable = lambda count, patience: count > patience,
    too_often: Callable = lambda count, patience: count > patience,
    back: Callable = lambda rate, first_rate, factor: first_rate,
    resets: bool = True,
    moves_best: bool = True,
    clears_spikes: bool = True,
    clears_stagnant: bool = True,
    clears_both: bool = False,
    one_of_two: bool = False,
    swapped: bool = False,
    lowered: Callable = lambda rate, factor, min_rate: max(rate * factor, min_rate),
    before_step: bool = False,
):
    """The box with two counters, with a mistake in one of its lines. worse: what counts as stagnation, if not the
    contrary of better."""

    def answer(losses, first_rate, factor, min_rate, patience, threshold, reset_threshold):
        rate, best, before, stagnant, spikes, rates = first_rate, math.inf, math.inf, 0, 0, []
        for loss in losses.tolist():
            used = rate
            progress = better(loss, best, before, threshold)
            stagnates = worse(loss, before) if worse else not progress
            stagnant = stagnant + 1 if stagnates else stagnant if not forgives else 0
            best = loss if progress else min(best, loss) if any_best else best
            if spiked(loss, best, before, reset_threshold):
                spikes += 1
            elif calms:
                spikes = 0
            reset = resets and too_often(spikes, patience)
            lower = too_long(stagnant, patience) and not (one_of_two and reset)
            if lower and swapped:
                rate = lowered(rate, factor, min_rate)
            if reset:
                rate = back(rate, first_rate, factor)
                best = loss if moves_best else best
                spikes = 0 if clears_spikes else spikes
                if clears_both:
                    stagnant, lower = 0, False
            if lower and not swapped:
                rate = lowered(rate, factor, min_rate)
            if lower and clears_stagnant:
                stagnant = 0
            before = loss
            rates.append(used if before_step else rate)
        return np.array(rates)

    return answer


def _at_least(count: int, patience: int) -> bool:
    return count >= patience


def _after_warm_up(batches, losses, *settings):
    """A variant's number: of batches of a warm-up, whose losses say nothing."""
    return (losses[batches:], *settings)


def _with_warm_up(batches, losses, *settings):
    """Losses so low that whoever looks at them finds no progress any more."""
    return np.concatenate([np.full(batches, 0.011), losses]), *settings


def _beginning_with_first_rate(batches, given, rates):
    return np.concatenate([np.full(batches, given[1]), rates])


check_learning_rates = Check(
    learning_rates,
    _cases,
    twist=Twist(tuple(range(3, 15)), _after_warm_up, _with_warm_up, _beginning_with_first_rate),
    mistakes=(
        Mistake(
            "you took every small improvement for progress: the loss must be below best * (1 - threshold)",
            _variant(better=lambda loss, best, before, threshold: loss < best),
        ),
        Mistake(
            "the threshold is relative: compare with best * (1 - threshold), not with best - threshold",
            _variant(better=lambda loss, best, before, threshold: loss < best - threshold),
        ),
        Mistake(
            "you compared with the loss of the batch before; compare with the best one",
            _variant(better=lambda loss, best, before, threshold: loss < before * (1 - threshold)),
        ),
        Mistake(
            "you lowered the rate when the loss rises; it is lowered when the loss stagnates",
            _variant(worse=lambda loss, before: loss > before),
        ),
        Mistake(
            "you moved best with every small improvement; it moves only with progress beyond the threshold",
            _variant(any_best=True),
        ),
        Mistake(
            "you did not set the counter of stagnation to 0 when there was progress",
            _variant(forgives=False),
        ),
        Mistake(
            "you did not set the counter of stagnation to 0 after lowering the rate, and lower it with every batch",
            _variant(clears_stagnant=False),
        ),
        Mistake(
            "off by one: both counters must be larger than patience, not equal to it",
            _variant(too_long=_at_least, too_often=_at_least),
        ),
        Mistake(
            "off by one: the rate falls only when `stagnant` is larger than patience", _variant(too_long=_at_least)
        ),
        Mistake(
            "off by one: the rate is set back only when `spikes` is larger than patience", _variant(too_often=_at_least)
        ),
        Mistake(
            "you did not wait: the rate falls only after more than `patience` batches without progress",
            _variant(too_long=lambda count, patience: count > 0),
        ),
        Mistake(
            "spikes must follow one another: set their counter to 0 when a loss is not a spike", _variant(calms=False)
        ),
        Mistake(
            "a spike is a loss above best + reset_threshold; you left out best",
            _variant(spiked=lambda loss, best, before, reset_threshold: loss > reset_threshold),
        ),
        Mistake(
            "a spike is a loss above best + reset_threshold; you compared with the loss of the batch before",
            _variant(spiked=lambda loss, best, before, reset_threshold: loss > before + reset_threshold),
        ),
        Mistake("you never set the rate back: after spikes it must be the first rate again", _variant(resets=False)),
        Mistake(
            "after spikes the rate is the first rate again, at once; you raised it by one step",
            _variant(back=lambda rate, first_rate, factor: min(rate / factor, first_rate)),
        ),
        Mistake(
            "you did not move best when the rate was set back: the new task's loss is the new best",
            _variant(moves_best=False),
        ),
        Mistake(
            "you did not set the counter of spikes to 0 after setting the rate back", _variant(clears_spikes=False)
        ),
        Mistake(
            "setting the rate back leaves the counter of stagnation as it is; you set it to 0",
            _variant(clears_both=True),
        ),
        Mistake(
            "the two last rules are not alternatives: a batch may set the rate back and then lower it (no elif)",
            _variant(one_of_two=True),
        ),
        Mistake("the order is wrong: first set the rate back, then lower it", _variant(swapped=True)),
        Mistake("the rate never falls below min_rate", _variant(lowered=lambda rate, factor, min_rate: rate * factor)),
        Mistake(
            "you took the smaller of the two: min_rate is a floor, max(rate * factor, min_rate)",
            _variant(lowered=lambda rate, factor, min_rate: min(rate * factor, min_rate)),
        ),
        Mistake("off by one: entry t is the rate after loss t, not the one before it", _variant(before_step=True)),
    ),
)

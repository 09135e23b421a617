"""Set 3, exercise 4: which member of a full cluster leaves, so that all tasks stay covered."""

from collections.abc import Iterator

import numpy as np

from tacl_lib.teaching.checks.check import Mistake
from tacl_lib.teaching.checks.contest import Contest, Stream, oldest_leaves
from tacl_lib.teaching.checks.twist import Twist


def choose_leaver(members, came):
    """By time alone, not by place: the member between the two neighbours in time that are closest together."""
    gaps = [came[n + 1] - came[n - 1] for n in range(1, len(came) - 1)]
    return 1 + gaps.index(min(gaps))


def drifting_stream(
    rng: np.random.Generator, tasks: int = 8, arrivals: int = 40, blend: float = 0.0, degrees: float = 25.0
) -> Stream:
    """Four blobs in the plane; each task turns them by some degrees more, as the paper rotates its images.

    arrivals: of each task. blend: over how many tasks' lengths neighbours mix; 0 for one task after another.
    """
    # One blob in each quarter, at four distances from the middle: no stream is much easier than another.
    angle = (np.arange(4) + rng.uniform(0, 1, 4)) * np.pi / 2
    blobs = rng.permutation([1.5, 2.0, 2.5, 3.0])[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    order = np.repeat(np.arange(tasks), arrivals)
    order = order[np.argsort(np.arange(len(order)) + rng.uniform(0, blend * arrivals + 1e-9, len(order)))]
    samples = _drawn(rng, blobs, order, degrees)
    return Stream(samples, _drawn(rng, blobs, np.repeat(np.arange(tasks), 60), degrees).reshape(tasks, 60, 2))


def _drawn(rng: np.random.Generator, blobs: np.ndarray, task: np.ndarray, degrees: float) -> np.ndarray:
    """One sample for each entry of ``task``: ``[n, 2]``."""
    plain = blobs[rng.integers(0, len(blobs), len(task))] + rng.normal(scale=0.25, size=(len(task), 2))
    turn = np.deg2rad(degrees * task)
    x, y = plain.T
    return np.stack([x * np.cos(turn) - y * np.sin(turn), x * np.sin(turn) + y * np.cos(turn)], axis=1)


def _streams(rng: np.random.Generator, degrees: float = 25.0) -> Iterator[Stream]:
    for turn in range(10):
        yield drifting_stream(rng, blend=float(turn % 2), degrees=degrees)


def _from_mean(members):
    return np.linalg.norm(members - members.mean(axis=0), axis=1)


def _to_nearest(members):
    distances = np.linalg.norm(members[:, None] - members, axis=2)
    return np.where(np.eye(len(members), dtype=bool), np.inf, distances).min(axis=1)


check_choose_leaver = Contest(
    choose_leaver,
    _streams,
    twist=Twist(tuple(range(21, 30))),
    stream=drifting_stream,
    mistakes=(
        Mistake(
            "you evict the oldest member: this is FIFO, which cannot beat itself. (If you looked for the smallest "
            "distance: each member is at distance 0 from itself, which must not count)",
            oldest_leaves,
        ),
        Mistake(
            "you turn every newcomer away: the memory stays as it was when its clusters were full, and learns of no "
            "later task",
            lambda members, came: len(members) - 1,
        ),
        Mistake(
            "you evict the newest member: the others stay for ever, and one place must do for all that comes later",
            lambda members, came: len(members) - 2,
        ),
        Mistake(
            "you evict the member that differs most from the mean: what remains is alike, and stands for one task",
            lambda members, came: _from_mean(members).argmax(),
        ),
        Mistake(
            "you evict the member nearest to the mean: those at the rim never leave, and the middle is empty",
            lambda members, came: _from_mean(members).argmin(),
        ),
        Mistake(
            "you evict the member that nothing is like, which no other can stand for; the condition is turned round",
            lambda members, came: _to_nearest(members).argmax(),
        ),
        Mistake(
            "you evict the member that is least like the newcomer: so the past leaves first",
            lambda members, came: np.linalg.norm(members - members[-1], axis=1).argmax(),
        ),
        Mistake(
            "you measured how far members are from zero; what counts is how far they are from each other",
            lambda members, came: np.linalg.norm(members, axis=1).argmin(),
        ),
    ),
)

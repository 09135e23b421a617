"""Set 3, exercise 1: a sample joins a pool of clusters, the paper's Algorithm 3."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from tacl_lib.teaching.checks.check import Check, Mistake
from tacl_lib.teaching.checks.twist import Twist


def add_sample(pool, sample, label, clusters, size):
    """With plain lists, member by member."""
    x, y, means = ([list(own) for own in pool[part]] for part in ("x", "y", "means"))
    sample = [float(entry) for entry in sample]
    if len(x) == clusters:
        place = min(range(clusters), key=lambda q: math.dist(means[q], sample))  # the first of several
        x[place] = [*x[place], sample][-size:]
        y[place] = [*y[place], label][-size:]
    else:
        place = len(x)
        x.append([sample])
        y.append([label])
        means.append(sample)
    means[place] = [math.fsum(entries) / len(x[place]) for entries in zip(*x[place], strict=True)]
    return {"x": [np.array(own) for own in x], "y": [np.array(own) for own in y], "means": [np.array(m) for m in means]}


@dataclass(frozen=True)
class Algorithm3:
    """The part that the later exercises are given: ``add(pool, sample, label, clusters)`` for clusters of a size."""

    size: int

    def __call__(self, pool, sample, label, clusters):
        return add_sample(pool, sample, label, clusters, self.size)


def empty_pool() -> dict[str, list]:
    return {"x": [], "y": [], "means": []}


def filled_pool(rng: np.random.Generator, arrivals: int, clusters: int, size: int, features: int = 2, classes: int = 2):
    """A pool after so many random arrivals, on a grid, so that some distances are equal."""
    pool = empty_pool()
    for _ in range(arrivals):
        pool = add_sample(pool, rng.integers(-3, 4, features), int(rng.integers(classes)), clusters, size)
    return pool


def _cases(rng: np.random.Generator) -> Iterator[tuple]:
    tie = {"x": [np.array([[0.0]]), np.array([[2.0]])], "y": [np.array([0]), np.array([1])]}
    yield empty_pool(), np.array([1.0, 2.0]), 1, 2, 2
    yield tie | {"means": [np.array([0.0]), np.array([2.0])]}, np.array([1.0]), 1, 2, 2
    wide = {"x": [np.array([[0.0], [10.0]]), np.array([[3.0]])], "y": [np.array([0, 0]), np.array([1])]}
    yield wide | {"means": [np.array([5.0]), np.array([3.0])]}, np.array([0.0]), 1, 2, 3  # the nearest member is afar
    one = {"x": [np.array([[0.0, 0.0]])], "y": [np.array([0])], "means": [np.array([0.0, 0.0])]}
    yield one, np.array([1.0, 0.0]), 1, 2, 2  # there is room for one more cluster
    slanted = {"x": [np.array([[3.0, 0.0]]), np.array([[2.0, 2.0]])], "y": [np.array([0]), np.array([1])]}
    # The second mean is nearer in squares, the first in absolute differences.
    yield slanted | {"means": [np.array([3.0, 0.0]), np.array([2.0, 2.0])]}, np.array([0.0, 0.0]), 0, 2, 2
    for turn in range(45):
        clusters, size, features = (int(n) for n in rng.integers([2, 2, 2], [5, 5, 4]))
        # In turn: clusters still to be opened, some not full, most of them full.
        low, high = [(1, clusters), (clusters, 2 * clusters), (2 * clusters * size, 3 * clusters * size)][turn % 3]
        while True:
            pool = filled_pool(rng, int(rng.integers(low, high)), clusters, size, features)
            sample = rng.integers(-3, 4, features) * 1.0
            if not _rounding_decides(pool, sample):
                break
        yield pool, sample, int(rng.integers(2)), clusters, size


def _rounding_decides(pool, sample) -> bool:
    """Two clusters are equally near, but their means are not whole quarters: it depends on how one computes."""
    distances = _l2(pool, sample) if pool["x"] else np.zeros(1)
    nearest = np.array(pool["means"])[distances < distances.min() + 1e-6] if pool["x"] else np.zeros((0, 1))
    return len(nearest) > 1 and bool(np.any(nearest * 4 != np.round(nearest * 4)))


def _l2(pool, sample):
    return np.linalg.norm(np.array(pool["means"]) - sample, axis=1)


def _to_members(pool, sample):
    return [np.linalg.norm(own - sample, axis=1).min() for own in pool["x"]]


def _last_of(distances) -> int:
    return len(distances) - 1 - int(np.argmin(distances[::-1]))


def _newcomer_last(own, newcomer, size):
    return np.concatenate([own, [newcomer]])[-size:]


def _mean(before, own, newcomer, old_mean, size):
    return own.mean(axis=0)


def _variant(
    opens: Callable = lambda there, clusters: there < clusters,
    distances: Callable = _l2,
    pick: Callable = np.argmin,
    joined: Callable = _newcomer_last,
    labels: Callable | None = None,
    mean: Callable = _mean,
):
    """The add with arrays, with a mistake in one of its steps."""

    def answer(pool, sample, label, clusters, size):
        x, y, means = list(pool["x"]), list(pool["y"]), list(pool["means"])
        if not x or opens(len(x), clusters):
            return {"x": [*x, sample[None]], "y": [*y, np.array([label])], "means": [*means, sample]}
        place = int(pick(distances(pool, sample)))
        before = x[place]
        x[place] = joined(before, sample, size)
        y[place] = (labels or joined)(y[place], label, size)
        means[place] = mean(before, x[place], sample, means[place], size)
        return {"x": x, "y": y, "means": means}

    return answer


# A variant's number is taken away from each pixel that comes.

check_add_sample = Check(
    add_sample,
    _cases,
    twist=Twist(
        tuple(range(2, 17)),
        inner=lambda centre, pool, sample, *others: (pool, sample - centre, *others),
        outer=lambda centre, pool, sample, *others: (pool, sample + centre, *others),
    ),
    mistakes=(
        Mistake(
            "you joined the nearest cluster although there was room for a new one: the first `clusters` samples each "
            "open one",
            _variant(opens=lambda there, clusters: False),
        ),
        Mistake(
            "you opened one cluster too many: a pool has at most `clusters`",
            _variant(opens=lambda there, clusters: there <= clusters),
        ),
        Mistake(
            "off by one: you stopped opening clusters one too early",
            _variant(opens=lambda there, clusters: there < clusters - 1),
        ),
        Mistake("you joined the farthest cluster; the nearest mean is asked for", _variant(pick=np.argmax)),
        Mistake(
            "you measured the distance as the sum of absolute differences; Algorithm 3 uses the l2 norm, squares",
            _variant(distances=lambda pool, sample: np.abs(np.array(pool["means"]) - sample).sum(axis=1)),
        ),
        Mistake(
            "you looked for the nearest member; the cluster with the nearest mean is asked for",
            _variant(distances=_to_members),
        ),
        Mistake("of two clusters at the same distance you took the last; take the first", _variant(pick=_last_of)),
        Mistake(
            "your mean still counts the member that left: take the mean after it has left",
            _variant(mean=lambda before, own, newcomer, old_mean, size: np.mean([*before, newcomer], axis=0)),
        ),
        Mistake(
            "nobody leaves your clusters: one that has more than `size` members loses its oldest",
            _variant(joined=lambda own, newcomer, size: np.concatenate([own, [newcomer]])),
        ),
        Mistake(
            "you evicted the newest member; the oldest, which stands first, must leave",
            _variant(joined=lambda own, newcomer, size: np.concatenate([own[: size - 1], [newcomer]])),
        ),
        Mistake(
            "you turned the newcomer away from a full cluster; it joins, and the oldest member leaves",
            _variant(joined=lambda own, newcomer, size: np.concatenate([own, [newcomer]])[:size]),
        ),
        Mistake(
            "off by one: you evicted before the cluster was full",
            _variant(joined=lambda own, newcomer, size: np.concatenate([own, [newcomer]])[-(size - 1) :]),
        ),
        Mistake(
            "the order is wrong: the newcomer stands last, so that the oldest stands first",
            _variant(joined=lambda own, newcomer, size: np.concatenate([[newcomer], own[-(size - 1) :]])),
        ),
        Mistake(
            "the labels do not go with their samples: `y` of the cluster did not change",
            _variant(labels=lambda own, newcomer, size: own),
        ),
        Mistake(
            "you did not update the mean of the cluster that was joined",
            _variant(mean=lambda before, own, newcomer, old_mean, size: old_mean),
        ),
        Mistake(
            "your mean divides by the number of members before the newcomer came; count it as well",
            _variant(mean=lambda before, own, newcomer, old_mean, size: own.sum(axis=0) / len(before)),
        ),
        Mistake(
            "you divided by `size`; a cluster that is not full has fewer members",
            _variant(mean=lambda before, own, newcomer, old_mean, size: own.sum(axis=0) / size),
        ),
    ),
)

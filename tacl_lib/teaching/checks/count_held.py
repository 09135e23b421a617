"""Set 3, exercise 2: one pool for all classes, or one for each, and what they hold in the end."""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from tacl_lib.teaching.checks.add_sample import Algorithm3, empty_pool
from tacl_lib.teaching.checks.check import Check, Mistake
from tacl_lib.teaching.checks.twist import Twist


def count_held(samples, labels, classes, clusters, per_class, add):
    """Pool by pool: first pick out the samples that go there, then play them."""
    rows = []
    for number in range(classes if per_class else 1):
        own = [(x, k) for x, k in zip(samples, labels, strict=True) if not per_class or k == number]
        pool = empty_pool()
        for x, k in own:
            pool = add(pool, x, k, clusters // classes if per_class else clusters)
        held = Counter(int(k) for cluster in pool["y"] for k in cluster)
        rows.append([held[k] for k in range(classes)])
    return np.array(rows)


def _cases(rng: np.random.Generator) -> Iterator[tuple]:
    yield np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 1]), 2, 2, True, Algorithm3(1)
    yield np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 1]), 2, 2, False, Algorithm3(1)
    for turn in range(38):
        classes, share, size = (int(n) for n in rng.integers([2, 1, 1], [4, 4, 4]))
        clusters = classes * share
        arrivals = int(rng.integers(3, 6) if turn < 10 else rng.integers(2 * clusters * size, 5 * clusters * size))
        # Classes are not equally frequent, and lie apart.
        labels = rng.choice(classes, arrivals, p=rng.dirichlet(np.full(classes, 2.0)))
        features = int(rng.integers(1, 4))
        samples = np.round(rng.normal(size=(arrivals, features)) + 2 * labels[:, None], 1)
        yield samples, labels, classes, clusters, bool(turn % 2), Algorithm3(size)


def _variant(
    pools=lambda classes, per_class: classes if per_class else 1,
    share=lambda clusters, classes, per_class: clusters // classes if per_class else clusters,
    index=lambda label, classes, per_class: label if per_class else 0,
    shared=False,
    count=lambda pool, seen, k: sum((own == k).sum() for own in pool["y"]),
    turned=False,
):
    """All pools at once, with a mistake in one of the steps."""

    def answer(samples, labels, classes, clusters, per_class, add):
        filled = [empty_pool() for _ in range(pools(classes, per_class))]
        seen: list[list[int]] = [[] for _ in filled]
        for x, k in zip(samples, labels, strict=True):
            place = index(k, classes, per_class)
            new = add(filled[place], x, k, share(clusters, classes, per_class))
            filled = [new] * len(filled) if shared else [*filled[:place], new, *filled[place:][1:]]
            seen[place].append(k)
        counts = np.array([[count(pool, of, k) for k in range(classes)] for pool, of in zip(filled, seen, strict=True)])
        return counts.T if turned else counts

    return answer


# A variant's number is the first label.

check_count_held = Check(
    count_held,
    _cases,
    twist=Twist(
        tuple(range(1, 21)),
        inner=lambda first, samples, labels, *others: (samples, labels - first, *others),
        outer=lambda first, samples, labels, *others: (samples, labels + first, *others),
    ),
    mistakes=(
        Mistake(
            "you always fill one pool; if `per_class` is true, there is one for each class",
            _variant(
                pools=lambda classes, per_class: 1,
                share=lambda clusters, classes, per_class: clusters,
                index=lambda label, classes, per_class: 0,
            ),
        ),
        Mistake(
            "you always fill a pool for each class; if `per_class` is false, there is a single one",
            _variant(
                pools=lambda classes, per_class: classes,
                share=lambda clusters, classes, per_class: clusters // classes,
                index=lambda label, classes, per_class: label,
            ),
        ),
        Mistake(
            "your pools share their clusters: what is added to one is in all of them; each pool needs its own",
            _variant(shared=True),
        ),
        Mistake(
            "each of your pools has all the clusters; pools for classes divide them: `clusters // classes` each",
            _variant(share=lambda clusters, classes, per_class: clusters),
        ),
        Mistake(
            "you divided the clusters even for a single pool, which has all of them",
            _variant(share=lambda clusters, classes, per_class: clusters // classes),
        ),
        Mistake(
            "wrong index: labels count from 0, so label k goes to pool k",
            _variant(index=lambda label, classes, per_class: (label - 1) % classes if per_class else 0),
        ),
        Mistake(
            "you counted all samples that came; count those that are still there",
            _variant(count=lambda pool, seen, k: sum(label == k for label in seen)),
        ),
        Mistake(
            "you counted the clusters that hold a class; count the members",
            _variant(count=lambda pool, seen, k: sum(bool((own == k).any()) for own in pool["y"])),
        ),
        Mistake("the table is turned round: a row for each pool, a column for each class", _variant(turned=True)),
    ),
)

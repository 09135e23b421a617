"""Answers to exercise 2 of set 3."""

import numpy as np

from coursework_answers import right, wrong


def _empty():
    return {"x": [], "y": [], "means": []}


def _table(pools, classes):
    return [[sum(list(y).count(k) for y in pool["y"]) for k in range(classes)] for pool in pools]


@right
def with_a_dict_of_pools(samples, labels, classes, clusters, per_class, add):
    pools = {k: _empty() for k in range(classes)} if per_class else {0: _empty()}
    for x, label in zip(samples, labels, strict=True):
        key = label * per_class
        pools[key] = add(pools[key], x, label, clusters // len(pools))
    return _table(pools.values(), classes)


@right
def by_masks(samples, labels, classes, clusters, per_class, add):
    masks = [labels == k for k in range(classes)] if per_class else [np.ones(len(labels), bool)]
    counts = np.zeros((len(masks), classes), int)
    for row, mask in zip(counts, masks, strict=True):
        pool = _empty()
        for number in np.flatnonzero(mask):
            pool = add(pool, samples[number], labels[number], clusters // len(masks))
        if pool["y"]:
            row += np.bincount(np.concatenate(pool["y"]), minlength=classes)
    return counts


def _filled(samples, labels, count, most, place, add):
    pools = [_empty() for _ in range(count)]
    for x, label in zip(samples, labels, strict=True):
        pools[place(label)] = add(pools[place(label)], x, label, most)
    return pools


@wrong("you always fill one pool")
def always_one(samples, labels, classes, clusters, per_class, add):
    return with_a_dict_of_pools(samples, labels, classes, clusters, False, add)


@wrong("you always fill a pool for each class")
def always_per_class(samples, labels, classes, clusters, per_class, add):
    return with_a_dict_of_pools(samples, labels, classes, clusters, True, add)


@wrong("your pools share their clusters")
def shared(samples, labels, classes, clusters, per_class, add):
    """As from ``pools = [pool] * classes`` and a pool that is changed in place."""
    count = classes if per_class else 1
    pool = _empty()
    for x, label in zip(samples, labels, strict=True):
        pool = add(pool, x, label, clusters // count)
    return _table([pool] * count, classes)


@wrong("each of your pools has all the clusters")
def all_clusters_each(samples, labels, classes, clusters, per_class, add):
    if not per_class:
        return by_masks(samples, labels, classes, clusters, per_class, add)
    return _table(_filled(samples, labels, classes, clusters, lambda label: label, add), classes)


@wrong("you divided the clusters even for a single pool")
def always_divides(samples, labels, classes, clusters, per_class, add):
    count = classes if per_class else 1
    return _table(_filled(samples, labels, count, clusters // classes, lambda k: k * per_class, add), classes)


@wrong("wrong index: labels count from 0")
def labels_from_one(samples, labels, classes, clusters, per_class, add):
    """A negative index counts from the end, so nothing stops."""
    if not per_class:
        return by_masks(samples, labels, classes, clusters, per_class, add)
    return _table(_filled(samples, labels, classes, clusters // classes, lambda k: k - 1, add), classes)


@wrong("count those that are still there")
def counts_arrivals(samples, labels, classes, clusters, per_class, add):
    came = np.bincount(labels, minlength=classes)
    return np.diag(came) if per_class else came[None]


@wrong("count the members")
def counts_clusters(samples, labels, classes, clusters, per_class, add):
    count = classes if per_class else 1
    pools = _filled(samples, labels, count, clusters // count, lambda k: k * per_class, add)
    return [[sum(k in y for y in pool["y"]) for k in range(classes)] for pool in pools]


@wrong("the table is turned round")
def turned_round(samples, labels, classes, clusters, per_class, add):
    return by_masks(samples, labels, classes, clusters, per_class, add).T


@wrong("it gives the shape")
def without_the_rows(samples, labels, classes, clusters, per_class, add):
    return by_masks(samples, labels, classes, clusters, per_class, add).sum(axis=0)


@wrong("it stopped with KeyError")
def an_empty_list_for_a_pool(samples, labels, classes, clusters, per_class, add):
    pool = {}
    for x, label in zip(samples, labels, strict=True):
        pool = add(pool, x, label, clusters)
    return _table([pool], classes)


@right
def by_recursion(samples, labels, classes, clusters, per_class, add):
    def filled(pool, rows, share):
        return filled(add(pool, samples[rows[0]], labels[rows[0]], share), rows[1:], share) if rows else pool

    numbers = range(classes) if per_class else [None]
    pools = []
    for k in numbers:
        rows = [row for row, label in enumerate(labels) if k is None or label == k]
        pools.append(filled(_empty(), rows, clusters // len(numbers)))
    return _table(pools, classes)


@right
def as_lists_of_ints(samples, labels, classes, clusters, per_class, add):
    pools = [_empty() for _ in range(classes)] if per_class else [_empty()]
    for x, k in zip(samples, labels, strict=True):
        own = int(k) if per_class else 0
        pools[own] = add(pools[own], x, k, clusters // classes if per_class else clusters)
    return [[sum(int(k == c) for own in pool["y"] for k in own) for c in range(classes)] for pool in pools]


@wrong("✗")
def keeps_its_pools(samples, labels, classes, clusters, per_class, add, pools={}):  # noqa: B006
    """A default that is changed is there in the next call."""
    for x, k in zip(samples, labels, strict=True):
        own = int(k) if per_class else 0
        pools[own] = add(pools.get(own, _empty()), x, k, clusters // classes if per_class else clusters)
    return _table([pools.get(k, _empty()) for k in range(classes if per_class else 1)], classes)


@wrong("✗")
def knows_two_classes(samples, labels, classes, clusters, per_class, add):
    return as_lists_of_ints(samples[labels < 2], labels[labels < 2], 2, clusters, per_class, add)

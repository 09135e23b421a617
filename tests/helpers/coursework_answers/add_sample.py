"""Answers to exercise 1 of set 3."""

import copy

import numpy as np

from coursework_answers import right, wrong


def _lists(pool):
    """The pool as lists that may be changed."""
    return [list(map(list, pool["x"])), list(map(list, pool["y"])), list(pool["means"])]


def _pool(x, y, means):
    return {"x": x, "y": y, "means": means}


def _opened(x, y, means, sample, label):
    return _pool([*x, [sample]], [*y, [label]], [*means, sample])


def _squares(means, sample):
    return [sum((a - b) ** 2 for a, b in zip(mean, sample, strict=True)) for mean in means]


@right
def with_lists(pool, sample, label, clusters, size):
    x, y, means = _lists(pool)
    if len(x) < clusters:
        return _opened(x, y, means, sample, label)
    squares = _squares(means, sample)
    q = squares.index(min(squares))
    x[q].append(sample)
    y[q].append(label)
    if len(x[q]) > size:
        x[q].pop(0)
        y[q].pop(0)
    means[q] = sum(x[q]) / len(x[q])
    return _pool(x, y, means)


@right
def on_a_deep_copy(pool, sample, label, clusters, size):
    pool = copy.deepcopy(pool)
    if len(pool["y"]) < clusters:
        pool["x"].append(sample.reshape(1, -1))
        pool["y"].append(np.array([label]))
        pool["means"] = np.vstack([*pool["means"], sample])
        return pool
    q = np.linalg.norm(pool["means"] - sample, axis=1).argmin()
    keep = slice(1, None) if len(pool["y"][q]) == size else slice(None)
    pool["x"][q] = np.vstack([pool["x"][q][keep], sample])
    pool["y"][q] = np.append(pool["y"][q][keep], label)
    pool["means"][q] = pool["x"][q].mean(axis=0)
    return pool


@right
def with_a_running_mean(pool, sample, label, clusters, size):
    x, y, means = _lists(pool)
    if len(x) < clusters:
        return _opened(x, y, means, sample, label)
    q = int(np.argmin(_squares(means, sample)))
    gone = x[q].pop(0) if len(x[q]) == size else None
    if gone is None:
        means[q] = means[q] + (sample - means[q]) / (len(x[q]) + 1)
    else:
        means[q] = means[q] + (sample - gone) / size
    x[q].append(sample)
    y[q] = (y[q] + [label])[-size:]
    return _pool(x, y, means)


@wrong("you joined the nearest cluster although there was room")
def opens_only_the_first(pool, sample, label, clusters, size):
    if not pool["x"]:
        return with_lists(pool, sample, label, 1, size)
    return with_lists(pool, sample, label, len(pool["x"]), size)


@wrong("you opened one cluster too many")
def opens_too_many(pool, sample, label, clusters, size):
    return with_lists(pool, sample, label, clusters + 1, size)


@wrong("one too early")
def opens_too_few(pool, sample, label, clusters, size):
    x, y, means = _lists(pool)
    if len(x) >= clusters - 1 and x:
        return with_lists(pool, sample, label, len(x), size)
    return _opened(x, y, means, sample, label)


def _with(choose=None, enter=None, mean=None):
    """`with_lists`, with one of its parts from the student."""

    def answer(pool, sample, label, clusters, size):
        x, y, means = _lists(pool)
        if len(x) < clusters:
            return _opened(x, y, means, sample, label)
        q = choose(x, means, sample) if choose else int(np.argmin(_squares(means, sample)))
        before = list(x[q])
        if enter:
            enter(x[q], y[q], sample, label, size)
        else:
            x[q], y[q] = [*x[q], sample][-size:], [*y[q], label][-size:]
        means[q] = mean(before, x[q], sample, means[q], size) if mean else np.mean(x[q], axis=0)
        return _pool(x, y, means)

    return answer


@wrong("you joined the farthest cluster")
def joins_the_farthest(pool, sample, label, clusters, size):
    return _with(choose=lambda x, means, z: np.argmax(_squares(means, z)))(pool, sample, label, clusters, size)


@wrong("the sum of absolute differences")
def l1(pool, sample, label, clusters, size):
    return _with(choose=lambda x, means, z: np.argmin([abs(m - z).sum() for m in means]))(
        pool, sample, label, clusters, size
    )


@wrong("you looked for the nearest member")
def nearest_member(pool, sample, label, clusters, size):
    def choose(x, means, z):
        best, found = np.inf, 0
        for q, own in enumerate(x):
            for member in own:
                if np.linalg.norm(member - z) < best:
                    best, found = np.linalg.norm(member - z), q
        return found

    return _with(choose=choose)(pool, sample, label, clusters, size)


@wrong("at the same distance you took the last")
def last_of_equals(pool, sample, label, clusters, size):
    def choose(x, means, z):
        best, found = np.inf, 0
        for q, square in enumerate(_squares(means, z)):
            if square <= best:
                best, found = square, q
        return found

    return _with(choose=choose)(pool, sample, label, clusters, size)


@wrong("nobody leaves your clusters")
def nobody_leaves(pool, sample, label, clusters, size):
    return with_lists(pool, sample, label, clusters, 10**9)


@wrong("you evicted the newest member")
def evicts_the_newest(pool, sample, label, clusters, size):
    def enter(x, y, z, k, size):
        if len(x) == size:
            x.pop()
            y.pop()
        x.append(z)
        y.append(k)

    return _with(enter=enter)(pool, sample, label, clusters, size)


@wrong("you turned the newcomer away")
def turns_away(pool, sample, label, clusters, size):
    def enter(x, y, z, k, size):
        if len(x) < size:
            x.append(z)
            y.append(k)

    return _with(enter=enter)(pool, sample, label, clusters, size)


@wrong("you evicted before the cluster was full")
def evicts_too_early(pool, sample, label, clusters, size):
    def enter(x, y, z, k, size):
        x.append(z)
        y.append(k)
        while len(x) >= size:
            x.pop(0)
            y.pop(0)

    return _with(enter=enter)(pool, sample, label, clusters, size)


@wrong("the newcomer stands last")
def newcomer_first(pool, sample, label, clusters, size):
    def enter(x, y, z, k, size):
        if len(x) == size:
            x.pop(0)
            y.pop(0)
        x.insert(0, z)
        y.insert(0, k)

    return _with(enter=enter)(pool, sample, label, clusters, size)


@wrong("the labels do not go with their samples")
def forgets_the_label(pool, sample, label, clusters, size):
    def enter(x, y, z, k, size):
        x.append(z)
        if len(x) > size:
            x.pop(0)

    return _with(enter=enter)(pool, sample, label, clusters, size)


@wrong("you did not update the mean")
def mean_stays(pool, sample, label, clusters, size):
    return _with(mean=lambda before, own, z, old, size: old)(pool, sample, label, clusters, size)


@wrong("your mean still counts the member that left")
def mean_before_eviction(pool, sample, label, clusters, size):
    def mean(before, own, z, old, size):
        return (old * len(before) + z) / (len(before) + 1)

    return _with(mean=mean)(pool, sample, label, clusters, size)


@wrong("divides by the number of members before the newcomer came")
def divides_by_the_old_count(pool, sample, label, clusters, size):
    return _with(mean=lambda before, own, z, old, size: sum(own) / len(before))(pool, sample, label, clusters, size)


@wrong("you divided by `size`")
def divides_by_size(pool, sample, label, clusters, size):
    return _with(mean=lambda before, own, z, old, size: sum(own) / size)(pool, sample, label, clusters, size)


@wrong("it changes its input `pool` in place")
def in_place(pool, sample, label, clusters, size):
    new = with_lists(pool, sample, label, clusters, size)
    pool.update(new)
    return pool


@wrong("it returns nothing")
def without_return(pool, sample, label, clusters, size):
    with_lists(pool, sample, label, clusters, size)


@right
def with_lists_as_promised(pool, sample, label, clusters, size):
    """The task calls the three lists: they may be copied and appended to."""
    pool = {name: pool[name].copy() for name in pool}
    if len(pool["means"]) < clusters:
        pool["x"].append(np.array([sample]))
        pool["y"].append([label])
        pool["means"].append(sample)
        return pool
    q = min(range(len(pool["means"])), key=lambda q: sum((pool["means"][q] - sample) ** 2))
    pool["x"][q] = [*pool["x"][q], sample][-size:]
    pool["y"][q] = [*pool["y"][q], label][-size:]
    pool["means"][q] = np.mean(pool["x"][q], axis=0)
    return pool


@wrong("✗")
def in_the_plane_only(pool, sample, label, clusters, size):
    """The size of the example, written into the code."""
    return with_lists(pool, sample[:2], label, clusters, size)


@wrong("it changes its input `pool` in place")
def spoils_a_stored_array(pool, sample, label, clusters, size):
    """The lists are copied, but not the arrays in them."""
    x, y, means = (list(pool[name]) for name in ("x", "y", "means"))
    if len(x) < clusters:
        return {"x": [*x, sample[None]], "y": [*y, np.array([label])], "means": [*means, sample]}
    q = int(np.argmin(_squares(means, sample)))
    if len(x[q]) == size:
        x[q][:-1], y[q][:-1] = x[q][1:].copy(), y[q][1:].copy()
        x[q][-1], y[q][-1] = sample, label
    else:
        x[q], y[q] = np.vstack([x[q], sample]), np.append(y[q], label)
    means[q] = x[q].mean(axis=0)
    return {"x": x, "y": y, "means": means}

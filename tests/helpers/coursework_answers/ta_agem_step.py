"""Answers to exercise 3 of set 3."""

import numpy as np

from coursework_answers import right, wrong


def _gradient(weights, x, y):
    return (np.array(x) @ weights - y) @ np.array(x) / len(x)


def _remembered(pool):
    return [m for own in pool["x"] for m in own], [k for own in pool["y"] for k in own]


def _projected(g, r):
    return g - (g @ r) / (r @ r) * r


def _answer(weights, pool, x, y, clusters, add):
    return {"weights": weights, "pool": add(pool, x[0], y[0], clusters)}


@right
def with_lists(weights, x, y, pool, clusters, rate, add):
    g = _gradient(weights, x, y)
    old_x, old_y = _remembered(pool)
    if old_x:
        r = _gradient(weights, old_x, old_y)
        if g @ r < 0:
            g = _projected(g, r)
    return _answer(weights - rate * g, pool, x, y, clusters, add)


@right
def with_a_sum_for_the_reference(weights, x, y, pool, clusters, rate, add):
    """How long the reference is does not matter for the projection."""
    g = np.mean([(z @ weights - k) * z for z, k in zip(x, y, strict=True)], axis=0)
    r = np.zeros_like(weights)
    for xs, ys in zip(pool["x"], pool["y"], strict=True):
        r += xs.T @ (xs @ weights - ys)
    factor = min(g @ r, 0) / max(r @ r, 1e-12)
    return _answer(weights - rate * g + rate * factor * r, pool, x, y, clusters, add)


@right
def that_divides_by_nothing(weights, x, y, pool, clusters, rate, add):
    """The reference of an empty memory is nan here, and nan is not negative."""
    old_x, old_y = np.array(_remembered(pool)[0]).reshape(-1, len(weights)), np.array(_remembered(pool)[1])
    g, r = ((a.T @ (a @ weights - b)) / np.float64(len(a)) for a, b in ((x, y), (old_x, old_y)))
    return _answer(weights - rate * (_projected(g, r) if g @ r < 0 else g), pool, x, y, clusters, add)


def _with(project, weights, x, y, pool, clusters, rate, add):
    g = _gradient(weights, x, y)
    if pool["x"]:
        g = project(g, _gradient(weights, *_remembered(pool)))
    return _answer(weights - rate * g, pool, x, y, clusters, add)


@wrong("you projected although the product is positive")
def projects_always(weights, x, y, pool, clusters, rate, add):
    return _with(_projected, weights, x, y, pool, clusters, rate, add)


@wrong("you never projected")
def never_projects(weights, x, y, pool, clusters, rate, add):
    return _answer(weights - rate * _gradient(weights, x, y), pool, x, y, clusters, add)


@wrong("the condition is turned round")
def turned_round(weights, x, y, pool, clusters, rate, add):
    return _with(lambda g, r: g if g @ r <= 0 else _projected(g, r), weights, x, y, pool, clusters, rate, add)


@wrong("the sign of the projection is wrong")
def adds_the_part(weights, x, y, pool, clusters, rate, add):
    def project(g, r):
        return g + (g @ r) / (r @ r) * r if g @ r < 0 else g

    return _with(project, weights, x, y, pool, clusters, rate, add)


@wrong("you exchanged the two")
def projects_the_reference(weights, x, y, pool, clusters, rate, add):
    return _with(lambda g, r: _projected(r, g) if g @ r < 0 else g, weights, x, y, pool, clusters, rate, add)


@wrong("you added the sample before the step")
def adds_first(weights, x, y, pool, clusters, rate, add):
    pool = add(pool, x[0], y[0], clusters)
    g, r = _gradient(weights, x, y), _gradient(weights, *_remembered(pool))
    return {"weights": weights - rate * (_projected(g, r) if g @ r < 0 else g), "pool": pool}


def _right_step(weights, *rest):
    return with_lists(weights, *rest)["weights"] - weights


@wrong("the sign of the step is wrong")
def climbs(weights, x, y, pool, clusters, rate, add):
    step = _right_step(weights, x, y, pool, clusters, rate, add)
    return _answer(weights - step, pool, x, y, clusters, add)


@wrong("you forgot the learning rate")
def without_rate(weights, x, y, pool, clusters, rate, add):
    return with_lists(weights, x, y, pool, clusters, 1, add)


@wrong("you added up the gradients of the batch")
def sums_the_batch(weights, x, y, pool, clusters, rate, add):
    g = sum((z @ weights - k) * z for z, k in zip(x, y, strict=True))
    if pool["x"]:
        r = _gradient(weights, *_remembered(pool))
        g = _projected(g, r) if g @ r < 0 else g
    return _answer(weights - rate * g, pool, x, y, clusters, add)


@wrong("your gradient is twice too large")
def two_too_many(weights, x, y, pool, clusters, rate, add):
    return with_lists(weights, x, y, pool, clusters, 2 * rate, add)


@wrong("the sign of the residual is wrong")
def label_minus_output(weights, x, y, pool, clusters, rate, add):
    g = (y - x @ weights) @ x / len(x)
    if pool["x"]:
        r = _gradient(weights, *_remembered(pool))
        g = _projected(g, r) if g @ r < 0 else g
    return _answer(weights - rate * g, pool, x, y, clusters, add)


@wrong("an empty memory gives nan")
def nan_at_first(weights, x, y, pool, clusters, rate, add):
    old_x, old_y = np.array(_remembered(pool)[0]).reshape(-1, len(weights)), np.array(_remembered(pool)[1])
    g, r = ((a.T @ (a @ weights - b)) / np.float64(len(a)) for a, b in ((x, y), (old_x, old_y)))
    return _answer(weights - rate * (g if g @ r >= 0 else _projected(g, r)), pool, x, y, clusters, add)


@wrong("you returned the gradient")
def returns_the_gradient(weights, x, y, pool, clusters, rate, add):
    return _answer(-_right_step(weights, x, y, pool, clusters, 1, add), pool, x, y, clusters, add)


@wrong("you forgot to add")
def forgets_to_add(weights, x, y, pool, clusters, rate, add):
    return {"weights": with_lists(weights, x, y, pool, clusters, rate, add)["weights"], "pool": pool}


@wrong("you added the whole batch")
def adds_the_batch(weights, x, y, pool, clusters, rate, add):
    new = with_lists(weights, x, y, pool, clusters, rate, add)["weights"]
    for sample, label in zip(x, y, strict=True):
        pool = add(pool, sample, label, clusters)
    return {"weights": new, "pool": pool}


@wrong("you added the last sample")
def adds_the_last(weights, x, y, pool, clusters, rate, add):
    new = with_lists(weights, x, y, pool, clusters, rate, add)["weights"]
    return {"weights": new, "pool": add(pool, x[-1], y[-1], clusters)}


@wrong("it changes its input `weights` in place")
def in_place(weights, x, y, pool, clusters, rate, add):
    weights += _right_step(weights, x, y, pool, clusters, rate, add)
    return _answer(weights, pool, x, y, clusters, add)


@wrong("it must return a dict")
def returns_a_pair(weights, x, y, pool, clusters, rate, add):
    return tuple(with_lists(weights, x, y, pool, clusters, rate, add).values())


@right
def by_autograd(weights, x, y, pool, clusters, rate, add):
    import torch

    def gradient(x, y):
        w = torch.tensor(weights, requires_grad=True)
        (((torch.tensor(np.array(x)) @ w - torch.tensor(np.array(y), dtype=torch.float64)) ** 2).mean() / 2).backward()
        return w.grad

    g = gradient(x, y)
    if pool["x"]:
        r = gradient(np.concatenate(pool["x"]), np.concatenate(pool["y"]))
        if g @ r < 0:
            g = g - (g @ r) / (r @ r) * r
    return _answer(weights - rate * g.numpy(), pool, x, y, clusters, add)


@wrong("'weights' is wrong")
def mean_of_cluster_means(weights, x, y, pool, clusters, rate, add):
    """Small clusters count as much as large ones."""
    g = _gradient(weights, x, y)
    if pool["x"]:
        r = np.mean([_gradient(weights, xs, ys) for xs, ys in zip(pool["x"], pool["y"], strict=True)], axis=0)
        g = _projected(g, r) if g @ r < 0 else g
    return _answer(weights - rate * g, pool, x, y, clusters, add)


@wrong("'weights' is wrong")
def cluster_means_for_members(weights, x, y, pool, clusters, rate, add):
    g = _gradient(weights, x, y)
    if pool["x"]:
        r = _gradient(weights, pool["means"], np.array([np.mean(own) for own in pool["y"]]))
        g = _projected(g, r) if g @ r < 0 else g
    return _answer(weights - rate * g, pool, x, y, clusters, add)


@wrong("✗")
def a_few_members_by_luck(weights, x, y, pool, clusters, rate, add):
    g = _gradient(weights, x, y)
    if pool["x"]:
        old_x, old_y = map(np.array, _remembered(pool))
        drawn = np.random.default_rng().integers(0, len(old_y), 2)
        r = _gradient(weights, old_x[drawn], old_y[drawn])
        g = _projected(g, r) if g @ r < 0 else g
    return _answer(weights - rate * g, pool, x, y, clusters, add)


@wrong("it changes its input `pool` in place")
def spoils_the_memory(weights, x, y, pool, clusters, rate, add):
    """Centres what is stored, and forgets to put it back."""
    answer = with_lists(weights, x, y, pool, clusters, rate, add)
    for own in pool["x"]:
        own -= own.mean(axis=0) + 1
    return answer

"""Set 3, exercise 3: one step of TA-A-GEM, put together from its parts."""

from collections.abc import Callable, Iterator

import numpy as np

from tacl_lib.teaching.checks.add_sample import Algorithm3, empty_pool, filled_pool
from tacl_lib.teaching.checks.check import Check, Mistake
from tacl_lib.teaching.checks.twist import Twist


def ta_agem_step(weights, x, y, pool, clusters, rate, add):
    """Sample by sample; the projection as the nearest point on the hyperplane ⟨g, r⟩ = 0."""
    remembered = [(z, k) for xs, ys in zip(pool["x"], pool["y"], strict=True) for z, k in zip(xs, ys, strict=True)]
    gradient = _average([_of_sample(weights, z, k) for z, k in zip(x, y, strict=True)], len(weights))
    reference = _average([_of_sample(weights, z, k) for z, k in remembered], len(weights))
    length = float(np.sqrt(np.dot(reference, reference)))
    if length > 0:
        normal = reference / length
        gradient = gradient - min(float(np.dot(normal, gradient)), 0.0) * normal
    return {"weights": weights - rate * gradient, "pool": add(pool, x[0], y[0], clusters)}


def _of_sample(weights, sample, label):
    """∇ ½ (⟨w, x⟩ - y)²."""
    return (np.dot(weights, sample) - label) * np.asarray(sample, float)


def _average(vectors, entries):
    return sum(vectors, np.zeros(entries)) / max(len(vectors), 1)


def _cases(rng: np.random.Generator) -> Iterator[tuple]:
    batch = np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([0, 1])
    yield np.array([1.0, 1.0]), *batch, empty_pool(), 2, 0.1, Algorithm3(2)
    yield _uneven_clusters()
    for turn in range(35):
        features, size, clusters, batch = (int(n) for n in rng.integers([2, 2, 2, 2], [4, 4, 4, 5]))
        arrivals = 1 if turn < 4 else int(rng.integers(3, 8))
        # In turn, a batch that is in conflict with the memory and one that is not.
        while True:
            pool = filled_pool(rng, arrivals, clusters, size, features)
            weights = rng.integers(-4, 5, features) / 2 + 0.25
            x, y = rng.integers(-4, 5, (batch, features)) / 2 + 0.25, rng.integers(0, 2, batch)
            overlap = _mean_gradient(weights, x, y) @ _mean_gradient(weights, *_members(pool, features))
            if overlap < -0.1 if turn % 2 else overlap > 0.1:
                break
        yield weights, x, y, pool, clusters, float(rng.choice([0.1, 0.05, 0.2])), Algorithm3(size)


def _uneven_clusters() -> tuple:
    """A conflict, and members for which no two of them stand, nor the means of clusters or of their gradients."""
    x = [np.array([[1.0, 1.0], [1.0, 3.0]]), np.array([[3.0, -1.0]])]
    y = [np.array([3, 3]), np.array([5])]
    pool = {"x": x, "y": y, "means": [own.mean(axis=0) for own in x]}
    batch = np.array([[2.0, 0.0], [2.0, 0.0]]), np.array([1, 1])
    return np.array([1.0, 0.0]), *batch, pool, 2, 0.1, Algorithm3(2)


def in_conflict(weights, x, y, pool, clusters, rate, add) -> bool:
    """Whether a step on the batch alone would harm what the memory holds."""
    if not pool["x"]:
        return False
    return bool(_mean_gradient(weights, x, y) @ _mean_gradient(weights, *_members(pool, len(weights))) < 0)


def in_peace(*given) -> bool:
    """Whether it would not."""
    return not in_conflict(*given)


def _mean_gradient(weights, x, y):
    return x.T @ (x @ weights - y) / len(x)


def _sum_gradient(weights, x, y):
    return x.T @ (x @ weights - y)


def _corrected(gradient, reference, sign=1.0):
    return gradient - sign * (gradient @ reference) / (reference @ reference) * reference


def _where_negative(gradient, reference):
    return _corrected(gradient, reference) if gradient @ reference < 0 else gradient


def _members(pool, features):
    if not pool["x"]:
        return np.zeros((0, features)), np.zeros(0)
    return np.concatenate(pool["x"]), np.concatenate(pool["y"])


def _variant(
    gradient: Callable = _mean_gradient,
    project: Callable = _where_negative,
    step: Callable = lambda weights, rate, g: weights - rate * g,
    first: Callable | None = None,
    then: Callable = lambda add, pool, x, y, clusters: add(pool, x[0], y[0], clusters),
    minds_empty: bool = True,
):
    """The step with arrays, with a mistake in one of its parts. first: what is done to the pool before the step."""

    def answer(weights, x, y, pool, clusters, rate, add):
        used = first(add, pool, x, y, clusters) if first else pool
        memory = _members(used, len(weights))
        g = gradient(weights, x, y)
        if len(memory[0]) or not minds_empty:
            g = project(g, _mean_gradient(weights, *memory))
        added = used if first else then(add, pool, x, y, clusters)
        return {"weights": step(weights, rate, g), "pool": added}

    return answer


def _all_added(add, pool, x, y, clusters):
    for sample, label in zip(x, y, strict=True):
        pool = add(pool, sample, label, clusters)
    return pool


def _with_decay(decay, given, done):
    """A variant's number: how much smaller the step makes the weights, whatever the gradient."""
    weights, *_, rate, _ = given
    return done | {"weights": done["weights"] - rate * decay * weights}


check_ta_agem_step = Check(
    ta_agem_step,
    _cases,
    twist=Twist((0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.12, 0.15, 0.2, 0.25), after=_with_decay),
    mistakes=(
        Mistake(
            "you projected although the product is positive: then nothing is to be done", _variant(project=_corrected)
        ),
        Mistake(
            "you never projected: where the product is negative, the gradient must change",
            _variant(project=lambda g, r: g),
        ),
        Mistake(
            "you projected where the product is positive, and not where it is negative: the condition is turned round",
            _variant(project=lambda g, r: _corrected(g, r) if g @ r > 0 else g),
        ),
        Mistake(
            "the sign of the projection is wrong: you added the part along the reference instead of taking it away",
            _variant(project=lambda g, r: _corrected(g, r, -1.0) if g @ r < 0 else g),
        ),
        Mistake(
            "you exchanged the two: the gradient of the batch is projected, not the reference",
            _variant(project=lambda g, r: _corrected(r, g) if g @ r < 0 else g),
        ),
        Mistake(
            "you added the sample before the step: the memory must protect what was, not what just came",
            _variant(first=lambda add, pool, x, y, clusters: add(pool, x[0], y[0], clusters)),
        ),
        Mistake(
            "the sign of the step is wrong: weights go against the gradient",
            _variant(step=lambda weights, rate, g: weights + rate * g),
        ),
        Mistake("you forgot the learning rate", _variant(step=lambda weights, rate, g: weights - g)),
        Mistake(
            "you added up the gradients of the batch; the loss is their mean: divide by the number of samples",
            _variant(gradient=_sum_gradient),
        ),
        Mistake(
            "your gradient is twice too large: the loss is half of the square, so no factor 2 remains",
            _variant(gradient=lambda weights, x, y: 2 * _mean_gradient(weights, x, y)),
        ),
        Mistake(
            "the sign of the residual is wrong: it is the output minus the label",
            _variant(gradient=lambda weights, x, y: -_mean_gradient(weights, x, y)),
        ),
        Mistake(
            "an empty memory gives nan: with nothing to protect, take the step as it is",
            _variant(project=lambda g, r: g if g @ r >= 0 else _corrected(g, r), minds_empty=False),
        ),
        Mistake("you returned the gradient, not the new weights", _variant(step=lambda weights, rate, g: g)),
        Mistake(
            "you forgot to add: after the step, the first sample of the batch joins the memory",
            _variant(then=lambda add, pool, x, y, clusters: pool),
        ),
        Mistake("you added the whole batch; one sample a step joins, the first", _variant(then=_all_added)),
        Mistake(
            "you added the last sample of the batch; the first is asked for",
            _variant(then=lambda add, pool, x, y, clusters: add(pool, x[-1], y[-1], clusters)),
        ),
    ),
)

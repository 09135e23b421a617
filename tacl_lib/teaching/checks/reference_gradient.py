"""Set 1, exercise 3: the gradient of the loss on what a memory holds, ∇L_ref."""

import math
from collections.abc import Iterator

import numpy as np

from tacl_lib.teaching.checks.check import Check, Mistake
from tacl_lib.teaching.checks.twist import Twist


def reference_gradient(weights, bias, x, y, filled):
    """Sample by sample and entry by entry: ∂L/∂W_ij = x_i (p_j - [j = y]), ∂L/∂b_j = p_j - [j = y]."""
    features, classes = np.shape(weights)
    total = [0.0] * (features * classes + classes)
    count = sum(map(bool, filled))
    for sample, label, there in zip(x, y, filled, strict=True):
        if not there:
            continue
        logits = [bias[j] + sum(sample[i] * weights[i, j] for i in range(features)) for j in range(classes)]
        shift = max(logits)
        powers = [math.exp(logit - shift) for logit in logits]
        for j in range(classes):
            delta = (powers[j] / sum(powers) - (j == label)) / count
            for i in range(features):
                total[i * classes + j] += sample[i] * delta
            total[features * classes + j] += delta
    return np.array(total)


def _cases(rng: np.random.Generator) -> Iterator[tuple]:
    yield _case(rng, 1, 2, 2, filled=2)
    yield _case(rng, 1, 2, 3, filled=1)
    yield _case(rng, 1, 2, 2, filled=0)
    for features, classes, places in np.sort(rng.integers([2, 2, 3], [4, 5, 7], (24, 3)), axis=0).tolist():
        yield _case(rng, features, classes, places, filled=int(rng.integers(1, places + 1)))
    for places in (3, 5):
        yield _case(rng, 2, 3, places, filled=places)
    yield _case(rng, 2, 3, 4, filled=3, scale=1000.0)
    yield from _corners(rng)


def _corners(rng: np.random.Generator) -> Iterator[tuple]:
    """Where shortcuts fail: a sample of zeros, logits that are far apart, and large ones that are close together."""
    weights, bias, x, y, filled = _case(rng, 2, 3, 5, filled=3)
    x[np.flatnonzero(filled)[1]] = 0.0
    yield weights, bias, x, y, filled
    shift = float(rng.integers(720, 1000))  # exp of 710 overflows
    heights = np.array([[shift], [-shift]])  # exp of one sample's logits is nothing beside the other's
    yield np.array([[1.0, 1.0]]), np.array([0.0, 0.5]), heights, np.array([0, 1]), np.array([True, True])
    yield np.array([[shift, shift + 1.0]]), np.zeros(2), np.ones((1, 1)), np.array([1]), np.array([True])


def _case(rng: np.random.Generator, features: int, classes: int, places: int, filled: int, scale: float = 1.0) -> tuple:
    """A memory with some places filled, in no order; the others hold zeros."""
    there = rng.permutation(np.arange(places) < filled)
    x = np.where(there[:, None], rng.integers(-8, 9, (places, features)) / 4, 0.0)
    y = np.where(there, rng.integers(0, classes, places), 0)
    weights, bias = rng.integers(-8, 9, (features, classes)) / 4 * scale, rng.integers(-8, 9, classes) / 4
    return weights, bias, x, y, there


def _variant(mask=True, one_hot=1.0, sign=1.0, axis=1, stable=True, count=None, with_bias=True, bias_first=False):
    """The gradient in matrix form, with a mistake in one of its steps. count: what is divided by, if not the filled."""

    def answer(weights, bias, x, y, filled):
        logits = x @ weights + bias
        powers = np.exp(logits - logits.max(axis=axis, keepdims=True) if stable else logits)
        delta = sign * (powers / powers.sum(axis=axis, keepdims=True) - one_hot * np.eye(len(bias))[y])
        if mask:
            delta = delta * filled[:, None]
        delta = delta / (max(filled.sum(), 1) if count is None else count(x, bias, filled))
        parts = [(x.T @ delta).ravel(), delta.sum(axis=0)]
        return np.concatenate(parts[::-1] if bias_first else parts[: 1 + with_bias])

    return answer


# A variant's number is the softmax's temperature.

check_reference_gradient = Check(
    reference_gradient,
    _cases,
    twist=Twist(
        (0.25, 0.4, 0.5, 0.8, 1.25, 1.5, 1.6, 2.0, 2.5, 3.0, 4.0, 5.0),
        inner=lambda t, weights, bias, *memory: (weights / t, bias / t, *memory),
        outer=lambda t, weights, bias, *memory: (weights * t, bias * t, *memory),
        after=lambda t, given, gradient: np.asarray(gradient) / t,
    ),
    mistakes=(
        Mistake(
            "you added up the samples; L_ref is their mean: divide by the number of filled places",
            _variant(count=lambda x, bias, filled: 1),
        ),
        Mistake(
            "you divided by the number of all places; divide by the number of filled ones",
            _variant(count=lambda x, bias, filled: len(x)),
        ),
        Mistake(
            "empty places count in your mean: leave them out (they hold zeros, but still push the bias)",
            _variant(mask=False, count=lambda x, bias, filled: len(x)),
        ),
        Mistake(
            "you left out the empty places in the number that you divide by, but not in the sum",
            _variant(mask=False),
        ),
        Mistake("you forgot the bias: its gradient is the mean of the deltas", _variant(with_bias=False)),
        Mistake("the order is wrong: first the weights, row by row, then the bias", _variant(bias_first=True)),
        Mistake("the sign is wrong: delta is the probability minus one at the label", _variant(sign=-1.0)),
        Mistake("you did not take away one at the label: delta is softmax minus one-hot", _variant(one_hot=0.0)),
        Mistake("your softmax runs over the samples; it must run over the classes", _variant(axis=0)),
        Mistake(
            "large logits overflow to nan: take the largest logit away before exp, which changes nothing else",
            _variant(stable=False),
        ),
        Mistake(
            "an empty memory gives nan: you divide by zero; the gradient must then be zeros",
            _variant(count=lambda x, bias, filled: filled.sum()),
        ),
    ),
)

"""Answers to exercise 3 of set 1."""

import numpy as np

from coursework_answers import right, wrong


def _softmax(logits, axis=-1):
    powers = np.exp(logits - np.max(logits, axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


def _deltas(weights, bias, x, y):
    return _softmax(x @ weights + bias) - np.eye(len(bias))[y]


@right
def sample_by_sample(weights, bias, x, y, filled):
    by_weights, by_bias, count = np.zeros(weights.shape), np.zeros(bias.shape), 0
    for place in np.flatnonzero(filled):
        probability = _softmax(x[place] @ weights + bias)
        probability[y[place]] -= 1
        by_weights += np.outer(x[place], probability)
        by_bias += probability
        count += 1
    if count:
        by_weights, by_bias = by_weights / count, by_bias / count
    return np.append(by_weights.flatten(), by_bias)


@right
def bias_as_a_feature_of_ones(weights, bias, x, y, filled):
    extended = np.column_stack([x, np.ones(len(x))])
    all_weights = np.vstack([weights, bias])
    share = filled / max(filled.sum(), 1)
    delta = _softmax(extended @ all_weights) - (y[:, None] == np.arange(len(bias)))
    return np.einsum("n,nd,nc->dc", share, extended, delta).reshape(-1)


@right
def with_logarithms(weights, bias, x, y, filled):
    if not filled.any():
        return np.zeros(weights.size + bias.size)
    x, y = x[filled], y[filled]
    logits = x @ weights + bias
    top = logits.max(axis=1)
    log_sum = top + np.log(np.exp(logits - top[:, None]).sum(axis=1))
    delta = np.exp(logits - log_sum[:, None])
    delta[range(len(y)), y] -= 1
    return np.r_[(x.T @ delta / len(x)).ravel(), delta.mean(axis=0)]


@wrong("divide by the number of filled places")
def sum_instead_of_mean(weights, bias, x, y, filled):
    delta = _deltas(weights, bias, x[filled], y[filled])
    return np.concatenate([(x[filled].T @ delta).ravel(), delta.sum(axis=0)])


@wrong("you divided by the number of all places")
def divides_by_the_places(weights, bias, x, y, filled):
    delta = _deltas(weights, bias, x[filled], y[filled]) / filled.size
    return np.concatenate([(x[filled].T @ delta).ravel(), delta.sum(axis=0)])


@wrong("empty places count in your mean")
def forgets_the_mask(weights, bias, x, y, filled):
    delta = _deltas(weights, bias, x, y)
    return np.concatenate([(x.T @ delta / len(x)).ravel(), delta.mean(axis=0)])


@wrong("but not in the sum")
def masks_the_count_only(weights, bias, x, y, filled):
    delta = _deltas(weights, bias, x, y) / max(1, np.count_nonzero(filled))
    return np.concatenate([(x.T @ delta).ravel(), delta.sum(axis=0)])


@wrong("you forgot the bias")
def forgets_the_bias(weights, bias, x, y, filled):
    return (x[filled].T @ _deltas(weights, bias, x[filled], y[filled])).ravel() / max(filled.sum(), 1)


@wrong("first the weights, row by row, then the bias")
def bias_first(weights, bias, x, y, filled):
    result = sample_by_sample(weights, bias, x, y, filled)
    return np.concatenate([result[weights.size :], result[: weights.size]])


@wrong("the sign is wrong")
def wrong_sign(weights, bias, x, y, filled):
    delta = np.eye(len(bias))[y[filled]] - _softmax(x[filled] @ weights + bias)
    count = max(filled.sum(), 1)
    return np.concatenate([(x[filled].T @ delta).ravel() / count, delta.sum(axis=0) / count])


@wrong("you did not take away one at the label")
def without_the_label(weights, bias, x, y, filled):
    delta = _softmax(x[filled] @ weights + bias) / max(filled.sum(), 1)
    return np.concatenate([(x[filled].T @ delta).ravel(), delta.sum(axis=0)])


@wrong("it must run over the classes")
def softmax_over_samples(weights, bias, x, y, filled):
    delta = (_softmax(x @ weights + bias, axis=0) - np.eye(len(bias))[y]) * filled[:, None]
    return np.concatenate([(x.T @ delta).ravel(), delta.sum(axis=0)]) / max(filled.sum(), 1)


@wrong("large logits overflow")
def overflows(weights, bias, x, y, filled):
    if not filled.any():
        return np.zeros(weights.size + bias.size)
    powers = np.exp(x[filled] @ weights + bias)
    delta = powers / powers.sum(axis=1)[:, None] - np.eye(len(bias))[y[filled]]
    return np.concatenate([(x[filled].T @ delta).ravel(), delta.sum(axis=0)]) / filled.sum()


@wrong("an empty memory gives nan")
def empty_memory_gives_nan(weights, bias, x, y, filled):
    delta = _deltas(weights, bias, x, y) * filled[:, None] / filled.sum()
    return np.concatenate([(x.T @ delta).ravel(), delta.sum(axis=0)])


@wrong("it gives the shape [")
def not_in_one_vector(weights, bias, x, y, filled):
    delta = _deltas(weights, bias, x[filled], y[filled]) / max(filled.sum(), 1)
    return np.vstack([x[filled].T @ delta, delta.sum(axis=0)])


@right
def by_autograd(weights, bias, x, y, filled):
    """Torch, imported where it is needed: this may take longer than a call may."""
    import torch

    w, b = torch.tensor(weights, requires_grad=True), torch.tensor(bias, requires_grad=True)
    if not filled.any():
        return np.zeros(weights.size + bias.size)
    logits = torch.tensor(x[filled]) @ w + b
    torch.nn.functional.cross_entropy(logits, torch.tensor(y[filled])).backward()
    return torch.cat([w.grad.flatten(), b.grad]).numpy()


@wrong("nan")
def one_maximum_for_the_whole_table(weights, bias, x, y, filled):
    if not filled.any():
        return np.zeros(weights.size + bias.size)
    logits = x[filled] @ weights + bias
    powers = np.exp(logits - logits.max())
    delta = (powers / powers.sum(axis=1, keepdims=True) - np.eye(len(bias))[y[filled]]) / filled.sum()
    return np.concatenate([(x[filled].T @ delta).ravel(), delta.sum(axis=0)])


@wrong("the value differs")
def clipped_logits(weights, bias, x, y, filled):
    if not filled.any():
        return np.zeros(weights.size + bias.size)
    powers = np.exp(np.clip(x[filled] @ weights + bias, -500, 500))
    delta = (powers / powers.sum(axis=1, keepdims=True) - np.eye(len(bias))[y[filled]]) / filled.sum()
    return np.concatenate([(x[filled].T @ delta).ravel(), delta.sum(axis=0)])


@wrong("the value differs")
def guesses_what_is_filled(weights, bias, x, y, filled):
    """A sample may be zero, as an empty place is."""
    return sample_by_sample(weights, bias, x, y, x.any(axis=1))


@wrong("it stopped with")
def knows_two_classes(weights, bias, x, y, filled):
    """The size of the example, written into the code."""
    delta = (_softmax(x[filled] @ weights + bias) - np.eye(2)[y[filled]]) / max(filled.sum(), 1)
    return np.concatenate([(x[filled].T @ delta).ravel(), delta.sum(axis=0)])

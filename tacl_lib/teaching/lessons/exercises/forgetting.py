"""Lesson 1: a loss, a step, and two numbers that say how much was forgotten."""

import numpy as np
import torch

from tacl_lib.plain.metrics import average_accuracy, forgetting
from tacl_lib.plain.network import loss, loss_gradient
from tacl_lib.plain.sgd import sgd_step
from tacl_lib.teaching.checks.attempt import Refused
from tacl_lib.teaching.checks.check import Mistake
from tacl_lib.teaching.lessons.exercise import Exercise
from tacl_lib.teaching.lessons.exercises.small import LR, batch, network_at, tensor, weights


def _logits(rng):
    for size in (1, 2, 3, 5, 8):
        for _ in range(4):
            classes = int(rng.integers(3, 6))
            yield tensor(rng.normal(size=(size, classes)).round(2)), torch.from_numpy(rng.integers(0, classes, size))


def value_of(answer, logits, y):
    """The loss; the next cell takes its gradient, so PyTorch must be able to."""
    value = answer(1 * logits.clone().requires_grad_(), y)
    if not value.requires_grad:
        raise Refused(
            "PyTorch cannot follow your loss back to the logits, so it has no gradient: calculate with tensors alone, "
            "without .item(), .detach(), float() or NumPy"
        )
    return value.detach()


def _log_softmax(logits):
    return torch.log_softmax(logits, dim=1)


def _of_label(values, y):
    return values[torch.arange(len(y)), y]


LOSS = Exercise(
    loss,
    _logits,
    (
        Mistake(
            "the sign: the logarithm of a probability is negative, and the loss is minus that",
            lambda logits, y: _of_label(_log_softmax(logits), y).mean(),
        ),
        Mistake(
            "you summed over the batch; equation 1 takes the mean",
            lambda logits, y: -_of_label(_log_softmax(logits), y).sum(),
        ),
        Mistake(
            "you forgot the logarithm: this is minus the probability of the label",
            lambda logits, y: -_of_label(torch.softmax(logits, 1), y).mean(),
        ),
        Mistake(
            "you took the logits for probabilities: divide exp f_j by the sum of all exp f_m first",
            lambda logits, y: -_of_label(logits, y).mean(),
        ),
        Mistake(
            "you looked at the largest logit; the loss is about the logit of the label",
            lambda logits, y: -_log_softmax(logits).max(1).values.mean(),
        ),
        Mistake(
            "the sum in the denominator must run over the classes (dim=1) of each sample, not over the batch",
            lambda logits, y: -_of_label(torch.log_softmax(logits, 0), y).mean(),
        ),
        Mistake(
            "you averaged over all classes; only the logit of the label counts",
            lambda logits, y: -_log_softmax(logits).mean(),
        ),
        Mistake(
            "[:, y] takes the columns of all labels from every row; [torch.arange(len(y)), y] takes one from each",
            lambda logits, y: -_log_softmax(logits)[:, y].mean(),
        ),
        Mistake(
            "softmax was applied twice: F.cross_entropy takes the logits themselves",
            lambda logits, y: torch.nn.functional.cross_entropy(torch.softmax(logits, 1), y),
        ),
        Mistake(
            "a sum over dim=1 loses that dimension, and fits the rows no more: write keepdim=True",
            lambda logits, y: -_of_label(logits - torch.log(torch.exp(logits).sum(1)), y).mean(),
        ),
    ),
    probe=value_of,
)


def _steps(rng):
    for size in (1, 2, 4, 8):
        for _ in range(3):
            yield weights(rng), *batch(rng, size), float(rng.choice([0.05, 0.2, 0.5]))


def weights_after(step, w, x, y, lr):
    network = network_at(w)
    step(network, x, y, lr)
    return network.w


def _sgd(change):
    def step(network, x, y, lr):
        network.w = change(network.w, loss_gradient(network, x, y), lr, len(y))

    return step


SGD_STEP = Exercise(
    sgd_step,
    _steps,
    (
        Mistake("you walked uphill: subtract the gradient", _sgd(lambda w, g, lr, n: w + lr * g)),
        Mistake("you forgot the learning rate `lr`", _sgd(lambda w, g, lr, n: w - g)),
        Mistake("the weights did not change: assign to network.w", _sgd(lambda w, g, lr, n: w)),
        Mistake(
            "you replaced the weights by the step; take the step away from them", _sgd(lambda w, g, lr, n: -lr * g)
        ),
        Mistake(
            "the loss is a mean already: do not divide by the batch size", _sgd(lambda w, g, lr, n: w - lr * g / n)
        ),
        Mistake(
            "you made the gradient one long; its length belongs to the step",
            _sgd(lambda w, g, lr, n: w - lr * g / g.norm()),
        ),
        Mistake("you stepped with LR, the default; use the parameter `lr`", _sgd(lambda w, g, lr, n: w - LR * g)),
    ),
    probe=weights_after,
)


def _accuracies(rng):
    yield np.array([[0.9, 0.4], [0.8, 0.7]]), np.array([[True, False], [True, True]])
    for tasks in (2, 3, 3, 4, 4, 5) * 3:
        epochs = int(rng.integers(1, 4))
        seen = np.tril(np.ones((tasks, tasks), bool)).repeat(epochs, axis=0)
        yield rng.random((tasks * epochs, tasks)).round(3), seen


AVERAGE = Exercise(
    average_accuracy,
    _accuracies,
    (
        Mistake(
            "you averaged over all tasks; count only those seen so far", lambda A, seen: np.asarray(A).mean(axis=1)
        ),
        Mistake(
            "you divided by the number of all tasks; divide by the number of those seen",
            lambda A, seen: (A * seen).mean(axis=1),
        ),
        Mistake("you summed; divide by the number of tasks seen", lambda A, seen: (A * seen).sum(axis=1)),
        Mistake(
            "you looked at the newest task only; average over all that were seen",
            lambda A, seen: np.array([a[s][-1] for a, s in zip(A, seen, strict=True)]),
        ),
        Mistake("you looked at the first task only", lambda A, seen: A[:, 0]),
        Mistake(
            "you averaged over the tasks that were not seen yet",
            lambda A, seen: np.array([a[~s].mean() for a, s in zip(A, seen, strict=True)]),
        ),
        Mistake(
            "you averaged over epochs as well; one number for each epoch is asked for",
            lambda A, seen: np.mean([a[s].mean() for a, s in zip(A, seen, strict=True)]),
        ),
        Mistake(
            "you averaged each task over the epochs; average each epoch (a row) over the tasks",
            lambda A, seen: (A * seen).sum(0) / seen.sum(0),
        ),
    ),
)


def _curves(rng):
    yield (np.array([0.5, 0.9, 0.7, 0.8]),)
    for length in (1, 2, 3, 5, 8, 12) * 3:
        yield (rng.random(length).round(3),)


def _best(a):
    return np.maximum.accumulate(a)


FORGETTING = Exercise(
    forgetting,
    _curves,
    (
        Mistake("the sign: forgetting is the best so far minus now", lambda a: a - _best(a)),
        Mistake("your best looks into the future: take the maximum of the epochs up to l", lambda a: a.max() - a),
        Mistake("you compared with the first epoch; compare with the best so far", lambda a: a[0] - a),
        Mistake(
            "you compared with the epoch before; compare with the best so far",
            lambda a: np.concatenate([[0], a[:-1] - a[1:]]),
        ),
        Mistake("you returned the best so far; take the accuracy now away from it", _best),
        Mistake("one number for each epoch is asked for, not only the last", lambda a: _best(a)[-1] - a[-1]),
        Mistake(
            "the epoch itself counts among those up to l: without it forgetting can be negative",
            lambda a: np.concatenate([[0], _best(a)[:-1] - a[1:]]),
        ),
        Mistake(
            "before the first epoch there is nothing to take a maximum of: the epoch itself counts, [: epoch + 1]",
            lambda a: np.array([max(a[:epoch]) - a[epoch] for epoch in range(len(a))]),
            stops=True,
        ),
    ),
)

EXERCISES = (LOSS, SGD_STEP, AVERAGE, FORGETTING)

"""Lesson 3: model gradients, and stepping where they do not point."""

import torch

from tacl_lib.plain.network import gradient, loss_gradient, model_gradient
from tacl_lib.plain.ogd import add_to_basis, project_off_span, project_out
from tacl_lib.teaching.checks.attempt import Refused
from tacl_lib.teaching.checks.check import Mistake
from tacl_lib.teaching.lessons.exercise import Exercise
from tacl_lib.teaching.lessons.exercises.small import batch, network_at, tensor, weights


def _samples(rng):
    for _ in range(24):
        x, y = batch(rng, 1)
        yield weights(rng), x[0], int(y[0])


def gradient_at(answer, w, x, j):
    return answer(network_at(w), x, j)


def _of(number):
    return lambda network, x, j: gradient(lambda w: number(network.f(x[None], w)[0], j), network.w)


MODEL_GRADIENT = Exercise(
    model_gradient,
    _samples,
    (
        Mistake(
            "this is the gradient of the loss; take that of the logit f_j itself",
            lambda network, x, j: loss_gradient(network, x[None], torch.tensor([j])),
        ),
        Mistake("you added up all logits; take that of label j only", _of(lambda f, j: f.sum())),
        Mistake(
            "this is the gradient of the probability; take the logit, before the softmax",
            _of(lambda f, j: f.softmax(0)[j]),
        ),
        Mistake(
            "this is the gradient of the log-probability; take the logit, before the softmax",
            _of(lambda f, j: f.log_softmax(0)[j]),
        ),
        Mistake("you took the largest logit; take that of label j", _of(lambda f, j: f.max())),
        Mistake("you took another logit than j", _of(lambda f, j: f[1 - j])),
        Mistake("the sign: this is minus the gradient", _of(lambda f, j: -f[j])),
        Mistake(
            "`gradient(of, w)` needs one number that depends on its w: hand that w on to network.f, and take one logit",
            lambda network, x, j: gradient(lambda w: network.f(x[None])[0, j], network.w),
        ),
    ),
    probe=gradient_at,
)


def _orthogonal(rng):
    yield tensor([1, 2, 3]), tensor([[0, 2, 0], [0, 0, 5]])
    for _ in range(24):
        size, count = int(rng.integers(3, 6)), int(rng.integers(0, 4))
        columns = torch.linalg.qr(tensor(rng.normal(size=(size, size)))).Q[:, : min(count, size - 1)]
        yield (
            tensor(rng.normal(size=size).round(2)),
            (columns * tensor(rng.choice([0.5, 2.0, 3.0], columns.shape[1]))).T,
        )


def from_list(answer, g, S):
    return answer(g, list(S))


def _minus(part):
    return lambda g, S: g - sum((part(g, v) for v in S), start=torch.zeros_like(g))


def _proj(g, v):
    return (g @ v) / (v @ v) * v


PROJECT_OUT = Exercise(
    project_out,
    _orthogonal,
    (
        Mistake("you forgot to divide by v @ v", _minus(lambda g, v: (g @ v) * v)),
        Mistake(
            "you divided by the length of v; divide by its square, v @ v", _minus(lambda g, v: (g @ v) / v.norm() * v)
        ),
        Mistake("the sign: take the parts along S away", lambda g, S: 2 * g - project_out(g, S)),
        Mistake(
            "you returned what lies along S; return what is left of g without it", lambda g, S: g - project_out(g, S)
        ),
        Mistake(
            "you left after the first vector of S: take away the part along each", lambda g, S: project_out(g, S[:1])
        ),
        Mistake(
            "only the last vector of S was taken away: go on from what is left, not from g",
            lambda g, S: project_out(g, S[-1:]),
        ),
        Mistake("you divided by g @ g; divide by v @ v", _minus(lambda g, v: (g @ v) / (g @ g) * v)),
        Mistake(
            "you took away only parts with a negative product; that is A-GEM's rule. OGD takes all of them away",
            _minus(lambda g, v: _proj(g, v) * (g @ v < 0)),
        ),
    ),
    probe=from_list,
)


def _bases(rng):
    yield tensor([[2, 0, 0]]), tensor([[1, 1, 0], [3, 3, 0], [1, 1, 1]])
    for turn in range(24):
        size = int(rng.integers(4, 7))
        old = torch.linalg.qr(tensor(rng.normal(size=(size, size)))).Q[:, : turn % 3].T * 2
        new = tensor(rng.normal(size=(int(rng.integers(1, 4)), size)).round(1))
        yield old, torch.cat([new, new[:1] * 2]) if turn % 4 == 3 else new


def directions(answer, S, gradients):
    """The vectors of the new basis, one long and all on the same side: their lengths and signs do not matter."""
    given = list(S)
    found = answer(given, list(gradients))
    if len(given) != len(S):
        raise Refused("it changes S itself: work on a copy, S = list(S), and return that")
    side = torch.tensor([2.0, 3, 5, 7, 11, 13]).double().sqrt()  # rounded numbers do not add up to 0 with these
    return [v / v.norm() * (1 if v @ side[: len(v)] >= 0 else -1) if v.norm() > 1e-9 else 0 * v for v in found]


def _appended(before):
    """Each gradient made orthogonal to some of those before it."""

    def answer(S, gradients):
        made, old = list(S), list(S)
        for u in gradients:
            v = project_out(u, before(made, old))
            if v.norm() > 1e-10 * u.norm():
                made.append(v)
        return made

    return answer


def _with_zeros(S, gradients):
    for u in gradients:
        S = [*S, u - sum((_proj(u, v) for v in S if v.norm() > 1e-9), start=0 * u)]
        S[-1] = S[-1] * (S[-1].norm() > 1e-9 * u.norm())
    return S


ADD_TO_BASIS = Exercise(
    add_to_basis,
    _bases,
    (
        Mistake(
            "you stored the gradients as they are; each must be made orthogonal to all before it",
            lambda S, gradients: [*S, *gradients],
        ),
        Mistake(
            "the new gradients must be orthogonal to each other too, not only to the old ones",
            _appended(lambda made, old: old),
        ),
        Mistake(
            "you made each orthogonal to the last one only; take away the parts along all",
            _appended(lambda made, old: made[-1:]),
        ),
        Mistake(
            "you forgot the old ones: the result must hold S as well", lambda S, gradients: add_to_basis([], gradients)
        ),
        Mistake(
            "you returned the new vectors only; the result must hold S as well, in front of them",
            lambda S, gradients: add_to_basis(S, gradients)[len(S) :],
        ),
        Mistake(
            "a gradient that adds nothing new leaves (nearly) zero, and you kept it: later you divide by its square",
            _with_zeros,
        ),
        Mistake("nothing was added", lambda S, gradients: S),
        Mistake("the first gradient went missing", lambda S, gradients: add_to_basis(S, gradients[1:])),
    ),
    probe=directions,
)


def _overlapping(rng):
    yield tensor([5, 7, 9]), tensor([[1, 0, 0], [1, 1, 0]])
    for _ in range(24):
        size = int(rng.integers(4, 8))
        yield (
            tensor(rng.normal(size=size).round(2)),
            tensor(rng.normal(size=(int(rng.integers(2, size - 1)), size)).round(2)),
        )


def _one_after_the_other(g, vectors):
    for v in vectors:
        g = g - _proj(g, v)
    return g


PROJECT_OFF_SPAN = Exercise(
    project_off_span,
    _overlapping,
    (
        Mistake(
            "this is the shortcut: the vectors overlap, and what they share is taken away more than once",
            lambda g, U: g - sum(_proj(g, v) for v in U),
        ),
        Mistake(
            "one after the other is not enough: taking the second part away brings some of the first one back",
            _one_after_the_other,
        ),
        Mistake(
            "you returned the part in the span; return what is left of g without it",
            lambda g, U: g - project_off_span(g, U),
        ),
        Mistake("the sign: take the part in the span away", lambda g, U: 2 * g - project_off_span(g, U)),
        Mistake("the last vector was left out", lambda g, U: project_off_span(g, U[:-1])),
        Mistake("g did not change", lambda g, U: g),
        Mistake(
            "b_i = u_i @ g was not divided by anything: solve K α = b for α",
            lambda g, U: g - sum((g @ v) * v for v in U),
        ),
    ),
    probe=from_list,
)

EXERCISES = (MODEL_GRADIENT, PROJECT_OUT, ADD_TO_BASIS, PROJECT_OFF_SPAN)

"""Lesson 2: A-GEM's projection, and a step of it."""

import torch

from tacl_lib.plain.agem import agem_step, project
from tacl_lib.plain.network import loss_gradient
from tacl_lib.teaching.checks.check import Mistake
from tacl_lib.teaching.lessons.exercise import Exercise
from tacl_lib.teaching.lessons.exercises.small import LR, batch, network_at, samples, tensor, weights


def _gradients(rng):
    yield tensor([1, 2]), tensor([2, -1])  # at a right angle: nothing to do
    for turn in range(30):
        size = 2 + turn // 10
        g, g_ref = tensor(rng.normal(size=size).round(2)), tensor(3 * rng.normal(size=size).round(2))
        conflict = -1 if turn % 2 else 1  # in turn, one that conflicts and one that does not
        yield g, g_ref * conflict * (1 if g @ g_ref > 0 else -1)
    yield tensor([1, 2]), tensor([0, 0])


def _in_conflict(remedy):
    return lambda g, r: remedy(g, r) if g @ r < 0 else g


def _along(g, r):
    return (g @ r) / (r @ r) * r


PROJECT = Exercise(
    project,
    _gradients,
    (
        Mistake(
            "you project always; where the product is not negative, g stays as it is", lambda g, r: g - _along(g, r)
        ),
        Mistake(
            "the condition is the wrong way round: project where the product is negative",
            lambda g, r: g - _along(g, r) if g @ r > 0 else g,
        ),
        Mistake(
            "with an empty memory g_ref may be zero, and you divide by its square: a product of 0 is not negative",
            lambda g, r: g - _along(g, r) if g @ r <= 0 else g,
        ),
        Mistake("you never project: where the product is negative, g must change", lambda g, r: g),
        Mistake("the sign: take the part along g_ref away", _in_conflict(lambda g, r: g + _along(g, r))),
        Mistake(
            "you divided by the length of g_ref; divide by its square, g_ref @ g_ref",
            _in_conflict(lambda g, r: g - (g @ r) / r.norm() * r),
        ),
        Mistake("you forgot to divide by g_ref @ g_ref", _in_conflict(lambda g, r: g - (g @ r) * r)),
        Mistake("you divided by g @ g; divide by g_ref @ g_ref", _in_conflict(lambda g, r: g - (g @ r) / (g @ g) * r)),
        Mistake(
            "you divided by both lengths; the part along g_ref needs g_ref @ g_ref",
            _in_conflict(lambda g, r: g - (g @ r) / (g.norm() * r.norm()) * r),
        ),
        Mistake("you returned the harmful part; take it away from g", _in_conflict(_along)),
        Mistake("you projected g_ref; g is what changes", _in_conflict(lambda g, r: r - (g @ r) / (g @ g) * g)),
        Mistake("you dropped g altogether; only its part along g_ref does harm", _in_conflict(lambda g, r: 0 * g)),
    ),
)


def _steps(rng):
    yield weights(rng), *batch(rng, 4), *batch(rng, 0), 0.1
    for turn in range(24):
        yield weights(rng), *batch(rng, 4), *batch(rng, int(rng.integers(2, 6)) if turn % 6 else 0), 0.1


def weights_after(step, w, x, y, x_memory, y_memory, lr):
    network = network_at(w)
    step(network, x, y, samples(x_memory, y_memory), lr)
    return network.w


def _agem(direction, empty=True):
    """A step with a direction of its own; empty: whether it allows for an empty reference."""

    def step(network, x, y, reference, lr):
        g = loss_gradient(network, x, y)
        if reference or not empty:
            x_ref, y_ref = (torch.stack(part) for part in zip(*reference, strict=True)) if reference else _nothing()
            g = direction(g, loss_gradient(network, x_ref, y_ref))
        network.w = network.w - lr * g

    return step


def _one_by_one(network, x, y, reference, lr):
    g = loss_gradient(network, x, y)
    for image, label in reference:
        g = project(g, loss_gradient(network, image[None], label[None]))
    network.w = network.w - lr * g


def _uphill(network, x, y, reference, lr):
    agem_step(network, x, y, reference, -lr)


def _nothing():
    return torch.stack([]), None  # what torch says of an empty list is what the student sees


AGEM_STEP = Exercise(
    agem_step,
    _steps,
    (
        Mistake("you do not look at the reference: this is plain SGD", _agem(lambda g, r: g)),
        Mistake(
            "at first the memory is empty, and an empty list cannot be stacked: then g stays as it is",
            _agem(project, empty=False),
            stops=True,
        ),
        Mistake("you stepped along g_ref; step along what is left of g", _agem(lambda g, r: r)),
        Mistake("you gave project its arguments in the wrong order", _agem(lambda g, r: project(r, g))),
        Mistake("you walked uphill: subtract lr times the direction", _uphill),
        Mistake(
            "you added both gradients; that is replay. A-GEM only takes away what does harm", _agem(lambda g, r: g + r)
        ),
        Mistake("you project at every step; only a negative product does harm", _agem(lambda g, r: g - _along(g, r))),
        Mistake(
            "where the gradients conflict you take no step; g without its harmful part is left",
            _agem(_in_conflict(lambda g, r: 0 * g)),
        ),
        Mistake(
            "you projected for one sample after the other; A-GEM has one constraint, the mean over the reference",
            _one_by_one,
        ),
        Mistake(
            "you stepped with LR, the default; use the parameter `lr`",
            lambda network, x, y, reference, lr: agem_step(network, x, y, reference, LR),
        ),
    ),
    probe=weights_after,
)

EXERCISES = (PROJECT, AGEM_STEP)

"""Lesson 5: A-GEM's and OGD's steps on the cluster memory."""

import torch

from tacl_lib.plain.agem import agem_step
from tacl_lib.plain.memory import ClusterMemory, PooledClusterMemory
from tacl_lib.plain.network import loss_gradient, model_gradient
from tacl_lib.plain.ogd import project_off_span, project_out
from tacl_lib.plain.ta_agem import ta_agem_step
from tacl_lib.plain.ta_ogd import ta_ogd_step
from tacl_lib.teaching.checks.check import Mistake
from tacl_lib.teaching.lessons.exercise import Exercise
from tacl_lib.teaching.lessons.exercises.small import LR, batch, network_at, samples, weights


def _agem_cases(rng):
    for turn in range(24):
        x, y = batch(rng, 4)
        yield weights(rng), x, y, *batch(rng, 0 if turn % 6 == 0 else 3), int(rng.integers(1, 4)), 0.1


def ta_agem_once(step, w, x, y, x_memory, y_memory, chosen, lr):
    """The weights after the step, and what each pool of the memory holds."""
    network, memory = network_at(w), PooledClusterMemory(2, Q=2, P=2)
    old = samples(x_memory, y_memory)
    for sample in old:
        memory.add(sample[0], int(sample[1]), sample)
    step(network, memory, x, y, old, chosen, lr)
    stored = [[(z, int(tag[1])) for cluster in pool.clusters for tag, z in cluster] for pool in memory.pools]
    return {"weights": network.w, "memory": [[[*z.tolist(), label] for z, label in pool] for pool in stored]}


def _ta_agem(step=agem_step, store=lambda memory, x, y, row: memory.add(x[row], int(y[row]), (x[row], y[row]))):
    def answer(network, memory, x, y, reference, chosen, lr):
        step(network, x, y, reference, lr)
        store(memory, x, y, chosen)

    return answer


def _sgd(network, x, y, reference, lr):
    agem_step(network, x, y, [], lr)


def _store_all(memory, x, y, row):
    for each in range(len(y)):
        memory.add(x[each], int(y[each]), (x[each], y[each]))


TA_AGEM_STEP = Exercise(
    ta_agem_step,
    _agem_cases,
    (
        Mistake("you do not look at the reference: this is plain SGD", _ta_agem(step=_sgd)),
        Mistake("the weights did not change: take A-GEM's step first", _ta_agem(step=lambda *_: None)),
        Mistake("nothing was stored: sample `chosen` of the batch joins the memory", _ta_agem(store=lambda *_: None)),
        Mistake("you stored the whole batch; one sample of it joins the memory", _ta_agem(store=_store_all)),
        Mistake(
            "you stored the first sample of the batch; store number `chosen`",
            _ta_agem(store=lambda memory, x, y, row: memory.add(x[0], int(y[0]), (x[0], y[0]))),
        ),
        Mistake(
            "every class has a pool of its own: give memory.add the label of the sample",
            _ta_agem(store=lambda memory, x, y, row: memory.add(x[row], 0, (x[row], y[row]))),
        ),
        Mistake(
            "you forgot `lr`: it was 0.1 here, and the step has another length",
            _ta_agem(step=lambda network, x, y, reference, lr: agem_step(network, x, y, reference)),
        ),
        Mistake(
            "you stepped with LR, the default; hand on the parameter `lr`",
            _ta_agem(step=lambda network, x, y, reference, lr: agem_step(network, x, y, reference, LR)),
        ),
        Mistake(
            "the tag is what references are made of: give memory.add the pair (image, label) as the last argument",
            _ta_agem(store=lambda memory, x, y, row: memory.add(x[row], int(y[row]))),
        ),
    ),
    probe=ta_agem_once,
)


def _ogd_cases(rng):
    for turn in range(24):
        x, y = batch(rng, 4)
        yield weights(rng), x, y, *batch(rng, 0 if turn % 6 == 0 else 4), int(rng.integers(1, 4)), 0.1


def ta_ogd_once(step, w, x, y, x_memory, y_memory, chosen, lr):
    """The weights after the step, and all that is stored; the memory began with gradients at other weights."""
    network, memory = network_at(0.9 * w), ClusterMemory(Q=2, P=2)
    for sample_x, label in zip(x_memory, y_memory, strict=True):
        memory.add(model_gradient(network, sample_x, int(label)))
    network.w = w
    step(network, memory, x, y, chosen, lr)
    return {"weights": network.w, "memory": [z.tolist() for z in memory.vectors()]}


def _ta_ogd(
    project=project_off_span, store=lambda network, x, j: model_gradient(network, x, j), early=False, empty=True
):
    def answer(network, memory, x, y, chosen, lr):
        g = loss_gradient(network, x, y)
        stored = store(network, x[chosen], int(y[chosen])) if early else None
        if memory.clusters or not empty:
            g = project(g, memory.vectors())
        network.w = network.w - lr * g
        stored = stored if early else store(network, x[chosen], int(y[chosen]))
        if stored is not None:
            memory.add(stored)

    return answer


TA_OGD_STEP = Exercise(
    ta_ogd_step,
    _ogd_cases,
    (
        Mistake("you never project: step off the span of memory.vectors()", _ta_ogd(project=lambda g, stored: g)),
        Mistake(
            "stored gradients overlap, so project_out overshoots; use project_off_span",
            _ta_ogd(project=project_out),
        ),
        Mistake(
            "at first the memory is empty: then g stays as it is",
            _ta_ogd(empty=False),
            stops=True,
        ),
        Mistake("nothing was stored", _ta_ogd(store=lambda *_: None)),
        Mistake("store the gradient at the new weights, after the step", _ta_ogd(early=True)),
        Mistake(
            "you stored the gradient of the loss; OGD stores model gradients",
            _ta_ogd(store=lambda network, x, j: loss_gradient(network, x[None], torch.tensor([j]))),
        ),
        Mistake(
            "you stored the gradient of another logit; take that of the label",
            _ta_ogd(store=lambda network, x, j: model_gradient(network, x, 1 - j)),
        ),
        Mistake(
            "you stepped along the stored gradients; step along what is left of g",
            _ta_ogd(project=lambda g, U: g - project_off_span(g, U)),
        ),
        Mistake(
            "you stepped with LR, the default; use the parameter `lr`",
            lambda network, memory, x, y, chosen, lr: ta_ogd_step(network, memory, x, y, chosen, LR),
        ),
    ),
    probe=ta_ogd_once,
)


EXERCISES = (TA_AGEM_STEP, TA_OGD_STEP)

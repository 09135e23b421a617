"""The plain learners along handed-in random choices, with all that they did written down.

Conventions. `weights`, `biases`: initial parameters in the library's convention (see models.py). `batches`:
list of (x [n, d], y [n] integers); one batch is one training step t = 0, 1, ... A sample is (x [d], y).
Every function returns a `Run`.
"""

from dataclasses import dataclass, field

import numpy as np
import torch

from tacl_lib.plain import bgd as plain_bgd
from tacl_lib.plain.agem import agem_step, project
from tacl_lib.plain.memory import ClusterMemory, PooledClusterMemory
from tacl_lib.plain.network import Network, loss_gradient, model_gradient, stable_loss
from tacl_lib.plain.ogd import add_to_basis, ogd_step
from tacl_lib.plain.sgd import sgd_step
from tacl_lib.plain.ta_agem import ta_agem_step
from tacl_lib.plain.ta_ogd import ta_ogd_step

from . import models


def build(weights, biases):
    """A plain network with these parameters, in float64."""
    network = Network([weights[0].shape[0], *(weight.shape[1] for weight in weights)])
    network.w = torch.tensor(np.concatenate([np.ravel(part) for part in [*weights, *biases]]), dtype=torch.float64)
    return network


def as_lists(network, w=None):
    """(weights [in, out], biases [out]) as NumPy arrays."""
    layers = network.layers(network.w if w is None else w)
    return [weight.numpy() for weight, _ in layers], [bias.numpy() for _, bias in layers]


def flat(network, w=None):
    """The p-vector in the order of `models`."""
    return models.flat_from_lists(*as_lists(network, w)).numpy()


@dataclass
class Run:
    """What a learner did. Lists have one entry for each step; `path[t]` is w AFTER step t (flat order)."""

    path: list = field(default_factory=list)
    projected: list = field(default_factory=list)
    losses: list = field(default_factory=list)  # batch loss before the update
    lrs: list = field(default_factory=list)  # learning rate the update used
    memory: object = None  # what the learner stored, at the end
    std_path: list = field(default_factory=list)  # BGD only: σ

    def step(self, network, x, y, lr, take):
        """Write down a step; take(x, y) takes it. It projected if w did not move along minus the gradient."""
        x, y = torch.as_tensor(np.asarray(x), dtype=torch.float64), torch.as_tensor(np.asarray(y)).long()
        self.losses.append(float(stable_loss(network.f(x), y)))
        plain_way = network.w - lr * loss_gradient(network, x, y)
        take(x, y)
        self.path.append(flat(network))
        self.projected.append(not torch.equal(network.w, plain_way))
        self.lrs.append(float(lr))


def _schedule(scheduler, loss, lr, schedule_first):
    """(learning rate of this update, learning rate carried to the next step)."""
    if scheduler is None:
        return lr, lr
    new = scheduler.step(loss, lr)
    return (new if schedule_first else lr), new


def _loss(network, x, y):
    return float(stable_loss(network.f(np.asarray(x)), torch.as_tensor(np.asarray(y)).long()))


def sgd(weights, biases, batches, lr):
    return sgd_lr_adapt(weights, biases, batches, lr, scheduler=None)


def sgd_lr_adapt(weights, biases, batches, lr, scheduler, schedule_first=True):
    """schedule_first: this update uses the scheduler's new rate; otherwise the next one does."""
    network, run = build(weights, biases), Run()
    for x, y in batches:
        used, lr = _schedule(scheduler, _loss(network, x, y), lr, schedule_first)
        run.step(network, x, y, used, lambda x, y, used=used: sgd_step(network, x, y, used))
    return run


def sample(x, y):
    return torch.as_tensor(np.asarray(x), dtype=torch.float64), torch.as_tensor(int(y))


def agem_walk(network, run, x, y, lr, reference):
    """One step of A-GEM; `reference` is M̃, a list of samples."""
    reference = [sample(*pair) for pair in reference]
    run.step(network, x, y, lr, lambda x, y: agem_step(network, x, y, reference, lr))


def agem_direction(g, g_ref):
    """(g̃, projected?)."""
    return project(g, g_ref), bool(g @ g_ref < 0)


def agem(weights, biases, tasks, lr, memory_picks, reference_picks):
    """Algorithm 1 (A-GEM). tasks[k] = the batches of task k (all its epochs).

    After task k the samples memory_picks[k] join M in that order (M only grows). At step t (counted through
    all tasks) M̃ = M[i] for i in reference_picks[t]; while M is empty the picks are ignored, and with empty
    picks there is no projection. `Run.memory` is M.
    """
    network, run, memory, t = build(weights, biases), Run(), [], 0
    for k, batches in enumerate(tasks):
        for x, y in batches:
            agem_walk(network, run, x, y, lr, [memory[i] for i in reference_picks[t]] if memory else [])
            t += 1
        memory.extend(memory_picks[k])
    run.memory = memory
    return run


def ta_agem(weights, biases, batches, lr, pools, Q, P, sampled_rows, reference_picks):
    """TA-A-GEM. Step t: M̃ = the stored samples whose tags are listed in reference_picks[t] (a tag is the step at
    which the sample was added; empty list or None = no projection; a tag no longer stored is a KeyError); then row
    sampled_rows[t] of the batch (None = no sample) joins. `Run.memory` holds those tags.
    """
    network, run, memory = build(weights, biases), Run(), PooledClusterMemory(pools, Q, P)
    for t, (x, y) in enumerate(batches):
        stored = dict(memory.tags())
        reference = [stored[tag] for tag in reference_picks[t] or []]
        if sampled_rows[t] is None:
            agem_walk(network, run, x, y, lr, reference)
        else:
            tagged = _Tagged(memory, t)
            run.step(
                network, x, y, lr,
                lambda x, y, r=reference, m=tagged, t=t: ta_agem_step(network, m, x, y, r, sampled_rows[t], lr),
            )  # fmt: skip
    for pool in memory.pools:
        pool.clusters = [[(tag[0], z) for tag, z in cluster] for cluster in pool.clusters]
    run.memory = memory
    return run


@dataclass
class _Tagged:
    """A memory that also notes at which step a sample came."""

    memory: object
    step: int

    def add(self, z, label, tag):
        return self.memory.add(z, label, (self.step, tag))


def ogd(weights, biases, tasks, lr, gradient_samples, scheduler=None, schedule_first=True):
    """Algorithm 2 (OGD). tasks[k] = the batches of task k (all its epochs).

    After task k the model gradients at the samples gradient_samples[k], at the weights the task ended with, join S.
    `projected` says S was not empty. `Run.memory` is S (list of p-vectors).
    """
    network, run, S = build(weights, biases), Run(), []
    for k, batches in enumerate(tasks):
        for x, y in batches:
            used, lr = _schedule(scheduler, _loss(network, x, y), lr, schedule_first)
            run.step(network, x, y, used, lambda x, y, used=used, S=S: ogd_step(network, x, y, S, used))
            run.projected[-1] = len(S) > 0
        S = add_to_basis(S, [model_gradient(network, *sample(*pair)) for pair in gradient_samples[k]])
    run.memory = S
    return run


def ta_ogd(weights, biases, batches, lr, Q, P, sampled_rows, scheduler=None, schedule_first=True):
    """TA-OGD. Step t stores the gradient of row sampled_rows[t] (None = nothing), with the tag t.

    `projected` says the memory was not empty. `Run.memory` is the ClusterMemory.
    """
    network, run, memory = build(weights, biases), Run(), ClusterMemory(Q, P)
    for t, (x, y) in enumerate(batches):
        used, lr = _schedule(scheduler, _loss(network, x, y), lr, schedule_first)
        projected, row = bool(memory.clusters), sampled_rows[t]
        noted = _OneRow(memory, t, row is not None)
        run.step(
            network, x, y, used, lambda x, y, m=noted, r=row or 0, used=used: ta_ogd_step(network, m, x, y, r, used)
        )
        run.projected[-1] = projected
    memory.clusters = [[(tag, flat(network, z)) for tag, z in cluster] for cluster in memory.clusters]
    run.memory = memory
    return run


@dataclass
class _OneRow:
    """A memory that notes the step at which a gradient came, and takes none where nothing is sampled."""

    memory: ClusterMemory
    step: int
    stores: bool

    @property
    def clusters(self):
        return self.memory.clusters

    def vectors(self):
        return self.memory.vectors()

    def add(self, z):
        if self.stores:
            self.memory.add(z, self.step)


def bgd(means, stds, batches, noises, eta, batch_loss="mean"):
    """`means`, `stds`: (weights, biases); noises[t][k]: (weights, biases) with the normal draw number k of step t.

    `Run.path` holds μ, `std_path` σ; `losses` are averaged over the draws.
    """
    assert batch_loss in ("mean", "sum")
    network, run = build(*means), Run()
    mu, sigma = network.w, build(*stds).w
    for (x, y), draws in zip(batches, noises, strict=True):
        x, y = torch.as_tensor(np.asarray(x), dtype=torch.float64), torch.as_tensor(np.asarray(y)).long()
        drawn = [build(*draw).w for draw in draws]
        run.losses.append(np.mean([float(stable_loss(network.f(x, mu + e * sigma), y)) for e in drawn]))
        mu, sigma = plain_bgd.bgd_step(network, mu, sigma, x, y, drawn, eta, batch_loss)
        run.path.append(flat(network))
        run.std_path.append(flat(network, sigma))
        run.projected.append(False)
        run.lrs.append(float(eta))
    return run

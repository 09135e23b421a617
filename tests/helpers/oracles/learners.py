"""The learners of the paper, literally. Every random choice is handed in.

Conventions. `weights`, `biases`: initial parameters in the library's convention (see models.py). `batches`:
list of (x [n, d], y [n] integers); one batch is one training step t = 0, 1, ... A sample is (x [d], y).
Every function returns a `Run`.
"""

from dataclasses import dataclass, field

import numpy as np
import torch

from . import models
from .cluster_memory import ClusterMemory, PooledClusterMemory


@dataclass
class Run:
    """What a learner did. Lists have one entry for each step; `path[t]` is w AFTER step t (flat order)."""

    weights: list = None
    biases: list = None
    path: list = field(default_factory=list)
    projected: list = field(default_factory=list)
    losses: list = field(default_factory=list)  # batch loss before the update
    lrs: list = field(default_factory=list)  # learning rate the update used
    memory: object = None  # what the learner stored, at the end
    std_weights: list = None  # BGD only: σ, as lists and step by step
    std_biases: list = None
    std_path: list = field(default_factory=list)

    def record(self, model, projected, loss, lr):
        self.path.append(models.flat_parameters(model).numpy())
        self.projected.append(bool(projected))
        self.losses.append(float(loss))
        self.lrs.append(float(lr))

    def close(self, model, memory=None):
        self.weights, self.biases = models.parameters_as_lists(model)
        self.memory = memory
        return self


def _loss_and_gradient(model, x, y):
    loss = models.loss(model, x, y)
    return float(loss.detach()), models.flat_grad(loss, model)


def _schedule(scheduler, loss, lr, schedule_first):
    """(learning rate of this update, learning rate carried to the next step)."""
    if scheduler is None:
        return lr, lr
    new = scheduler.step(loss, lr)
    return (new if schedule_first else lr), new


def sgd(weights, biases, batches, lr):
    """SGD: w <- w - η ∇L_t(w)."""
    return sgd_lr_adapt(weights, biases, batches, lr, scheduler=None)


def sgd_lr_adapt(weights, biases, batches, lr, scheduler, schedule_first=True):
    """SGD with the box 'Learning Rate Scheduler', stepped once each training step with the batch loss at the
    weights before the update. schedule_first: this update uses the new rate; otherwise the next one does.
    """
    model, run = models.build(weights, biases), Run()
    for x, y in batches:
        loss, g = _loss_and_gradient(model, x, y)
        used, lr = _schedule(scheduler, loss, lr, schedule_first)
        models.add_to_params(model, -used * g)
        run.record(model, False, loss, used)
    return run.close(model)


def agem_direction(g, g_ref):
    """Algorithm 1, lines 6-11, eq. (referencegradientprojection): (g̃, projected?)."""
    product = torch.dot(g, g_ref)
    if product >= 0:
        return g, False
    g_proj = product / torch.dot(g_ref, g_ref) * g_ref
    return g - g_proj, True


def _agem_step(model, run, x, y, lr, reference):
    """One A-GEM step; `reference` is M̃, a list of samples, and if it is empty the step is plain SGD."""
    loss, g = _loss_and_gradient(model, x, y)
    projected = False
    if reference:
        x_ref = np.stack([np.asarray(sample[0]) for sample in reference])
        y_ref = np.array([int(sample[1]) for sample in reference])
        g, projected = agem_direction(g, models.loss_gradient(model, x_ref, y_ref))
    models.add_to_params(model, -lr * g)
    run.record(model, projected, loss, lr)


def agem(weights, biases, tasks, lr, memory_picks, reference_picks):
    """Algorithm 1 (A-GEM). tasks[k] = the batches of task k (all its epochs).

    After task k the samples memory_picks[k] join M in that order (M only grows). At step t (counted through
    all tasks) M̃ = M[i] for i in reference_picks[t]; while M is empty the picks are ignored, and with empty
    picks there is no projection. `Run.memory` is M.
    """
    model, run, memory, t = models.build(weights, biases), Run(), [], 0
    for k, batches in enumerate(tasks):
        for x, y in batches:
            reference = [memory[i] for i in reference_picks[t]] if memory else []
            _agem_step(model, run, x, y, lr, reference)
            t += 1
        memory.extend(memory_picks[k])
    return run.close(model, memory)


def ta_agem(weights, biases, batches, lr, pools, Q, P, sampled_rows, reference_picks):
    """TA-A-GEM, section 3.1: Algorithm 1's step, with M kept by Algorithm 3, one pool for each class.

    Step t: M̃ = the stored samples whose tags are listed in reference_picks[t] (a tag is the step at which
    the sample was added; empty list or None = no projection; a tag no longer stored is a KeyError); A-GEM
    step; THEN row sampled_rows[t] of the batch (None = no sample) joins the pool of its class with z = x.
    `Run.memory` is the PooledClusterMemory.
    """
    model, run = models.build(weights, biases), Run()
    memory, samples = PooledClusterMemory(pools, Q, P), {}
    for t, (x, y) in enumerate(batches):
        picks = reference_picks[t] or []
        stored = {tag: samples[tag] for tag in memory.tags()}
        _agem_step(model, run, x, y, lr, [stored[tag] for tag in picks])
        row = sampled_rows[t]
        if row is not None:
            samples[t] = (np.array(x[row], dtype=np.float64), int(y[row]))
            memory.add(samples[t][0], samples[t][1], tag=t)
    return run.close(model, memory)


def project_out(g, S):
    """Algorithm 2, lines 5-6 (and 10-11): g - Σ_{v in S} (g·v / v·v) v, S orthogonal but not normalised."""
    g_proj = torch.zeros_like(g)
    for v in S:
        g_proj = g_proj + torch.dot(g, v) / torch.dot(v, v) * v
    return g - g_proj


def ogd(weights, biases, tasks, lr, gradient_samples, scheduler=None, schedule_first=True, residual_cutoff=1e-10):
    """Algorithm 2 (OGD). tasks[k] = the batches of task k (all its epochs).

    After task k the model gradients ∇f_y(x; w) at the samples gradient_samples[k], at the weights the task
    ended with, are made orthogonal to S (classical Gram-Schmidt, one pass, as in the box) and join S; one
    whose residual is below residual_cutoff times its own norm is skipped. `projected` says S was not empty.
    `Run.memory` is S (list of p-vectors, torch).
    """
    model, run, S = models.build(weights, biases), Run(), []
    for k, batches in enumerate(tasks):
        for x, y in batches:
            loss, g = _loss_and_gradient(model, x, y)
            used, lr = _schedule(scheduler, loss, lr, schedule_first)
            models.add_to_params(model, -used * project_out(g, S))
            run.record(model, len(S) > 0, loss, used)
        for x, y in gradient_samples[k]:
            f = models.model_gradient(model, x, y)
            u = project_out(f, S)
            if torch.linalg.norm(u) > residual_cutoff * torch.linalg.norm(f):
                S.append(u)
    return run.close(model, S)


def orthonormal_basis(vectors, cutoff):
    """Columns: left singular vectors of [v_1 ... v_N] with singular value > cutoff * the largest one."""
    left, singular, _ = torch.linalg.svd(torch.stack(vectors, dim=1), full_matrices=False)
    return left[:, singular > cutoff * singular[0]]


def ta_ogd(weights, biases, batches, lr, Q, P, sampled_rows, scheduler=None, schedule_first=True, cutoff=1e-10):
    """TA-OGD, section 3.1: Algorithm 2's step with respect to ALL gradients Algorithm 3 stores now, one pool.

    Step t: g̃ = g - U Uᵀ g, U an orthonormal basis of the span of everything stored; update; then the dense
    model gradient ∇f_y at row sampled_rows[t] (None = nothing), at the UPDATED weights, is added with
    Algorithm 3 (z = the p-vector, tag = t). `projected` says the memory was not empty. `Run.memory` is the
    ClusterMemory.
    """
    model, run, memory = models.build(weights, biases), Run(), ClusterMemory(Q, P)
    for t, (x, y) in enumerate(batches):
        loss, g = _loss_and_gradient(model, x, y)
        used, lr = _schedule(scheduler, loss, lr, schedule_first)
        stored = [torch.tensor(z) for z in memory.vectors()]
        if stored:
            U = orthonormal_basis(stored, cutoff)
            g = g - U @ (U.T @ g)
        models.add_to_params(model, -used * g)
        run.record(model, len(stored) > 0, loss, used)
        row = sampled_rows[t]
        if row is not None:
            memory.add(models.model_gradient(model, x[row], y[row]).numpy(), tag=t)
    return run.close(model, memory)


def bgd(means, stds, batches, noises, eta, batch_loss="mean"):
    """Bayesian Gradient Descent (Zeno et al. 2018, Algorithm 1), diagonal Gaussian N(μ, σ²) on every weight.

    `means`, `stds`: (weights, biases) in the library's convention; noises[t][k]: (weights, biases) with the
    standard normal draw ε number k of step t. With g = gradient of the batch loss at w = μ + ε σ and E the
    mean over the K draws:  μ <- μ - η σ² E[g],  σ <- σ sqrt(1 + (½ σ E[g ε])²) - ½ σ² E[g ε], both from the
    old μ and σ.

    Normalisation: batch_loss="mean" is the mean over the batch, this paper's eq. (softmaxloss). Zeno et al.
    derive the rule for the log-likelihood of the whole batch, a SUM, and the authors' own optimiser
    (igolan/bgd, aggregate_grads) multiplies the mean gradient by the batch size: batch_loss="sum". That is
    not only a change of η, because the σ rule has no η.

    `Run.weights, biases, path` hold μ; `std_weights, std_biases, std_path` hold σ; `losses` the mean-over-
    batch loss, averaged over the draws.
    """
    assert batch_loss in ("mean", "sum")
    mu, sigma = models.flat_from_lists(*means), models.flat_from_lists(*stds)
    model, run = models.build(*means), Run()
    for (x, y), draws in zip(batches, noises, strict=True):
        factor = len(y) if batch_loss == "sum" else 1
        g_sum, g_eps_sum, loss_sum = torch.zeros_like(mu), torch.zeros_like(mu), 0.0
        for draw in draws:
            epsilon = models.flat_from_lists(*draw)
            models.set_params(model, mu + epsilon * sigma)
            loss, g = _loss_and_gradient(model, x, y)
            g_sum = g_sum + factor * g
            g_eps_sum = g_eps_sum + factor * g * epsilon
            loss_sum += loss
        e_g, e_g_eps = g_sum / len(draws), g_eps_sum / len(draws)
        mu = mu - eta * sigma**2 * e_g
        sigma = sigma * torch.sqrt(1 + (0.5 * sigma * e_g_eps) ** 2) - 0.5 * sigma**2 * e_g_eps
        models.set_params(model, mu)
        run.record(model, False, loss_sum / len(draws), eta)
        run.std_path.append(sigma.numpy().copy())
    run.std_weights, run.std_biases = models.lists_from_flat(sigma, *stds)
    return run.close(model)

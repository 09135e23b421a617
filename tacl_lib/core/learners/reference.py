"""The A-GEM step, shared by A-GEM and TA-A-GEM: a gradient that must not harm a reference batch."""

from itertools import pairwise

import torch

from tacl_lib.core.learners.base import Step
from tacl_lib.engine.gradients import dot, formed, of_runs, products, terms
from tacl_lib.engine.network import Gradient, Network, cross_entropy
from tacl_lib.engine.sample_pool import SamplePool
from tacl_lib.errors import TaclError


def agem_step(
    network: Network,
    rate: float,
    x: torch.Tensor,
    y: torch.Tensor,
    reference_x: torch.Tensor,
    reference_y: torch.Tensor,
    weight: torch.Tensor,
) -> Step:
    """One step of A-GEM.

    g = ∇L(w) and g_ref = ∇L_ref(w) go through the network as one batch. If ⟨g, g_ref⟩ < 0, the step is
    along g̃ = g - (⟨g, g_ref⟩ / ⟨g_ref, g_ref⟩) g_ref, else along g. (Samples that are learnt so well that
    ⟨g_ref, g_ref⟩ is 0 in float32 have nothing left to protect.)

    reference_x ``[R, m, features]``, reference_y ``[R, m]``; weight ``[R, m]``: of each in L_ref; zeros are
    places that hold nothing.
    """
    network.check_batch(x, y)
    count = x.shape[1]
    losses, gradient = network.loss_gradient(
        torch.cat([x, reference_x], dim=1), torch.cat([y, reference_y], dim=1), _with_batch(weight, count)
    )
    # As gradients are sums over samples, g̃ is a batch in which the reference samples count with a factor.
    reference = terms(gradient, count)
    overlaps = products(gradient, reference)
    overlap = overlaps[:, :count].sum((1, 2))  # ⟨g, g_ref⟩
    square = overlaps[:, count:].sum((1, 2))  # ⟨g_ref, g_ref⟩
    conflict = overlap < 0
    factor = torch.where(conflict & (square > 0), -overlap / square, 0.0)
    for delta in reference.deltas:  # views: the terms in ``gradient`` change with them
        delta.mul_(factor.view(-1, 1, 1))
    network.add(gradient, -rate)
    return Step(losses[:, :count].sum(1), rate, conflict)


def pooled_agem_step(
    pool: SamplePool,
    rate: float,
    x: torch.Tensor,
    y: torch.Tensor,
    places: torch.Tensor,
    reference_y: torch.Tensor,
    weight: torch.Tensor,
) -> Step:
    """`agem_step` with many reference samples, ``places [R, m]`` of a pool: the same in less time.

    With many samples it is cheaper to form g_ref than to compare all their pairs, except in the first layer, where the
    pool knows all inner products of inputs.
    """
    network, count, rows = pool.network, x.shape[1], pool.rows
    network.check_batch(x, y)
    along = pool.along(x)
    out = torch.cat([pool.first_layer(x, along), rows.read(pool.out, places)], dim=1)
    inputs, logits = network.after_first_layer(out)
    losses, delta = cross_entropy(logits, torch.cat([y, reference_y], dim=1), _with_batch(weight, count))
    first, *others = network.backward([x, *inputs], delta)
    batch, reference = (terms(Gradient(inputs, others), *part) for part in ((0, count), (count,)))

    # In the first layer: the deltas of the reference samples at their places in the pool, 0 elsewhere.
    of_pool = torch.zeros_like(pool.out)
    rows.write(of_pool, places, first[:, count:])
    overlap = (torch.bmm(first[:, :count], of_pool.mT) * along).sum((1, 2)) + dot(batch, reference)  # ⟨g, g_ref⟩
    conflict = overlap < 0
    network.add(Gradient([x, *batch.inputs], [first[:, :count], *batch.deltas]), -rate)
    pool.follow(along, first[:, :count], -rate)

    # On a CPU only runs in conflict form g_ref; a GPU must not wait to hear which they are.
    runs = torch.arange(len(conflict), device=x.device) if x.is_cuda else conflict.nonzero().squeeze(1)
    of_pool, parts = of_pool[runs], formed(of_runs(reference, runs))
    change = torch.bmm(pool.gram[runs], of_pool)
    square = sum((part.square().sum((1, 2)) for part in parts), (of_pool * change).sum((1, 2)))  # ⟨g_ref, g_ref⟩
    factor = torch.where(conflict[runs] & (square > 0), overlap[runs] / square, 0.0) * rate
    pool.owe(runs, of_pool, change, factor)
    for parameter, part in zip((*network.weights[1:], *network.biases[1:]), parts, strict=True):
        parameter.index_add_(0, runs, part.mul_(factor.view(-1, 1, 1)))
    return Step(losses[:, :count].sum(1), rate, conflict)


def _with_batch(weight: torch.Tensor, count: int) -> torch.Tensor:
    """The weights of ``count`` samples of a batch, which count alike, before those of the reference samples."""
    return torch.cat([torch.full_like(weight[:, :1], 1 / count).expand(-1, count), weight], dim=1)


def pool_for(network: Network, x: torch.Tensor, size: int | None) -> SamplePool | None:
    """A pool of the stored samples ``x [R, capacity, features]``, where `pooled_agem_step` is the faster one."""
    return SamplePool(network, x) if pool_pays(network, reference_size(size, x.shape[1])) else None


def pool_pays(network: Network, samples: int) -> bool:
    """Whether `pooled_agem_step` takes less time than `agem_step`, with so many reference samples.

    It is written for networks with a hidden layer.
    """
    numbers = samples * sum(a + b for a, b in pairwise(network.sizes))  # in the outer products of all samples
    return len(network.sizes) > 2 and numbers >= network.parameter_count


def pool_state(pool: SamplePool | None) -> dict:
    """What a checkpoint needs of a pool, or of none."""
    return pool.state() if pool else {}


def load_pool(pool: SamplePool | None, state: dict) -> None:
    """Go on with a pool, or with none, from what `pool_state` gave."""
    if bool(state) != bool(pool):  # what one owes to the weights, the other would not know
        raise TaclError(
            "this state is of another reference batch, or of another version of the kit; start from the beginning."
        )
    if pool:
        pool.load_state(state)


def reference_size(size: int | None, capacity: int) -> int:
    """Of a batch that should have ``size`` samples, None for all, from so many places."""
    return capacity if size is None else min(size, capacity)


def draw(filled: torch.Tensor, size: int | None, uniform: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw a reference batch without replacement from the filled places of a memory.

    filled: bool ``[R, capacity]``; uniform: ``[R, capacity]``; size: of the batch, None for the whole memory.
    Returns places ``[R, m]`` and weights ``[R, m]`` that sum to 1 in each run that has anything (else to 0).
    """
    # The places with the largest random keys are a random subset; empty places come last.
    keys = torch.where(filled, uniform, -1.0)
    values, places = keys.topk(reference_size(size, filled.shape[1]), dim=1)
    there = (values >= 0).float()
    return places, there / there.sum(1, keepdim=True).clamp(min=1)

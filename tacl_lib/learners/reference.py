"""The A-GEM step, shared by A-GEM and TA-A-GEM: a gradient that must not harm a reference batch."""

import torch

from tacl_lib.gradients import dot, few_terms, formed, of_runs, products, terms
from tacl_lib.learners.base import Step
from tacl_lib.network import Network


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
    along g̃ = g - (⟨g, g_ref⟩ / ⟨g_ref, g_ref⟩) g_ref, else along g.

    reference_x ``[R, m, features]``, reference_y ``[R, m]``; weight ``[R, m]``: of each in L_ref; zeros are
    places that hold nothing.
    """
    network.check_batch(x, y)
    count = x.shape[1]
    weights = torch.cat([torch.full_like(weight[:, :1], 1 / count).expand(-1, count), weight], dim=1)
    losses, gradient = network.loss_gradient(
        torch.cat([x, reference_x], dim=1), torch.cat([y, reference_y], dim=1), weights
    )
    batch, reference = terms(gradient, 0, count), terms(gradient, count)
    if few_terms(gradient):
        # As gradients are sums over samples, g̃ is a batch in which the reference samples count with a factor.
        overlaps = products(gradient, reference)
        overlap = overlaps[:, :count].sum((1, 2))  # ⟨g, g_ref⟩
        square = overlaps[:, count:].sum((1, 2))  # ⟨g_ref, g_ref⟩
        conflict = overlap < 0
        factor = torch.where(conflict, -overlap / square, 0.0)
        for delta in reference.deltas:  # views: the terms in ``gradient`` change with them
            delta.mul_(factor.view(-1, 1, 1))
        network.add(gradient, -rate)
    else:
        # Many samples: to form g_ref is cheaper than to compare all their pairs, but still half of the step. On a
        # CPU only runs in conflict do it; a GPU must not wait to hear which they are.
        overlap = dot(batch, reference)
        conflict = overlap < 0
        runs = torch.arange(len(conflict), device=x.device) if x.is_cuda else conflict.nonzero().squeeze(1)
        parts = formed(of_runs(reference, runs))
        square = sum(part.square().sum((1, 2)) for part in parts)
        factor = torch.where(conflict[runs], -overlap[runs] / square, 0.0)
        network.add(batch, -rate)
        for parameter, part in zip((*network.weights, *network.biases), parts, strict=True):
            parameter.index_add_(0, runs, part.mul_(factor.view(-1, 1, 1)), alpha=-rate)
    return Step(losses[:, :count].sum(1), rate, conflict)


def draw(filled: torch.Tensor, size: int | None, uniform: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw a reference batch without replacement from the filled places of a memory.

    filled: bool ``[R, capacity]``; uniform: ``[R, capacity]``; size: of the batch, None for the whole memory.
    Returns places ``[R, m]`` and weights ``[R, m]`` that sum to 1 in each run that has anything (else to 0).
    """
    # The places with the largest random keys are a random subset; empty places come last.
    keys = torch.where(filled, uniform, -1.0)
    size = filled.shape[1] if size is None else min(size, filled.shape[1])
    values, places = keys.topk(size, dim=1)
    there = (values >= 0).float()
    return places, there / there.sum(1, keepdim=True).clamp(min=1)

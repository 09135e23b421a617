"""Gradients as outer products: inner products and sums without ever forming a vector of length p.

The gradient of one sample in a linear layer is ``input ⊗ delta``. So a stored gradient of a 784-200-200-10
network needs 1,594 numbers instead of 199,210, and inner products follow from those of the factors.
"""

import torch

from tacl_lib.engine.network import Gradient


def products(left: Gradient, right: Gradient, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Inner products of the single terms of two gradients: ``[R, n, m]``.

    ⟨u, v⟩ = Σ_l (δ_l · δ'_l)(a_l · a'_l + 1); the 1 is the bias.
    """
    total = 0
    for given, delta, other_given, other_delta in zip(*left, *right, strict=True):
        of_inputs = torch.bmm(given.to(dtype), other_given.to(dtype).mT)
        of_deltas = torch.bmm(delta.to(dtype), other_delta.to(dtype).mT)
        total = torch.addcmul(of_deltas, of_deltas, of_inputs) + total
    return total


def dot(left: Gradient, right: Gradient) -> torch.Tensor:
    """Inner product of two gradients, each the sum of its terms: ``[R]``."""
    return products(left, right).sum((1, 2))


def terms(gradient: Gradient, start: int, stop: int | None = None) -> Gradient:
    """The terms of a gradient from ``start`` to before ``stop``: views, not copies."""
    return Gradient(*([tensor[:, start:stop] for tensor in part] for part in gradient))


def of_runs(gradient: Gradient, runs: torch.Tensor) -> Gradient:
    """The gradients of some runs, int64 ``[k]``."""
    return Gradient(*([tensor[runs] for tensor in part] for part in gradient))


def scaled(gradient: Gradient, factor: torch.Tensor) -> Gradient:
    """Each term times its factor, ``[R, n]`` or ``[R, 1]``."""
    return Gradient(gradient.inputs, [delta * factor.unsqueeze(2) for delta in gradient.deltas])


def formed(gradient: Gradient) -> list[torch.Tensor]:
    """The sum of all terms, laid out as the parameters: weights ``[R, in, out]``, then biases ``[R, 1, out]``."""
    weights = [torch.bmm(given.mT, delta) for given, delta in zip(*gradient, strict=True)]
    return weights + [delta.sum(1, keepdim=True) for delta in gradient.deltas]


def dense(gradient: Gradient) -> torch.Tensor:
    """The sum of all terms as a vector ``[R, p]``: weights of every layer, then biases. For lessons and tests."""
    return torch.cat([part.flatten(1) for part in formed(gradient)], dim=1)

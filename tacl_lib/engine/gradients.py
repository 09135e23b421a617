"""Gradients as outer products: inner products and sums without ever forming a vector of length p.

The gradient of one sample in a linear layer is ``input ⊗ delta``. So a stored gradient of a 784-200-200-10
network needs 1,594 numbers instead of 199,210, and inner products follow from those of the factors.
"""

from typing import NamedTuple

import torch

from tacl_lib.engine.compiled import product


class Gradient(NamedTuple):
    """A gradient as outer products: its part in layer l is the sum over n of ``inputs[l][n] ⊗ deltas[l][n]``.

    The bias of layer l has gradient ``sum of deltas[l]``. n runs over samples; R over runs.
    """

    inputs: list[torch.Tensor]  #: per layer ``[R, n, in]``: what went into the layer
    deltas: list[torch.Tensor]  #: per layer ``[R, n, out]``: derivative by what came out of it

    def dot(self, other: "Gradient", where: torch.Tensor | None = None) -> torch.Tensor:
        """⟨self, other⟩, each the sum of its terms: ``[R]``. where: the runs that need it; here all are answered."""
        return products(self, other).sum((1, 2))

    def add_to(self, layers, factor: torch.Tensor | float) -> None:
        """w ← w + factor · self."""
        layers.add(self, factor)

    def __rmul__(self, factor: torch.Tensor | float) -> "Gradient":
        """factor · self: a number, or one of each run ``[R]``."""
        factor = factor.view(-1, 1, 1) if isinstance(factor, torch.Tensor) else factor
        return Gradient(self.inputs, [delta * factor for delta in self.deltas])

    def __add__(self, other: "Gradient") -> "Gradient":
        """The terms of both."""
        pairs = (zip(mine, theirs, strict=True) for mine, theirs in zip(self, other, strict=True))
        return Gradient(*([torch.cat(pair, dim=1) for pair in part] for part in pairs))

    def __sub__(self, other: "Gradient") -> "Gradient":
        return self + -1.0 * other


def products(left: Gradient, right: Gradient, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Inner products of the single terms of two gradients: ``[R, n, m]``.

    ⟨u, v⟩ = Σ_l (δ_l · δ'_l)(a_l · a'_l + 1); the 1 is the bias.
    """
    total = 0
    for given, delta, other_given, other_delta in zip(*left, *right, strict=True):
        of_inputs = product(given.to(dtype), other_given.to(dtype).mT)
        of_deltas = product(delta.to(dtype), other_delta.to(dtype).mT)
        total = torch.addcmul(of_deltas, of_deltas, of_inputs) + total
    return total


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
    weights = [product(given.mT, delta) for given, delta in zip(*gradient, strict=True)]
    return weights + [delta.sum(1, keepdim=True) for delta in gradient.deltas]


def dense(gradient: Gradient) -> torch.Tensor:
    """The sum of all terms as a vector ``[R, p]``: weights of every layer, then biases. For lessons and tests."""
    return torch.cat([part.flatten(1) for part in formed(gradient)], dim=1)

"""A pool of stored gradients, and the projection onto the complement of their span.

With stored gradients u_i, their Gram matrix K_ij = ⟨u_i, u_j⟩ and a gradient g, the projection is
ĝ = g - Σ c_i u_i with c = K⁻¹ b, b_i = ⟨u_i, g⟩. Two things make it fast, and both are exact:

- K and its inverse are kept. When one member is replaced, K changes by one row and column, and the inverse
  by two outer products (a member is taken out, another one comes in).
- The sum Σ c_i u_i is *owed* to the weights, not added at once. As members stay for many steps, their
  coefficients add up; a member is paid out when it is replaced, and all are before a test. Until then a
  layer's true weight is W + Aᵀ diag(owed) D, with A the stored inputs and D the stored deltas. Passing
  through it needs the products x Aᵀ and δ Dᵀ, and these are just what b needs. Measured with 297 members and
  five runs on one core: the sum takes 7.5 ms a step, the products that replace it 1.5 ms.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch

from tacl_lib.engine.compiled import add_product, affine, exact_product, product
from tacl_lib.engine.gradients import Gradient, products, scaled
from tacl_lib.engine.layers import Layers, cross_entropy, one_hot

#: Relative ridge on the Gram matrix of the members scaled to length 1. Members that are not near copies of others are
#: left with |⟨u_i, ĝ⟩| below 1e-5 of |u_i||g|; for copies up to a difference of 1e-4 to 1e-3 of their length it can
#: reach 1e-4 (the bound is √RIDGE / 2). A smaller ridge gains nothing there: the coefficients of near copies grow
#: until their float32 rounding is larger than what the ridge leaves, and the updates of the inverse lose their footing.
RIDGE = 1e-6
#: After so many replacements the inverse is recomputed, so that rounding does not add up.
RENEWAL = 64


class Candidate(NamedTuple):
    """A gradient z that may join a pool."""

    gradient: Gradient  #: one term per run
    along: torch.Tensor  #: float64 ``[R, capacity]``: ⟨z, u_i⟩
    square: torch.Tensor  #: float64 ``[R]``: ⟨z, z⟩


class PooledGradient(NamedTuple):
    """A gradient g with its products with the members of a pool."""

    gradient: Gradient
    overlap: torch.Tensor  #: b_i = ⟨u_i, g⟩: ``[R, capacity]``

    def dot(self, other: "PooledGradient", where: torch.Tensor | None = None) -> torch.Tensor:
        return self.gradient.dot(other.gradient)

    def add_to(self, layers: Layers, factor: torch.Tensor | float) -> None:
        layers.add(self.gradient, factor)


class ProjectedGradient(NamedTuple):
    """ĝ = g - Σ c_i u_i."""

    pool: "GradientPool"
    gradient: Gradient  #: g
    coefficients: torch.Tensor  #: c ``[R, capacity]``
    changed: torch.Tensor  #: bool ``[R]``: whether g had a part along the members

    def add_to(self, layers: Layers, factor: torch.Tensor) -> None:
        """w ← w + factor · ĝ; the part along the members is owed."""
        layers.add(self.gradient, factor)
        if self.pool.capacity:
            self.pool.owe(-factor.unsqueeze(1) * self.coefficients)


class GradientPool:
    """Up to ``capacity`` gradients of each run; empty places hold zeros and take no part."""

    def __init__(self, layers: Layers, capacity: int, ridge: float = RIDGE):
        self.layers, self.capacity, self.ridge = layers, capacity, ridge
        runs, device = layers.runs, layers.device
        self.members = Gradient(
            [torch.zeros(runs, capacity, width, device=device) for width in layers.sizes[:-1]],
            [torch.zeros(runs, capacity, width, device=device) for width in layers.sizes[1:]],
        )
        self.gram = torch.zeros(runs, capacity, capacity, dtype=torch.float64, device=device)  #: K
        self.owed = torch.zeros(runs, capacity, device=device)
        self._run = torch.arange(runs, device=device)
        self._settled = True  # nothing is owed
        self._replaced = 0  # members since the inverse was recomputed
        self._invert()

    def loss_gradient(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, "PooledGradient"]:
        """Weighted losses ``[R, n]``, and their gradient at the true weights."""
        self.layers.check_batch(x, y)
        inputs, logits, along_inputs = self._forward(x)
        losses, delta = cross_entropy(logits, y, 1 / y.shape[1])
        deltas, along_deltas = self._backward(inputs, delta)
        overlap = sum((s * t).sum(1) for s, t in zip(along_inputs, along_deltas, strict=True))
        return losses, PooledGradient(Gradient(inputs, deltas), overlap)

    def project(self, gradient: "Gradient | PooledGradient") -> "ProjectedGradient":
        """ĝ, the part of a gradient that is orthogonal to all members."""
        if isinstance(gradient, PooledGradient):
            gradient, overlap = gradient
        else:
            overlap = products(gradient, self.members).sum(1)
        coefficients = self.coefficients(overlap) if self.capacity else overlap
        return ProjectedGradient(self, gradient, coefficients, (overlap != 0).any(1))

    def coefficients(self, overlap: torch.Tensor) -> torch.Tensor:
        """c = K⁻¹ b: ``[R, capacity]`` to the same."""
        scale = self._scale()
        # Row times matrix, as the inverse is symmetric: measured 5× faster than matrix times column.
        solved = torch.bmm((overlap * scale).unsqueeze(1), self.inverse).squeeze(1)
        return (solved * scale).to(overlap.dtype)

    def _scale(self) -> torch.Tensor:
        """1/|u_i|, and 1 for empty places. The inverse is of the members at length 1: the ridge is fair to all."""
        diagonal = self.gram.diagonal(dim1=1, dim2=2)
        return torch.where(diagonal > 0, diagonal, 1.0).rsqrt()

    def _invert(self) -> None:
        """Recompute the inverse from the Gram matrix."""
        scale = self._scale()
        matrix = self.gram * scale.unsqueeze(2) * scale.unsqueeze(1)
        matrix.diagonal(dim1=1, dim2=2).fill_(1 + self.ridge)
        # No error check: it would wait for the device. The ridge keeps the matrix positive definite.
        self.inverse = torch.cholesky_inverse(torch.linalg.cholesky_ex(matrix, check_errors=False).L)
        self._replaced = 0

    def _replace_in_inverse(self, place: torch.Tensor) -> None:
        """Update the inverse M after the member at ``place`` was replaced in the Gram matrix.

        Taking it out: M ← M - m mᵀ / M_ii with m = M_:i. Putting in a member whose products with the others are
        k: M ← M + w wᵀ / s with w = M k, w_i = -1 and s = 1 + ridge - kᵀ M k (the inverse of a bordered matrix).
        """
        run, scale = self._run, self._scale()
        k = self.gram[run, place] * scale * scale[run, place].unsqueeze(1)
        k.scatter_(1, place.unsqueeze(1), 0.0)  # k[run, place] = 0.0 waits for a GPU in some versions of torch
        k = k.unsqueeze(1)  # rows ``[R, 1, capacity]``, as in `coefficients`
        m = self.inverse[run, place].unsqueeze(1)
        m_ii = m[run, :, place].unsqueeze(2)
        w = torch.bmm(k, self.inverse) - m * (torch.bmm(k, m.mT) / m_ii)
        s = 1 + self.ridge - torch.bmm(k, w.mT)
        w.scatter_(2, place.view(-1, 1, 1), -1.0)
        self.inverse.baddbmm_(torch.cat([-m / m_ii, w / s], 1).mT, torch.cat([m, w], 1))

    def owe(self, coefficients: torch.Tensor) -> None:
        """w ← w + Σ coefficients_i u_i, later: ``[R, capacity]``."""
        self.owed += coefficients
        self._settled = False

    def settle(self) -> None:
        """Add everything that is owed to the weights."""
        if self._settled:
            return
        self._settled = True
        self.layers.add(scaled(self.members, self.owed), 1.0)
        self.owed.zero_()

    def candidate(self, x: torch.Tensor, y: torch.Tensor) -> Candidate:
        """∇f_y(x; w) of one sample per run, x ``[R, 1, features]``, with its row of the Gram matrix.

        The row is a by-product of passing through the owed weights.
        """
        self.layers.check_batch(x, y)
        inputs, logits, along_inputs = self._forward(x, exact_product)
        deltas, along_deltas = self._backward(inputs, one_hot(y, logits), exact_product)
        along = sum((s * t).squeeze(1) for s, t in zip(along_inputs, along_deltas, strict=True))
        gradient = Gradient(inputs, deltas)
        return Candidate(gradient, along, products(gradient, gradient, torch.float64).flatten())

    def put(self, place: torch.Tensor, candidate: Candidate, kept: torch.Tensor | None = None) -> None:
        """Put one gradient per run at ``place [R]``; what was there is paid out first.

        kept: bool ``[R]``, runs in which the place is really taken (all, if not given).
        """
        run = self._run
        leaving = Gradient(*([tensor[run, place].unsqueeze(1) for tensor in part] for part in self.members))
        self.layers.add(scaled(leaving, self.owed[run, place].unsqueeze(1)), 1.0)
        self.owed.scatter_(1, place.unsqueeze(1), 0.0)
        coming = candidate.along.clone()
        coming[run, place] = candidate.square

        def choose(new: torch.Tensor, old: torch.Tensor) -> torch.Tensor:
            return new if kept is None else torch.where(kept.unsqueeze(1), new, old)

        coming = choose(coming, self.gram[run, place])
        self.gram[run, place] = coming
        self.gram[run, :, place] = coming
        for stored, new, old in zip(self.members, candidate.gradient, leaving, strict=True):
            for tensor, value, old_value in zip(stored, new, old, strict=True):
                tensor[run, place] = choose(value.squeeze(1), old_value.squeeze(1))
        self._replaced += 1
        if self._replaced < RENEWAL:
            self._replace_in_inverse(place)
        else:
            self._invert()

    def extend(self, gradient: Gradient) -> None:
        """Add n gradients to each run and grow the capacity by n."""
        self.settle()
        both = Gradient(
            *(
                [torch.cat(pair, dim=1) for pair in zip(old, new, strict=True)]
                for old, new in zip(self.members, gradient, strict=True)
            )
        )
        self.members, self.capacity = both, both.inputs[0].shape[1]
        block = products(gradient, both, torch.float64)
        old = self.gram.shape[1]
        gram = self.gram.new_zeros(self.layers.runs, self.capacity, self.capacity)
        gram[:, :old, :old] = self.gram
        gram[:, old:], gram[:, :, old:] = block, block.mT
        self.gram = gram
        self._invert()
        self.owed = self.owed.new_zeros(self.layers.runs, self.capacity)

    def state(self) -> dict:
        """Everything that a checkpoint needs."""
        return {
            "inputs": self.members.inputs,
            "deltas": self.members.deltas,
            "gram": self.gram,
            "owed": self.owed,
            "inverse": self.inverse,
            "replaced": self._replaced,
        }

    def load_state(self, state: dict) -> None:
        # Copies, as the pool changes its tensors in place; new ones, as OGD's capacity grows.
        self.members = Gradient(*([tensor.clone() for tensor in state[part]] for part in ("inputs", "deltas")))
        self.gram, self.owed, self.inverse = (state[name].clone() for name in ("gram", "owed", "inverse"))
        self.capacity, self._replaced, self._settled = self.owed.shape[1], state["replaced"], False

    def _forward(self, x: torch.Tensor, multiply: Callable = product):
        """Like `Layers.forward`, through W + Aᵀ diag(owed) D; also x Aᵀ + 1 of each layer ``[R, n, capacity]``.

        multiply: makes x Aᵀ.
        """
        layers, owed = self.layers, self.owed.unsqueeze(1)
        inputs, along = [x], []
        for layer, (weight, bias) in enumerate(zip(layers.weights, layers.biases, strict=True)):
            along.append(multiply(inputs[-1], self.members.inputs[layer].mT).add_(1.0))
            out = affine(bias, inputs[-1], weight)
            add_product(out, along[-1].float() * owed, self.members.deltas[layer])
            inputs.append(out)
            if layer < len(layers.weights) - 1:
                out.relu_()
        return inputs[:-1], inputs[-1], along

    def _backward(self, inputs: list[torch.Tensor], delta: torch.Tensor, multiply: Callable = product):
        """Like `Layers.backward`, through W + Aᵀ diag(owed) D; also δ Dᵀ of each layer ``[R, n, capacity]``."""
        layers, owed = self.layers, self.owed.unsqueeze(1)
        deltas, along = [delta], []
        for layer in range(len(layers.weights) - 1, -1, -1):
            along.insert(0, multiply(deltas[0], self.members.deltas[layer].mT))
            if layer:
                back = product(deltas[0], layers.weights[layer].mT)
                add_product(back, along[0].float() * owed, self.members.inputs[layer])
                deltas.insert(0, torch.ops.aten.threshold_backward(back, inputs[layer], 0))
        return deltas, along

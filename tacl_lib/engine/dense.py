"""Gradients of any network: as dense vectors, and places for many of them that take less."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import torch

from tacl_lib.engine.gradient_pool import RIDGE
from tacl_lib.engine.traced import Layer


class DenseGradient(NamedTuple):
    """A gradient of each run, laid out as the network's parameters."""

    vector: torch.Tensor  #: ``[R, p]``

    def dot(self, other: "DenseGradient", where: torch.Tensor | None = None) -> torch.Tensor:
        return (self.vector * other.vector).sum(1)

    def __rmul__(self, factor: torch.Tensor | float) -> "DenseGradient":
        return DenseGradient(self.vector * _column(factor))

    def __add__(self, other: "DenseGradient") -> "DenseGradient":
        return DenseGradient(self.vector + other.vector)

    def __sub__(self, other: "DenseGradient") -> "DenseGradient":
        return DenseGradient(self.vector - other.vector)


class ProjectedDense(NamedTuple):
    """The part of a gradient that is orthogonal to what is stored."""

    vector: torch.Tensor
    changed: torch.Tensor  #: bool ``[R]``: whether there was another part


class SampleGradients(NamedTuple):
    """A gradient of each of n samples apart, in pieces: see `Layout`."""

    rest: torch.Tensor  #: ``[R, n, q]``: the gradients of all parameters that are kept whole
    goes_in: list[torch.Tensor]  #: ``[R, n, ...]`` of each factored layer
    delta: list[torch.Tensor]  #: ``[R, n, ...]`` of each factored layer

    def tensors(self) -> list[torch.Tensor]:
        return [self.rest, *self.goes_in, *self.delta]

    @classmethod
    def of(cls, tensors: list[torch.Tensor]) -> "SampleGradients":
        half = (len(tensors) - 1) // 2
        return cls(tensors[0], tensors[1 : 1 + half], tensors[1 + half :])

    def sample(self, number: int) -> "SampleGradients":
        """One of the n."""
        return SampleGradients.of([tensor[:, number : number + 1] for tensor in self.tensors()])

    def by_run(self) -> Iterator["SampleGradients"]:
        """Those of each run apart, without the dimension of runs."""
        return (SampleGradients.of(list(tensors)) for tensors in zip(*self.tensors(), strict=True))


class Layout:
    """How the parameters of a network are laid out in a vector, and which of them have gradients in two factors."""

    def __init__(self, shapes: dict[str, torch.Size], layers: list[Layer]):
        self.layers = layers
        self._sizes = {name: math.prod(shape) for name, shape in shapes.items()}
        factored = {layer.weight for layer in layers}
        self._whole = {name: size for name, size in self._sizes.items() if name not in factored}

    def empty(self, runs: int, count: int, device: torch.device) -> SampleGradients:
        """Room for ``count`` gradients of each run, all zero."""
        shapes = [
            (sum(self._whole.values()),),
            *(layer.goes_in for layer in self.layers),
            *(layer.comes_out for layer in self.layers),
        ]
        return SampleGradients.of([torch.zeros(runs, count, *shape, device=device) for shape in shapes])

    def products(self, members: SampleGradients, vector: torch.Tensor) -> torch.Tensor:
        """⟨u_i, v⟩ of all members with a vector ``[R, p]``: ``[R, n]``."""
        return torch.stack([self._products(own, v) for own, v in zip(members.by_run(), vector, strict=True)])

    def _products(self, members: SampleGradients, vector: torch.Tensor) -> torch.Tensor:
        pieces = dict(zip(self._sizes, vector.split(list(self._sizes.values())), strict=True))
        found = members.rest @ torch.cat([vector[:0], *(pieces[name] for name in self._whole)])
        for layer, a, delta in zip(self.layers, members.goes_in, members.delta, strict=True):
            found += layer.product(a, delta, pieces[layer.weight].view(layer.shape))
        return found

    def combined(self, members: SampleGradients, factors: torch.Tensor) -> torch.Tensor:
        """Σ_i c_i u_i with factors ``[R, n]``, as a vector ``[R, p]``."""
        return torch.stack([self._combined(own, c) for own, c in zip(members.by_run(), factors, strict=True)])

    def _combined(self, members: SampleGradients, factors: torch.Tensor) -> torch.Tensor:
        rest = (factors @ members.rest).split(list(self._whole.values()))
        pieces = dict(zip(self._whole, rest, strict=True))
        for layer, a, delta in zip(self.layers, members.goes_in, members.delta, strict=True):
            scaled = delta * factors.view(-1, *[1] * (delta.dim() - 1))
            pieces[layer.weight] = layer.combined(a, scaled).flatten()
        return torch.cat([pieces[name] for name in self._sizes])


class Candidate(NamedTuple):
    """A model gradient z that may be stored."""

    parts: SampleGradients  #: of one sample
    along: torch.Tensor  #: float64 ``[R, capacity]``: ⟨z, u_i⟩
    square: torch.Tensor  #: float64 ``[R]``: ⟨z, z⟩


class ModulePool:
    """Up to ``capacity`` gradients u_i of each run; empty places hold zeros and take no part."""

    def __init__(self, network, capacity: int, ridge: float = RIDGE):
        self.network, self.capacity, self.ridge = network, capacity, ridge
        self.layout: Layout = network.layout
        runs, device = network.runs, network.device
        self.members = self.layout.empty(runs, capacity, device)
        self.gram = torch.zeros(runs, capacity, capacity, dtype=torch.float64, device=device)  #: K_ij = ⟨u_i, u_j⟩
        self._run = torch.arange(runs, device=device)
        self._solved: tuple[torch.Tensor, torch.Tensor] | None = None

    @property
    def nbytes(self) -> int:
        """What the stored gradients of all runs take."""
        return sum(tensor.nbytes for tensor in self.members.tensors())

    def project(self, gradient: DenseGradient) -> ProjectedDense:
        """ĝ = g - Σ c_i u_i with c = K⁻¹ b, b_i = ⟨u_i, g⟩, on members scaled to length 1."""
        overlap = self.layout.products(self.members, gradient.vector).double()
        if not self.capacity:
            return ProjectedDense(gradient.vector, overlap.any(1))
        scale, lower = self._solver()
        solved = torch.cholesky_solve((overlap * scale).unsqueeze(2), lower).squeeze(2) * scale
        taken = self.layout.combined(self.members, solved.to(gradient.vector.dtype))
        return ProjectedDense(gradient.vector - taken, (overlap != 0).any(1))

    def _solver(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The lengths of members, inverted, and the Cholesky factor of their scaled K: kept until a member changes."""
        if self._solved is None:
            diagonal = self.gram.diagonal(dim1=1, dim2=2)
            scale = torch.where(diagonal > 0, diagonal, 1.0).rsqrt()
            matrix = self.gram * scale.unsqueeze(2) * scale.unsqueeze(1)
            matrix.diagonal(dim1=1, dim2=2).fill_(1 + self.ridge)
            # No error check: it would wait for the device. The ridge keeps the matrix positive definite.
            self._solved = scale, torch.linalg.cholesky_ex(matrix, check_errors=False).L
        return self._solved

    def candidate(self, x: torch.Tensor, y: torch.Tensor) -> Candidate:
        """∇f_y(x; w) of one sample a run, with its products with every u_i and itself."""
        parts = self.network.model_gradient(x, y)
        vector = self._vector(parts)
        along = self.layout.products(self.members, vector).double()
        return Candidate(parts, along, vector.double().square().sum(1))

    def put(self, place: torch.Tensor, candidate: Candidate, kept: torch.Tensor | None = None) -> None:
        """Store one candidate a run at ``place [R]``; kept: bool ``[R]``, runs in which it really is."""
        run = self._run
        self._solved = None
        row = candidate.along.clone()
        row[run, place] = candidate.square
        if kept is not None:
            row = torch.where(kept.unsqueeze(1), row, self.gram[run, place])
        self.gram[run, place] = row
        self.gram[run, :, place] = row
        for members, new in zip(self.members.tensors(), candidate.parts.tensors(), strict=True):
            one = new[:, 0]
            if kept is not None:
                one = torch.where(kept.view(-1, *[1] * (one.dim() - 1)), one, members[run, place])
            members[run, place] = one

    def extend(self, gradients: SampleGradients) -> None:
        """Add n gradients to each run and grow the capacity by n."""
        self._solved = None
        before, count = self.capacity, gradients.rest.shape[1]
        both = zip(self.members.tensors(), gradients.tensors(), strict=True)
        self.members = SampleGradients.of([torch.cat(pair, dim=1) for pair in both])
        self.capacity = before + count
        grown = self.gram.new_zeros(len(self._run), self.capacity, self.capacity)
        grown[:, :before, :before] = self.gram
        double = SampleGradients.of([tensor.double() for tensor in self.members.tensors()])
        for number in range(before, self.capacity):
            along = self.layout.products(double, self._vector(double.sample(number)))
            grown[:, number] = along
            grown[:, :, number] = along
        self.gram = grown

    def _vector(self, parts: SampleGradients) -> torch.Tensor:
        """The gradient of one sample as a vector ``[R, p]``."""
        return self.layout.combined(parts, parts.rest.new_ones(parts.rest.shape[:2]))

    def state(self) -> dict:
        return {"members": self.members.tensors(), "gram": self.gram}

    def load_state(self, state: dict) -> None:
        self._solved = None
        self.members = SampleGradients.of([tensor.clone() for tensor in state["members"]])
        self.gram = state["gram"].clone()
        self.capacity = self.gram.shape[1]


def _column(factor: torch.Tensor | float) -> torch.Tensor | float:
    return factor.unsqueeze(1) if isinstance(factor, torch.Tensor) else factor

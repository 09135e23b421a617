"""Gradients as dense vectors, and places for them: what serves any network, at p numbers a gradient."""

from typing import NamedTuple

import torch

from tacl_lib.engine.gradient_pool import RIDGE


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


class DenseCandidate(NamedTuple):
    """A model gradient z that may be stored."""

    vector: torch.Tensor  #: ``[R, p]``
    along: torch.Tensor  #: float64 ``[R, capacity]``: ⟨z, u_i⟩
    square: torch.Tensor  #: float64 ``[R]``: ⟨z, z⟩


class DensePool:
    """Up to ``capacity`` gradients u_i of each run, p numbers each; empty places hold zeros and take no part."""

    def __init__(self, network, capacity: int, ridge: float = RIDGE):
        self.network, self.capacity, self.ridge = network, capacity, ridge
        runs, device = network.runs, network.device
        self.members = torch.zeros(runs, capacity, network.parameter_count, device=device)
        self.gram = torch.zeros(runs, capacity, capacity, dtype=torch.float64, device=device)  #: K_ij = ⟨u_i, u_j⟩
        self._run = torch.arange(runs, device=device)

    @property
    def nbytes(self) -> int:
        """What the stored gradients of all runs take."""
        return self.members.nbytes

    def project(self, gradient: DenseGradient) -> ProjectedDense:
        """ĝ = g - Σ c_i u_i with c = K⁻¹ b, b_i = ⟨u_i, g⟩, on members scaled to length 1."""
        overlap = self._along(gradient.vector)
        if not self.capacity:
            return ProjectedDense(gradient.vector, overlap.any(1))
        diagonal = self.gram.diagonal(dim1=1, dim2=2)
        scale = torch.where(diagonal > 0, diagonal, 1.0).rsqrt()
        matrix = self.gram * scale.unsqueeze(2) * scale.unsqueeze(1)
        matrix.diagonal(dim1=1, dim2=2).fill_(1 + self.ridge)
        # No error check: it would wait for the device. The ridge keeps the matrix positive definite.
        factor = torch.linalg.cholesky_ex(matrix, check_errors=False).L
        solved = torch.cholesky_solve((overlap * scale).unsqueeze(2), factor).squeeze(2) * scale
        taken = torch.bmm(solved.to(self.members.dtype).unsqueeze(1), self.members).squeeze(1)
        return ProjectedDense(gradient.vector - taken, (overlap != 0).any(1))

    def candidate(self, x: torch.Tensor, y: torch.Tensor) -> DenseCandidate:
        """∇f_y(x; w) of one sample a run, with its products with every u_i and itself."""
        vector = self.network.model_gradient(x, y).vectors[:, 0]
        return DenseCandidate(vector, self._along(vector), vector.double().square().sum(1))

    def put(self, place: torch.Tensor, candidate: DenseCandidate, kept: torch.Tensor | None = None) -> None:
        """Store one candidate a run at ``place [R]``; kept: bool ``[R]``, runs in which it really is."""
        run = self._run
        row = candidate.along.clone()
        row[run, place] = candidate.square
        vector = candidate.vector
        if kept is not None:
            row = torch.where(kept.unsqueeze(1), row, self.gram[run, place])
            vector = torch.where(kept.unsqueeze(1), vector, self.members[run, place])
        self.gram[run, place] = row
        self.gram[run, :, place] = row
        self.members[run, place] = vector

    def extend(self, gradients: "SampleGradients") -> None:
        """Add n gradients to each run and grow the capacity by n."""
        self.members = torch.cat([self.members, gradients.vectors], dim=1)
        self.capacity = self.members.shape[1]
        double = self.members.double()
        self.gram = torch.bmm(double, double.mT)

    def _along(self, vector: torch.Tensor) -> torch.Tensor:
        return torch.bmm(self.members, vector.unsqueeze(2)).squeeze(2).double()

    def state(self) -> dict:
        return {"members": self.members, "gram": self.gram}

    def load_state(self, state: dict) -> None:
        self.members, self.gram = state["members"].clone(), state["gram"].clone()
        self.capacity = self.members.shape[1]


class SampleGradients(NamedTuple):
    """A gradient of each sample apart."""

    vectors: torch.Tensor  #: ``[R, n, p]``


def _column(factor: torch.Tensor | float) -> torch.Tensor | float:
    return factor.unsqueeze(1) if isinstance(factor, torch.Tensor) else factor

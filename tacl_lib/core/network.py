"""The interface between learners and networks, whichever engine computes them.

A `Network` is R networks at once, one per random seed. Gradients belong to the engine that made them and may be dense
vectors, outer products or lazy. Learners only use the operations below.
"""

from typing import Protocol

import torch

from tacl_lib.core.memory.samples import Reference, Samples


class Gradient(Protocol):
    """One gradient per run: vectors in weight space."""

    def dot(self, other: "Gradient", where: torch.Tensor | None = None) -> torch.Tensor:
        """⟨self, other⟩ of each run, ``[R]``. where: bool ``[R]``, the runs in which it is needed."""

    def __add__(self, other: "Gradient") -> "Gradient": ...

    def __sub__(self, other: "Gradient") -> "Gradient": ...

    def __rmul__(self, factor: torch.Tensor | float) -> "Gradient": ...


class ProjectedGradient(Protocol):
    """A gradient projected off the stored ones. It can be added to the weights."""

    changed: torch.Tensor  #: bool ``[R]``, whether the projection removed anything


class Noise(Protocol):
    """Networks with random noise on every weight, for BGD."""

    name: str  #: name of the random number generator, for records

    def begin(self, step: int) -> None:
        """Start the noise of a step; it depends only on the random seed and the step."""

    def learn(self, mean, std: torch.Tensor, x, y, weight: float, passes: int, rate: float) -> torch.Tensor:
        """One step of BGD, in place on means and deviations. Returns the sum of weighted losses, ``[R]``."""


class StoredGradients(Protocol):
    """Model gradients u_i, and the projection onto the orthogonal complement of their span."""

    capacity: int
    gram: torch.Tensor  #: K_ij = ⟨u_i, u_j⟩: float64 ``[R, capacity, capacity]``

    def project(self, gradient: Gradient) -> ProjectedGradient:
        """The component of a gradient orthogonal to every u_i."""

    def candidate(self, x: torch.Tensor, y: torch.Tensor):
        """∇f_y(x; w) of one sample per run, with its products with every u_i (``along``) and itself (``square``)."""

    def put(self, place: torch.Tensor, candidate, kept: torch.Tensor | None = None) -> None:
        """Store one candidate per run at ``place [R]``. kept: bool ``[R]``, the runs to do it in; None for all."""

    def extend(self, gradient: Gradient) -> None:
        """Append the per-sample gradients of a batch."""


class Network(Protocol):
    """R networks f(x; w) that map ``features`` to ``classes``."""

    seeds: tuple[int, ...]
    runs: int
    features: int
    classes: int
    device: torch.device
    parameter_count: int  #: p, of one run
    hidden_width: int  #: of the last hidden layer
    inference: bool  #: whether it works in torch's inference mode, where small operations are cheaper
    flat: torch.Tensor  #: all parameters of all runs; reading it applies pending updates first

    def check_batch(self, x: torch.Tensor, y: torch.Tensor) -> None:
        """Raise unless samples are ``[R, n, features]`` and labels ``[R, n]``."""

    def loss_gradient(
        self, x: torch.Tensor, y: torch.Tensor, weight: torch.Tensor | float | None = None
    ) -> tuple[torch.Tensor, Gradient]:
        """Losses ``[R, n]``, each times its weight (default 1/n), and ∇L(w), the gradient of their sum."""

    def loss_gradients(
        self, x: torch.Tensor, y: torch.Tensor, reference: Reference
    ) -> tuple[torch.Tensor, Gradient, Gradient]:
        """Losses of a batch, its ∇L(w), and the ∇L(w) of a reference batch."""

    def model_gradient(self, x: torch.Tensor, y: torch.Tensor) -> Gradient:
        """∇f_y(x; w): per sample, the gradient of the logit of its label."""

    def hidden(self, x: torch.Tensor) -> torch.Tensor:
        """Activations of the last hidden layer: ``[R, n, hidden_width]``."""

    def add(self, gradient: Gradient, factor: torch.Tensor | float) -> None:
        """w ← w + factor · gradient. factor: a number or ``[R]``."""

    def form(self, gradient: Gradient, buffer: torch.Tensor, keep: float = 0.0) -> None:
        """buffer ← keep · buffer + gradient, e.g. for momentum. buffer: laid out as ``flat``."""

    def noise(self) -> Noise:
        """Noisy versions of these networks, for BGD."""

    def watch(self, samples: Samples, drawn: int) -> None:
        """Announce that reference batches of ``drawn`` of these samples will follow, so that an engine may cache."""

    def forget(self) -> None:
        """Discard cached data without applying pending updates: the weights are about to be replaced."""

    def stored_gradients(self, capacity: int, ridge: float = 1e-6) -> StoredGradients:
        """Room for ``capacity`` model gradients. ridge: relative, added to the Gram matrix of the projection."""

    def accuracy(self, x: torch.Tensor, y: torch.Tensor, chunk: int = 1000) -> torch.Tensor:
        """The fraction of samples classified correctly, float64 ``[R]``."""

    def finite(self) -> torch.Tensor:
        """Whether all weights of a run are finite: bool ``[R]``."""

    def state(self) -> dict:
        """Everything a checkpoint needs."""

    def load_state(self, state: dict) -> None: ...

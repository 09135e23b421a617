"""What a learner may ask of its networks, whichever engine answers: the interface between algorithms and engines.

A network is R networks at once, one for each random seed. Its gradients belong to the engine that made them: dense
vectors, outer products, or promises to compute them when they are needed. A learner sees only what they can do.
"""

from typing import Protocol

import torch

from tacl_lib.core.memory.samples import Reference, Samples


class Gradient(Protocol):
    """A gradient of each run, as a vector in the space of weights."""

    def dot(self, other: "Gradient", where: torch.Tensor | None = None) -> torch.Tensor:
        """⟨self, other⟩ of each run ``[R]``. where: bool ``[R]``, runs whose answer is needed."""

    def __add__(self, other: "Gradient") -> "Gradient": ...

    def __sub__(self, other: "Gradient") -> "Gradient": ...

    def __rmul__(self, factor: torch.Tensor | float) -> "Gradient": ...


class ProjectedGradient(Protocol):
    """What is left of a gradient beside the stored ones: it can be added to the weights."""

    changed: torch.Tensor  #: bool ``[R]``, whether the gradient had a part along them


class Noise(Protocol):
    """Draws of a network with noise on every weight, for BGD."""

    name: str  #: of the generator, for records

    def begin(self, step: int) -> None:
        """Start the noise of a step: it depends on the seed and the step alone."""

    def learn(self, mean, std: torch.Tensor, x, y, weight: float, passes: int, rate: float) -> torch.Tensor:
        """One step of BGD on means and deviations, in place; returns the sums of weighted losses ``[R]``."""


class StoredGradients(Protocol):
    """Places for model gradients u_i, and the projection onto the complement of their span."""

    capacity: int
    gram: torch.Tensor  #: K_ij = ⟨u_i, u_j⟩: float64 ``[R, capacity, capacity]``

    def project(self, gradient: Gradient) -> ProjectedGradient:
        """The part of a gradient that is orthogonal to every u_i."""

    def candidate(self, x: torch.Tensor, y: torch.Tensor):
        """∇f_y(x; w) of one sample a run, with its products with every u_i (``along``) and itself (``square``)."""

    def put(self, place: torch.Tensor, candidate, kept: torch.Tensor | None = None) -> None:
        """Store one candidate a run at ``place [R]``; kept: bool ``[R]``, runs in which it really is."""

    def extend(self, gradient: Gradient) -> None:
        """Add the terms of a gradient, one a sample, as new places."""


class Network(Protocol):
    """R networks f(x; w) that map ``features`` to ``classes``."""

    seeds: tuple[int, ...]
    runs: int
    features: int
    classes: int
    device: torch.device
    parameter_count: int  #: p, of one run
    hidden_width: int  #: of the last hidden layer
    inference: bool  #: whether it works in torch's inference mode, which makes small operations cheaper
    flat: torch.Tensor  #: all parameters of all runs; looking at them gives the true ones

    def check_batch(self, x: torch.Tensor, y: torch.Tensor) -> None:
        """Refuse samples that are not ``[R, n, features]`` and labels that are not ``[R, n]``."""

    def loss_gradient(
        self, x: torch.Tensor, y: torch.Tensor, weight: torch.Tensor | float | None = None
    ) -> tuple[torch.Tensor, Gradient]:
        """Losses ``[R, n]``, each times its weight (1/n, if not given), and ∇L(w), the gradient of their sum."""

    def loss_gradients(
        self, x: torch.Tensor, y: torch.Tensor, reference: Reference
    ) -> tuple[torch.Tensor, Gradient, Gradient]:
        """Losses of a batch, its ∇L(w), and ∇L(w) of a reference batch of stored samples."""

    def model_gradient(self, x: torch.Tensor, y: torch.Tensor) -> Gradient:
        """∇f_y(x; w): for each sample apart, the gradient of the logit of its label."""

    def hidden(self, x: torch.Tensor) -> torch.Tensor:
        """What the last hidden layer says of samples: ``[R, n, hidden_width]``."""

    def add(self, gradient: Gradient, factor: torch.Tensor | float) -> None:
        """w ← w + factor · gradient; factor: a number or ``[R]``."""

    def form(self, gradient: Gradient, buffer: torch.Tensor, keep: float = 0.0) -> None:
        """buffer ← keep · buffer + gradient, laid out as ``flat``: for momentum and the like."""

    def noise(self) -> Noise:
        """Draws of these networks with noise on every weight."""

    def watch(self, samples: Samples, drawn: int) -> None:
        """Reference batches of ``drawn`` samples will come from these: an engine may keep something ready for them."""

    def forget(self) -> None:
        """Drop what is kept ready, and pay nothing: the weights are about to be replaced."""

    def stored_gradients(self, capacity: int, ridge: float = 1e-6) -> StoredGradients:
        """Places for model gradients of these networks. ridge: of the projection, relative."""

    def accuracy(self, x: torch.Tensor, y: torch.Tensor, chunk: int = 1000) -> torch.Tensor:
        """Share of samples classified right, float64 ``[R]``."""

    def finite(self) -> torch.Tensor:
        """Whether all weights of a run are finite: bool ``[R]``."""

    def state(self) -> dict:
        """Everything that a checkpoint needs."""

    def load_state(self, state: dict) -> None: ...

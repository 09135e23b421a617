"""Plain stochastic gradient descent: the baseline that forgets; literally in `tacl_lib/plain/sgd.py`."""

import torch

from tacl_lib.core.learners.base import Learner, Step, register_learner
from tacl_lib.core.network import Network
from tacl_lib.errors import TaclError


@register_learner
class Sgd(Learner):
    """w ← w - η ∇L(w). With momentum m: v ← m v + ∇L(w), then w ← w - η v."""

    name = "sgd"
    inference = True

    def __init__(self, network: Network, *, rate: float = 1e-3, momentum: float = 0.0):
        """momentum: m. The paper mentions none; the calibration shows what it would change."""
        super().__init__(network, rate=rate)
        if not 0 <= momentum < 1:
            raise TaclError(f"momentum must be at least 0 and less than 1, not {momentum}.")
        self.momentum = momentum
        self.velocity = torch.zeros_like(network.flat) if momentum else None  #: v, laid out as ``network.flat``
        self.kept = ("velocity",) if momentum else ()

    def step(self, x: torch.Tensor, y: torch.Tensor) -> Step:
        losses, g = self.network.loss_gradient(x, y)
        if self.velocity is None:
            self.network.add(g, -self.rate)
        else:
            self.network.form(g, self.velocity, keep=self.momentum)
            self.network.flat.add_(self.velocity, alpha=-self.rate)
        return Step(losses.sum(1), self.rate)

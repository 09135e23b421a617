"""Gradient descent with the paper's learning-rate scheduler ("SGD lr adapt").

Literally: `tacl_lib/plain/sgd_lr_adapt.py`.
"""

import torch

from tacl_lib.core.learners.base import Learner, Step, register
from tacl_lib.core.learners.scheduler import Scheduler
from tacl_lib.core.network import Network


@register
class SgdLrAdapt(Learner):
    """w ← w - η_t ∇L(w); the loss of each batch sets the rate of the next one."""

    name = "sgd_lr_adapt"
    inference = True
    kept = ("scheduler",)

    def __init__(self, network: Network, *, rate: float = 1e-3):
        """rate: the learning rate that the scheduler starts from and resets to."""
        super().__init__(network, rate=rate)
        self.scheduler = Scheduler(network.runs, rate, network.device)

    def step(self, x: torch.Tensor, y: torch.Tensor) -> Step:
        losses, gradient = self.network.loss_gradient(x, y)
        loss, rate = losses.sum(1), self.scheduler.rate
        self.network.add(gradient, -rate.float())
        self.scheduler.step(loss)
        return Step(loss, rate)

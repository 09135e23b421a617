"""Plain stochastic gradient descent: the baseline that forgets."""

import torch

from tacl_lib.learners.base import Learner, Step, register


@register
class Sgd(Learner):
    """w ← w - η ∇L(w)."""

    name = "sgd"

    def step(self, x: torch.Tensor, y: torch.Tensor) -> Step:
        losses, gradient = self.network.loss_gradient(x, y)
        self.network.add(gradient, -self.rate)
        return Step(losses.sum(1), self.rate)

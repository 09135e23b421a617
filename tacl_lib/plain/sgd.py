"""Stochastic gradient descent: go downhill and never look back."""

from torch import Tensor

from tacl_lib.plain.network import Network, loss_gradient

LR = 1e-3  # η


def sgd_step(network: Network, x: Tensor, y: Tensor, lr: float = LR) -> None:
    """w ← w - η ∇L_t(w)."""
    network.w = network.w - lr * loss_gradient(network, x, y)


class Sgd:
    def __init__(self, network, lr=LR):
        self.network, self.lr = network, lr

    def step(self, x, y):
        sgd_step(self.network, x, y, self.lr)

"""TA-OGD, section 3.1: OGD's step, orthogonal to what Algorithm 3 stores. It is never told about tasks."""

import random

from torch import Tensor

from tacl_lib.plain.memory import ClusterMemory
from tacl_lib.plain.network import Network, loss_gradient, model_gradient
from tacl_lib.plain.ogd import project_off_span

LR = 1e-3  # η
Q, P = 99, 3  # clusters of gradients in a single pool, and members per cluster


def ta_ogd_step(network: Network, memory: ClusterMemory, x: Tensor, y: Tensor, chosen: int, lr: float = LR) -> None:
    """A step that moves along no stored gradient; then the new one of sample `chosen`, at the new w, is stored.

    Stored gradients overlap, and members leave, so that an orthogonal basis would not last: the raw ones are used.
    """
    g = loss_gradient(network, x, y)
    if memory.clusters:
        g = project_off_span(g, memory.vectors())
    network.w = network.w - lr * g
    memory.add(model_gradient(network, x[chosen], y[chosen]))


class TaOgd:
    def __init__(self, network, lr=LR, Q=Q, P=P, seed=0):
        self.network, self.lr, self.memory = network, lr, ClusterMemory(Q, P)
        self.random = random.Random(seed)

    def step(self, x, y):
        ta_ogd_step(self.network, self.memory, x, y, self.random.randrange(len(y)), self.lr)

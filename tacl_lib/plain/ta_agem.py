"""TA-A-GEM, section 3.1: A-GEM's step on the memory of Algorithm 3. It is never told about tasks."""

import random

from torch import Tensor

from tacl_lib.plain.agem import LR, REFERENCE_BATCH, agem_step
from tacl_lib.plain.memory import PooledClusterMemory
from tacl_lib.plain.network import Network

Q, P = 10, 3  # clusters per class, and members per cluster


def ta_agem_step(
    network: Network, memory: PooledClusterMemory, x: Tensor, y: Tensor, reference: list, chosen: int, lr: float = LR
) -> None:
    """A-GEM's step against `reference`; then sample `chosen` of the batch joins the pool of its class."""
    agem_step(network, x, y, reference, lr)
    memory.add(x[chosen], int(y[chosen]), (x[chosen], y[chosen]))


class TaAgem:
    def __init__(self, network, classes, lr=LR, Q=Q, P=P, reference_batch=REFERENCE_BATCH, seed=0):
        self.network, self.lr, self.reference_batch = network, lr, reference_batch
        self.memory = PooledClusterMemory(classes, Q, P)
        self.random = random.Random(seed)

    def step(self, x, y):
        ta_agem_step(self.network, self.memory, x, y, self.draw(), self.random.randrange(len(y)), self.lr)

    def draw(self):
        """M̃, a random subset of all stored samples."""
        stored = self.memory.tags()
        return self.random.sample(stored, min(self.reference_batch, len(stored)))

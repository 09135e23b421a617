"""TA-A-GEM, section 3.1: A-GEM's step, with a memory kept by Algorithm 3. Nobody tells it about tasks."""

import random

from tacl_lib.plain.agem import LR, REFERENCE_BATCH, agem_step
from tacl_lib.plain.memory import PooledClusterMemory

Q, P = 10, 3  # clusters for each class, and members of a cluster


def ta_agem_step(network, memory, x, y, reference, chosen, lr=LR):
    """A-GEM's step against `reference`; then sample `chosen` of the batch joins the pool of its class."""
    agem_step(network, x, y, reference, lr)
    memory.add(x[chosen], int(y[chosen]), (x[chosen], y[chosen]))


class TaAgem:
    def __init__(self, network, classes, lr=LR, Q=Q, P=P, reference_batch=REFERENCE_BATCH, seed=0):
        self.network, self.lr, self.reference_batch = network, lr, reference_batch
        self.memory = PooledClusterMemory(classes, Q, P)
        self.random = random.Random(seed)

    def step(self, x, y):
        stored = self.memory.tags()
        reference = self.random.sample(stored, min(self.reference_batch, len(stored)))
        ta_agem_step(self.network, self.memory, x, y, reference, self.random.randrange(len(y)), self.lr)

"""A-GEM, the paper's Algorithm 1: remove from each step what would harm the samples in memory."""

import random

import torch
from torch import Tensor

from tacl_lib.plain.network import Network, loss_gradient

LR = 1e-3  # η
SAMPLES_PER_TASK = 60  # added to M when a task ends
REFERENCE_BATCH = 256  # samples of M that each step is checked against


def project(g: Tensor, g_ref: Tensor) -> Tensor:
    """The direction nearest to g that does not harm the reference (equation 8; lines 6 to 11)."""
    overlap = g @ g_ref
    if overlap >= 0:
        return g
    return g - overlap / (g_ref @ g_ref) * g_ref


def agem_step(network: Network, x: Tensor, y: Tensor, reference: list, lr: float = LR) -> None:
    """One step against M̃ = `reference`, a list of samples (x [d], y); while it is empty the step is SGD's."""
    g = loss_gradient(network, x, y)
    if reference:
        x_ref = torch.stack([sample_x for sample_x, _ in reference])
        y_ref = torch.stack([sample_y for _, sample_y in reference])
        g = project(g, loss_gradient(network, x_ref, y_ref))
    network.w = network.w - lr * g


class Agem:
    def __init__(self, network, lr=LR, samples_per_task=SAMPLES_PER_TASK, reference_batch=REFERENCE_BATCH, seed=0):
        self.network, self.lr = network, lr
        self.samples_per_task, self.reference_batch = samples_per_task, reference_batch
        self.M = []
        self.random = random.Random(seed)

    def step(self, x, y):
        agem_step(self.network, x, y, self.draw(), self.lr)

    def draw(self):
        """M̃, a random subset of M."""
        return self.random.sample(self.M, min(self.reference_batch, len(self.M)))

    def end_task(self, x, y):
        """A task has ended: some of its samples join M."""
        kept = self.random.sample(range(len(y)), min(self.samples_per_task, len(y)))
        self.M += [(x[row], y[row]) for row in kept]

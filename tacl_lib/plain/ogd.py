"""OGD, the paper's Algorithm 2: step only in directions that do not change old answers, to first order."""

import random

import torch
from torch import Tensor

from tacl_lib.plain.network import loss_gradient, model_gradient

LR = 1e-3  # η
SAMPLES_PER_TASK = 60  # gradients added to S when a task ends
CUTOFF = 1e-10  # a gradient is not added to S if less than this fraction of it is new


def project_out(g: Tensor, S: list[Tensor]) -> Tensor:
    """Lines 5 and 6: ĝ = g - Σ_{v ∈ S} ⟨g, v⟩/⟨v, v⟩ v. The vectors of S must be orthogonal to each other."""
    g_hat = g
    for v in S:
        g_hat = g_hat - (g @ v) / (v @ v) * v
    return g_hat


def add_to_basis(S: list[Tensor], gradients: list[Tensor]) -> list[Tensor]:
    """Lines 9 to 12, Gram-Schmidt: S, and each gradient made orthogonal to all before it. Returns a new list."""
    S = list(S)
    for u in gradients:
        v = project_out(u, S)
        if v.norm() > CUTOFF * u.norm():
            S.append(v)
    return S


def project_off_span(g: Tensor, vectors: list[Tensor]) -> Tensor:
    """`project_out` for vectors that overlap: ĝ = g - U α, where U α is the point of their span nearest to g."""
    U = torch.stack(list(vectors), dim=1)  # [p, n], one column each
    alpha = torch.linalg.lstsq(U, g[:, None], driver="gelsd").solution[:, 0]  # gelsd: vectors may be linearly dependent
    return g - U @ alpha


def ogd_step(network, x, y, S, lr=LR):
    """One step orthogonal to every vector of S; an SGD step while S is empty."""
    network.w = network.w - lr * project_out(loss_gradient(network, x, y), S)


class Ogd:
    def __init__(self, network, lr=LR, samples_per_task=SAMPLES_PER_TASK, seed=0):
        self.network, self.lr, self.samples_per_task = network, lr, samples_per_task
        self.S = []
        self.random = random.Random(seed)

    def step(self, x, y):
        ogd_step(self.network, x, y, self.S, self.lr)

    def end_task(self, x, y):
        """A task has ended: the model gradients of some of its samples join S."""
        kept = self.random.sample(range(len(y)), min(self.samples_per_task, len(y)))
        self.S = add_to_basis(self.S, [model_gradient(self.network, x[row], y[row]) for row in kept])

"""Bayesian gradient descent (Zeno et al. 2018, Algorithm 1): certain weights move little, and no memory is needed.

Every weight is normally distributed with mean μ and deviation σ. Zeno et al. derive the update for the log-likelihood
of the whole batch, so losses are summed; this paper's equation 1 takes their mean. The difference is more than another
η, because the update of σ has no η.
"""

import torch

from tacl_lib.plain.network import loss_gradient

ETA = 1.0  # η
STD_INIT = 0.02  # initial σ
PASSES = 10  # draws per expectation


def bgd_step(network, mu, sigma, x, y, noises, eta=ETA, batch_loss="sum"):
    """The new μ and σ [p]. E is the mean over the draws ε in `noises`, and g the gradient at w = μ + ε σ.

    μ ← μ - η σ² E[g],    σ ← σ √(1 + (½ σ E[g ε])²) - ½ σ² E[g ε].
    """
    factor = len(y) if batch_loss == "sum" else 1
    mean_g, mean_g_noise = torch.zeros_like(mu), torch.zeros_like(mu)
    for noise in noises:
        network.w = mu + noise * sigma
        g = factor * loss_gradient(network, x, y)
        mean_g += g / len(noises)
        mean_g_noise += g * noise / len(noises)
    half = sigma * mean_g_noise / 2
    network.w = mu - eta * sigma**2 * mean_g
    return network.w, sigma * torch.sqrt(1 + half**2) - sigma * half


class Bgd:
    def __init__(self, network, eta=ETA, std_init=STD_INIT, passes=PASSES, seed=0):
        self.network, self.eta, self.passes = network, eta, passes
        self.mu, self.sigma = network.w, torch.full_like(network.w, std_init)
        self.random = torch.Generator().manual_seed(seed)

    def step(self, x, y):
        shape = (self.passes, len(self.mu))
        noises = torch.randn(shape, generator=self.random, dtype=self.mu.dtype)
        self.mu, self.sigma = bgd_step(self.network, self.mu, self.sigma, x, y, noises, self.eta)

"""`NoisyWeights` for a CPU: noise, drawn weights and their sums in compiled loops over parts that fit the cache."""

from itertools import pairwise

import numpy as np
import torch

from tacl_lib.core.randomness import generator
from tacl_lib.engine import philox
from tacl_lib.engine.layers import Layers, cross_entropy
from tacl_lib.engine.noise_kernels import backward, forward, move
from tacl_lib.engine.noisy_weights import NoisyWeights


class CompiledNoise(NoisyWeights):
    """Noise from a counter (`philox`); one run after the other, and all passes over a few rows of weights together.

    Five networks with their noise are 24 MB: tensor by tensor, a step of BGD waits for memory most of the time. And
    inputs that are the same in the whole batch, as half of MNIST's pixels are, need no noise for each pass. Let i run
    over them, c_i be their values, a_i = c_i σ_i and V = Σ a_i² (for one unit of the first layer). In pass k they add
    S_k = Σ a_i ε_ik ~ N(0, V) to the unit, and their gradients are c_i D_k, D_k = Σ δ. So S_k is drawn at once, and
    what ε has left, given S_k, is needed in one sum only: with ν_i ~ N(0, Σ D_k²),
        Σ_k g_ik ε_ik = c_i (ν_i + a_i (Σ_k D_k S_k - Σ_i a_i ν_i) / V)
    has the same distribution as with noise for each pass. Behind inputs that are 0, weights neither act nor learn.
    """

    _for = None  #: what `_places` were made for

    def begin(self, step: int) -> None:
        self.step, self._calls = step, [0] * len(self.seeds)

    def normal(self, run: int, tensor: torch.Tensor) -> None:
        philox.fill(tensor.view(-1).numpy(), self._sources[run], self.step, self._calls[run])
        self._calls[run] += 1

    def expectations(self, mean: Layers, std: torch.Tensor, x, y, weight: float, passes: int):
        gradient, gradient_noise = self.buffers(2, std)
        views = [[v.numpy() for v in mean.views(flat)] for flat in (mean.flat, std, gradient, gradient_noise)]
        noise, units, spread = self._places(mean.sizes, y.shape[1], passes)
        losses, x = torch.empty(mean.runs), x.contiguous()
        for run in range(mean.runs):
            means, stds, sums, noise_sums = (tuple(piece[run] for piece in pieces) for pieces in views)
            images = x[run].numpy()
            same = (images == images[0]).all(0)
            inputs = images, np.flatnonzero(~same), np.flatnonzero(same & (images[0] != 0))
            random = self._sources[run], self.step
            variance = forward(means, stds, noise, units, *inputs, spread, *random)
            loss, delta = cross_entropy(torch.from_numpy(units[-1]), y[run].expand(passes, -1), weight)
            backward(means, stds, noise, units, *inputs, spread, variance, delta.numpy(), sums, noise_sums, *random)
            losses[run] = loss.sum()
        return losses, gradient, gradient_noise

    def move(self, mean: torch.Tensor, std: torch.Tensor, gradient, gradient_noise, rate: float) -> None:
        move(*(t.numpy() for t in (mean, std, gradient, gradient_noise)), np.float32(rate))

    def _places(self, sizes: tuple[int, ...], count: int, passes: int) -> tuple:
        """Places for noise, units and S of one run, used again for all: see `forward`."""
        if self._for != (sizes, count, passes):
            layers = list(pairwise(sizes))
            shapes = layers + [(1, width) for _, width in layers]
            noise = tuple(np.empty((passes, *shape), np.float32) for shape in shapes)
            units = tuple(np.empty((passes, count, width), np.float32) for _, width in layers)
            self._for, self._made = (sizes, count, passes), (noise, units, np.empty((passes, sizes[1]), np.float32))
        return self._made

    def _make_sources(self, device: torch.device | str) -> list:
        return [generator(seed, "noise").integers(2**32, size=2, dtype=np.uint32) for seed in self.seeds]

"""`NoisyWeights` for a CPU: noise and drawn weights in one compiled loop."""

import numpy as np
import torch
from numba import njit

from tacl_lib import philox
from tacl_lib.network import Network
from tacl_lib.noisy_weights import NoisyWeights
from tacl_lib.randomness import generator


class CompiledNoise(NoisyWeights):
    """Noise from a counter (`philox`): the time of a whole step of BGD is halved."""

    def begin(self, step: int) -> None:
        self.step, self._calls = step, [0] * len(self.seeds)

    def normal(self, run: int, tensor: torch.Tensor) -> None:
        philox.fill(tensor.view(-1).numpy(), self._generators[run], self.step, self._calls[run])
        self._calls[run] += 1

    def around(self, mean: Network, std: torch.Tensor, counts: list[int] | None = None) -> None:
        super().around(mean, std, counts)
        self._arrays = [t.numpy() for t in (self.noise, self.drawn.flat, mean.flat, std)]
        self._pieces = [self._pieces_of(run) for run in range(len(self.seeds))]

    def draw(self) -> Network:
        for run, pieces in enumerate(self._pieces):
            _draw(*self._arrays, pieces, self._generators[run], self.step, self._calls[run])
            self._calls[run] += len(pieces)
        return self.drawn

    def _pieces_of(self, run: int) -> np.ndarray:
        """In ``mean.flat``, where each piece of a run's parameters begins and ends, int64 ``[l, 2]``."""
        pieces, start = [], 0
        for layer, view in enumerate(self.mean.views(self.mean.flat)):
            rows, width = view.shape[1:]
            first = start + run * rows * width
            needed = self.counts[run] if self.counts and layer == 0 else rows
            pieces.append((first, first + needed * width))
            start += view.numel()
        return np.array(pieces)

    def _random_numbers(self, device: torch.device | str) -> list:
        return [generator(seed, "noise").integers(2**32, size=2, dtype=np.uint32) for seed in self.seeds]


@njit(nogil=True, cache=True)
def _draw(noise, drawn, mean, std, pieces, key, step, call):
    """ε and w = μ + ε σ, all ``[p]``, in the pieces of one run."""
    for piece in range(len(pieces)):
        first, last = pieces[piece]
        # On slices Numba knows that no index is negative, and a processor does sixteen at once.
        e, w, m, s = noise[first:last], drawn[first:last], mean[first:last], std[first:last]
        philox.fill(e, key, step, call + piece)
        for i in range(len(w)):
            w[i] = m[i] + e[i] * s[i]

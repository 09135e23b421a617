"""`NoisyWeights` for a CPU: noise, both passes and the move of the weights in compiled loops."""

from collections.abc import Sequence

import numpy as np
import torch

from tacl_lib.core.randomness import generator
from tacl_lib.engine.layers import Layers, cross_entropy
from tacl_lib.engine.noise_kernels import LANES, TEN, Inputs, Room, Source, Weights, backward, forward, padded

#: the inputs of a layer that are the same in every batch, and their values
ONLY_BIAS = np.zeros(0, np.int64), np.ones(1, np.float32)


class CompiledNoise:
    """One run after the other, and in each layer all passes over a few rows of weights together.

    Tensor by tensor, a step of BGD waits for memory most of the time: noise, weights and gradients of one pass alone
    are megabytes. Here they live for a block of rows only. And inputs that are the same in the whole batch, as half of
    MNIST's pixels and the 1 of every bias are, need no noise for each pass. Let i run over them, c_i be their values,
    a_i = c_i σ_i and V = Σ a_i² (for one unit). In pass k they add S_k = Σ a_i ε_ik ~ N(0, V) to the unit, and their
    gradients are c_i D_k, D_k = Σ δ. So S_k is drawn at once, and what ε has left, given S_k, is needed in one sum
    only: with ν_i ~ N(0, Σ D_k²),
        Σ_k g_ik ε_ik = c_i (ν_i + a_i (Σ_k D_k S_k - Σ_i a_i ν_i) / V)
    has the same distribution as with noise for each pass. Behind inputs that are 0, weights neither act nor learn.
    """

    name = "xoshiro128++, Box-Muller"

    def __init__(self, seeds: Sequence[int]):
        self._keys = [generator(seed, "noise").integers(2**64, dtype=np.uint64) for seed in seeds]
        self._for = None  # what `_places` were made for
        self.begin(0)

    def begin(self, step: int) -> None:
        self.step = step

    def learn(self, mean: Layers, std: torch.Tensor, x, y, weight: float, passes: int, rate: float) -> torch.Tensor:
        places = self._places(mean.sizes, y.shape[1], passes)
        views = [view.numpy() for flat in (mean.flat, std) for view in mean.views(flat)]
        layers, losses = len(mean.weights), torch.empty(mean.runs)
        for run in range(mean.runs):
            weights = [Weights(*(view[run] for view in views[layer::layers])) for layer in range(layers)]
            losses[run] = self._learn_one(run, weights, x[run], y[run], weight, rate, *places)
        return losses

    def _learn_one(self, run, weights, x, y, weight, rate, units, deltas, rooms) -> torch.Tensor:
        """A step of one run. units and deltas: what goes into each layer, and out of the last; see `_places`."""
        (passes, _, _), classes = deltas[-1].shape, weights[-1].bias.shape[1]
        inputs, variances = [_pixels(x.numpy(), units[0])], []
        sources = [Source(self._keys[run], self.step, layer * (passes + 2)) for layer in range(len(weights))]
        for layer, out in enumerate(units[1:]):
            variances.append(forward(weights[layer], inputs[layer], rooms[layer], sources[layer], out))
            if layer + 1 < len(weights):
                np.maximum(out, 0, out=out)
                inputs.append(Inputs(np.arange(len(weights[layer + 1].mean)), out, *ONLY_BIAS))
        logits = torch.from_numpy(units[-1])[:, : len(y), :classes]
        losses, delta = cross_entropy(logits, y.expand(passes, -1), weight)
        deltas[-1][:, : len(y), :classes] = delta
        for layer in range(len(weights) - 1, -1, -1):
            of_layer = weights[layer], inputs[layer], rooms[layer], sources[layer], variances[layer]
            backward(*of_layer, deltas[layer + 1], deltas[layer], np.float32(rate))
        return losses.sum()

    def _places(self, sizes: tuple[int, ...], count: int, passes: int) -> tuple:
        """Places for units, their derivatives and the kernels' work, used again for every run and step."""
        if self._for != (sizes, count, passes):
            samples = -(-count // TEN) * TEN
            shapes = [(1, samples, padded(sizes[0])), *((passes, samples, padded(width)) for width in sizes[1:])]
            units, deltas = ([_zeros(shape) for shape in shapes] for _ in range(2))
            deltas[0] = deltas[0][:0]  # nobody asks for derivatives by pixels
            states = np.empty((passes, 4, LANES), np.uint32)
            rooms = [
                Room(_zeros((6, TEN, padded(width))), _zeros((-(-passes // TEN) * TEN, padded(width))), states)
                for width in sizes[1:]
            ]
            self._for, self._made = (sizes, count, passes), (units, deltas, rooms)
        return self._made


def _zeros(shape: tuple[int, ...]) -> np.ndarray:
    """From torch, whose memory begins where a vector register's load is cheapest; numpy's may not."""
    with torch.inference_mode(False):
        return torch.zeros(shape).numpy()


def _pixels(images: np.ndarray, given: np.ndarray) -> Inputs:
    """Images as inputs: pixels that differ within the batch go to ``given``."""
    same = (images == images[0]).all(0)
    rows, still = np.flatnonzero(~same), np.flatnonzero(same & (images[0] != 0))
    given[:] = 0
    given[0, : len(images), : len(rows)] = images[:, rows]
    return Inputs(rows, given, still, np.append(images[0, still], np.float32(1)))

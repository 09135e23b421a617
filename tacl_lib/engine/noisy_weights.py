"""Networks with noise on every weight, w = μ + ε σ, and what their gradients say about μ and σ: the core of BGD."""

import ctypes
from collections.abc import Sequence

import numpy as np
import torch

from tacl_lib.core.randomness import generator
from tacl_lib.engine.compiled import library, pointer
from tacl_lib.engine.layers import Layers, wrong_labels


class NoisyWeights:
    """Draws of R networks around their means, and what BGD learns from them. Any device.

    The noise of a run depends on its seed, the step and the batch alone: it is the same alone or in a stack, and a
    resumed run needs no generator state.
    """

    name = "torch"  #: of the generator, for records

    def __init__(self, seeds: Sequence[int], device: torch.device | str = "cpu"):
        self.seeds, self._buffers = tuple(seeds), torch.empty(0, 0)
        self._sources = [torch.Generator(device) for _ in self.seeds]
        self.begin(0)

    def begin(self, step: int) -> None:
        """Start the noise of a step."""
        for seed, random in zip(self.seeds, self._sources, strict=True):
            random.manual_seed(int(generator(seed, "noise", step).integers(2**63)))

    def normal(self, run: int, tensor: torch.Tensor) -> None:
        """Fill a contiguous tensor with the next numbers N(0, 1) of a run."""
        tensor.normal_(generator=self._sources[run])

    def learn(
        self,
        mean: Layers,
        std: torch.Tensor,
        x: torch.Tensor,
        y: torch.Tensor,
        weight: float,
        passes: int,
        rate: float,
    ) -> torch.Tensor:
        """One step of BGD on the means μ and on σ, in place; returns the sums of weighted losses ``[R]``.

        With E the sum over ``passes`` draws: μ ← μ - rate σ² E[g] and σ ← σ √(1 + h²) - σ h, h = ½ σ E[g ε].
        std: σ, laid out as ``mean.flat``. weight: of a sample's loss in one draw.
        """
        runs, (noise, drawn, gradient) = mean.runs, self._places(3, passes * len(std), std)
        network = Layers.over(drawn, mean.seeds * passes, mean.sizes)  # all draws side by side, run after run

        def by_run(flat: torch.Tensor, count: int) -> list[torch.Tensor]:
            """Pieces of a buffer as ``[R, count, …]``."""
            views = (network if count > 1 else mean).views(flat)
            return [view.view(runs, count, *view.shape[1:]) for view in views]

        pieces = (by_run(noise, passes), by_run(drawn, passes), by_run(gradient, passes))
        of_mean = by_run(mean.flat, 1), by_run(std, 1)
        for ε, w, μ, σ in zip(*pieces[:2], *of_mean, strict=True):
            for run, numbers in enumerate(ε):
                self.normal(run, numbers)
            torch.addcmul(μ, ε, σ, out=w)
        each = [t.repeat_interleave(passes, 0) for t in (x, y)]
        losses, g = network.loss_gradient(*each, weight)
        network.form(g, gradient)
        noise.mul_(gradient)
        for gε, _, g, μ, σ in zip(*pieces, *of_mean, strict=True):
            _move(μ, σ, g.sum(1, keepdim=True), gε.sum(1, keepdim=True), rate)
        return losses.view(runs, -1).sum(1)

    def _places(self, count: int, size: int, like: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Places to work in, used again in every step: new ones would cost more than the arithmetic."""
        if self._buffers.shape != (count, size):
            with torch.inference_mode(False):  # a learner may be used in this mode and outside of it
                self._buffers = torch.zeros(count, size, dtype=like.dtype, device=like.device)
        return tuple(self._buffers)


def _move(mean, std, gradient, gradient_noise, rate: float) -> None:
    """The step of BGD, in place, from the two expectations, which are used up."""
    mean.addcmul_(gradient.mul_(std), std, value=-rate)
    half = gradient_noise.mul_(std).mul_(0.5)
    std.mul_(torch.mul(half, half, out=gradient).add_(1).sqrt_().sub_(half))


class CompiledNoise:
    """`NoisyWeights` for a CPU: noise, both passes and the move of the weights in one go over parts of a layer.

    Tensor by tensor, a step of BGD waits for memory most of the time: noise, weights and gradients of one pass alone
    are megabytes. Here they live for a tile of weights only. A normal number takes one random word: its place among
    all words is the probability, and a table of polynomials has the inverse.

    And inputs that are the same in the whole batch, as half of MNIST's pixels and the 1 of every bias are, need no
    noise for each pass. Let i run over them, c_i be their values, a_i = c_i σ_i and V = Σ a_i² (for one unit). In pass
    k they add S_k = Σ a_i ε_ik ~ N(0, V) to the unit, and their gradients are c_i D_k, D_k = Σ δ. So S_k is drawn at
    once, and what ε has left, given S_k, is needed in one sum only: with ν_i ~ N(0, Σ D_k²),
        Σ_k g_ik ε_ik = c_i (ν_i + a_i (Σ_k D_k S_k - Σ_i a_i ν_i) / V)
    has the same distribution as with noise for each pass. Behind inputs that are 0, weights neither act nor learn.
    """

    name = "xoshiro128++, inverse normal"

    def __init__(self, seeds: Sequence[int]):
        keys = [generator(seed, "noise").integers(2**64, dtype=np.uint64) for seed in seeds]
        self._keys, self._room = np.array(keys, np.uint64), torch.empty(0, dtype=torch.uint8)
        self.begin(0)

    def begin(self, step: int) -> None:
        self.step = step

    def learn(self, mean: Layers, std: torch.Tensor, x, y, weight: float, passes: int, rate: float) -> torch.Tensor:
        if y.dtype != torch.int64 or not 0 <= int(y.min()) <= int(y.max()) < mean.sizes[-1]:
            raise wrong_labels(y, mean.sizes[-1])
        flat, x, y, losses = mean.flat, x.contiguous(), y.contiguous(), torch.empty(mean.runs)
        sizes, long, number = np.array(mean.sizes, np.int64), ctypes.c_long, ctypes.c_float
        problem = [
            *(long(mean.runs), long(len(sizes) - 1), *map(pointer, (sizes, flat, std, x, y)), long(y.shape[1])),
            *(long(passes), number(weight), number(rate), pointer(self._keys), ctypes.c_uint64(self.step)),
            pointer(losses),
        ]
        step, needed = library().bgd_step, library().bgd_step(None, *problem)
        if len(self._room) < needed:
            with torch.inference_mode(False):  # a learner may be used in this mode and outside of it
                self._room = torch.empty(needed, dtype=torch.uint8)
        step(pointer(self._room), *problem)
        return losses


def noise_for(layers: Layers):
    """The fastest there is: `CompiledNoise` on a CPU, else torch's own operations."""
    if layers.device.type == "cpu" and layers.flat.dtype == torch.float32 and library() is not None:
        return CompiledNoise(layers.seeds)
    return NoisyWeights(layers.seeds, layers.device)

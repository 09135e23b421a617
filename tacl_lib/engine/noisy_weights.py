"""Networks with noise on every weight, w = μ + ε σ, and what their gradients say about μ and σ: the core of BGD."""

from collections.abc import Sequence

import torch

from tacl_lib.core.randomness import generator
from tacl_lib.engine.compiled import CompiledNoise, library
from tacl_lib.engine.layers import Layers


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


def noise_for(layers: Layers):
    """The fastest there is: `CompiledNoise` on a CPU, else torch's own operations."""
    if layers.device.type == "cpu" and layers.flat.dtype == torch.float32 and library() is not None:
        return CompiledNoise(layers.seeds)
    return NoisyWeights(layers.seeds, layers.device)

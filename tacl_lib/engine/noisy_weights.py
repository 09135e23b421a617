"""Networks with noise on every weight, w = μ + ε σ, and what their gradients say about μ and σ: the core of BGD."""

from collections.abc import Sequence

import torch

from tacl_lib.core.randomness import generator
from tacl_lib.engine.gradients import Gradient
from tacl_lib.engine.layers import Layers


class NoisyWeights:
    """Draws of R networks around their means, and the sums of their gradients g and of g ε. Any device.

    The noise of a run depends on its seed, the step and the batch alone: it is the same alone or in a stack, and a
    resumed run needs no generator state.
    """

    def __init__(self, seeds: Sequence[int], device: torch.device | str = "cpu"):
        self.seeds, self._buffers = tuple(seeds), torch.empty(0, 0)
        self._sources = self._make_sources(device)
        self.begin(0)

    def begin(self, step: int) -> None:
        """Start the noise of a step."""
        for seed, random in zip(self.seeds, self._sources, strict=True):
            random.manual_seed(int(generator(seed, "noise", step).integers(2**63)))

    def normal(self, run: int, tensor: torch.Tensor) -> None:
        """Fill a contiguous float32 tensor with the next numbers N(0, 1) of a run."""
        tensor.normal_(generator=self._sources[run])

    def expectations(
        self,
        mean: Layers,
        std: torch.Tensor,
        x: torch.Tensor,
        y: torch.Tensor,
        weight: float,
        passes: int,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Sums over ``passes`` draws around the means μ: of weighted losses ``[R]``, of g, and of g ε.

        The last two are laid out as ``mean.flat`` and free to be changed, until the next call.
        std: σ, laid out as ``mean.flat``. weight: of a sample's loss.
        """
        noise, gradient, gradient_noise, drawn = self.buffers(4, std)
        gradient_noise.zero_()
        network = Layers.over(drawn, mean.seeds, mean.sizes)
        loss, traces = 0, []
        for _ in range(passes):
            for view in mean.views(noise):
                for run, needed in enumerate(view):
                    self.normal(run, needed)
            torch.addcmul(mean.flat, noise, std, out=drawn)  # w = μ + ε σ
            losses, trace = network.loss_gradient(x, y, weight)
            loss += losses.sum(1)
            traces.append(trace)
            _write(trace, mean.views(gradient))
            gradient_noise.addcmul_(gradient, noise)
        inputs, deltas = (list(zip(*part, strict=True)) for part in zip(*traces, strict=True))
        # The sum of g over all draws is one product, cheaper than many. In the first layer they share the inputs.
        joined = Gradient(
            [inputs[0][0], *(torch.cat(given, dim=1) for given in inputs[1:])],
            [torch.stack(deltas[0]).sum(0), *(torch.cat(delta, dim=1) for delta in deltas[1:])],
        )
        _write(joined, mean.views(gradient))
        return loss, gradient, gradient_noise

    def move(self, mean: torch.Tensor, std: torch.Tensor, gradient, gradient_noise, rate: float) -> None:
        """The step of BGD, in place: μ ← μ - η σ² E[g] and σ ← σ √(1 + h²) - σ h with h = ½ σ E[g ε].

        All are laid out alike; the two expectations are used up.
        """
        # In place: new tensors of this size would cost more than the arithmetic.
        mean.addcmul_(gradient.mul_(std), std, value=-rate)
        half = gradient_noise.mul_(std).mul_(0.5)
        std.mul_(torch.mul(half, half, out=gradient).add_(1).sqrt_().sub_(half))

    def buffers(self, count: int, like: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Tensors like a given one, used again in every step: new ones would cost more than the arithmetic."""
        if self._buffers.shape[0] < count or self._buffers.shape[1] < len(like):
            with torch.inference_mode(False):  # a learner may be used in this mode and outside of it
                self._buffers = torch.zeros(count, len(like), device=like.device)
        return tuple(buffer[: len(like)] for buffer in self._buffers)

    def _make_sources(self, device: torch.device | str) -> list:
        return [torch.Generator(device) for _ in self.seeds]


def _write(gradient: Gradient, views: list[torch.Tensor]) -> None:
    """Form a gradient in buffers laid out as weights of every layer, then biases."""
    layers = len(gradient.inputs)
    for layer, (given, delta) in enumerate(zip(*gradient, strict=True)):
        torch.bmm(given.mT, delta, out=views[layer])
        torch.sum(delta, 1, keepdim=True, out=views[layers + layer])


def noise_for(layers: Layers) -> NoisyWeights:
    """The fastest there is: compiled on a CPU, else torch's own operations."""
    if layers.device.type != "cpu":
        return NoisyWeights(layers.seeds, layers.device)
    from tacl_lib.engine.compiled_noise import CompiledNoise  # here, as Numba takes half a second that only BGD needs

    return CompiledNoise(layers.seeds)

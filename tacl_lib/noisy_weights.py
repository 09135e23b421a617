"""Networks with noise on every weight, w = μ + ε σ, and what their gradients say about μ and σ: the core of BGD."""

from collections.abc import Sequence

import torch

from tacl_lib.network import Gradient, Network
from tacl_lib.randomness import generator


class NoisyWeights:
    """Draws of R networks around their means, and the sums of their gradients g and of g ε. Any device.

    The noise of a run depends on its seed and the step alone: it is the same alone or in a stack, and a
    resumed run needs no generator state.
    """

    def __init__(self, seeds: Sequence[int], device: torch.device | str = "cpu"):
        self.seeds, self._buffers = tuple(seeds), torch.empty(4, 0)
        self._generators = self._random_numbers(device)
        self.begin(0)

    def begin(self, step: int) -> None:
        """Start the noise of a step."""
        for seed, random in zip(self.seeds, self._generators, strict=True):
            random.manual_seed(int(generator(seed, "noise", step).integers(2**63)))

    def normal(self, run: int, tensor: torch.Tensor) -> None:
        """Fill a contiguous float32 tensor with the next numbers N(0, 1) of a run."""
        tensor.normal_(generator=self._generators[run])

    def around(self, mean: Network, std: torch.Tensor, counts: list[int] | None = None) -> None:
        """Be ready to draw around the means μ. std: σ, laid out as ``mean.flat``.

        counts: how many inputs each run needs; behind others there is no noise, as what a run draws must not
        depend on its neighbours.
        """
        if self._buffers.shape[1] < len(std):  # used again in every step: new ones would cost more than the arithmetic
            self._buffers = torch.zeros(4, len(std), device=std.device)
        self.mean, self.std, self.counts, self.traces = mean, std, counts, []
        self.noise, self.gradient, self.gradient_noise, drawn = (buffer[: len(std)] for buffer in self._buffers)
        self.drawn = Network.over(drawn, mean.seeds, mean.sizes)
        self.gradient_noise.zero_()

    def draw(self) -> Network:
        """Networks with weights w = μ + ε σ; the next call writes over them."""
        for layer, view in enumerate(self.mean.views(self.noise)):
            for run, needed in enumerate(view):
                self.normal(run, needed[: self.counts[run]] if self.counts and layer == 0 else needed)
        torch.addcmul(self.mean.flat, self.noise, self.std, out=self.drawn.flat)
        return self.drawn

    def add(self, gradient: Gradient) -> None:
        """The gradient g of the networks that were drawn last joins the sums."""
        self.traces.append(gradient)
        _write(gradient, self.mean.views(self.gradient))
        self.gradient_noise.addcmul_(self.gradient, self.noise)

    def sums(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Sums of g and of g ε since `around`, both laid out as ``mean.flat`` and free to be changed."""
        inputs, deltas = (list(zip(*part, strict=True)) for part in zip(*self.traces, strict=True))
        # The sum of g over all draws is one product, cheaper than many. In the first layer they share the inputs.
        joined = Gradient(
            [inputs[0][0], *(torch.cat(given, dim=1) for given in inputs[1:])],
            [torch.stack(deltas[0]).sum(0), *(torch.cat(delta, dim=1) for delta in deltas[1:])],
        )
        _write(joined, self.mean.views(self.gradient))
        return self.gradient, self.gradient_noise

    def _random_numbers(self, device: torch.device | str) -> list:
        return [torch.Generator(device) for _ in self.seeds]


def _write(gradient: Gradient, views: list[torch.Tensor]) -> None:
    """Form a gradient in buffers laid out as weights of every layer, then biases."""
    layers = len(gradient.inputs)
    for layer, (given, delta) in enumerate(zip(*gradient, strict=True)):
        torch.bmm(given.mT, delta, out=views[layer])
        torch.sum(delta, 1, keepdim=True, out=views[layers + layer])


def noise_for(network: Network) -> NoisyWeights:
    """The fastest there is: compiled on a CPU, else torch's own operations."""
    if network.device.type != "cpu":
        return NoisyWeights(network.seeds, network.device)
    from tacl_lib.compiled_noise import CompiledNoise  # here, as Numba takes half a second that only BGD needs

    return CompiledNoise(network.seeds)

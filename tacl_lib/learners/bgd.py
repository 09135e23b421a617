"""BGD: Bayesian gradient descent (Zeno et al., 2018), the task-agnostic rival of the paper."""

import torch

from tacl_lib.errors import TaclError, unknown_name
from tacl_lib.learners.base import Learner, Step, check_positive, register
from tacl_lib.network import Gradient, Network
from tacl_lib.randomness import generator

BATCH_LOSSES = ("sum", "mean")


@register
class Bgd(Learner):
    """A mean μ and a standard deviation σ for every weight; sure weights (small σ) move little.

    With w = μ + ε σ, ε ~ N(0, 1), and g the gradient of the batch loss at w:
        μ ← μ - η σ² E[g]
        σ ← σ √(1 + (½ σ E[g ε])²) - ½ σ² E[g ε]
    The expectations are means over ``passes`` draws of a whole network. The mean weights are tested.
    """

    name = "bgd"
    inference = True

    def __init__(
        self,
        network: Network,
        *,
        std_init: float = 0.06,
        eta: float = 1.0,
        passes: int = 10,
        batch_loss: str = "sum",
    ):
        """std_init: first σ. eta: η. passes: Monte-Carlo draws a step.
        batch_loss: ``"sum"`` over the batch, as in the code of BGD's authors, or ``"mean"``.
        """
        super().__init__(network, rate=eta)
        check_positive(passes=passes)
        if not std_init > 0:
            raise TaclError(f"std_init must be greater than 0, not {std_init}.")
        if batch_loss not in BATCH_LOSSES:
            raise unknown_name("batch_loss", batch_loss, BATCH_LOSSES)
        self.passes, self.batch_loss, self.steps = passes, batch_loss, 0
        self.std = torch.full_like(network.flat, std_init)  #: σ, laid out as ``network.flat``
        self._generators = [torch.Generator(network.device) for _ in network.seeds]
        self._prepare()

    def step(self, x: torch.Tensor, y: torch.Tensor) -> Step:
        # A generator of its own for each step and run: a resumed run needs no generator state.
        for seed, random in zip(self.network.seeds, self._generators, strict=True):
            random.manual_seed(int(generator(seed, "noise", self.steps).integers(2**63)))
        loss, mean_gradient, gradient_noise = self.expectations(x, y)
        # In place: new tensors of this size would cost more than the arithmetic.
        self.network.flat.addcmul_(mean_gradient.mul_(self.std), self.std, value=-self.rate)
        half = gradient_noise.mul_(self.std).mul_(0.5)  # ½ σ E[g ε]
        self.std.mul_(torch.mul(half, half, out=mean_gradient).add_(1).sqrt_().sub_(half))
        self.steps += 1
        return Step(loss, self.rate)

    def expectations(self, x: torch.Tensor, y: torch.Tensor):
        """Mean loss of a sample ``[R]``, E[g] and E[g ε], both laid out as ``network.flat`` and free to be changed."""
        loss, traces = 0, []
        for number in range(self.passes):
            self.draw(self._noise_views)
            torch.addcmul(self.network.flat, self._noise, self.std, out=self._drawn.flat)
            losses, gradient = self._drawn.loss_gradient(x, y, self._sample_weight(y) / self.passes)
            _write(gradient, self._gradient_views)
            if number == 0:
                torch.mul(self._gradient, self._noise, out=self._gradient_noise)
            else:
                self._gradient_noise.addcmul_(self._gradient, self._noise)
            loss += losses.sum(1)
            traces.append(gradient)
        # E[g] of all passes is one large product, cheaper than a sum of small ones.
        _write(_joined(traces), self._gradient_views)
        return loss / (y.shape[1] * self._sample_weight(y)), self._gradient, self._gradient_noise

    def draw(self, views: list[torch.Tensor]) -> None:
        """Fill tensors ``[R, ...]`` with normal numbers, each run from its own generator."""
        for view in views:
            for run, random in zip(view, self._generators, strict=True):
                run.normal_(generator=random)

    def _prepare(self) -> None:
        """Buffers that are used again in each pass, and a network to hold the draw."""
        network = self.network
        self._drawn = Network(network.seeds, network.sizes, device=network.device)
        self._noise, self._gradient, self._gradient_noise = (torch.zeros_like(network.flat) for _ in range(3))
        self._noise_views, self._gradient_views = network.views(self._noise), network.views(self._gradient)

    def _sample_weight(self, y: torch.Tensor) -> float:
        return 1.0 if self.batch_loss == "sum" else 1 / y.shape[1]

    def state(self) -> dict:
        return super().state() | {"std": self.std, "steps": self.steps}

    def load_state(self, state: dict) -> None:
        super().load_state(state)
        self.std.copy_(state["std"])
        self.steps = state["steps"]


def _joined(gradients: list[Gradient]) -> Gradient:
    """Several gradients as one with the terms of all."""
    parts = zip(*gradients, strict=True)
    return Gradient(*([torch.cat(tensors, dim=1) for tensors in zip(*part, strict=True)] for part in parts))


def _write(gradient: Gradient, views: list[torch.Tensor]) -> None:
    """Form a gradient in buffers laid out as weights of every layer, then biases."""
    layers = len(gradient.inputs)
    for layer, (given, delta) in enumerate(zip(*gradient, strict=True)):
        torch.bmm(given.mT, delta, out=views[layer])
        torch.sum(delta, 1, keepdim=True, out=views[layers + layer])

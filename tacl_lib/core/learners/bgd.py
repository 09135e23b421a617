"""BGD, Bayesian gradient descent (Zeno et al., 2018), task-agnostic; literally in `tacl_lib/plain/bgd.py`."""

import torch

from tacl_lib.core.checking import check_whole, is_finite
from tacl_lib.core.learners.base import Learner, Step, register_learner
from tacl_lib.core.network import Network
from tacl_lib.errors import TaclError, unknown_name

BATCH_LOSSES = ("sum", "mean")


@register_learner
class Bgd(Learner):
    """A mean μ and a standard deviation σ per weight; certain weights (small σ) move little.

    With w = μ + ε σ, ε ~ N(0, 1), and g the gradient of the batch loss at w:
        μ ← μ - η σ² E[g]
        σ ← σ √(1 + (½ σ E[g ε])²) - ½ σ² E[g ε]
    The expectations are means over ``passes`` draws of a whole network. Accuracy is measured at the mean weights.
    """

    name = "bgd"
    inference = True
    kept = ("std", "steps")

    def __init__(
        self, network: Network, *, std_init: float = 0.02, eta: float = 1.0, passes: int = 10, batch_loss: str = "sum"
    ):
        """std_init: initial σ, the value of BGD's authors for a sequence of the same five datasets, 20 epochs each.
        eta: η. passes: Monte Carlo draws per step.
        batch_loss: ``"sum"`` over the batch, as in the code of BGD's authors, or ``"mean"``.
        """
        super().__init__(network, rate=eta)
        check_whole(passes=passes)
        if not is_finite(std_init) or std_init <= 0:
            raise TaclError(f"std_init must be a finite number greater than 0, not {std_init!r}.")
        if batch_loss not in BATCH_LOSSES:
            raise unknown_name("batch_loss", batch_loss, BATCH_LOSSES)
        self.passes, self.batch_loss, self.steps = passes, batch_loss, 0
        self.std = torch.full_like(network.flat, std_init)  #: σ, laid out as ``network.flat``
        self.noise = network.noise()

    def step(self, x: torch.Tensor, y: torch.Tensor) -> Step:
        self.network.check_batch(x, y)
        self.noise.begin(self.steps)
        weight = 1.0 if self.batch_loss == "sum" else 1 / y.shape[1]
        network, std, draws = self.network, self.std, self.passes
        loss = self.noise.learn(network, std, x, y, weight / draws, draws, self.rate)
        self.steps += 1
        return Step(loss / (y.shape[1] * weight), self.rate)

    @property
    def about(self) -> dict:
        """What records of this learner hold besides its settings: the noise generator."""
        return {"noise": self.noise.name}

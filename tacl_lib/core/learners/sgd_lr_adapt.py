"""SGD lr adapt: SGD with the paper's learning-rate scheduler; literally in `tacl_lib/plain/sgd_lr_adapt.py`."""

import torch

from tacl_lib.core.learners.base import Learner, Step, register_learner
from tacl_lib.core.learners.scheduler import Scheduler
from tacl_lib.core.network import Network
from tacl_lib.errors import TaclError


@register_learner
class SgdLrAdapt(Learner):
    """w ← w - η_t ∇L(w); the loss of each batch sets the rate for the next one."""

    name = "sgd_lr_adapt"
    inference = True
    kept = ("scheduler",)

    def __init__(self, network: Network, *, rate: float = 1e-3, smoothing: float = 0.0):
        """rate: the learning rate the scheduler starts from and resets to.
        smoothing: s. The scheduler is given a running loss, v ← s v + (1 - s) L. With s = 0 this is the loss of each
            batch, as in the box; the calibration shows what other values would change.
        """
        super().__init__(network, rate=rate)
        if not 0 <= smoothing < 1:
            raise TaclError(f"smoothing must be at least 0 and less than 1, not {smoothing}.")
        self.scheduler, self.smoothing = Scheduler(network.runs, rate, network.device), smoothing
        self.running = torch.full((network.runs,), torch.nan, device=network.device) if smoothing else None  #: v
        self.kept += ("running",) if smoothing else ()

    def step(self, x: torch.Tensor, y: torch.Tensor) -> Step:
        losses, gradient = self.network.loss_gradient(x, y)
        loss, rate = losses.sum(1), self.scheduler.rate
        self.network.add(gradient, -rate.float())
        self.scheduler.step(self._smoothed(loss))
        return Step(loss, rate)

    def _smoothed(self, loss: torch.Tensor) -> torch.Tensor:
        if self.running is None:
            return loss
        running = self.smoothing * self.running + (1 - self.smoothing) * loss
        self.running = torch.where(self.running.isnan(), loss, running)  # starts at the first loss
        return self.running

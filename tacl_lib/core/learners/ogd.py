"""OGD, orthogonal gradient descent: a task-aware learner; literally in `tacl_lib/plain/ogd.py`."""

import torch

from tacl_lib.core.checking import check_whole
from tacl_lib.core.learners.base import Step, TaskAwareLearner, register_learner
from tacl_lib.core.learners.scheduler import Scheduler
from tacl_lib.core.network import Network, StoredGradients
from tacl_lib.errors import TaclError


def ogd_step(network: Network, stored: StoredGradients, scheduler: Scheduler, x: torch.Tensor, y: torch.Tensor) -> Step:
    """w ← w - η ĝ, with ĝ the component of g = ∇L(w) orthogonal to every stored gradient."""
    losses, g = network.loss_gradient(x, y)
    loss, rate = losses.sum(1), scheduler.rate
    projected = stored.project(g)
    network.add(projected, -rate.float())
    scheduler.step(loss)
    return Step(loss, rate, projected.changed)


@register_learner
class Ogd(TaskAwareLearner):
    """The paper's Algorithm 2, with its scheduler. The set S grows when a task ends.

    S holds the gradients themselves, not the box's orthogonal basis: the span, and so the projection, is the same.
    """

    name = "ogd"
    inference = True
    kept = ("scheduler",)

    def __init__(
        self,
        network: Network,
        *,
        rate: float = 1e-3,
        samples_per_task: int = 60,
        adapt_rate: bool = True,
        ridge: float = 1e-6,
    ):
        """samples_per_task: model gradients stored per task. adapt_rate: use the paper's scheduler.
        ridge: added to the Gram matrix. Its inverse is recomputed for each task, so 1e-9 is safe and more accurate.
        """
        super().__init__(network, rate=rate)
        check_whole(samples_per_task=samples_per_task)
        self.samples_per_task = samples_per_task
        if not 0 < ridge < 1:
            raise TaclError(f"ridge must lie between 0 and 1, not {ridge}.")
        self.stored = network.stored_gradients(0, ridge)
        self.scheduler = Scheduler(network.runs, rate, network.device, adapts=adapt_rate)

    def step(self, x: torch.Tensor, y: torch.Tensor) -> Step:
        return ogd_step(self.network, self.stored, self.scheduler, x, y)

    def end_task(self, x: torch.Tensor, y: torch.Tensor) -> None:
        self.stored.extend(self.network.model_gradient(x, y))

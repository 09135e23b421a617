"""OGD: orthogonal gradient descent, told when a task ends."""

import torch

from tacl_lib.core.learners.base import Step, TaskAwareLearner, check_positive, register
from tacl_lib.core.learners.scheduler import Scheduler
from tacl_lib.engine.gradient_pool import GradientPool
from tacl_lib.engine.network import Network


@register
class Ogd(TaskAwareLearner):
    """The paper's Algorithm 2, with its scheduler. The pool S grows at the end of each task.

    Instead of the orthogonal basis of the box the pool holds the gradients themselves: the span, and so
    the projection, is the same.
    """

    name = "ogd"
    inference = True

    def __init__(
        self,
        network: Network,
        *,
        rate: float = 1e-3,
        samples_per_task: int = 60,
        adapt_rate: bool = True,
    ):
        """samples_per_task: model gradients stored of each task. adapt_rate: use the paper's scheduler."""
        super().__init__(network, rate=rate)
        check_positive(samples_per_task=samples_per_task)
        self.samples_per_task = samples_per_task
        self.pool = GradientPool(network, 0)
        self.scheduler = Scheduler(network.runs, rate, network.device) if adapt_rate else None

    def step(self, x: torch.Tensor, y: torch.Tensor) -> Step:
        return ogd_step(self.pool, self.scheduler, self.rate, x, y)

    def end_task(self, x: torch.Tensor, y: torch.Tensor) -> None:
        self.pool.settle()
        self.pool.extend(self.pool.model_gradient(x, y))

    def tested(self) -> Network:
        self.pool.settle()
        return self.network

    def state(self) -> dict:
        scheduler = self.scheduler.state() if self.scheduler else {}
        return super().state() | {"pool": self.pool.state(), "scheduler": scheduler}

    def load_state(self, state: dict) -> None:
        super().load_state(state)
        self.pool.load_state(state["pool"])
        if self.scheduler:
            self.scheduler.load_state(state["scheduler"])


def ogd_step(pool: GradientPool, scheduler: Scheduler | None, rate: float, x: torch.Tensor, y: torch.Tensor) -> Step:
    """w ← w - η ĝ, with ĝ the part of g = ∇L(w) that is orthogonal to every gradient in the pool."""
    losses, gradient, overlap = pool.loss_gradient(x, y)
    loss = losses.sum(1)
    used = scheduler.rate if scheduler else torch.full_like(loss, rate)
    pool.network.add(gradient, -used.float())
    if pool.capacity:
        pool.owe(used.float().unsqueeze(1) * pool.coefficients(overlap))
    if scheduler:
        scheduler.step(loss)
    return Step(loss, used, (overlap != 0).any(1))

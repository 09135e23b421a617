"""A-GEM: averaged gradient episodic memory, told when a task ends."""

import torch

from tacl_lib.core.learners.base import Step, TaskAwareLearner, check_positive, register
from tacl_lib.core.learners.reference import agem_step, draw, load_pool, pool_for, pool_state, pooled_agem_step
from tacl_lib.core.randomness import Uniforms
from tacl_lib.core.rows import Rows
from tacl_lib.engine.network import Network
from tacl_lib.errors import TaclError


@register
class Agem(TaskAwareLearner):
    """The paper's Algorithm 1. The memory M grows by ``samples_per_task`` at the end of each task."""

    name = "agem"
    inference = True

    def __init__(
        self,
        network: Network,
        *,
        rate: float = 1e-3,
        samples_per_task: int = 60,
        reference_batch: int | None = 256,
    ):
        """samples_per_task: s, kept of each task. reference_batch: size of M̃; None takes all of M."""
        super().__init__(network, rate=rate)
        check_positive(samples_per_task=samples_per_task, reference_batch=reference_batch)
        self.samples_per_task, self.reference_batch = samples_per_task, reference_batch
        self.steps = 0
        self._rows = Rows(network.runs, network.device)
        self._remember(
            torch.zeros(network.runs, 0, network.sizes[0], device=network.device),
            torch.zeros(network.runs, 0, dtype=torch.int64, device=network.device),
        )

    def step(self, x: torch.Tensor, y: torch.Tensor) -> Step:
        if self.memory_x.shape[1] == 0:  # the first task: nothing to protect yet
            losses, gradient = self.network.loss_gradient(x, y)
            self.network.add(gradient, -self.rate)
            step = Step(losses.sum(1), self.rate)
        else:
            step = self._protected_step(x, y)
        self.steps += 1
        return step

    def _protected_step(self, x: torch.Tensor, y: torch.Tensor) -> Step:
        if self.pool is None:
            return agem_step(self.network, self.rate, x, y, *self.reference())
        places, weight = self._draw()
        return pooled_agem_step(self.pool, self.rate, x, y, places, self._rows.read(self.memory_y, places), weight)

    def reference(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """M̃: samples, labels and their weights."""
        if self.memory_x.shape[1] == 0:
            raise TaclError("A-GEM has no reference batch before its first task has ended: call end_task first.")
        places, weight = self._draw()
        return self._rows.read(self.memory_x, places), self._rows.read(self.memory_y, places), weight

    def _draw(self) -> tuple[torch.Tensor, torch.Tensor]:
        filled = torch.ones_like(self.memory_y, dtype=torch.bool)
        return draw(filled, self.reference_batch, self._uniforms(self.steps))

    def end_task(self, x: torch.Tensor, y: torch.Tensor) -> None:
        self.network.loss_gradient(x, y)  # refuses what would fail at a later step
        self.tested()  # pays what the pool of the samples so far owes; a new one follows
        self._remember(torch.cat([self.memory_x, x], dim=1), torch.cat([self.memory_y, y], dim=1))

    def _remember(self, x: torch.Tensor, y: torch.Tensor) -> None:
        self.memory_x, self.memory_y = x, y
        self._uniforms = Uniforms(self.network.seeds, "reference", x.shape[1], self.network.device)
        self.pool = pool_for(self.network, x, self.reference_batch)

    def tested(self) -> Network:
        if self.pool:
            self.pool.settle()
        return self.network

    def state(self) -> dict:
        pool = pool_state(self.pool)
        return super().state() | {"x": self.memory_x, "y": self.memory_y, "pool": pool, "steps": self.steps}

    def load_state(self, state: dict) -> None:
        super().load_state(state)
        self._remember(state["x"], state["y"])
        load_pool(self.pool, state["pool"])
        self.steps = state["steps"]

"""A-GEM, averaged gradient episodic memory: a task-aware learner; literally in `tacl_lib/plain/agem.py`."""

import torch

from tacl_lib.core.checking import check_whole
from tacl_lib.core.learners.base import Step, TaskAwareLearner, register_learner
from tacl_lib.core.memory.samples import Reference, Samples, draw_reference, reference_size
from tacl_lib.core.network import Network
from tacl_lib.core.randomness import Uniforms
from tacl_lib.errors import TaclError


def agem_step(network: Network, rate: float, x: torch.Tensor, y: torch.Tensor, reference: Reference) -> Step:
    """One step of Algorithm 1: along g̃ = g - (⟨g, g_ref⟩ / ⟨g_ref, g_ref⟩) g_ref if ⟨g, g_ref⟩ < 0, else along g.

    If the samples are learnt so well that ⟨g_ref, g_ref⟩ is 0 in float32, nothing is left to protect.
    """
    losses, g, g_ref = network.loss_gradients(x, y, reference)
    product = g.dot(g_ref)
    conflict = product < 0
    square = g_ref.dot(g_ref, where=conflict)  # only needed in case of conflict
    factor = torch.where(conflict & (square > 0), product / square, 0.0)
    network.add(g - factor * g_ref, -rate)
    return Step(losses.sum(1), rate, conflict)


@register_learner
class Agem(TaskAwareLearner):
    """The paper's Algorithm 1. The memory M grows by ``samples_per_task`` samples when a task ends."""

    name = "agem"
    inference = True
    kept = ("steps",)

    def __init__(
        self, network: Network, *, rate: float = 1e-3, samples_per_task: int = 60, reference_batch: int | None = 256
    ):
        """samples_per_task: s, samples stored per task. reference_batch: size of M̃; None takes all of M."""
        super().__init__(network, rate=rate)
        check_whole(samples_per_task=samples_per_task)
        check_whole(or_none=True, reference_batch=reference_batch)
        self.samples_per_task, self.reference_batch = samples_per_task, reference_batch
        self.steps = 0
        self._use(Samples.empty(network.runs, 0, network.features, network.device))

    def step(self, x: torch.Tensor, y: torch.Tensor) -> Step:
        if self.samples.capacity:
            step = agem_step(self.network, self.rate, x, y, self.draw_reference())
        else:  # nothing to protect during the first task
            losses, g = self.network.loss_gradient(x, y)
            self.network.add(g, -self.rate)
            step = Step(losses.sum(1), self.rate)
        self.steps += 1
        return step

    def draw_reference(self) -> Reference:
        """M̃: stored samples drawn at random for this step."""
        if not self.samples.capacity:
            raise TaclError("A-GEM has no reference batch until its first task ends: call end_task first.")
        filled = torch.ones_like(self.samples.y, dtype=torch.bool)
        return draw_reference(self.samples, filled, self.reference_batch, self._keys(self.steps))

    def end_task(self, x: torch.Tensor, y: torch.Tensor) -> None:
        self.network.loss_gradient(x, y)  # raises on samples that would fail in a later step
        self._use(self.samples.joined(x, y))

    def _use(self, samples: Samples) -> None:
        self.samples, network = samples, self.network
        self._keys = Uniforms(network.seeds, "reference", samples.capacity, network.device)
        network.watch(samples, reference_size(self.reference_batch, samples.capacity))

    def state(self) -> dict:
        return {"samples": self.samples.tensors()} | super().state()

    def load_state(self, state: dict) -> None:
        self.network.forget()
        self._use(Samples(**{name: tensor.clone() for name, tensor in state["samples"].items()}))
        super().load_state(state)

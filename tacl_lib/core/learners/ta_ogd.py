"""TA-OGD, task-agnostic OGD on a cluster memory of gradients; literally in `tacl_lib/plain/ta_ogd.py`."""

import torch

from tacl_lib.core.learners.base import Learner, Step, Stored, register_learner
from tacl_lib.core.learners.ogd import ogd_step
from tacl_lib.core.learners.scheduler import Scheduler
from tacl_lib.core.memory import ArrivalSampler, Geometry, gradient_memory
from tacl_lib.core.network import Network


@register_learner
class TaOgd(Learner):
    """Takes an OGD step, then adds the model gradient of one sample of the batch to the memory by Algorithm 3."""

    name = "ta_ogd"
    inference = True
    kept = ("memory", "scheduler", "steps")

    def __init__(
        self,
        network: Network,
        *,
        rate: float = 1e-3,
        clusters: int = 99,
        cluster_size: int = 3,
        pool_per_class: bool = False,
        sampling_rate: float = 1.0,
        adapt_rate: bool = True,
        policy: str = "clustering",
    ):
        """clusters: Q, clusters per pool. cluster_size: P. pool_per_class: a pool for each class, or a single one.
        sampling_rate: gradients stored per batch. adapt_rate: use the paper's scheduler.
        policy: how the memory places a gradient, a name in `tacl_lib.core.memory.POLICIES`.
        """
        super().__init__(network, rate=rate)
        self.geometry = Geometry(network.classes if pool_per_class else 1, clusters, cluster_size).checked()
        self.stored = network.stored_gradients(self.geometry.capacity)
        self.memory = gradient_memory(self.stored, self.geometry, policy)
        self.arrivals = ArrivalSampler(network.seeds, sampling_rate, pool_per_class, device=network.device)
        self.scheduler, self.steps = Scheduler(network.runs, rate, network.device, adapts=adapt_rate), 0

    def step(self, x: torch.Tensor, y: torch.Tensor) -> Step:
        step = ogd_step(self.network, self.stored, self.scheduler, x, y)
        return step._replace(stored=self.remember(x, y))

    def remember(self, x: torch.Tensor, y: torch.Tensor) -> Stored | None:
        """End a step. ∇f_y(x; w) of one sample of the batch, drawn at random, joins the memory if this step is due."""
        stored = None
        if self.arrivals.due(self.steps):
            chosen = self.arrivals.choose(self.steps, x, y)
            candidate = self.stored.candidate(chosen.item.x.unsqueeze(1), chosen.item.y.unsqueeze(1))
            stored = Stored(chosen.position, self.memory.add(candidate, chosen.pool, chosen.uniform))
        self.steps += 1
        return stored

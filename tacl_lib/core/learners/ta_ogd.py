"""TA-OGD: OGD on a memory of clusters of gradients; nobody tells it when a task ends."""

import torch

from tacl_lib.core.learners.base import Learner, Sampling, Step, Stored, register
from tacl_lib.core.learners.ogd import ogd_step
from tacl_lib.core.learners.scheduler import Scheduler
from tacl_lib.core.memory import Geometry, GradientStore, Memory
from tacl_lib.core.randomness import Uniforms
from tacl_lib.engine.gradient_pool import GradientPool
from tacl_lib.engine.network import Network


@register
class TaOgd(Learner):
    """An OGD step, then the model gradient of one sample of the batch joins the memory by Algorithm 3."""

    name = "ta_ogd"
    inference = True

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
        """clusters: Q of each pool. cluster_size: P. pool_per_class: one pool per class, or a single one.
        sampling_rate: gradients stored a batch. adapt_rate: use the paper's scheduler.
        policy: how the memory places a gradient, a name in `tacl_lib.core.memory.POLICIES`.
        """
        super().__init__(network, rate=rate)
        pools = network.sizes[-1] if pool_per_class else 1
        self.geometry = Geometry(pools, clusters, cluster_size).checked()
        self.pool = GradientPool(network, self.geometry.capacity)
        store = GradientStore(self.pool, self.geometry)
        self.memory = Memory(store, self.geometry, policy, network.runs, network.device)
        self.scheduler = Scheduler(network.runs, rate, network.device) if adapt_rate else None
        self.sampling, self.pool_per_class, self.steps = Sampling(sampling_rate), pool_per_class, 0
        # Per step: which sample of the batch, and where chance puts it.
        self._uniforms = Uniforms(network.seeds, "memory", 2, network.device)
        self._run = torch.arange(network.runs, device=network.device)

    def step(self, x: torch.Tensor, y: torch.Tensor) -> Step:
        step = ogd_step(self.pool, self.scheduler, self.rate, x, y)
        if self.sampling.due(self.steps):
            step = step._replace(stored=self._remember(x, y, *self._uniforms(self.steps).unbind(1)))
        self.steps += 1
        return step

    def _remember(self, x: torch.Tensor, y: torch.Tensor, which: torch.Tensor, where: torch.Tensor) -> Stored:
        """Add ∇f_y(x; w) of one sample of the batch, drawn at random, at the weights after the step."""
        chosen = (which * x.shape[1]).long()
        sample, label = x[self._run, chosen], y[self._run, chosen]
        candidate = self.pool.model_candidate(sample.unsqueeze(1), label.unsqueeze(1))
        to = label if self.pool_per_class else torch.zeros_like(label)
        return Stored(chosen, self.memory.add(candidate, to, where))

    def tested(self) -> Network:
        self.pool.settle()
        return self.network

    def state(self) -> dict:
        scheduler = self.scheduler.state() if self.scheduler else {}
        return super().state() | {"memory": self.memory.state(), "scheduler": scheduler, "steps": self.steps}

    def load_state(self, state: dict) -> None:
        super().load_state(state)
        self.memory.load_state(state["memory"])
        if self.scheduler:
            self.scheduler.load_state(state["scheduler"])
        self.steps = state["steps"]

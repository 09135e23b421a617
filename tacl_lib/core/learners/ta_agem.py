"""TA-A-GEM: A-GEM on a memory of clusters; nobody tells it when a task ends."""

import torch

from tacl_lib.core.learners.base import Learner, Sampling, Step, Stored, check_positive, register
from tacl_lib.core.learners.reference import agem_step, draw, load_pool, pool_for, pool_state, pooled_agem_step
from tacl_lib.core.memory import Geometry, sample_memory
from tacl_lib.core.randomness import Uniforms
from tacl_lib.core.rows import Rows
from tacl_lib.engine.network import Network


@register
class TaAgem(Learner):
    """An A-GEM step, then one sample of the batch joins the memory by the paper's Algorithm 3."""

    name = "ta_agem"
    inference = True

    def __init__(
        self,
        network: Network,
        *,
        rate: float = 1e-3,
        clusters: int | None = None,
        cluster_size: int = 3,
        pool_per_class: bool = True,
        sampling_rate: float = 1.0,
        reference_batch: int | None = 256,
        policy: str = "clustering",
    ):
        """clusters: Q of each pool; None gives 100 in all, as in the paper (10 × 10 or 2 × 50).
        cluster_size: P. pool_per_class: one pool for each class, or a single one.
        sampling_rate: samples stored a batch. reference_batch: None takes the whole memory.
        policy: how the memory places a sample, a name in `tacl_lib.core.memory.POLICIES`.
        """
        super().__init__(network, rate=rate)
        check_positive(reference_batch=reference_batch)
        pools = network.sizes[-1] if pool_per_class else 1
        self.geometry = Geometry(pools, max(100 // pools, 1) if clusters is None else clusters, cluster_size)
        self.memory = sample_memory(network.runs, network.sizes[0], self.geometry, policy, network.device)
        self.sampling, self.reference_batch, self.pool_per_class = (
            Sampling(sampling_rate),
            reference_batch,
            pool_per_class,
        )
        self.steps = 0
        self.pool = self.memory.store.pool = pool_for(network, self.memory.store.x, reference_batch)
        # Per step: which sample of the batch, where chance puts it, and a key for each place.
        width = 2 + self.geometry.capacity
        self._uniforms = Uniforms(network.seeds, "memory", width, network.device)
        self._rows = Rows(network.runs, network.device)

    def step(self, x: torch.Tensor, y: torch.Tensor) -> Step:
        uniform = self._uniforms(self.steps)
        if self.pool:
            places, weight = draw(self.memory.filled, self.reference_batch, uniform[:, 2:])
            labels = self._rows.read(self.memory.store.y, places)
            step = pooled_agem_step(self.pool, self.rate, x, y, places, labels, weight)
        else:
            step = agem_step(self.network, self.rate, x, y, *self.reference(uniform[:, 2:]))
        if self.sampling.due(self.steps):
            step = step._replace(stored=self._remember(x, y, uniform[:, 0], uniform[:, 1]))
        self.steps += 1
        return step

    def reference(self, keys: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """M̃: samples, labels and their weights; the largest of the random keys ``[R, capacity]`` are drawn."""
        places, weight = draw(self.memory.filled, self.reference_batch, keys)
        store = self.memory.store
        return self._rows.read(store.x, places), self._rows.read(store.y, places), weight

    def _remember(self, x: torch.Tensor, y: torch.Tensor, which: torch.Tensor, where: torch.Tensor) -> Stored:
        """Add one sample of the batch, drawn at random, to the pool of its class."""
        chosen = (which * x.shape[1]).long()
        sample, label = self._rows.read(x, chosen), self._rows.read(y, chosen)
        pool = label if self.pool_per_class else torch.zeros_like(label)
        return Stored(chosen, self.memory.add((sample, label), pool, where))

    def tested(self) -> Network:
        if self.pool:
            self.pool.settle()
        return self.network

    def state(self) -> dict:
        return super().state() | {"memory": self.memory.state(), "pool": pool_state(self.pool), "steps": self.steps}

    def load_state(self, state: dict) -> None:
        super().load_state(state)
        self.memory.load_state(state["memory"])
        load_pool(self.pool, state["pool"])
        self.steps = state["steps"]

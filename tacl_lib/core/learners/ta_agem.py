"""TA-A-GEM, task-agnostic A-GEM on a cluster memory; literally in `tacl_lib/plain/ta_agem.py`."""

import torch

from tacl_lib.core.checking import check_whole
from tacl_lib.core.learners.agem import agem_step
from tacl_lib.core.learners.base import Learner, Step, Stored, register_learner
from tacl_lib.core.memory import ArrivalSampler, Geometry, Reference, sample_memory
from tacl_lib.core.memory.samples import draw_reference, reference_size
from tacl_lib.core.network import Network

FEATURES = "features"  #: activations of the last hidden layer, as a space to cluster in


@register_learner
class TaAgem(Learner):
    """Takes an A-GEM step, then adds one sample of the batch to the memory by the paper's Algorithm 3."""

    name = "ta_agem"
    inference = True
    kept = ("memory", "steps")

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
        space: str = "x",
    ):
        """clusters: Q, clusters per pool; None gives 100 in total, as in the paper (10 × 10 or 2 × 50).
        cluster_size: P. pool_per_class: a pool for each class, or a single one.
        sampling_rate: samples stored per batch. reference_batch: size of M̃; None takes the whole memory.
        policy: how the memory places a sample, a name in `tacl_lib.core.memory.POLICIES`.
        space: what is clustered: ``"x"``, the samples themselves, as in the paper; ``"features"``, the activations of
            the last hidden layer when a sample arrives; or the name of a field.
        """
        super().__init__(network, rate=rate)
        check_whole(or_none=True, reference_batch=reference_batch)
        pools = network.classes if pool_per_class else 1
        self.geometry = Geometry(pools, max(100 // pools, 1) if clusters is None else clusters, cluster_size)
        self.reference_batch, self.steps, self.space = reference_batch, 0, space
        fields = self.fields() | ({FEATURES: (network.hidden_width,)} if space == FEATURES else {})
        self.memory = sample_memory(
            network.runs, network.features, self.geometry, policy, network.device, space=space, **fields
        )
        capacity = self.geometry.capacity
        self.arrivals = ArrivalSampler(network.seeds, sampling_rate, pool_per_class, capacity, network.device)
        network.watch(self.memory.members, reference_size(reference_batch, capacity))

    def step(self, x: torch.Tensor, y: torch.Tensor) -> Step:
        step = agem_step(self.network, self.rate, x, y, self.draw_reference())
        return step._replace(stored=self.remember(x, y))

    def fields(self) -> dict[str, tuple[int, ...]]:
        """Extra fields stored with each sample: the shape of one entry by name, e.g. ``{"logits": (10,)}``."""
        return {}

    def draw_reference(self) -> Reference:
        """M̃: stored samples drawn at random for this step."""
        keys = self.arrivals.keys(self.steps)
        return draw_reference(self.memory.members, self.memory.filled, self.reference_batch, keys)

    def remember(self, x: torch.Tensor, y: torch.Tensor, **fields: torch.Tensor) -> Stored | None:
        """End a step. One sample of the batch, drawn at random, joins the memory if this step is due.

        fields: extra fields of every sample of the batch, ``[R, batch, ...]``.
        """
        stored = None
        if self.arrivals.due(self.steps):
            chosen = self.arrivals.choose(self.steps, x, y, **fields)
            item = chosen.item
            if self.space == FEATURES:
                features = self.network.hidden(item.x.unsqueeze(1))[:, 0]
                item = item._replace(fields=item.fields | {FEATURES: features})
            stored = Stored(chosen.position, self.memory.add(item, chosen.pool, chosen.uniform))
        self.steps += 1
        return stored

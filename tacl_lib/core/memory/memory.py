"""A memory of constant size: a policy that says where a newcomer goes, and a store that holds it."""

import torch

from tacl_lib.core.memory.policies import Arrival, Geometry, Placement, policy_named
from tacl_lib.core.memory.samples import Samples
from tacl_lib.core.memory.stores import GradientStore, Sample, SampleStore
from tacl_lib.errors import unknown_name


class Memory:
    """R memories at once, one per run, all of the same geometry."""

    def __init__(self, store: SampleStore | GradientStore, geometry: Geometry, policy: str, runs: int, device):
        self.geometry, self.store = geometry.checked(), store
        self.policy = policy_named(policy)
        #: how often each cluster was added to, int64 ``[R, clusters of all pools]``
        self.added = torch.zeros(runs, geometry.pools * geometry.clusters, dtype=torch.int64, device=device)
        self._one = torch.ones(runs, 1, dtype=torch.int64, device=device)
        self._slots = torch.arange(geometry.size, device=device)

    @property
    def filled(self) -> torch.Tensor:
        """Which places hold something: bool ``[R, capacity]``; place = cluster · P + slot."""
        return (self._slots < self.added.unsqueeze(2)).flatten(1)

    def add(self, item, pool: torch.Tensor, uniform: torch.Tensor) -> Placement:
        """Add one item of each run to the pool ``[R]`` that it belongs to; uniform ``[R]``: for the policy."""
        filled = self.filled
        item = Sample(*item) if isinstance(self.store, SampleStore) else item
        placement = self.policy(
            Arrival(
                self.geometry,
                self.added,
                pool,
                uniform,
                item,
                self.members,
                filled,
                lambda: self.store.distances(item, pool, filled),
            )
        )
        # Counted even when turned away, so that a reservoir knows how many it has seen; a place that is
        # full stays full.
        self.added.scatter_add_(1, placement.cluster.unsqueeze(1), self._one)
        place = placement.cluster * self.geometry.size + placement.slot
        self.store.put(place, item, placement.kept, self.filled)
        return placement

    @property
    def members(self):
        """What is stored: `Samples`, or the `StoredGradients` of a network."""
        return self.store.samples if isinstance(self.store, SampleStore) else self.store.stored

    def state(self) -> dict:
        """Everything that a checkpoint needs."""
        return {"added": self.added, "store": self.store.state()}

    def load_state(self, state: dict) -> None:
        self.added.copy_(state["added"])
        self.store.load_state(state["store"])


def sample_memory(
    runs: int,
    features: int,
    /,
    geometry: Geometry,
    policy: str,
    device: torch.device | str = "cpu",
    *,
    space: str = "x",
    **fields,
) -> Memory:
    """A memory of labelled samples: items are ``(x [R, features], y [R])``. fields: see `Samples.empty`.

    space: what of a sample is clustered: ``"x"``, or the name of a field.
    """
    if space != "x" and space not in fields:
        raise unknown_name("space", space, ["x", *fields])
    samples = Samples.empty(runs, geometry.checked().capacity, features, device, **fields)
    return Memory(SampleStore(samples, geometry, space), geometry, policy, runs, device)


def gradient_memory(stored, geometry: Geometry, policy: str) -> Memory:
    """A memory of model gradients at the places of a network's `StoredGradients`: items are its candidates."""
    runs, device = stored.gram.shape[0], stored.gram.device
    return Memory(GradientStore(stored, geometry), geometry, policy, runs, device)

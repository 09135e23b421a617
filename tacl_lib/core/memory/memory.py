"""A memory of constant size: a policy that says where a newcomer goes, and a store that holds it."""

import torch

from tacl_lib.core.memory.policies import Arrival, Geometry, Placement, policy_named
from tacl_lib.core.memory.samples import Samples
from tacl_lib.core.memory.stores import GradientStore, Sample, SampleStore
from tacl_lib.errors import TaclError, unknown_name


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
        if isinstance(self.store, SampleStore):
            item = Sample(*item)
            self._check_item(item, pool)
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
        if self.policy.__module__ != policy_named.__module__:  # the kit's own are tested
            self._check_placement(placement)
        # Counted even when turned away, so that a reservoir knows how many it has seen; a place that is
        # full stays full.
        self.added.scatter_add_(1, placement.cluster.unsqueeze(1), self._one)
        place = placement.cluster * self.geometry.size + placement.slot
        self.store.put(place, item, placement.kept, self.filled)
        return placement

    def _check_item(self, item: Sample, pool: torch.Tensor) -> None:
        """One sample of each run, before anything is changed. Values are looked at on a CPU only."""
        runs, _, features = self.store.samples.x.shape
        for name, value, shape in (("x", item.x, (runs, features)), ("y", item.y, (runs,)), ("pool", pool, (runs,))):
            if not isinstance(value, torch.Tensor) or value.shape != shape:
                found = list(value.shape) if isinstance(value, torch.Tensor) else type(value).__name__
                raise TaclError(f"{name} of a sample of this memory must be a tensor {list(shape)}, not {found}.")
        if pool.device.type == "cpu" and not all(0 <= number < self.geometry.pools for number in pool.tolist()):
            raise TaclError(f"this memory has the pools 0 to {self.geometry.pools - 1}, not {pool.tolist()}.")

    def _check_placement(self, placement: object) -> None:
        """What a user's policy has answered, before anything is changed."""
        name = getattr(self.policy, "__name__", repr(self.policy))
        if not isinstance(placement, Placement):
            raise TaclError(
                f"the memory policy {name} must return a Placement, as arrival.into_cluster(...) does, not "
                f"{type(placement).__name__}."
            )
        pools, clusters, size = self.geometry
        for what, value, count in (("cluster", placement.cluster, pools * clusters), ("slot", placement.slot, size)):
            if not isinstance(value, torch.Tensor) or value.dtype != torch.int64 or value.shape != self._one.shape[:1]:
                raise TaclError(
                    f"{what} of a Placement must be an int64 tensor [{len(self._one)}]; see the policy {name}."
                )
            if value.device.type == "cpu" and not all(0 <= number < count for number in value.tolist()):
                raise TaclError(
                    f"the memory policy {name} chose {what} {value.tolist()}, but there are only 0 to {count - 1}."
                )

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

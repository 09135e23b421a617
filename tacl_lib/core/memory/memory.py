"""A memory of constant size: a policy chooses a place for each newcomer, a store holds it."""

from functools import partial

import torch

from tacl_lib.core.checking import check_range, check_shape
from tacl_lib.core.memory.policies import Arrival, Geometry, Placement, policy_named
from tacl_lib.core.memory.samples import Samples
from tacl_lib.core.memory.stores import GradientStore, SampleStore
from tacl_lib.errors import TaclError, unknown_name


class Memory:
    """R memories at once, one per run, all with the same geometry."""

    def __init__(self, store: SampleStore | GradientStore, geometry: Geometry, policy: str, runs: int, device):
        self.geometry, self.store = geometry.checked(), store
        self.policy = policy_named(policy)
        #: number of arrivals in each cluster, int64 ``[R, clusters of all pools]``
        self.added = torch.zeros(runs, geometry.pools * geometry.clusters, dtype=torch.int64, device=device)
        self._one = torch.ones(runs, 1, dtype=torch.int64, device=device)
        self._slots = torch.arange(geometry.size, device=device)

    @property
    def members(self):
        """What is stored: `Samples`, or a network's `StoredGradients`."""
        return self.store.members

    @property
    def filled(self) -> torch.Tensor:
        """Which places are occupied: bool ``[R, capacity]``; place = cluster · P + slot."""
        return (self._slots < self.added.unsqueeze(2)).flatten(1)

    def add(self, item, pool: torch.Tensor, uniform: torch.Tensor) -> Placement:
        """Add one item per run to its pool ``[R]``. uniform: one random number per run for the policy, ``[R]``."""
        filled, item = self.filled, self.store.checked(item)
        check_shape("the pool of an item", pool, self._one.shape[:1])
        check_range("this memory's pools are", pool, self.geometry.pools)
        measure = partial(self.store.distances, item, pool, filled)
        placement = self.policy(Arrival(self.geometry, self.added, pool, uniform, item, self.members, filled, measure))
        if self.policy.__module__ != policy_named.__module__:  # the built-in policies are tested
            self._check_placement(placement)
        # Rejected items count too, so that a reservoir knows how many it has seen; a full place stays full.
        self.added.scatter_add_(1, placement.cluster.unsqueeze(1), self._one)
        place = placement.cluster * self.geometry.size + placement.slot
        self.store.put(place, item, placement.kept, self.filled)
        return placement

    def _check_placement(self, placement: object) -> None:
        """Check what a user's policy returned, before anything changes."""
        name = getattr(self.policy, "__name__", repr(self.policy))
        if not isinstance(placement, Placement):
            raise TaclError(
                f"the memory policy {name} must return a Placement, as arrival.into_cluster(...) does, not "
                f"{type(placement).__name__}."
            )
        pools, clusters, size = self.geometry
        for what, value, count in (("cluster", placement.cluster, pools * clusters), ("slot", placement.slot, size)):
            check_shape(f"{what} in the Placement of the policy {name}", value, self._one.shape[:1], whole=True)
            check_range(f"the memory policy {name} must choose a {what} from", value, count)

    def state(self) -> dict:
        """Everything a checkpoint needs."""
        return {"added": self.added, "store": self.store.tensors()}

    def load_state(self, state: dict) -> None:
        self.added.copy_(state["added"])
        for name, tensor in self.store.tensors().items():  # in place, because others hold the same tensors
            tensor.copy_(state["store"][name])


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

    space: what is clustered: ``"x"``, or the name of a field.
    """
    if space != "x" and space not in fields:
        raise unknown_name("space", space, ["x", *fields])
    samples = Samples.empty(runs, geometry.checked().capacity, features, device, **fields)
    return Memory(SampleStore(samples, geometry, space), geometry, policy, runs, device)


def gradient_memory(stored, geometry: Geometry, policy: str) -> Memory:
    """A memory of model gradients in a network's `StoredGradients`: items are its candidates."""
    runs, device = stored.gram.shape[0], stored.gram.device
    return Memory(GradientStore(stored, geometry), geometry, policy, runs, device)

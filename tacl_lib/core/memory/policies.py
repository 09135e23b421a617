"""Where a new item goes: the paper's clustering, and the policies it is compared with.

A policy maps an `Arrival` to a `Placement`, for all runs at once. Shapes are static, and policies never read values
from the device, so a step never blocks.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from tacl_lib.core.checking import check_whole
from tacl_lib.errors import TaclError, refuse_second, unknown_name
from tacl_lib.plugins import Registry


class Geometry(NamedTuple):
    """Number of pools, of clusters per pool (Q), and of members per cluster (P)."""

    pools: int
    clusters: int
    size: int

    @property
    def capacity(self) -> int:
        return self.pools * self.clusters * self.size

    def checked(self) -> "Geometry":
        for name, value in self._asdict().items():
            check_whole(**{f"a memory's {name}": value})
        return self


class Placement(NamedTuple):
    """Where a new item goes, one entry per run ``[R]``."""

    cluster: torch.Tensor  #: int64; pool k holds clusters k · Q to (k + 1) · Q
    slot: torch.Tensor  #: int64 in 0 … P - 1
    kept: torch.Tensor | None  #: bool, False where the item is rejected; None: all are kept


@dataclass(frozen=True)
class Arrival:
    """One new item per run, and everything a policy may use to place it."""

    geometry: Geometry
    added: torch.Tensor  #: number of arrivals in each cluster, int64 ``[R, clusters of all pools]``
    pool: torch.Tensor  #: the pool of the new item, int64 ``[R]``
    uniform: torch.Tensor  #: one random number per run ``[R]``
    item: Any = None  #: the new item: a `Sample` with x, y and fields, or a model gradient
    members: Any = None  #: the stored items: `Samples` with x, y and fields, or `StoredGradients`
    filled: torch.Tensor | None = None  #: which places are occupied, bool ``[R, capacity]``
    measure: Callable[[], torch.Tensor] | None = None

    def distances(self) -> torch.Tensor:
        """‖z - μ_q‖², from the new item to the mean of each cluster of its pool: ``[R, Q]``."""
        return self.measure()

    def before(self) -> torch.Tensor:
        """How many items came to this pool before: int64 ``[R]``."""
        added = self.added.unflatten(1, (self.geometry.pools, self.geometry.clusters)).sum(2)
        return _of_each(added, self.pool)

    def into_cluster(self, chosen: torch.Tensor) -> Placement:
        """Open a new cluster while one is left, else join the chosen one ``[R]``; if full, its oldest member leaves."""
        # The first Q arrivals of a pool open its clusters, so the number of open clusters is that of arrivals.
        arrived = self.before()
        within = torch.where(arrived < self.geometry.clusters, arrived, chosen)
        cluster = self.pool * self.geometry.clusters + within
        # A ring buffer: arrival n of a cluster goes to slot n mod P, where its oldest member is.
        return Placement(cluster, _of_each(self.added, cluster) % self.geometry.size, None)

    def into_pool(self, place: torch.Tensor, kept: torch.Tensor | None = None) -> Placement:
        """Put the item at ``place [R]`` of its pool, ignoring clusters."""
        cluster = self.pool * self.geometry.clusters + torch.div(place, self.geometry.size, rounding_mode="floor")
        return Placement(cluster, place % self.geometry.size, kept)


Policy = Callable[[Arrival], Placement]


def nearest_cluster(arrival: Arrival) -> Placement:
    """The paper's Algorithm 3: the first Q samples open the clusters, then the nearest mean wins; FIFO within."""
    return arrival.into_cluster(arrival.distances().argmin(1))


def random_cluster(arrival: Arrival) -> Placement:
    """The paper's control: the first Q samples open the clusters, then a random one is chosen; FIFO within."""
    clusters = arrival.geometry.clusters
    return arrival.into_cluster((arrival.uniform * clusters).long().clamp_(max=clusters - 1))


def fifo(arrival: Arrival) -> Placement:
    """No clusters: the newest Q · P samples of the pool."""
    return arrival.into_pool(arrival.before() % _room(arrival))


def reservoir(arrival: Arrival) -> Placement:
    """No clusters: every sample of the pool so far is held with equal probability (Vitter's algorithm R)."""
    room, before = _room(arrival), arrival.before()
    drawn = (arrival.uniform.double() * (before + 1)).long()
    place = torch.where(before < room, before, drawn)
    return arrival.into_pool(place.clamp(max=room - 1), place < room)


POLICIES: dict[str, Policy] = Registry(
    clustering=nearest_cluster, random=random_cluster, fifo=fifo, reservoir=reservoir
)


def register_policy(name: str) -> Callable[[Policy], Policy]:
    """Decorator: makes a policy available by name, as in ``make_learner(..., policy="...")``."""

    def registered(policy: Policy) -> Policy:
        if not callable(policy) or not isinstance(name, str):
            raise TaclError(f"a memory policy must be a function of an Arrival, and its name a string, not {policy!r}.")
        refuse_second(POLICIES, "memory policy", name, policy)
        POLICIES[name] = policy
        return policy

    return registered


def policy_named(name: str) -> Policy:
    """The policy of this name in `POLICIES`; `register_policy` adds more."""
    if name not in POLICIES:
        raise unknown_name("memory policy", name, POLICIES)
    return POLICIES[name]


def _room(arrival: Arrival) -> int:
    return arrival.geometry.clusters * arrival.geometry.size


def _of_each(table: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """Entry ``index[r]`` of row r in a table ``[R, n]``."""
    return table.gather(1, index.unsqueeze(1)).squeeze(1)

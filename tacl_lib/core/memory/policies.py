"""Where a newcomer goes: the paper's clustering, and the rules that it is compared with.

A policy looks at an `Arrival` and answers with a `Placement`, one of each run. All are static in shape and ask the
device nothing, so that a step never waits.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from tacl_lib.core.checking import check_whole
from tacl_lib.errors import TaclError, refuse_second, unknown_name
from tacl_lib.plugins import Register


class Geometry(NamedTuple):
    """How many pools a memory has, how many clusters a pool (Q), and how many members a cluster (P)."""

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
    """Where a newcomer went, one entry per run ``[R]``."""

    cluster: torch.Tensor  #: int64; pool k holds clusters k · Q to (k + 1) · Q
    slot: torch.Tensor  #: int64 in 0 … P - 1
    kept: torch.Tensor | None  #: bool, False where the newcomer was turned away; None: all were kept


@dataclass(frozen=True)
class Arrival:
    """One newcomer of each run, and all that a policy may look at to find a place for it."""

    geometry: Geometry
    added: torch.Tensor  #: how often each cluster was added to, int64 ``[R, clusters of all pools]``
    pool: torch.Tensor  #: which pool the newcomer belongs to, int64 ``[R]``
    uniform: torch.Tensor  #: one random number of each run ``[R]``
    item: Any = None  #: the newcomer: a `Sample` with x, y and fields, or a model gradient
    members: Any = None  #: what the memory holds: `Samples` with x, y and fields, or `StoredGradients`
    filled: torch.Tensor | None = None  #: which places hold something, bool ``[R, capacity]``
    measure: Callable[[], torch.Tensor] | None = None

    def distances(self) -> torch.Tensor:
        """‖z - μ_q‖² to the means of the clusters of the newcomer's pool: ``[R, Q]``."""
        return self.measure()

    def before(self) -> torch.Tensor:
        """How many samples came to the newcomer's pool before it: int64 ``[R]``."""
        added = self.added.unflatten(1, (self.geometry.pools, self.geometry.clusters)).sum(2)
        return _of_each(added, self.pool)

    def into_cluster(self, chosen: torch.Tensor) -> Placement:
        """A new cluster while the pool has one, else the chosen one ``[R]``; its oldest member leaves if it is full."""
        # The first Q arrivals of a pool open its clusters, so their number is that of the arrivals until then.
        arrived = self.before()
        within = torch.where(arrived < self.geometry.clusters, arrived, chosen)
        cluster = self.pool * self.geometry.clusters + within
        # A ring: the newcomer number n of a cluster stands at n mod P, which is where the oldest one stood.
        return Placement(cluster, _of_each(self.added, cluster) % self.geometry.size, None)

    def into_pool(self, place: torch.Tensor, kept: torch.Tensor | None = None) -> Placement:
        """Place number ``place [R]`` of the pool. Without clusters it still has a cluster and a slot, for figures."""
        cluster = self.pool * self.geometry.clusters + torch.div(place, self.geometry.size, rounding_mode="floor")
        return Placement(cluster, place % self.geometry.size, kept)


Policy = Callable[[Arrival], Placement]


def nearest_cluster(arrival: Arrival) -> Placement:
    """The paper's Algorithm 3: the first Q samples open the clusters, then the nearest mean; FIFO within."""
    return arrival.into_cluster(arrival.distances().argmin(1))


def random_cluster(arrival: Arrival) -> Placement:
    """The paper's control: the first Q samples open the clusters, then any cluster; FIFO within."""
    clusters = arrival.geometry.clusters
    return arrival.into_cluster((arrival.uniform * clusters).long().clamp_(max=clusters - 1))


def fifo(arrival: Arrival) -> Placement:
    """No clusters: the newest Q · P samples of the pool."""
    return arrival.into_pool(arrival.before() % _room(arrival))


def reservoir(arrival: Arrival) -> Placement:
    """No clusters: each sample of the pool so far is kept with the same probability (Vitter's algorithm R)."""
    room, before = _room(arrival), arrival.before()
    drawn = (arrival.uniform.double() * (before + 1)).long()
    place = torch.where(before < room, before, drawn)
    return arrival.into_pool(place.clamp(max=room - 1), place < room)


POLICIES: dict[str, Policy] = Register(
    clustering=nearest_cluster, random=random_cluster, fifo=fifo, reservoir=reservoir
)


def register_policy(name: str) -> Callable[[Policy], Policy]:
    """Decorator: the policy can then be asked for by its name, as ``policy="..."`` of a learner."""

    def registered(policy: Policy) -> Policy:
        if not callable(policy) or not isinstance(name, str):
            raise TaclError(f"a memory policy is a function of an Arrival, with a word as its name, not {policy!r}.")
        refuse_second(POLICIES, "memory policy", name, policy)
        POLICIES[name] = policy
        return policy

    return registered


def policy_named(name: str) -> Policy:
    """A policy by its name in `POLICIES`, to which `register_policy` adds."""
    if name not in POLICIES:
        raise unknown_name("memory policy", name, POLICIES)
    return POLICIES[name]


def _room(arrival: Arrival) -> int:
    return arrival.geometry.clusters * arrival.geometry.size


def _of_each(table: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """Entry ``index [R]`` of each run's row in a table ``[R, n]``."""
    return table.gather(1, index.unsqueeze(1)).squeeze(1)

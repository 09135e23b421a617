"""Where a newcomer goes: the paper's clustering, and the rules that it is compared with.

A policy answers with a place per run. All are static in shape and ask the device nothing, so that a step
never waits. ``uniform`` is one random number per run; rules without chance ignore it.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch

from tacl_lib.errors import TaclError, unknown_name


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
            if value < 1:
                raise TaclError(f"a memory's {name} must be at least 1, not {value}.")
        return self


class Placement(NamedTuple):
    """Where a newcomer went, one entry per run ``[R]``."""

    cluster: torch.Tensor  #: int64; pool k holds clusters k · Q to (k + 1) · Q
    slot: torch.Tensor  #: int64 in 0 … P - 1
    kept: torch.Tensor | None  #: bool, False where the newcomer was turned away; None: all were kept


#: (geometry, how often each cluster was added to [R, C], pool [R], distances to the pool's means [R, Q] on
#: call, uniform [R]) → placement
Policy = Callable[[Geometry, torch.Tensor, torch.Tensor, Callable[[], torch.Tensor], torch.Tensor], Placement]


def nearest_cluster(geometry, added, pool, distances, uniform) -> Placement:
    """The paper's Algorithm 3: the first Q samples open the clusters, then the nearest mean; FIFO within."""
    return _into_cluster(geometry, added, pool, distances().argmin(1))


def random_cluster(geometry, added, pool, distances, uniform) -> Placement:
    """The paper's control: the first Q samples open the clusters, then any cluster; FIFO within."""
    any_cluster = (uniform * geometry.clusters).long().clamp_(max=geometry.clusters - 1)
    return _into_cluster(geometry, added, pool, any_cluster)


def fifo(geometry, added, pool, distances, uniform) -> Placement:
    """No clusters: the newest Q · P samples of the pool."""
    room = geometry.clusters * geometry.size
    return _into_pool(geometry, pool, _added_to_pool(geometry, added, pool) % room, None)


def reservoir(geometry, added, pool, distances, uniform) -> Placement:
    """No clusters: each sample of the pool so far is kept with the same chance (Vitter's algorithm R)."""
    room = geometry.clusters * geometry.size
    before = _added_to_pool(geometry, added, pool)
    drawn = (uniform.double() * (before + 1)).long()
    place = torch.where(before < room, before, drawn)
    return _into_pool(geometry, pool, place.clamp(max=room - 1), place < room)


POLICIES: dict[str, Policy] = {
    "clustering": nearest_cluster,
    "random": random_cluster,
    "fifo": fifo,
    "reservoir": reservoir,
}


def policy_named(name: str) -> Policy:
    """A policy by its name in `POLICIES`, to which a user may add."""
    if name not in POLICIES:
        raise unknown_name("memory policy", name, POLICIES)
    return POLICIES[name]


def _into_cluster(geometry: Geometry, added: torch.Tensor, pool: torch.Tensor, chosen: torch.Tensor) -> Placement:
    """A new cluster while the pool has one, else the chosen one; its oldest member leaves when it is full."""
    # The first Q arrivals of a pool open its clusters, so their number is that of the arrivals until then.
    arrived = _added_to_pool(geometry, added, pool)
    within = torch.where(arrived < geometry.clusters, arrived, chosen)
    cluster = pool * geometry.clusters + within
    # A ring: the newcomer number n of a cluster stands at n mod P, which is where the oldest one stood.
    return Placement(cluster, _of_each(added, cluster) % geometry.size, None)


def _added_to_pool(geometry: Geometry, added: torch.Tensor, pool: torch.Tensor) -> torch.Tensor:
    return _of_each(added.unflatten(1, (geometry.pools, geometry.clusters)).sum(2), pool)


def _of_each(table: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """Entry ``index [R]`` of each run's row in a table ``[R, n]``."""
    return table.gather(1, index.unsqueeze(1)).squeeze(1)


def _into_pool(geometry: Geometry, pool: torch.Tensor, place: torch.Tensor, kept) -> Placement:
    """Place number ``place`` of a pool without clusters; for pictures it still has a cluster and a slot."""
    cluster = pool * geometry.clusters + torch.div(place, geometry.size, rounding_mode="floor")
    return Placement(cluster, place % geometry.size, kept)

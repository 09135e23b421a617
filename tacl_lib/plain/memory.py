"""Algorithm 3, the cluster memory, and the memories it is compared with. Random choices are passed in.

Each stored z carries a tag that identifies it: a sample, a step, anything. The memory itself never uses it.
"""

import torch
from torch import Tensor

Q, P = 10, 3  # clusters, and members per cluster


def nearest(z: Tensor, means: list[Tensor]) -> int:
    """q* = argmin_q ‖z - μ_q‖² (equation 3); of several at the same distance the first."""
    distances = [float(((z - mean) ** 2).sum()) for mean in means]
    return distances.index(min(distances))


def add(memory: "ClusterMemory", z: Tensor, tag: object = None) -> tuple[int, object]:
    """Procedure ADD(z). Returns the cluster that z joined, and the tag of the member that left, or None."""
    if len(memory.clusters) < memory.Q:  # open
        memory.clusters.append([(tag, z)])
        memory.means.append(z)
        return len(memory.clusters) - 1, None
    q = nearest(z, memory.means)  # assign
    cluster, left = memory.clusters[q], None
    cluster.append((tag, z))
    if len(cluster) > memory.P:  # evict
        left, _ = cluster.pop(0)
    memory.means[q] = sum(member for _, member in cluster) / len(cluster)  # update (equation 4)
    return q, left


class ClusterMemory:
    """`clusters[q]` is a list of (tag, z), oldest first; `means[q]` is μ_q."""

    def __init__(self, Q=Q, P=P):
        self.Q, self.P = Q, P
        self.clusters, self.means = [], []

    def add(self, z, tag=None):
        return add(self, torch.as_tensor(z, dtype=torch.float64), tag)

    def contents(self):
        """The tags in each cluster, oldest first."""
        return [[tag for tag, _ in cluster] for cluster in self.clusters]

    def tags(self):
        """All stored tags, cluster after cluster."""
        return [tag for cluster in self.clusters for tag, _ in cluster]

    def vectors(self):
        """All stored z, in the order of `tags()`."""
        return [z for cluster in self.clusters for _, z in cluster]


class RandomClusterMemory(ClusterMemory):
    """The control, "TA-A-GEM random": Algorithm 3 with line 10 (argmin) replaced by a given cluster.

    The first Q samples still open the clusters; for these, the given cluster is ignored.
    """

    def add(self, z, tag=None, cluster=None):
        z = torch.as_tensor(z, dtype=torch.float64)
        if len(self.clusters) < self.Q:
            return add(self, z, tag)
        members, left = self.clusters[cluster], None
        members.append((tag, z))
        if len(members) > self.P:
            left, _ = members.pop(0)
        self.means[cluster] = sum(member for _, member in members) / len(members)
        return cluster, left


class PooledClusterMemory:
    """Section 3.1, "a different pool for each class": a separate Algorithm 3 with Q clusters for each label."""

    def __init__(self, pools, Q=Q, P=P, kind=ClusterMemory):
        self.pools = [kind(Q, P) for _ in range(pools)]

    def add(self, z, label, tag=None, **chosen):
        """Returns the pool, its cluster, and the tag of the member that left, or None."""
        return (int(label), *self.pools[int(label)].add(z, tag, **chosen))

    def contents(self):
        """The tags by pool and cluster, oldest first."""
        return [pool.contents() for pool in self.pools]

    def tags(self):
        return [tag for pool in self.pools for tag in pool.tags()]


class Reservoir:
    """Algorithm R: item n (counted from 0) takes slot n while n < capacity; then it takes slot j if j < capacity and is
    dropped otherwise. The argument j is a uniform integer in [0, n]."""

    def __init__(self, capacity):
        self.capacity = capacity
        self.slots = []
        self.seen = 0

    def add(self, tag, j=None):
        """Returns the slot taken, or None. While the reservoir fills, j is ignored."""
        n = self.seen
        self.seen += 1
        if n < self.capacity:
            self.slots.append(tag)
            return n
        assert 0 <= j <= n
        if j < self.capacity:
            self.slots[j] = tag
            return j
        return None

    def contents(self):
        """The tags in the order of slots (not of age)."""
        return list(self.slots)


class Fifo:
    """First in, first out: the newest `capacity` items."""

    def __init__(self, capacity):
        self.capacity = capacity
        self.items = []

    def add(self, tag):
        """Returns the tag that was removed, or None."""
        self.items.append(tag)
        return self.items.pop(0) if len(self.items) > self.capacity else None

    def contents(self):
        """The tags, oldest first."""
        return list(self.items)

"""Algorithm 3 (Clustering Mechanism) and the controls it is compared with, all as Python lists.

Every stored item carries an opaque tag, which says who is where. `contents()` lists tags, oldest first.
No class draws a random number: random choices are handed in.
"""

import numpy as np


class ClusterMemory:
    """Algorithm 3 literally. `clusters[q]` is a list of (tag, z), oldest first; `means[q]` is μ_q."""

    def __init__(self, Q, P):
        self.Q = Q
        self.P = P
        self.clusters = []  # C <- {}
        self.means = []

    def distances(self, z):
        """||z - μ_q||² for every cluster: lets a test see how near a tie was."""
        z = np.asarray(z, dtype=np.float64)
        return [float(np.sum((z - mean) ** 2)) for mean in self.means]

    def add(self, z, tag):
        """Procedure ADD(z); returns (cluster index, tag of the member that was removed or None)."""
        z = np.array(z, dtype=np.float64)
        if len(self.clusters) < self.Q:
            return self._open(z, tag)
        distances = self.distances(z)
        nearest = distances.index(min(distances))  # argmin; of equal ones the first wins
        return self._put(nearest, z, tag)

    def _open(self, z, tag):
        self.clusters.append([(tag, z)])
        self.means.append(z)
        return len(self.clusters) - 1, None

    def _put(self, q, z, tag):
        removed = None
        self.clusters[q].append((tag, z))
        if len(self.clusters[q]) > self.P:
            removed = self.clusters[q].pop(0)[0]
        total = np.zeros_like(z)
        for _, member in self.clusters[q]:
            total = total + member
        self.means[q] = total / len(self.clusters[q])
        return q, removed

    def contents(self):
        """Per cluster the tags, oldest first."""
        return [[tag for tag, _ in cluster] for cluster in self.clusters]

    def tags(self):
        """All stored tags, cluster after cluster."""
        return [tag for cluster in self.contents() for tag in cluster]

    def vectors(self):
        """All stored z, in the order of `tags()`."""
        return [z for cluster in self.clusters for _, z in cluster]


class RandomClusterMemory(ClusterMemory):
    """The ablation 'TA-A-GEM random': Algorithm 3 with line 10 (argmin) replaced by the cluster handed in.

    The first Q samples still open the clusters; for these the handed-in index is ignored.
    """

    def add(self, z, tag, cluster=None):
        z = np.array(z, dtype=np.float64)
        if len(self.clusters) < self.Q:
            return self._open(z, tag)
        return self._put(cluster, z, tag)


class PooledClusterMemory:
    """Section 3.1 'a different pool for each class': one independent Algorithm 3 for each class label.

    `pools` is the number of pools (= classes), labels are 0 .. pools-1. Q is the number of clusters PER POOL.
    """

    def __init__(self, pools, Q, P, kind=ClusterMemory):
        self.pools = [kind(Q, P) for _ in range(pools)]

    def add(self, z, label, tag, **chosen):
        """Returns (pool, cluster, removed tag or None)."""
        return (int(label), *self.pools[int(label)].add(z, tag, **chosen))

    def contents(self):
        """Per pool, per cluster the tags, oldest first."""
        return [pool.contents() for pool in self.pools]

    def tags(self):
        return [tag for pool in self.pools for tag in pool.tags()]


class Reservoir:
    """Algorithm R: item n (counted from 0) takes slot n while n < capacity; afterwards it takes slot j if
    j < capacity and is dropped otherwise, where j is a uniform integer in [0, n], handed in."""

    def __init__(self, capacity):
        self.capacity = capacity
        self.slots = []
        self.seen = 0

    def add(self, tag, j=None):
        """Returns the slot taken or None. j is ignored while the reservoir fills."""
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
        """Tags slot by slot (not by age)."""
        return list(self.slots)


class Fifo:
    """First in, first out: the newest `capacity` items."""

    def __init__(self, capacity):
        self.capacity = capacity
        self.items = []

    def add(self, tag):
        """Returns the tag that was removed or None."""
        self.items.append(tag)
        return self.items.pop(0) if len(self.items) > self.capacity else None

    def contents(self):
        """Tags, oldest first."""
        return list(self.items)

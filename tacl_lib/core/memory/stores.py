"""What a memory holds: samples, or gradients that are known by their inner products only."""

import torch

from tacl_lib.core.memory.policies import Geometry
from tacl_lib.core.rows import Rows
from tacl_lib.engine.gradient_pool import Candidate, GradientPool
from tacl_lib.engine.sample_pool import SamplePool


class SampleStore:
    """Labelled samples and the means of their clusters, for TA-A-GEM."""

    def __init__(self, runs: int, features: int, geometry: Geometry, device: torch.device | str = "cpu"):
        self.geometry = geometry
        clusters = geometry.pools * geometry.clusters
        self.x = torch.zeros(runs, clusters * geometry.size, features, device=device)
        self.y = torch.zeros(runs, clusters * geometry.size, dtype=torch.int64, device=device)
        self.means = torch.zeros(runs, clusters, features, device=device)  #: μ
        #: told of every replacement, if there is one
        self.pool: SamplePool | None = None
        self._rows = Rows(runs, device)

    def distances(self, item: tuple[torch.Tensor, torch.Tensor], pool: torch.Tensor, filled) -> torch.Tensor:
        """‖z - μ_q‖² to the clusters of the item's pool: ``[R, Q]``."""
        of_pool = self._rows.read(self.means.unflatten(1, (self.geometry.pools, self.geometry.clusters)), pool)
        return of_pool.sub_(item[0].unsqueeze(1)).square_().sum(2)

    def put(self, place: torch.Tensor, item: tuple[torch.Tensor, torch.Tensor], kept, filled) -> None:
        """Store ``(x [R, features], y [R])`` at ``place [R]`` and recompute the mean of its cluster."""
        rows, size = self._rows, self.geometry.size
        x, y = item
        if kept is not None:
            x = torch.where(kept.unsqueeze(1), x, rows.read(self.x, place))
            y = torch.where(kept, y, rows.read(self.y, place))
        if self.pool:
            self.pool.leave(place)
        rows.write(self.x, place, x)
        rows.write(self.y, place, y)
        if self.pool:
            self.pool.enter(place)
        cluster = torch.div(place, size, rounding_mode="floor")
        members = rows.read(self.x.unflatten(1, (-1, size)), cluster)  # empty places hold zeros
        count = rows.read(filled.unflatten(1, (-1, size)), cluster).sum(1, keepdim=True)
        rows.write(self.means, cluster, members.sum(1) / count)

    def state(self) -> dict[str, torch.Tensor]:
        return {"x": self.x, "y": self.y, "means": self.means}

    def load_state(self, state: dict[str, torch.Tensor]) -> None:
        for name, tensor in self.state().items():  # in place: a pool looks at the same samples
            tensor.copy_(state[name])


class GradientStore:
    """Model gradients in a `GradientPool`, for TA-OGD. Distances come from the Gram matrix alone."""

    def __init__(self, pool: GradientPool, geometry: Geometry):
        self.pool, self.geometry = pool, geometry
        self._run = torch.arange(pool.network.runs, device=pool.network.device)

    def distances(self, item: Candidate, pool: torch.Tensor, filled: torch.Tensor) -> torch.Tensor:
        """‖z - μ_q‖² = ⟨z, z⟩ - 2 Σ_i ⟨z, u_i⟩ / n + Σ_ij K_ij / n² over the n members of cluster q: ``[R, Q]``."""
        pools, clusters, size = self.geometry
        count = filled.unflatten(1, (-1, size)).sum(2).clamp(min=1)
        along = item.along.unflatten(1, (-1, size)).sum(2)
        blocks = self.pool.gram.unflatten(2, (-1, size)).unflatten(1, (-1, size))  # [R, C, P, C, P]
        within = blocks.diagonal(dim1=1, dim2=3).sum((1, 2))
        squares = item.square.unsqueeze(1) - 2 * along / count + within / count**2
        return squares.unflatten(1, (pools, clusters))[self._run, pool]

    def put(self, place: torch.Tensor, item: Candidate, kept, filled) -> None:
        self.pool.put(place, item, kept)

    def state(self) -> dict:
        return self.pool.state()

    def load_state(self, state: dict) -> None:
        self.pool.load_state(state)

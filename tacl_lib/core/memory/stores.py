"""What a cluster memory stores: samples, or model gradients that are known only by their inner products."""

from typing import NamedTuple

import torch

from tacl_lib.core.checking import check_shape
from tacl_lib.core.memory.policies import Geometry
from tacl_lib.core.memory.samples import Samples
from tacl_lib.core.rows import Rows


class Sample(NamedTuple):
    """One labelled sample per run."""

    x: torch.Tensor  #: ``[R, features]``
    y: torch.Tensor  #: int64 ``[R]``
    fields: dict[str, torch.Tensor] = {}  # noqa: RUF012 (never changed)


class SampleStore:
    """Labelled samples and the means of their clusters, for TA-A-GEM.

    space: where distances are measured and means taken: ``"x"``, the samples themselves, or the name of a field.
    """

    def __init__(self, samples: Samples, geometry: Geometry, space: str = "x"):
        self.members, self.geometry, self.space = samples, geometry, space
        points = self._points
        runs = points.shape[0]
        self.means = points.new_zeros(runs, geometry.pools * geometry.clusters, points[0, 0].numel())  #: μ
        self._rows = Rows(runs, samples.x.device)

    def checked(self, item: tuple) -> Sample:
        """The item as a `Sample` of the right shape, or a `TaclError`."""
        sample, (runs, _, features) = Sample(*item), self.members.x.shape
        check_shape("x of a sample of this memory", sample.x, (runs, features))
        check_shape("y of a sample of this memory", sample.y, (runs,))
        return sample

    def distances(self, item: Sample, pool: torch.Tensor, filled: torch.Tensor) -> torch.Tensor:
        """‖z - μ_q‖² to each cluster of the item's pool: ``[R, Q]``."""
        of_pool = self._rows.read(self.means.unflatten(1, (self.geometry.pools, self.geometry.clusters)), pool)
        point = item.x if self.space == "x" else item.fields[self.space].flatten(1)
        return of_pool.sub_(point.unsqueeze(1)).square_().sum(2)

    def put(self, place: torch.Tensor, item: Sample, kept: torch.Tensor | None, filled: torch.Tensor) -> None:
        """Store a sample at ``place [R]`` and recompute the mean of its cluster."""
        rows, size = self._rows, self.geometry.size
        self.members.put(place, kept, x=item.x, y=item.y, **item.fields)
        cluster = torch.div(place, size, rounding_mode="floor")
        points = rows.read(self._points.unflatten(1, (-1, size)), cluster)  # empty places hold zeros
        count = rows.read(filled.unflatten(1, (-1, size)), cluster).sum(1, keepdim=True)
        rows.write(self.means, cluster, points.sum(1) / count)

    @property
    def _points(self) -> torch.Tensor:
        """The members as points of the space: ``[R, capacity, dimensions]``."""
        return self.members.x if self.space == "x" else self.members.fields[self.space].flatten(2)

    def tensors(self) -> dict[str, torch.Tensor]:
        """What a checkpoint saves."""
        return self.members.tensors() | {"means": self.means}


class GradientStore:
    """Model gradients at the places of a network's `StoredGradients`, for TA-OGD."""

    def __init__(self, stored, geometry: Geometry):
        self.members, self.geometry = stored, geometry
        self._rows = torch.arange(stored.gram.shape[0], device=stored.gram.device)

    def checked(self, item):
        """The network that made a candidate has checked it."""
        return item

    def distances(self, item, pool: torch.Tensor, filled: torch.Tensor) -> torch.Tensor:
        """‖z - μ_q‖² = ⟨z, z⟩ - 2 Σ_i ⟨z, u_i⟩ / n + Σ_ij K_ij / n² over the n members of cluster q: ``[R, Q]``."""
        pools, clusters, size = self.geometry
        count = filled.unflatten(1, (-1, size)).sum(2).clamp(min=1)
        along = item.along.unflatten(1, (-1, size)).sum(2)
        blocks = self.members.gram.unflatten(2, (-1, size)).unflatten(1, (-1, size))  # [R, C, P, C, P]
        within = blocks.diagonal(dim1=1, dim2=3).sum((1, 2))
        squares = item.square.unsqueeze(1) - 2 * along / count + within / count**2
        return squares.unflatten(1, (pools, clusters))[self._rows, pool]

    def put(self, place: torch.Tensor, item, kept: torch.Tensor | None, filled: torch.Tensor) -> None:
        """Store a gradient at ``place [R]``."""
        self.members.put(place, item, kept)

    def tensors(self) -> dict[str, torch.Tensor]:
        """Nothing: stored gradients are part of the network's state."""
        return {}

"""A cluster memory for your own training loop: one run, tensors of any shape, any extra fields."""

import torch

from tacl_lib.core.checking import checked_device, is_whole
from tacl_lib.core.memory.memory import Memory, sample_memory
from tacl_lib.core.memory.policies import Geometry
from tacl_lib.core.memory.samples import draw_reference
from tacl_lib.core.memory.stores import Sample
from tacl_lib.errors import TaclError


class ClusterMemory:
    """Holds at most ``pools · clusters · size`` labelled samples, placed by the paper's Algorithm 3 or another policy.

        memory = ClusterMemory(clusters=10, classes=10)
        memory.add(x[0], y[0], logits=logits[0])
        old = memory.sample(64)  # {"x": …, "y": …, "logits": …}

    clusters: Q, clusters per pool. size: P, members per cluster.
    classes: number of classes, each with its own pool; None for a single pool.
    policy: a name in `tacl_lib.core.memory.POLICIES`. seed: random seed.
    space: what is clustered: ``"x"``, the samples themselves, or the name of a field, such as hidden activations.

    The first sample sets the shape of all samples and the names of their fields.
    """

    def __init__(
        self,
        clusters: int = 100,
        size: int = 3,
        classes: int | None = None,
        policy: str = "clustering",
        seed: int = 0,
        device: torch.device | str = "cpu",
        space: str = "x",
    ):
        self.geometry = Geometry(1 if classes is None else classes, clusters, size).checked()
        if not is_whole(seed, 0):
            raise TaclError(f"seed must be a whole number from 0 on, not {seed!r}.")
        self.classes, self.policy, self.device, self.space = classes, policy, checked_device(device), space
        self._random = torch.Generator().manual_seed(seed)
        self._memory: Memory | None = None
        self._shapes: dict[str, torch.Size] = {}
        sample_memory(1, 1, Geometry(1, 1, 1), policy)  # refuses an unknown policy at once

    def __len__(self) -> int:
        """The number of stored samples."""
        return 0 if self._memory is None else int(self._memory.filled.sum())

    def add(self, x: torch.Tensor, y: int | torch.Tensor, **fields: torch.Tensor) -> bool:
        """Add one sample with its label and fields. Returns whether it was kept."""
        try:
            given = {name: torch.as_tensor(value, device=self.device) for name, value in {"x": x, **fields}.items()}
            y = torch.as_tensor(y, device=self.device)
        except (TypeError, ValueError, RuntimeError) as error:
            raise TaclError("x, y and all fields must be tensors, or numbers that make one.") from error
        self._check(given, y)
        if self._memory is None:
            self._begin({name: tensor.shape for name, tensor in given.items()})
        flat = {name: tensor.reshape(1, -1).float() for name, tensor in given.items()}
        label = y.reshape(1).long()
        item = Sample(flat.pop("x"), label, flat)
        pool = torch.zeros_like(label) if self.classes is None else label
        uniform = torch.rand(1, generator=self._random).to(self.device)
        kept = self._memory.add(item, pool, uniform).kept
        return kept is None or bool(kept[0])

    def sample(self, count: int) -> dict[str, torch.Tensor]:
        """Draw ``count`` stored samples at random without replacement, or all if there are fewer.

        Returns ``x [n, ...]``, ``y [n]`` and every field.
        """
        if self._memory is None or not is_whole(count):
            raise TaclError("sample(count) needs a whole number from 1 on, and a memory that is not empty.")
        keys = torch.rand(1, self.geometry.capacity, generator=self._random).to(self.device)
        drawn = draw_reference(self._memory.members, self._memory.filled, count, keys)
        return self._at(drawn.places[0][drawn.weight[0] > 0])

    def contents(self) -> list[list[dict[str, torch.Tensor]]]:
        """The samples of each cluster that is not empty."""
        if self._memory is None:
            return []
        clusters: dict[int, list] = {}
        for place in self._memory.filled[0].nonzero()[:, 0].split(1):
            found = {name: tensor[0] for name, tensor in self._at(place).items()}
            clusters.setdefault(int(place) // self.geometry.size, []).append(found)
        return list(clusters.values())

    def state_dict(self) -> dict:
        """Everything a checkpoint needs."""
        held = {} if self._memory is None else self._memory.state()
        shapes = {name: list(shape) for name, shape in self._shapes.items()}
        return {"memory": held, "shapes": shapes, "random": self._random.get_state(), "geometry": list(self.geometry)}

    def load_state_dict(self, state: dict) -> None:
        """Hold again what ``state_dict()`` of a memory of the same size said."""
        if not isinstance(state, dict) or not {"geometry", "shapes", "memory", "random"} <= state.keys():
            raise TaclError("this is not the state of a ClusterMemory; give what state_dict() returned.")
        if list(self.geometry) != state["geometry"]:
            raise TaclError(f"this state is of a memory of geometry {state['geometry']}, not {list(self.geometry)}.")
        self._memory, self._shapes = None, {}
        if state["shapes"]:
            self._begin({name: torch.Size(shape) for name, shape in state["shapes"].items()})
            self._memory.load_state(state["memory"])
        self._random.set_state(state["random"])

    def _begin(self, shapes: dict[str, torch.Size]) -> None:
        self._shapes = shapes
        fields = {name: (shape.numel(),) for name, shape in shapes.items() if name != "x"}
        how = (self.geometry, self.policy, self.device)
        self._memory = sample_memory(1, shapes["x"].numel(), *how, space=self.space, **fields)

    def _at(self, places: torch.Tensor) -> dict[str, torch.Tensor]:
        samples = self._memory.members
        found = {name: samples.read(name, places.unsqueeze(0))[0] for name in ("x", "y", *samples.fields)}
        return {n: found[n].view(-1, *self._shapes[n]) if n in self._shapes else found[n] for n in found}

    def _check(self, given: dict[str, torch.Tensor], y: torch.Tensor) -> None:
        if y.numel() != 1 or y.dtype.is_floating_point:
            raise TaclError(
                f"y must be one whole number, the label of x, not {y.tolist()!r}; add samples one at a time."
            )
        if self.classes is not None and not 0 <= int(y) < self.classes:
            raise TaclError(f"the label must be 0 to {self.classes - 1}, not {int(y)}.")
        shapes = {name: tensor.shape for name, tensor in given.items()}
        if self._shapes and shapes != self._shapes:
            was, now = ({name: list(shape) for name, shape in of.items()} for of in (self._shapes, shapes))
            raise TaclError(f"samples in this memory have the shapes {was}, not {now}.")
        if self.space not in given:
            raise TaclError(f"this memory clusters by {self.space!r}: add(x, y, {self.space}=...) must give it.")
        if not torch.isfinite(given[self.space].float()).all():
            raise TaclError(f"{self.space} must be finite: it holds NaN or infinity.")

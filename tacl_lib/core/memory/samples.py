"""Stored samples of R runs, and the reference batches drawn from them."""

from typing import NamedTuple, Protocol

import torch

from tacl_lib.core.rows import Rows
from tacl_lib.errors import TaclError


class Watcher(Protocol):
    """Is told when a stored sample is replaced."""

    def before_replacing(self, place: torch.Tensor) -> None: ...

    def after_replacing(self, place: torch.Tensor) -> None: ...


class Samples:
    """Samples ``x [R, capacity, features]`` with labels ``y [R, capacity]`` and optional extra fields.

    fields: more tensors ``[R, capacity, ...]`` by name, such as the network's logits for each sample.
    """

    def __init__(self, x: torch.Tensor, y: torch.Tensor, **fields: torch.Tensor):
        self.x, self.y, self.fields = x, y, fields
        self.watchers: list[Watcher] = []
        self._rows = Rows(x.shape[0], x.device)

    @classmethod
    def empty(
        cls, runs: int, capacity: int, features: int, /, device: torch.device | str = "cpu", **fields
    ) -> "Samples":
        """Room for samples. fields: the shape of one entry by name, e.g. ``logits=(10,)``, stored as float32."""
        more = {name: torch.zeros(runs, capacity, *shape, device=device) for name, shape in fields.items()}
        x = torch.zeros(runs, capacity, features, device=device)
        return cls(x, torch.zeros(runs, capacity, dtype=torch.int64, device=device), **more)

    @property
    def capacity(self) -> int:
        return self.x.shape[1]

    def joined(self, x: torch.Tensor, y: torch.Tensor) -> "Samples":
        """These samples, followed by more."""
        return Samples(torch.cat([self.x, x], dim=1), torch.cat([self.y, y], dim=1))

    def read(self, name: str, places: torch.Tensor) -> torch.Tensor:
        """``x``, ``y`` or a field at places ``[R]`` or ``[R, m]``."""
        return self._rows.read(self.tensors()[name], places)

    def put(self, place: torch.Tensor, kept: torch.Tensor | None, **values: torch.Tensor) -> None:
        """Replace x, y and every field at ``place [R]``. kept: bool ``[R]``, the runs to do it in; None for all."""
        tensors = self.tensors()
        if values.keys() != tensors.keys():
            raise TaclError(f"a stored sample has {', '.join(tensors)}; given were {', '.join(values)}.")
        if kept is not None:
            values = {name: _where(kept, value, self.read(name, place)) for name, value in values.items()}
        for watcher in self.watchers:
            watcher.before_replacing(place)
        for name, value in values.items():
            self._rows.write(tensors[name], place, value)
        for watcher in self.watchers:
            watcher.after_replacing(place)

    def tensors(self) -> dict[str, torch.Tensor]:
        """x, y and every field by name."""
        return {"x": self.x, "y": self.y} | self.fields


class Reference(NamedTuple):
    """A reference batch M̃: m stored samples per run. A weight of 0 marks an empty place."""

    samples: Samples
    places: torch.Tensor  #: int64 ``[R, m]``
    weight: torch.Tensor  #: ``[R, m]``, weight of each in the loss; they sum to 1 unless the memory is empty

    @property
    def x(self) -> torch.Tensor:
        return self.samples.read("x", self.places)

    @property
    def y(self) -> torch.Tensor:
        return self.samples.read("y", self.places)

    def field(self, name: str) -> torch.Tensor:
        """An extra field of the samples."""
        return self.samples.read(name, self.places)


def draw_reference(samples: Samples, filled: torch.Tensor, size: int | None, keys: torch.Tensor) -> Reference:
    """Draw a reference batch from the occupied places of a memory, without replacement.

    filled: bool ``[R, capacity]``. size: of the batch; None takes all. keys: random numbers ``[R, capacity]``.
    """
    # The places with the largest random keys are a random subset; empty places come last.
    keys = torch.where(filled, keys, -1.0)
    values, places = keys.topk(reference_size(size, filled.shape[1]), dim=1)
    occupied = (values >= 0).float()
    return Reference(samples, places, occupied / occupied.sum(1, keepdim=True).clamp(min=1))


def reference_size(size: int | None, capacity: int) -> int:
    """How many samples a reference batch really has: at most ``capacity``, and all of it if ``size`` is None."""
    return capacity if size is None else min(size, capacity)


def _where(kept: torch.Tensor, new: torch.Tensor, old: torch.Tensor) -> torch.Tensor:
    return torch.where(kept.view(-1, *[1] * (new.dim() - 1)), new, old)

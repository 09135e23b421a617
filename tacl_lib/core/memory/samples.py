"""Stored samples of R runs, and the reference batches that are drawn from them."""

from typing import NamedTuple, Protocol

import torch

from tacl_lib.core.rows import Rows
from tacl_lib.errors import TaclError


class Watcher(Protocol):
    """What must know when a stored sample is replaced."""

    def before_replacing(self, place: torch.Tensor) -> None: ...

    def after_replacing(self, place: torch.Tensor) -> None: ...


class Samples:
    """Samples ``x [R, capacity, features]`` with labels ``y [R, capacity]`` and whatever else belongs to them.

    fields: more tensors ``[R, capacity, ...]`` by name, such as the logits that a network had for a sample.
    """

    def __init__(self, x: torch.Tensor, y: torch.Tensor, **fields: torch.Tensor):
        self.x, self.y, self.fields = x, y, fields
        self.watchers: list[Watcher] = []
        self._rows = Rows(x.shape[0], x.device)

    @classmethod
    def empty(
        cls, runs: int, capacity: int, features: int, /, device: torch.device | str = "cpu", **fields
    ) -> "Samples":
        """Room for samples. fields: the shape of one entry by name, e.g. ``logits=(10,)``; numbers are float32."""
        more = {name: torch.zeros(runs, capacity, *shape, device=device) for name, shape in fields.items()}
        x = torch.zeros(runs, capacity, features, device=device)
        return cls(x, torch.zeros(runs, capacity, dtype=torch.int64, device=device), **more)

    @property
    def capacity(self) -> int:
        return self.x.shape[1]

    def joined(self, x: torch.Tensor, y: torch.Tensor) -> "Samples":
        """These samples and more of them."""
        return Samples(torch.cat([self.x, x], dim=1), torch.cat([self.y, y], dim=1))

    def read(self, name: str, places: torch.Tensor) -> torch.Tensor:
        """``x``, ``y`` or a field at places ``[R]`` or ``[R, m]``."""
        return self._rows.read(self._tensors()[name], places)

    def put(self, place: torch.Tensor, kept: torch.Tensor | None, **values: torch.Tensor) -> None:
        """Replace what is at ``place [R]``: x, y and every field. kept: bool ``[R]``, the runs to do it in."""
        tensors = self._tensors()
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

    def _tensors(self) -> dict[str, torch.Tensor]:
        return {"x": self.x, "y": self.y} | self.fields

    def state(self) -> dict[str, torch.Tensor]:
        return self._tensors()

    def load_state(self, state: dict[str, torch.Tensor]) -> None:
        for name, tensor in self._tensors().items():  # in place: others look at the same samples
            tensor.copy_(state[name])


class Reference(NamedTuple):
    """A reference batch M̃: m stored samples of each run. A weight of 0 marks a place that holds nothing."""

    samples: Samples
    places: torch.Tensor  #: int64 ``[R, m]``
    weight: torch.Tensor  #: ``[R, m]``, of each in the loss; they sum to 1 where there is anything

    @property
    def x(self) -> torch.Tensor:
        return self.samples.read("x", self.places)

    @property
    def y(self) -> torch.Tensor:
        return self.samples.read("y", self.places)

    def field(self, name: str) -> torch.Tensor:
        """What else is stored with the samples."""
        return self.samples.read(name, self.places)


def draw(filled: torch.Tensor, size: int | None, keys: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw a reference batch without replacement from the filled places of a memory.

    filled: bool ``[R, capacity]``; keys: random numbers ``[R, capacity]``; size: of the batch, None for all.
    Returns places ``[R, m]`` and weights ``[R, m]`` that sum to 1 in each run that has anything (else to 0).
    """
    # The places with the largest random keys are a random subset; empty places come last.
    keys = torch.where(filled, keys, -1.0)
    values, places = keys.topk(drawn_from(size, filled.shape[1]), dim=1)
    there = (values >= 0).float()
    return places, there / there.sum(1, keepdim=True).clamp(min=1)


def drawn_from(size: int | None, capacity: int) -> int:
    """How many samples a reference batch of ``size`` has, None for all, drawn from so many places."""
    return capacity if size is None else min(size, capacity)


def _where(kept: torch.Tensor, new: torch.Tensor, old: torch.Tensor) -> torch.Tensor:
    return torch.where(kept.view(-1, *[1] * (new.dim() - 1)), new, old)

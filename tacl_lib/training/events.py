"""The log of a memory, step by step, from which its content at any step can be rebuilt.

The training loop writes the log; it knows the true tasks from the stream. Neither memory nor learner ever sees them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import torch

from tacl_lib.core.memory.policies import Geometry, Placement
from tacl_lib.errors import TaclError

EMPTY = -1  #: task and row of an empty place


@dataclass(frozen=True)
class EventLog:
    """The arrivals in one run's memory, in order, as arrays of equal length."""

    geometry: Geometry
    step: np.ndarray  #: int32, the training step after which the newcomer arrived
    cluster: np.ndarray  #: int16
    slot: np.ndarray  #: int16
    task_in: np.ndarray  #: int16, true task of the newcomer
    task_out: np.ndarray  #: int16, true task of the member it replaced, or -1
    row: np.ndarray  #: int32, the newcomer's row in ``tasks.train``

    def __post_init__(self):
        # One sorted key per event (place first, then step): a search in it finds the last arrival at every
        # place up to a step in microseconds, however long the log. A last entry stands for "none found".
        place = self.cluster.astype(np.int64) * self.geometry.size + self.slot
        order = np.argsort(place, kind="stable")
        span = int(self.step.max(initial=0)) + 2
        object.__setattr__(self, "_by_place", np.append(order, EMPTY))
        object.__setattr__(self, "_keys", np.append((place * span + self.step)[order], EMPTY))
        object.__setattr__(self, "_span", span)

    def __len__(self) -> int:
        return len(self.step)

    def last_arrivals(self, steps: int | Sequence[int] | np.ndarray) -> np.ndarray:
        """The event that last filled each place, up to a step or to each of several, or -1: ``[..., capacity]``."""
        first = np.arange(self.geometry.capacity) * self._span
        limit = first + np.clip(np.asarray(steps, np.int64), -1, self._span - 2)[..., None]
        found = np.searchsorted(self._keys[:-1], limit, side="right") - 1
        return np.where(self._keys[found] >= first, self._by_place[found], EMPTY)  # else it filled the place before

    def members(self, step: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """True task, row in ``tasks.train`` and step of arrival of every member, -1 where empty: ``[clusters, P]``."""
        last = self.last_arrivals(step)
        return tuple(self._values(column, last) for column in (self.task_in, self.row, self.step))

    def tasks(self, step: int) -> np.ndarray:
        """True task of every member after a step, -1 where empty: ``[clusters, P]``."""
        return self._values(self.task_in, self.last_arrivals(step))

    def rows(self, step: int) -> np.ndarray:
        """Row in ``tasks.train`` of every member after a step, -1 where empty: ``[clusters, P]``."""
        return self._values(self.row, self.last_arrivals(step))

    def oldest(self, steps: Sequence[int] | np.ndarray) -> np.ndarray:
        """The smallest true task in each cluster after each step, -1 where empty: int16 ``[clusters, steps]``."""
        last, empty = self.last_arrivals(steps), np.iinfo(np.int16).max
        tasks = np.append(self.task_in, np.int16(empty))[last]  # entry -1 is the one appended
        oldest = tasks.reshape(len(last), -1, self.geometry.size).min(2).T
        return np.where(oldest == empty, np.int16(EMPTY), oldest)

    def _values(self, column: np.ndarray, last: np.ndarray) -> np.ndarray:
        content = np.where(last >= 0, column[last], EMPTY) if len(self) else last
        return content.astype(np.int64).reshape(-1, self.geometry.size)

    def columns(self) -> dict[str, np.ndarray]:
        """The arrays by name, for a file."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "geometry"}


def log_of(geometry: Geometry, step, cluster, slot, task_in, row) -> EventLog:
    """A log from arrivals in order; which member left follows from what the place held before."""
    place = np.asarray(cluster, np.int64) * geometry.size + np.asarray(slot)
    order = np.argsort(place, kind="stable")
    task_in = np.asarray(task_in)
    task_out = np.full(len(place), EMPTY, np.int16)
    same = place[order][1:] == place[order][:-1]
    task_out[order[1:][same]] = task_in[order[:-1][same]]
    columns = (step, np.int32), (cluster, np.int16), (slot, np.int16), (task_in, np.int16)
    return EventLog(
        geometry, *(np.asarray(c).astype(d) for c, d in columns), task_out, np.asarray(row).astype(np.int32)
    )


class EventRecorder:
    """Collects the arrivals of R runs on the device, and copies them to the host once per epoch."""

    def __init__(self, geometry: Geometry, runs: int):
        self.geometry, self.runs = geometry, runs
        self._fresh: list[torch.Tensor] = []
        self._fresh_steps: list[int] = []
        self._steps: list[np.ndarray] = []
        self._host: list[np.ndarray] = []  # each int32 [events, 5, R]: cluster, slot, task, row, kept
        self._content = np.full((runs, geometry.capacity), EMPTY)  # the true task at every place

    def note(self, step: int, place: Placement, chosen: torch.Tensor, task: torch.Tensor, row: torch.Tensor):
        """Note the arrival of batch position ``chosen [R]``; task and row ``[R, batch]`` are the stream's."""
        run = torch.arange(self.runs, device=chosen.device)
        kept = torch.ones_like(place.slot) if place.kept is None else place.kept.long()
        event = torch.stack([place.cluster, place.slot, task[run, chosen], row[run, chosen], kept])
        self._fresh.append(event)
        self._fresh_steps.append(step)

    def flush(self) -> None:
        """Copy new arrivals to the host."""
        if not self._fresh:
            return
        events = torch.stack(self._fresh).to(torch.int32).cpu().numpy()
        self._host.append(events)
        self._steps.append(np.array(self._fresh_steps, np.int32))
        self._fresh, self._fresh_steps = [], []
        for run in range(self.runs):
            cluster, slot, task, _, kept = events[:, :, run].T
            there = kept == 1
            # If several arrive at one place, the last one stays, as in the memory.
            self._content[run, (cluster * self.geometry.size + slot)[there]] = task[there]

    def members_by_task(self, tasks: int) -> np.ndarray:
        """How many members of each true task the memory holds now: int64 ``[R, tasks]``."""
        self.flush()
        return np.stack([(self._content == task).sum(1) for task in range(tasks)], axis=1)

    def logs(self) -> list[EventLog]:
        """One log per run."""
        self.flush()
        steps = np.concatenate(self._steps) if self._steps else np.zeros(0, np.int32)
        events = np.concatenate(self._host) if self._host else np.zeros((0, 5, self.runs), np.int32)
        logs = []
        for run in range(self.runs):
            cluster, slot, task, row, kept = events[:, :, run].T
            there = kept == 1
            logs.append(log_of(self.geometry, *(c[there] for c in (steps, cluster, slot, task, row))))
        return logs

    def state(self) -> dict:
        """Everything that a checkpoint needs."""
        self.flush()
        arrays = {"steps": self._steps, "events": self._host, "content": [self._content.copy()]}
        return {name: [torch.from_numpy(part) for part in parts] for name, parts in arrays.items()}

    def load_state(self, state: dict) -> None:
        arrays = {name: [part.cpu().numpy() for part in parts] for name, parts in state.items()}
        steps, events, (content,) = (arrays[name] for name in ("steps", "events", "content"))
        shapes = [((len(some),), (len(some), 5, self.runs)) for some in steps]
        fits = [(one.shape, other.shape) for one, other in zip(steps, events, strict=True)] == shapes
        if not fits or any(part.dtype != np.int32 for part in steps + events) or content.shape != self._content.shape:
            raise TaclError("its log of the memory has the wrong shape or type")
        self._steps, self._host, self._content = steps, events, content.astype(np.int64)

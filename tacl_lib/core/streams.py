"""Turns tasks into batches: the paper's disjoint and continuous streams.

Only the stream knows the task of a sample. It passes it to the record; a learner gets only ``batch.x`` and ``batch.y``.
Batches of R runs are stacked, ``[R, batch, features]``.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from tacl_lib import names
from tacl_lib.core.checking import check_whole
from tacl_lib.core.randomness import generator, stacked
from tacl_lib.core.tasks import Tasks
from tacl_lib.errors import TaclError, unknown_name

LAST_TASKS = ("mixed", "pure", "whole")
COUNTED = ("mixed", "own")


class Batch(NamedTuple):
    """The data of one training step, for R runs."""

    x: torch.Tensor  #: float32 ``[R, batch, features]``: for the learner
    y: torch.Tensor  #: int64 ``[R, batch]``: for the learner
    task: torch.Tensor  #: int64 ``[R, batch]``, the true tasks: for the record only
    row: torch.Tensor  #: int64 ``[R, batch]``, rows of ``tasks.train``: for the record only


@dataclass(frozen=True)
class Epoch:
    """What a stream shows in one epoch."""

    number: int
    task: int  #: the task of its first sample
    next_task: int | None  #: the task mixed in, if any
    mixed_before: int  #: mixed batches of this pair of tasks before this epoch
    mixed_total: int  #: mixed batches of this pair in all
    steps: int
    first_step: int  #: number of steps before this epoch
    seen: tuple[int, ...]  #: tasks "trained thus far", tested and averaged over when the epoch ends
    ends_task: int | None  #: the task that ends with this epoch; only task-aware learners are told


class Stream:
    """A plan of epochs, and the batches of any epoch, starting at any step.

    tasks: where samples come from. Batches are on the same device.
    experiment: ``"disjoint"``: one task after another, for ``epochs`` each; every sample is shown once per epoch.
        ``"continuous"``: for each pair of successive tasks, half of the ``epochs`` are pure; in the other half the next
        task is mixed in, a little more with every batch.
    last_task: epochs of the continuous stream for the last task alone, which has no successor: ``"mixed"`` (none: n
        tasks give n - 1 pairs), ``"pure"`` (half of ``epochs``) or ``"whole"`` (all of ``epochs``).
    counted: when a task of the continuous stream first counts as seen: when it is ``"mixed"`` in, or only in its
        ``"own"`` epochs.
    """

    #: Batches gathered at a time: one large copy is cheaper than many small ones.
    CHUNK = 32

    def __init__(
        self,
        tasks: Tasks,
        experiment: str = "disjoint",
        *,
        batch_size: int = 10,
        epochs: int = 20,
        last_task: str = "whole",
        counted: str = "own",
    ):
        if not isinstance(tasks, Tasks):
            raise TaclError(f"a stream needs tasks, as make_tasks returns them, not {type(tasks).__name__}.")
        if not isinstance(experiment, str) or experiment not in names.EXPERIMENTS:
            raise unknown_name("experiment", experiment, names.EXPERIMENTS)
        if last_task not in LAST_TASKS:
            raise unknown_name("last_task", last_task, LAST_TASKS)
        if counted not in COUNTED:
            raise unknown_name("counted", counted, COUNTED)
        check_whole(batch_size=batch_size, epochs=epochs)
        if experiment == "continuous" and (epochs < 2 or tasks.count < 2):
            raise TaclError(f"a continuous stream needs at least 2 epochs and 2 tasks, not {epochs} and {tasks.count}.")
        self.tasks, self.experiment, self.batch_size = tasks, experiment, batch_size
        sizes = [tasks.train.size(task) for task in range(tasks.count)]
        self.epochs = plan(sizes, experiment, batch_size, epochs, last_task, counted)
        self.steps = sum(epoch.steps for epoch in self.epochs)

        device = tasks.train.images.device
        shared = tasks.train.images.shape[0] == 1
        # The rows of run r start at r · N in the flat view of all images, or at 0 if the runs share them.
        starts = torch.arange(len(tasks.seeds)) * (0 if shared else tasks.train.images.shape[1])
        self._starts = starts[:, None].to(device)
        self._images = tasks.train.images.flatten(0, 1)
        self._labels = tasks.train.labels.flatten()
        # The bounds of tasks are the same in every run.
        self._task_of_row = torch.arange(tasks.count).repeat_interleave(torch.tensor(sizes)).to(device)

    def rows(self, epoch: Epoch) -> torch.Tensor:
        """The rows of ``tasks.train`` in the order an epoch shows them: int64 ``[R, n]`` on the CPU."""
        return stacked(self.tasks.seeds, lambda seed: self._rows_of_run(epoch, seed))

    def _rows_of_run(self, epoch: Epoch, seed: int) -> np.ndarray:
        bounds = self.tasks.train.bounds
        rng = generator(seed, "shuffle", epoch.number)
        order = bounds[epoch.task] + rng.permutation(self.tasks.train.size(epoch.task))
        if epoch.next_task is None:
            return order
        other = bounds[epoch.next_task] + rng.permutation(self.tasks.train.size(epoch.next_task))
        return _mix(order, other, epoch, self.batch_size, rng)

    def batches(self, epoch: Epoch, start: int = 0) -> Iterator[Batch]:
        """The batches of an epoch, starting at its step ``start``."""
        size, device = self.batch_size, self._images.device
        rows = self.rows(epoch).to(device)
        for begin in range(start * size, rows.shape[1], self.CHUNK * size):
            chunk = rows[:, begin : begin + self.CHUNK * size]
            flat = (chunk + self._starts).flatten()
            x = self.tasks.scaling(self._images.index_select(0, flat)).unflatten(0, chunk.shape)
            y = self._labels[flat].unflatten(0, chunk.shape)
            task = self._task_of_row[chunk]
            for parts in zip(*(tensor.split(size, dim=1) for tensor in (x, y, task, chunk)), strict=True):
                yield Batch(*parts)


def plan(
    sizes: Sequence[int], experiment: str, batch_size: int, epochs: int, last_task: str, counted: str
) -> list[Epoch]:
    """The epochs of a stream over tasks of these sizes. For the other arguments see `Stream`."""
    disjoint, last = experiment == "disjoint", len(sizes) - 1
    parts = [(task, None, epochs) for task in range(len(sizes))]  # task, next task, epochs
    if not disjoint:
        pure = epochs // 2
        parts = [part for task in range(last) for part in ((task, None, pure), (task, task + 1, epochs - pure))]
        if last_task != "mixed":
            parts.append((last, None, pure if last_task == "pure" else epochs))
    found, first_step, seen = [], 0, ()
    for task, next_task, count in parts:
        size = sizes[task] if next_task is None else min(sizes[task], sizes[next_task])
        steps = -(-size // batch_size)
        shown = (task,) if next_task is None or counted == "own" else (task, next_task)
        seen += tuple(t for t in shown if t not in seen)
        for epoch in range(count):
            over = disjoint and epoch == count - 1
            mixed = (epoch * steps, count * steps) if next_task is not None else (0, 0)
            found.append(Epoch(len(found), task, next_task, *mixed, steps, first_step, seen, task if over else None))
            first_step += steps
    return found


def _mix(current: np.ndarray, following: np.ndarray, epoch: Epoch, size: int, rng) -> np.ndarray:
    """The paper's mixed epoch: each batch has the first ⌊q·z⌋ samples of A's batch and the last ⌈(1-q)·z⌉ of B's.

    ``z`` is the batch size; ``q`` falls linearly from 1 at the pair's first mixed batch to 0 at its last.
    The two parts are complementary: position j of a batch is A's if j < ⌊q·z⌋, else B's.
    """
    count = min(len(current), len(following))
    position = np.arange(count)
    batch = position // size
    z = np.minimum(size, count - batch * size)  # the last batch of an epoch may be smaller
    last = max(epoch.mixed_total - 1, 1)
    # Integers: in floating point, ⌊0.3 · 10⌋ may be 2.
    from_current = (last - epoch.mixed_before - batch) * z // last
    mixed = np.where(position - batch * size < from_current, current[:count], following[:count])
    # Shuffle within each batch: sort by batch, then by a random key.
    return mixed[np.lexsort((rng.random(count), batch))]

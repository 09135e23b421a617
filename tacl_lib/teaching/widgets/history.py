"""The memory of a run at any step, rebuilt from its event log: pure numbers and words, no figure."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from sklearn.decomposition import PCA

from tacl_lib.core.tasks import Tasks
from tacl_lib.errors import TaclError
from tacl_lib.teaching.widgets import words
from tacl_lib.training.events import EMPTY, EventLog

MOMENTS = 360  #: over a whole run, for what is drawn against time
FITTED = 2000  #: samples that the map's axes are fitted on
CHUNK = 1024  #: samples that are projected at a time, so that a long run needs no large array


@dataclass(frozen=True)
class Arrival:
    """The newcomer that came last."""

    step: int
    cluster: int
    slot: int
    task: int
    row: int
    replaced: int | None  #: true task of the member that had to leave
    opened: bool  #: it is the first one in its cluster
    nearest: int | None  #: of its pool, the cluster with the nearest mean before it came; None while clusters open


@dataclass(frozen=True)
class MemoryState:
    """The memory after a step. C clusters of P places each; -1 where a place is empty."""

    step: int
    task: np.ndarray  #: int64 ``[C, P]``, true task of each member
    row: np.ndarray  #: int64 ``[C, P]``, its row in ``tasks.train``
    since: np.ndarray  #: int64 ``[C, P]``, the step at which it came
    counts: np.ndarray  #: int64 ``[T]``, members of each task
    arrival: Arrival | None  #: the latest one; None before the first


class MemoryHistory:
    """An event log with the images of its samples.

    log: of one run. tasks: those that the run was trained on. run: its place among ``tasks.seeds``.
    steps: of the whole run, if it went on after the last arrival.
    policy: a name in `tacl_lib.core.memory.POLICIES`.
    of_gradients: clusters are of gradients (TA-OGD), so that distances of images say nothing of them.
    """

    def __init__(
        self,
        log: EventLog,
        tasks: Tasks,
        run: int = 0,
        *,
        steps: int | None = None,
        policy: str = "clustering",
        of_gradients: bool = False,
    ):
        if not 0 <= run < len(tasks.seeds):
            raise TaclError(f"there are the runs 0 to {len(tasks.seeds) - 1} in these tasks, not run {run}.")
        share = run % tasks.train.images.shape[0]  # of a class split all runs share the same images
        self.images, self.labels = tasks.train.images[share], tasks.train.labels[share]
        if len(log) and (int(log.row.max()) >= len(self.images) or int(log.task_in.max()) >= tasks.count):
            raise TaclError(
                "the event log names samples that these tasks do not have; use the tasks that the run was trained on."
            )
        self.log, self.geometry, self.task_count = log, log.geometry, tasks.count
        self.dataset, self.split, self.scaling = tasks.dataset, tasks.split, tasks.scaling
        self.task_names, self.image_shape = tasks.names, tasks.image_shape
        self.clustered = policy not in ("fifo", "reservoir")
        self.measured = self.clustered and not of_gradients
        self.steps = max(steps or 0, int(log.step[-1]) + 1 if len(log) else 1)

    @property
    def clusters(self) -> int:
        """Of all pools: C."""
        return self.geometry.pools * self.geometry.clusters

    def state(self, step: int) -> MemoryState:
        """The memory after a step, and the newcomer that came last."""
        columns = self.log.members(step)
        counts = np.bincount(columns[0][columns[0] >= 0], minlength=self.task_count)
        return MemoryState(step, *columns, counts, self._arrival(step))

    def _arrival(self, step: int) -> Arrival | None:
        event = int(np.searchsorted(self.log.step, step, side="right")) - 1
        if event < 0:
            return None
        log = self.log
        when, cluster, out = int(log.step[event]), int(log.cluster[event]), int(log.task_out[event])
        before = log.rows(when - 1)
        row = int(log.row[event])
        return Arrival(
            step=when,
            cluster=cluster,
            slot=int(log.slot[event]),
            task=int(log.task_in[event]),
            row=row,
            replaced=None if out == EMPTY else out,
            opened=bool((before[cluster] == EMPTY).all()),
            nearest=self._nearest(row, cluster, before) if self.measured else None,
        )

    def _nearest(self, row: int, cluster: int, before: np.ndarray) -> int | None:
        """The cluster of the pool with the nearest mean, or None where one of them was empty still."""
        first = cluster // self.geometry.clusters * self.geometry.clusters
        rows = before[first : first + self.geometry.clusters]
        held = rows >= 0
        if not held.any(1).all():
            return None
        pixels = self.scaled(np.where(held, rows, 0)) * torch.from_numpy(held).unsqueeze(2)
        means = pixels.sum(1) / torch.from_numpy(held.sum(1)).unsqueeze(1)
        return first + int((means - self.scaled(row)).square().sum(1).argmin())

    def scaled(self, rows) -> torch.Tensor:
        """The samples as the memory is given them: float32 ``[..., features]``."""
        rows = torch.as_tensor(rows, device=self.images.device)
        return self.scaling(self.images[rows]).cpu()

    def name_of(self, row: int, task: int) -> str:
        """What a sample shows, e.g. ``"7"``."""
        return words.class_name(self.dataset, self.split, task, int(self.labels[row]))

    def sentence(self, state: MemoryState) -> str:
        """What happened at a step, in words, with the step before it."""
        return f"Step {state.step:,} of {self.steps:,}: {self.happened(state)}"

    def happened(self, state: MemoryState) -> str:
        """What happened at a step, in words."""
        came = state.arrival
        if came is None:
            return "the memory is empty."
        who = words.with_article(self.name_of(came.row, came.task))
        where = words.place_name(came.cluster, self.geometry.clusters, self.geometry.pools, self.clustered)
        text = words.arrival_sentence(who, came.task, where, came.replaced, came.opened and self.clustered)
        if came.step < state.step:
            return f"nothing entered; at step {came.step:,} {text}."
        if came.nearest not in (None, came.cluster):
            text += f", though cluster {came.nearest} was nearer"
        return f"{text}."

    def story(self, cluster: int, state: MemoryState) -> str:
        """One cluster at a step, in words."""
        of_cluster = (self.log.cluster == cluster) & (self.log.step <= state.step)
        held = state.task[cluster][state.task[cluster] >= 0]
        where = words.place_name(cluster, self.geometry.clusters, self.geometry.pools, self.clustered)
        if not len(held):
            return f"{where.capitalize()} is still empty."
        came = int(of_cluster.sum())
        tasks = ", ".join(f"{n} of task {t}" for t, n in enumerate(np.bincount(held)) if n)
        arrived = f"{came:,} sample{'s' if came > 1 else ''} came so far"
        since = int(state.since[cluster][state.since[cluster] >= 0].min())
        return f"{where.capitalize()} holds {tasks}; its oldest member came at step {since:,}; {arrived}."

    @cached_property
    def moments(self) -> np.ndarray:
        """Steps at which the run is drawn against time: the middles of equal parts, ``[M]``."""
        count = min(MOMENTS, self.steps)
        return ((np.arange(count) + 0.5) * self.steps / count).astype(np.int64)

    @cached_property
    def oldest(self) -> np.ndarray:
        """The oldest task in each cluster at each moment, -1 where empty: int16 ``[C, M]``."""
        return self.log.oldest(self.moments)

    @cached_property
    def shares(self) -> np.ndarray:
        """Members of each task at each moment, as parts of all places: float64 ``[T, M]``."""
        events = np.searchsorted(self.log.step, self.moments, side="right")
        shares = np.empty((self.task_count, len(self.moments)))
        for task in range(self.task_count):
            change = (self.log.task_in == task).astype(np.int64) - (self.log.task_out == task)
            shares[task] = np.append(0, np.cumsum(change))[events] / self.geometry.capacity
        return shares

    @cached_property
    def places_on_map(self) -> np.ndarray:
        """Each sample that ever came, on the first two principal components: float32 ``[N, 2]``, NaN elsewhere."""
        rows = np.unique(self.log.row)
        spot = np.full((len(self.images), 2), np.nan, np.float32)
        if len(rows) < 3:
            spot[rows] = 0
            return spot
        some = np.random.default_rng(0).permutation(rows)[:FITTED]
        axes = PCA(2, svd_solver="randomized", random_state=0).fit(self.scaled(some).numpy())
        for start in range(0, len(rows), CHUNK):
            part = rows[start : start + CHUNK]
            spot[part] = axes.transform(self.scaled(part).numpy())
        return spot

    def means_on_map(self, rows: np.ndarray) -> np.ndarray:
        """Means of clusters ``[C, P]`` on the map, ``[C, 2]``: a mean of places is the place of the mean."""
        spots = np.where((rows >= 0)[..., None], self.places_on_map[np.maximum(rows, 0)], 0)
        with np.errstate(invalid="ignore"):
            return spots.sum(1) / (rows >= 0).sum(1)[:, None]

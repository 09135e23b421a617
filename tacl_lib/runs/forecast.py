"""How long jobs will take here: a few steps of each kind of run are executed and timed on the device at hand."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import NamedTuple

import numpy as np
import torch

from tacl_lib.core.learners import TaskAwareLearner, make_learner
from tacl_lib.core.streams import Stream
from tacl_lib.core.tasks import Tasks
from tacl_lib.data import Dataset, available, cache, load
from tacl_lib.data.catalog import CATALOG
from tacl_lib.runs.cluster import local_workers
from tacl_lib.runs.cost import LABELS, shape_of, steps
from tacl_lib.runs.grid import Job
from tacl_lib.runs.running import default_device, network_of, tasks_of
from tacl_lib.training.record import cpu

IMAGES = 200  #: per task, for timing
WARM = 2  #: steps before the clock starts
PATIENCE = 0.15  #: seconds of steps to time for each kind, but at least three steps


class Forecast(NamedTuple):
    """How long the remaining jobs will take."""

    hours: float  #: of one core, or of one process with a GPU, for runs that are not stored yet
    again: float  #: the same for runs that exist only among the project's reference runs
    workers: int  #: jobs that this machine executes side by side
    kinds: int  #: of runs that were timed
    seconds: float  #: spent on timing
    device: str

    def line(self) -> str:
        if not self.kinds:
            return "left: nothing"
        here = f", {self._hours(self.hours / self.workers)} with {self.workers} side by side" * (self.workers > 1)
        again = f"; repeating the reference runs (○) as well would take {self._hours(self.again)} more"
        again *= self.again > 0
        return (
            f"left: about {self._hours(self.hours)} of one core{here}{again}\n"
            f"measured just now, in {self.seconds:.0f} s on {self.device}: a few steps of each kind of run "
            f"({self.kinds}: method, inputs, classes)"
        )

    @staticmethod
    def _hours(hours: float) -> str:
        return f"{hours:.1f} hours" if hours >= 0.1 else f"{hours * 60:.1f} minutes"


def forecast(states: Mapping[Job, str], say: Callable[[str], object] = lambda text: None) -> Forecast:
    """Hours for the jobs that are not done. say: called with each kind of run before it is timed."""
    begun, device = time.monotonic(), default_device()
    seconds = seconds_of([job for job, state in states.items() if state != "done"], device, say)
    again = sum(seconds[job] for job in seconds if states[job] == "reference")
    where = torch.cuda.get_device_name() if device.type == "cuda" else f"one core of {cpu()}"
    hours = ((sum(seconds.values()) - again) / 3600, again / 3600)
    return Forecast(*hours, len(local_workers()), len(set(map(kind_of, seconds))), time.monotonic() - begun, where)


def seconds_of(jobs: Sequence[Job], device: torch.device, say: Callable[[str], object]) -> dict[Job, float]:
    """Seconds for each job. Jobs of one kind differ only in their number of steps."""
    found: dict[tuple, float] = {}
    for job in jobs:
        kind = kind_of(job)
        if kind not in found:
            say(f"timing {job.spec.learner}, {kind[0]:,} inputs, {kind[1]} classes")
            found[kind] = seconds_of_a_step(job, device)
    return {job: steps(job.spec) * found[kind_of(job)] for job in jobs}


def seconds_of_a_step(job: Job, device: torch.device) -> float:
    """The time of a step of the whole stack, as on a worker: with one thread, and a memory in use."""
    small = replace(job.spec, epochs=2, train_limit=min(job.spec.train_limit or IMAGES, IMAGES), test_limit=1)
    tasks = tasks_of(small, images_of(job.spec.dataset), job.seeds).to(device)
    network = network_of(small, tasks, device)
    learner = make_learner(small.learner, network, **small.learner_settings)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.inference_mode(learner.inference and network.inference):
            if isinstance(learner, TaskAwareLearner):
                _half_way(learner, tasks)
            return _timed(learner, Stream(tasks, batch_size=small.batch_size, epochs=2), device)
    finally:
        torch.set_num_threads(threads)


def _half_way(learner: TaskAwareLearner, tasks: Tasks) -> None:
    """Fill the learner's memory as after half of the tasks: about half of a run's steps have more, and half less."""
    held = max(learner.samples_per_task * (tasks.count - 1) // 2, 1)
    x, y = tasks.inputs(tasks.train, 0), tasks.targets(tasks.train, 0)
    rows = torch.arange(held, device=x.device) % x.shape[1]
    runs = (learner.network.runs, -1, -1)
    learner.end_task(x[:, rows].expand(*runs), y[:, rows].expand(*runs[:2]))


def _timed(learner, stream: Stream, device: torch.device) -> float:
    batches = [batch for epoch in stream.epochs[:1] for batch in stream.batches(epoch)]

    def make(number: int) -> None:
        batch = batches[number % len(batches)]
        learner.step(batch.x, batch.y)

    for number in range(WARM):
        make(number)
    begun, done = _now(device), 0
    while done < 3 or _now(device) - begun < PATIENCE:
        make(WARM + done)
        done += 1
    return (_now(device) - begun) / done


def _now(device: torch.device) -> float:
    """The time once a GPU has finished its work; on a CPU the time of this thread, whatever else is running."""
    if device.type != "cuda":
        return time.thread_time()
    torch.cuda.synchronize(device)
    return time.perf_counter()


def kind_of(job: Job) -> tuple:
    """What the time of a step depends on. Only the first of several datasets of one size is timed, although BGD skips
    black pixels and so takes a little more or less on another."""
    spec = job.spec
    own = tuple(sorted((name, str(value)) for name, value in spec.learner_settings.items()))
    shape = (spec.network, spec.hidden, *sorted((name, str(value)) for name, value in spec.network_settings.items()))
    inputs, classes = prod(shape_of(spec.dataset)[1:]), 2 if spec.split == "class" else LABELS
    return (inputs, classes, spec.learner, own, shape, spec.batch_size, spec.task_count, len(job.seeds))


def images_of(dataset: str) -> Dataset:
    """A dataset if it is at hand, else noise of its size: nothing is fetched for an estimate."""
    at_hand = dataset not in CATALOG and dataset in available()
    found = load(dataset, progress=False) if at_hand else cache.read(dataset)
    if found is not None:
        return found
    random, parts = np.random.default_rng(0), []
    for count in (20 * IMAGES, 10 * LABELS):
        images = random.integers(256, size=(count, *shape_of(dataset)[1:]), dtype=np.uint8)
        parts += [images, np.arange(count) % LABELS]
    return Dataset(dataset, *parts)

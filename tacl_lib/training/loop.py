"""The training loop: a learner and a stream in, a record of each run out."""

import hashlib
import math
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from tqdm.auto import tqdm

from tacl_lib.core.learners import Learner, Step, TaskAwareLearner
from tacl_lib.core.randomness import generator, stacked
from tacl_lib.core.streams import Epoch, Stream
from tacl_lib.errors import TaclError, shortened, unknown_name
from tacl_lib.training.checkpoint import Checkpoint, StopSignals
from tacl_lib.training.events import EMPTY, EventRecorder
from tacl_lib.training.record import Record, circumstances, commit

TESTS = ("seen", "all")


def train(
    learner: Learner,
    stream: Stream,
    *,
    test_on: str = "seen",
    checkpoint: Path | None = None,
    checkpoint_seconds: float = 180,
    progress: bool = True,
    info: dict | None = None,
    deliver: Callable[[list[Record]], object] | None = None,
) -> list[Record]:
    """Train a learner on a stream, and return one record per run.

    test_on: which tasks to test after each epoch, those ``"seen"`` so far or ``"all"``.
    checkpoint: a file; a training that was stopped or killed resumes from it, and ends with the same record.
    info: anything to store in the records, e.g. the settings.
    deliver: called with the records before the checkpoint is removed, so that results are never lost.
    """
    if not isinstance(learner, Learner) or not isinstance(stream, Stream):
        given = f"{type(learner).__name__} and {type(stream).__name__}"
        raise TaclError(f"train takes a learner and a stream, as in train(learner, Stream(tasks)), not {given}.")
    if test_on not in TESTS:
        raise unknown_name("test_on", test_on, TESTS)
    if isinstance(learner, TaskAwareLearner) and stream.experiment != "disjoint":
        raise TaclError(
            f"{learner.name} must be told when a task ends, and a {stream.experiment} stream has no such moment; "
            "use a task-agnostic learner."
        )
    info = info or {}
    commit()  # cached: records name the code that ran, not what is committed meanwhile
    training = _Training(learner, stream, test_on)
    file = Checkpoint(checkpoint, checkpoint_seconds, training.fingerprint(info))
    state = file.load(learner.network.device)
    if state is not None:
        fresh = _copied(training.state())
        try:
            training.load_state(state)
        except Exception as error:  # from another version or other settings: it can be anything
            file.set_aside(error)
            training.load_state(fresh)  # nothing of the bad state must remain
            state = None
    if state is None and checkpoint is not None:
        file.save(training.state())  # a good state for a run that diverges early
    with (
        StopSignals() as signals,
        tqdm(
            total=stream.steps,
            initial=training.steps_done,
            desc=learner.name,
            unit="step",
            disable=not progress,
            mininterval=0.5,
        ) as bar,
        _inference_mode(learner),
    ):
        training.run(file, signals, bar)
    records = training.records(info)
    if deliver is not None:
        deliver(records)
    file.remove()
    return records


@contextmanager
def _inference_mode(learner: Learner) -> Iterator[None]:
    """Torch's inference mode, if learner and network allow it; the learner stays usable, even after an error."""
    allowed = learner.inference and learner.network.inference
    try:
        with torch.inference_mode(allowed):
            yield
    finally:
        if allowed:  # tensors created in that mode cannot be changed outside it
            learner.load_state(_copied(learner.state()))


def _copied(state: object) -> object:
    """A copy of a learner's state, tensors included."""
    if isinstance(state, torch.Tensor):
        return state.clone()
    if isinstance(state, dict):
        return {name: _copied(value) for name, value in state.items()}
    return [_copied(value) for value in state] if isinstance(state, list) else state


def _of_one_kind(given: object, own: object) -> bool:
    """Whether a saved state has the types of our own, wherever ours is set. Sizes may differ: they may grow."""
    if own is None:
        return True
    if isinstance(given, dict) and isinstance(own, dict):
        return all(_of_one_kind(value, own[name]) for name, value in given.items() if name in own)
    if isinstance(given, torch.Tensor) and isinstance(own, torch.Tensor):  # else it would be converted or broadcast
        return (given.dtype, given.dim()) == (own.dtype, own.dim())
    return type(given) is type(own)


class _Training:
    """The state of a training between two steps: everything that a checkpoint must hold."""

    def __init__(self, learner: Learner, stream: Stream, test_on: str):
        tasks, network = stream.tasks, learner.network
        if network.seeds != tasks.seeds:
            raise TaclError(f"the network has the seeds {network.seeds}, the tasks {tasks.seeds}; use the same.")
        if (network.features, network.classes) != (tasks.features, tasks.classes):
            raise TaclError(
                f"the network maps {network.features} features to {network.classes} classes, but the tasks have "
                f"{tasks.features} and {tasks.classes}."
            )
        self.learner, self.stream, self.test_on = learner, stream, test_on
        runs, epochs = network.runs, len(stream.epochs)
        longest = max(epoch.steps for epoch in stream.epochs)
        self.epoch, self.step, self.seconds = 0, 0, 0.0
        self.losses = torch.zeros(runs, longest, device=network.device)  # of this epoch
        self.projected = torch.zeros(runs, dtype=torch.int64, device=network.device)  # in this epoch
        self.last_rate: torch.Tensor | float = math.nan
        self.recorder = EventRecorder(learner.geometry, runs) if learner.geometry else None
        # After each epoch:
        self.accuracy = np.full((runs, epochs, tasks.count), np.nan)
        self.loss, self.rate = np.full((2, runs, epochs), np.nan)
        self.projected_steps = np.zeros((runs, epochs), np.int64)
        self.memory = np.zeros((runs, epochs, tasks.count), np.int64)
        self.diverged_at = np.full(runs, -1)

    @property
    def steps_done(self) -> int:
        done = self.epoch >= len(self.stream.epochs)
        return self.stream.steps if done else self.stream.epochs[self.epoch].first_step + self.step

    def run(self, file: Checkpoint, signals: StopSignals, bar: tqdm) -> None:
        started = time.monotonic() - self.seconds
        for epoch in self.stream.epochs[self.epoch :]:
            for batch in self.stream.batches(epoch, start=self.step):
                self._one_step(epoch, batch)
                if self.step % 32 == 0:
                    bar.update(32)
                if signals.received or file.due():
                    self.seconds = time.monotonic() - started
                    self._note_divergence(epoch, file)
                    file.save(self.state())
                    if signals.received:
                        signals.stop()
            self._note_divergence(epoch, file)
            self._end_epoch(epoch)
            bar.update(epoch.steps % 32)
            if (self.diverged_at >= 0).all():
                break
        self.seconds = time.monotonic() - started
        if signals.received:  # during the last test
            file.save(self.state())
            signals.stop()

    def _one_step(self, epoch: Epoch, batch) -> None:
        result = self.learner.step(batch.x, batch.y)
        loss = result.loss if isinstance(result, Step) else None
        if not isinstance(loss, torch.Tensor) or loss.shape != self.projected.shape:
            raise TaclError(
                f"step of {self.learner.name} must return a Step whose loss is a tensor with one number for each run, "
                f"as in Step(losses.sum(1)), not {shortened(result)}."
            )
        self.losses[:, self.step] = loss
        if result.projected is not None:
            self.projected += result.projected
        if result.stored is not None:
            step = epoch.first_step + self.step
            self.recorder.note(step, result.stored.placement, result.stored.chosen, batch.task, batch.row)
        if result.rate is not None:
            self.last_rate = result.rate
        self.step += 1

    def _note_divergence(self, epoch: Epoch, file: Checkpoint) -> None:
        """Find runs whose loss is no longer finite. Runs of a stack are independent, so the others continue."""
        bad = ~torch.isfinite(self.losses[:, : self.step]).cpu().numpy()
        # A step may ruin the weights although its own loss is finite; such a state must not be saved as a good one.
        bad[:, -1] |= ~self.learner.network.finite().cpu().numpy()
        for run in np.flatnonzero(bad.any(1) & (self.diverged_at < 0)):
            self.diverged_at[run] = epoch.first_step + int(bad[run].argmax())
            seed = self.stream.tasks.seeds[run]
            good = file.keep_good(seed)
            warnings.warn(
                f"run with seed {seed} of {self.learner.name} stopped at step {self.diverged_at[run]}: its loss "
                "is not finite (try a smaller learning rate); the other runs continue. "
                + (f"Its last good checkpoint is {good}." if good else "No checkpoint was kept."),
                stacklevel=3,
            )

    def _end_epoch(self, epoch: Epoch) -> None:
        number, fine = epoch.number, self.diverged_at < 0
        tasks, network = self.stream.tasks, self.learner.network
        for task in range(tasks.count) if self.test_on == "all" else epoch.seen:
            of_task = network.accuracy(tasks.inputs(tasks.test, task), tasks.targets(tasks.test, task))
            self.accuracy[fine, number, task] = of_task.cpu().numpy()[fine]
        self.loss[fine, number] = self.losses[:, : self.step].double().mean(1).cpu().numpy()[fine]
        self.rate[:, number] = torch.as_tensor(self.last_rate, dtype=torch.float64).cpu().numpy()
        self.projected_steps[:, number] = self.projected.cpu().numpy()
        if epoch.ends_task is not None and isinstance(self.learner, TaskAwareLearner):
            self._end_task(epoch.ends_task, number)
        if self.recorder:
            self.memory[:, number] = self.recorder.members_by_task(tasks.count)
        self.projected.zero_()
        self.epoch, self.step = number + 1, 0

    def _end_task(self, task: int, number: int) -> None:
        """Give a task-aware learner samples of the task that has ended."""
        samples, seeds = self.stream.tasks.train, self.stream.tasks.seeds
        count = min(self.learner.samples_per_task, samples.size(task))
        drawn = stacked(seeds, lambda seed: generator(seed, "end of task", task).permutation(samples.size(task)))
        rows = (drawn[:, :count] + samples.bounds[task]).to(samples.images.device)
        run = torch.arange(len(seeds), device=rows.device).unsqueeze(1) % samples.images.shape[0]
        images = self.stream.tasks.scaling(samples.images[run, rows])
        self.learner.end_task(images, samples.labels[run, rows])
        self.memory[:, number:, task] += count

    def records(self, info: dict) -> list[Record]:
        """One record per run."""
        plan = self.stream.epochs
        seen = np.array([[task in epoch.seen for task in range(self.stream.tasks.count)] for epoch in plan])
        logs = self.recorder.logs() if self.recorder else [None] * len(self.loss)
        about = circumstances(
            self.learner.network.device,
            learner=self.learner.name,
            runs_in_stack=self.learner.network.runs,
            threads=torch.get_num_threads(),
            wall_seconds_of_stack=round(self.seconds, 3),
            **getattr(self.learner, "about", {}),
        )
        records = []
        for run, seed in enumerate(self.stream.tasks.seeds):
            epochs = pd.DataFrame(
                {
                    "epoch": [epoch.number for epoch in plan],
                    "task": [epoch.task for epoch in plan],
                    "next_task": [EMPTY if epoch.next_task is None else epoch.next_task for epoch in plan],
                    "first_step": [epoch.first_step for epoch in plan],
                    "steps": [epoch.steps for epoch in plan],
                    "loss": self.loss[run],
                    "rate": self.rate[run],
                    "projected": self.projected_steps[run],
                }
            )
            diverged = None if self.diverged_at[run] < 0 else int(self.diverged_at[run])
            arrays = (self.accuracy[run], seen, self.memory[run], logs[run], diverged)
            records.append(Record(seed, epochs, *arrays, about | info))
        return records

    ARRAYS = ("accuracy", "loss", "rate", "projected_steps", "memory", "diverged_at")

    def state(self) -> dict:
        """Everything that a checkpoint needs, as tensors and plain values."""
        state = {name: torch.from_numpy(getattr(self, name)) for name in self.ARRAYS}
        state |= {"epoch": self.epoch, "step": self.step, "seconds": self.seconds}
        state["last_rate"] = self.last_rate
        state |= {"losses": self.losses, "projected": self.projected, "learner": self.learner.state()}
        if self.recorder:
            state["recorder"] = self.recorder.state()
        return state

    def load_state(self, state: dict) -> None:
        """Resume from a state. An unsuitable one may raise any error, and leaves this object half loaded."""
        self._check(state)
        for name in self.ARRAYS:
            setattr(self, name, state[name].cpu().numpy().copy())
        self.epoch, self.step, self.seconds = state["epoch"], state["step"], state["seconds"]
        self.losses, self.projected, self.last_rate = (state[k] for k in ("losses", "projected", "last_rate"))
        self.learner.load_state(state["learner"])
        if self.recorder:
            self.recorder.load_state(state["recorder"])

    def _check(self, state: dict) -> None:
        """Check shapes, types and ranges of everything but the learner's own part."""
        own = self.state()
        if state.keys() != own.keys():
            raise TaclError(f"it holds {', '.join(sorted(map(str, state)))}, not {', '.join(sorted(own))}")
        for name in (*self.ARRAYS, "losses", "projected"):
            given = state[name]
            if not isinstance(given, torch.Tensor) or (given.shape, given.dtype) != (own[name].shape, own[name].dtype):
                raise TaclError(f"its {name} has the wrong shape or type")
        for name, (lowest, highest) in self._ranges().items():
            if ((state[name] < lowest) | (state[name] > highest)).any():  # NaN, where nothing was measured, is neither
                raise TaclError(f"its {name} is not between {lowest} and {highest}")
        epochs, (epoch, step) = self.stream.epochs, (state["epoch"], state["step"])
        steps = epochs[epoch].steps if type(epoch) is int and 0 <= epoch < len(epochs) else 0
        if not (type(epoch) is int and 0 <= epoch <= len(epochs) and type(step) is int and 0 <= step <= steps):
            raise TaclError(f"there is no step {step!r} of epoch {epoch!r}")
        if not (isinstance(state["seconds"], float) and 0 <= state["seconds"] < math.inf):
            raise TaclError(f"it cannot have taken {state['seconds']!r} seconds")
        if not isinstance(state["last_rate"], (float, int, torch.Tensor)):
            raise TaclError(f"its learning rate is a {type(state['last_rate']).__name__}")
        kept, own_kept = state["learner"], own["learner"]
        if kept.keys() != own_kept.keys() or not _of_one_kind(kept, own_kept):
            raise TaclError("the state of its learner has other entries or types")

    def _ranges(self) -> dict[str, tuple[int, float]]:
        """The smallest and the largest possible values of counts and measurements."""
        steps = self.stream.steps
        ranges = {"accuracy": (0, 1), "memory": (0, math.inf), "diverged_at": (-1, steps - 1)}
        return ranges | {"projected": (0, steps), "projected_steps": (0, steps)}

    def fingerprint(self, info: dict) -> str:
        """Identifies the training that a checkpoint belongs to."""
        tasks, network = self.stream.tasks, self.learner.network
        parts = [self.learner.name, tasks.dataset, tasks.split, self.stream.experiment, tasks.seeds]
        parts += [network.parameter_count, self.stream.batch_size, len(self.stream.epochs), self.stream.steps]
        # The first weights stand for the initialisation; the settings are in the info, if given.
        parts += [hashlib.sha256(network.flat.cpu().numpy().tobytes()).hexdigest(), self.test_on, info]
        return repr(parts)

"""Trainings of a second, and looks into them."""

import contextlib
import io
import signal
from itertools import count
from pathlib import Path

import numpy as np
import torch
from small_learners import SMALL

from tacl_lib.core.learners import LEARNERS, Step, TaskAwareLearner, make_learner
from tacl_lib.core.streams import Stream
from tacl_lib.core.tasks import make_tasks
from tacl_lib.data import Dataset
from tacl_lib.engine.mlp import Mlp
from tacl_lib.training import train
from tacl_lib.training.checkpoint import unsealed

SEEDS = (3, 8, 5)
AGNOSTIC = [name for name in SMALL if not issubclass(LEARNERS[name], TaskAwareLearner)]
AWARE = [name for name in SMALL if name not in AGNOSTIC]
STOPPED = ("sgd", "ta_agem", "ta_ogd", "agem", "bgd")


def dataset():
    """Class means plus noise: easy enough to be learnt a little in a few steps."""
    rng = np.random.default_rng(0)
    means = rng.integers(40, 200, (10, 4, 4, 1))

    def part(amount):
        labels = rng.permutation(np.arange(amount, dtype=np.int64) % 10)
        return np.clip(means[labels] + rng.integers(-40, 40, (amount, 4, 4, 1)), 0, 255).astype(np.uint8), labels

    return Dataset("synthetic", *part(110), *part(60))


def make(name="ta_agem", *, split="class", experiment="disjoint", seeds=SEEDS, epochs=2, **changes):
    """A learner and a stream: 5 (class) or 3 tasks of a few batches of 5."""
    tasks = make_tasks(dataset(), split, seeds, task_count=3)
    stream = Stream(tasks, experiment, batch_size=5, epochs=epochs)
    network = Mlp(tasks.seeds, (tasks.features, 6, tasks.classes))
    return make_learner(name, network, **(SMALL[name] | changes)), stream


def saved(file):
    """The state in a checkpoint."""
    return torch.load(io.BytesIO(unsealed(file.read_bytes())), weights_only=True)["state"]


def quiet(learner, stream, **options):
    return train(learner, stream, progress=False, **options)


def contents(records, learner=None) -> list[dict[str, bytes]]:
    """All that a record says but the circumstances, as bytes: NaN equals NaN, and -0.0 is not 0.0."""
    found = []
    for place, record in enumerate(records):
        arrays = {name: getattr(record, name) for name in ("accuracy", "seen", "memory")}
        arrays |= {f"epochs {name}": record.epochs[name].to_numpy() for name in record.epochs}
        if record.events is not None:
            arrays |= {f"event {name}": column for name, column in record.events.columns().items()}
        if learner is not None:
            arrays["weights"] = learner.network.vector(place).numpy()
        known = {"seed": str(record.seed).encode(), "diverged": str(record.diverged_at).encode()}
        found.append(known | {name: array.dtype.str.encode() + array.tobytes() for name, array in arrays.items()})
    return found


def on_step(learner, act):
    """Let ``act(number, x, y)`` run before every step of a learner."""
    original, numbers = learner.step, count()

    def step(x, y):
        act(next(numbers), x, y)
        return original(x, y)

    learner.step = step


def send_before(learner, step, number=signal.SIGTERM):
    """Send this process a signal before a step."""
    on_step(learner, lambda at, x, y: signal.raise_signal(number) if at == step else None)


def watch(learner) -> list[Step]:
    """What a learner says of each step."""
    said, original = [], learner.step

    def step(x, y):
        said.append(original(x, y))
        return said[-1]

    learner.step = step
    return said


def parts_in(folder) -> list[str]:
    return [path.name for path in Path(folder).rglob("*.part")]


def fill(place):
    """Take what is left of a small disk."""
    filler = place / "filler"
    with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(512))
    return filler

"""What a run is: every setting of the paper, and of what it leaves open, in one frozen record."""

from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch

from tacl_lib.data import load
from tacl_lib.learners import make_learner
from tacl_lib.network import Network
from tacl_lib.record import Record
from tacl_lib.streams import Stream
from tacl_lib.tasks import make_tasks
from tacl_lib.training import train


@dataclass(frozen=True)
class RunSpec:
    """A learner on a stream of tasks. The defaults are the paper's settings; the open ones say so."""

    dataset: str = "digits"
    split: str = "class"  #: permutation, rotation or class
    experiment: str = "disjoint"  #: disjoint or continuous
    learner: str = "ta_agem"
    learner_settings: dict = field(default_factory=dict)  #: what differs from the learner's own defaults
    hidden: tuple[int, ...] = (200, 200)
    batch_size: int = 10
    epochs: int = 20  #: per task (disjoint) or per pair of tasks (continuous)
    task_count: int = 10  #: for permutation and rotation
    degrees_per_task: float = 20.0
    scaling: str = "unit"  #: open in the paper: unit or standard
    initialisation: str = "glorot"  #: open: glorot, torch or he
    validation: str = "parts"  #: open: parts or whole
    interpolation: str = "bilinear"  #: open: bilinear or nearest
    last_task: str = "mixed"  #: open, continuous stream only: mixed or pure
    train_limit: int | None = None  #: at most so many training samples a task; None is the paper's setting
    test_limit: int | None = None


def _without_path(source: str) -> str:
    """A user's folder is named in ``make data``, but is nobody else's business: results are shared."""
    return "a folder of the user's" if source.startswith("folder ") else source


def default_device() -> torch.device:
    """A GPU where there is one."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def run(
    spec: RunSpec,
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4),
    *,
    device: torch.device | str | None = None,
    tested: str = "seen",
    checkpoint: Path | None = None,
    progress: bool = True,
) -> list[Record]:
    """Execute a spec for a stack of seeds: data → tasks → stream → learner → one record per seed."""
    device = default_device() if device is None else torch.device(device)
    dataset = load(spec.dataset, progress=progress)
    tasks = make_tasks(
        dataset,
        spec.split,
        seeds,
        task_count=spec.task_count,
        degrees_per_task=spec.degrees_per_task,
        scaling=spec.scaling,
        validation=spec.validation,
        interpolation=spec.interpolation,
        train_limit=spec.train_limit,
        test_limit=spec.test_limit,
    ).to(device)
    stream = Stream(
        tasks,
        spec.experiment,
        batch_size=spec.batch_size,
        epochs=spec.epochs,
        last_task=spec.last_task,
    )
    network = Network(tasks.seeds, (tasks.features, *spec.hidden, tasks.classes), spec.initialisation, device)
    learner = make_learner(spec.learner, network, **spec.learner_settings)
    info = {
        "spec": asdict(spec),
        "data": {"source": _without_path(dataset.source), "verified": dataset.verified, "note": dataset.note},
    }
    return train(learner, stream, tested=tested, checkpoint=checkpoint, progress=progress, info=info)

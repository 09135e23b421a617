"""From a spec to records: data → tasks → stream → learner → training."""

from collections.abc import Callable
from pathlib import Path

import torch

from tacl_lib import plugins
from tacl_lib.core.checking import checked_device
from tacl_lib.core.learners import make_learner
from tacl_lib.core.network import Network
from tacl_lib.core.streams import Stream
from tacl_lib.core.tasks import Tasks, checked_seeds, make_tasks
from tacl_lib.data import Dataset, load
from tacl_lib.engine.networks import MLP, make_network
from tacl_lib.errors import TaclError
from tacl_lib.runs.spec import RunSpec
from tacl_lib.training import train
from tacl_lib.training.record import Record


def default_device() -> torch.device:
    """A GPU if there is one."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def tasks_of(spec: RunSpec, dataset: Dataset, seeds: tuple[int, ...]) -> Tasks:
    """The tasks on which the runs of a spec train."""
    return make_tasks(
        dataset,
        spec.split,
        seeds,
        task_count=spec.task_count,
        degrees_per_task=spec.degrees_per_task,
        scaling=spec.scaling,
        validation=spec.validation,
        interpolation=spec.interpolation,
        fill=spec.fill,
        train_limit=spec.train_limit,
        test_limit=spec.test_limit,
    )


def network_of(spec: RunSpec, tasks: Tasks, device: torch.device | str) -> Network:
    """The networks of a spec's runs, one for each seed of the tasks."""
    settings = spec.network_settings
    if spec.network == MLP:
        if settings:
            raise TaclError("the network mlp has no settings of its own; set hidden and initialisation of the run.")
        settings = {"hidden": spec.hidden, "initialisation": spec.initialisation}
    return make_network(spec.network, tasks.seeds, tasks.image_shape, tasks.classes, device=device, **settings)


def run(
    spec: RunSpec,
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4),
    *,
    device: torch.device | str | None = None,
    test_on: str = "seen",
    checkpoint: Path | None = None,
    progress: bool = True,
    deliver: Callable[[list[Record]], object] | None = None,
) -> list[Record]:
    """Execute a spec for a stack of seeds: data → tasks → stream → learner → one record per seed.

    device: where; None: a GPU if there is one. test_on, checkpoint, progress, deliver: see `train`.
    """
    if not isinstance(spec, RunSpec):
        raise TaclError(f"run takes a RunSpec such as RunSpec(dataset='digits'), not {type(spec).__name__}.")
    device, seeds = checked_device(default_device() if device is None else device), checked_seeds(seeds)
    dataset = load(spec.dataset, progress=progress)
    tasks = tasks_of(spec, dataset, seeds).to(device)
    stream = Stream(
        tasks,
        spec.experiment,
        batch_size=spec.batch_size,
        epochs=spec.epochs,
        last_task=spec.last_task,
        counted=spec.counted,
    )
    network = network_of(spec, tasks, device)
    learner = make_learner(spec.learner, network, **spec.learner_settings)
    info = {
        "spec": spec.full(),
        "data": {"source": _without_path(dataset.source), "verified": dataset.verified, "note": dataset.note},
    }
    if own := plugins.described():
        info["plugins"] = own
    how = {"test_on": test_on, "checkpoint": checkpoint, "progress": progress, "deliver": deliver}
    return train(learner, stream, info=info, **how)


def _without_path(source: str) -> str:
    """The source without the path of a user's folder: results are shared."""
    return "a folder of the user's" if source.startswith("folder ") else source

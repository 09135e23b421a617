"""How much work a job is, to order jobs and to move a progress bar. Hours are measured: see `forecast`."""

from functools import lru_cache
from itertools import pairwise
from math import prod

from tacl_lib.core.learners import settings_of
from tacl_lib.core.streams import plan
from tacl_lib.data import available, load
from tacl_lib.data.catalog import CATALOG
from tacl_lib.engine.networks import MLP
from tacl_lib.runs.grid import Job
from tacl_lib.runs.spec import RunSpec

OTHER_NETWORKS = 20  #: times the work of the perceptron, very roughly
LABELS = 10  #: of every dataset of the paper
#: the cost of calling a step's many small operations, in units of the arithmetic of a step of SGD (784-200-200-10)
_CALLS = {"sgd": 1.6, "sgd_lr_adapt": 2.4, "bgd": 8, "agem": 4, "ta_agem": 6.4, "ogd": 6, "ta_ogd": 14}


def shape_of(dataset: str) -> tuple[int, int, int, int]:
    """Training images, height, width and channels of a dataset; MNIST's, for one that is not registered here."""
    if dataset not in CATALOG and dataset in available():
        return _registered_shape(dataset)
    known = CATALOG.get(dataset, CATALOG["mnist"])
    return known.train, *known.shape


@lru_cache
def _registered_shape(dataset: str) -> tuple[int, int, int, int]:
    return load(dataset, progress=False).train_images.shape


def steps(spec: RunSpec) -> int:
    """Training steps of a run, assuming equally frequent classes."""
    samples = shape_of(spec.dataset)[0]
    tasks = LABELS // 2 if spec.split == "class" else spec.task_count
    sizes = [min(samples // tasks, spec.train_limit or samples)] * tasks
    return sum(e.steps for e in plan(sizes, spec.experiment, spec.batch_size, spec.epochs, spec.last_task, "own"))


def work(job: Job) -> float:
    """The work of a job, in steps of SGD (one run, 784-200-200-10). Rough, but only order and bars depend on it."""
    a_step = _arithmetic(job.spec.name(), job.spec) * len(job.seeds) + _CALLS.get(job.spec.learner, 4)
    return 4000 + steps(job.spec) * a_step  # 4000: to load and split the dataset


@lru_cache(maxsize=4096)
def _arithmetic(name: str, spec: RunSpec) -> float:
    """The arithmetic of a step of one run, in steps of SGD."""
    widths = (prod(shape_of(spec.dataset)[1:]), *spec.hidden, 10)
    size = sum(a * b for a, b in pairwise(widths)) / 198_800
    size *= 1 if spec.network == MLP else OTHER_NETWORKS
    settings = settings_of(spec.learner) | spec.learner_settings
    if spec.learner == "ta_ogd":
        return 1.4 * size + 6 * settings["clusters"] * settings["cluster_size"] / 297 * (0.5 + size / 2)
    if spec.learner == "ogd":
        stored = settings["samples_per_task"] * (LABELS // 2 if spec.split == "class" else spec.task_count) / 2
        return 1.4 * size + 4 * stored / 297 * (0.5 + size / 2)
    if spec.learner in ("agem", "ta_agem"):
        return (1.6 + 0.04 * min(settings["reference_batch"] or 300, 300)) * size  # memories are hardly larger
    return {"sgd_lr_adapt": 1.2, "bgd": 2.8 * settings.get("passes", 10)}.get(spec.learner, 1) * size

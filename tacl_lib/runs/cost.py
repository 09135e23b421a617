"""How long a job will take: an estimate for progress bars, and for planning a night of runs."""

from functools import lru_cache
from itertools import pairwise

from tacl_lib.core.learners import settings_of
from tacl_lib.runs.grid import Job
from tacl_lib.runs.spec import RunSpec

#: features, training samples a task for (permutation or rotation with 10 tasks, class split)
_SIZES = {
    "mnist": (784, 60000),
    "fashion_mnist": (784, 60000),
    "notmnist": (784, 60000),
    "cifar10": (3072, 50000),
    "svhn": (3072, 73257),
    "digits": (64, 1400),
}
#: ms a step and run of a 784-200-200-10 network on one core; rounded from `make bench`, for estimates only
_MILLISECONDS = {"sgd": 0.25, "sgd_lr_adapt": 0.3, "bgd": 7.0}
#: ms a step of a stack that go to calling many small operations, whatever the size of the network
_OVERHEAD = {
    "sgd": 0.4,
    "sgd_lr_adapt": 0.6,
    "bgd": 2.0,
    "agem": 1.0,
    "ta_agem": 1.6,
    "ogd": 1.5,
    "ta_ogd": 3.5,
}


def steps(spec: RunSpec) -> int:
    """Training steps of a run."""
    _, samples = _SIZES.get(spec.dataset, (784, 60000))
    tasks = 5 if spec.split == "class" else spec.task_count
    a_task = min(samples // tasks, spec.train_limit or samples)
    last = {"mixed": 0, "pure": spec.epochs // 2}.get(spec.last_task, spec.epochs)
    epochs = spec.epochs * (tasks - 1) + (spec.epochs if spec.experiment == "disjoint" else last)
    return -(-a_task // spec.batch_size) * epochs


def seconds(job: Job) -> float:
    """Estimated seconds of a job on one core."""
    a_step = _milliseconds_of_run(job.spec.name(), job.spec) * len(job.seeds) + _OVERHEAD.get(job.spec.learner, 1.0)
    return 1.0 + steps(job.spec) * a_step / 1000


@lru_cache(maxsize=4096)
def _milliseconds_of_run(name: str, spec: RunSpec) -> float:
    """Estimated arithmetic of a step of one run."""
    features, _ = _SIZES.get(spec.dataset, (784, 60000))
    widths = (features, *spec.hidden, 10)
    size = sum(a * b for a, b in pairwise(widths)) / 198_800
    settings = settings_of(spec.learner) | spec.learner_settings
    if spec.learner == "ta_ogd":
        stored = settings["clusters"] * settings["cluster_size"]
        return 0.35 * size + 1.5 * stored / 297 * (0.5 + size / 2)
    if spec.learner == "ogd":
        stored = settings["samples_per_task"] * (5 if spec.split == "class" else spec.task_count) / 2
        return 0.35 * size + 1.0 * stored / 297 * (0.5 + size / 2)
    if spec.learner in ("agem", "ta_agem"):
        reference = min(settings["reference_batch"] or 300, 300)  # no memory is much larger
        return (0.4 + 0.01 * reference) * size
    return _MILLISECONDS.get(spec.learner, 0.5) * size * settings.get("passes", 10) / 10

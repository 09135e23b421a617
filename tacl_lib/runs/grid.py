"""Which runs there are: the cells of the paper's tables, and its study of clustering against random."""

from collections.abc import Sequence
from typing import NamedTuple

from tacl_lib import names
from tacl_lib.core.learners import LEARNERS, TaskAwareLearner
from tacl_lib.errors import TaclError, unknown_name
from tacl_lib.runs.profiles import METHODS, SAMPLING_RATES, SPLITS, Profile
from tacl_lib.runs.spec import RunSpec

EXPERIMENTS = tuple(names.EXPERIMENTS)
POLICIES = tuple(names.POLICIES)[:2]  #: of the paper's study


class Job(NamedTuple):
    """The unit of work: a stack of seeds of one spec."""

    spec: RunSpec
    seeds: tuple[int, ...]

    def __str__(self) -> str:
        spec = self.spec
        return f"{spec.experiment} {spec.dataset} {spec.split} {spec.learner}, seeds {', '.join(map(str, self.seeds))}"


def experiment_jobs(
    profile: Profile,
    experiment: str,
    dataset: str,
    methods: Sequence[str] = METHODS,
    seeds: Sequence[int] | None = None,
) -> list[Job]:
    """All splits and methods of an experiment on a dataset; a continuous stream leaves out task-aware methods."""
    if experiment not in EXPERIMENTS:
        raise unknown_name("experiment", experiment, EXPERIMENTS)
    for method in methods:
        if method not in LEARNERS:
            raise unknown_name("method", method, LEARNERS)
    aware = [method for method in methods if issubclass(LEARNERS[method], TaskAwareLearner)]
    chosen = [method for method in methods if experiment == "disjoint" or method not in aware]
    return [
        Job(profile.spec(dataset, split, experiment, method), _seeds(profile, seeds))
        for split in SPLITS
        for method in chosen
    ]


def study_jobs(profile: Profile, dataset: str | None = None, seeds: Sequence[int] | None = None) -> list[Job]:
    """TA-A-GEM with clustering and with random assignment, at three sampling rates, on class split."""
    dataset = dataset or profile.study_dataset
    return [
        Job(
            profile.spec(dataset, "class", "disjoint", "ta_agem", sampling_rate=rate, policy=policy),
            _seeds(profile, seeds),
        )
        for policy in POLICIES
        for rate in SAMPLING_RATES
    ]


def all_jobs(
    profile: Profile, datasets: Sequence[str], methods: Sequence[str] = METHODS, seeds: Sequence[int] | None = None
) -> list[Job]:
    """Everything that `make reproduce` runs; a job that serves two purposes is there once."""
    jobs = _of_experiments(profile, datasets, methods, seeds)
    if "ta_agem" in methods:
        jobs += study_jobs(profile, study_dataset(profile, datasets), seeds)
    unique: dict[tuple, Job] = {}
    for job in jobs:
        unique.setdefault((job.spec.name(), job.seeds), job)
    return list(unique.values())


def table_jobs(profile: Profile, datasets: Sequence[str], methods: Sequence[str] = METHODS) -> list[Job]:
    """What the tables show: the whole profile, whether this call ran it or one before, and what is asked for beyond."""
    every_dataset = list(dict.fromkeys([*profile.datasets, *datasets]))
    every_method = list(dict.fromkeys([*METHODS, *methods]))
    return _of_experiments(profile, every_dataset, every_method, None)


def study_dataset(profile: Profile, datasets: Sequence[str]) -> str:
    """The dataset of the clustering study: the profile's where it is available, else the first one."""
    return profile.study_dataset if profile.study_dataset in datasets or not datasets else datasets[0]


def _of_experiments(profile: Profile, datasets: Sequence[str], methods: Sequence[str], seeds) -> list[Job]:
    return [
        job
        for dataset in datasets
        for experiment in EXPERIMENTS
        for job in experiment_jobs(profile, experiment, dataset, methods, seeds)
    ]


def _seeds(profile: Profile, seeds: Sequence[int] | None) -> tuple[int, ...]:
    chosen = profile.seeds if seeds is None else tuple(seeds)
    if not chosen:
        raise TaclError("at least one seed is needed.")
    return chosen

"""Which runs there are: the cells of the paper's tables, and its study of clustering against random assignment."""

from collections.abc import Sequence
from typing import NamedTuple

from tacl_lib.core.learners import LEARNERS, TaskAwareLearner
from tacl_lib.errors import TaclError, unknown_name
from tacl_lib.names import EXPERIMENTS, METHODS, POLICIES, SAMPLING_RATES, SPLITS
from tacl_lib.runs.profiles import Profile
from tacl_lib.runs.spec import RunSpec
from tacl_lib.runs.store import Store
from tacl_lib.training.record import Record


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
    methods: Sequence[str] = tuple(METHODS),
    seeds: Sequence[int] | None = None,
) -> list[Job]:
    """All splits and methods of an experiment on a dataset; on a continuous stream without the task-aware methods."""
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
    """The clustering study: TA-A-GEM with clustering and with random assignment, at three sampling rates."""
    dataset = dataset or profile.study_dataset
    return [
        Job(
            profile.spec(dataset, "class", "disjoint", "ta_agem", sampling_rate=rate, policy=policy),
            _seeds(profile, seeds),
        )
        for policy in POLICIES
        for rate in SAMPLING_RATES
    ]


def study_records(store: Store, jobs: Sequence[Job]) -> dict[tuple[str, float], list[Record]]:
    """The records of the clustering study by policy and sampling rate. jobs: `study_jobs`."""
    own = ((job.spec.learner_settings, job) for job in jobs)
    return {(settings["policy"], settings["sampling_rate"]): store.records(*job) for settings, job in own}


def all_jobs(
    profile: Profile,
    datasets: Sequence[str],
    methods: Sequence[str] = tuple(METHODS),
    seeds: Sequence[int] | None = None,
) -> list[Job]:
    """Everything that `make reproduce` runs, each job once."""
    jobs = _of_experiments(profile, datasets, methods, seeds)
    if "ta_agem" in methods:
        jobs += study_jobs(profile, study_dataset(profile, datasets), seeds)
    unique: dict[tuple, Job] = {}
    for job in jobs:
        unique.setdefault((job.spec.name(), job.seeds), job)
    return list(unique.values())


def table_jobs(profile: Profile, datasets: Sequence[str], methods: Sequence[str] = tuple(METHODS)) -> list[Job]:
    """What the tables show: the whole profile, whichever call ran it, and all other datasets and methods asked for."""
    every_dataset = list(dict.fromkeys([*profile.datasets, *datasets]))
    every_method = list(dict.fromkeys([*METHODS, *methods]))
    return _of_experiments(profile, every_dataset, every_method, None)


def study_dataset(profile: Profile, datasets: Sequence[str]) -> str:
    """The dataset of the clustering study: the profile's if it is available, else the first."""
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

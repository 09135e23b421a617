"""How much of the paper is run: a few seconds for tests, a quick look, or all of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tacl_lib import names
from tacl_lib.core.learners import LEARNERS, settings_of
from tacl_lib.errors import unknown_name
from tacl_lib.runs.spec import DEFAULT_SEEDS, RunSpec

SPLITS, METHODS, PAPER_DATASETS = tuple(names.SPLITS), tuple(names.METHODS), tuple(names.DATASETS)
TASK_AWARE, SAMPLING_RATES = names.TASK_AWARE, names.SAMPLING_RATES


@dataclass(frozen=True)
class Profile:
    """What a profile changes of the paper's settings; the paper's own profile changes nothing."""

    name: str
    seeds: tuple[int, ...]
    datasets: tuple[str, ...]
    study_dataset: str  #: of the clustering-against-random study, the paper's is Fashion-MNIST
    run: dict = field(default_factory=dict)  #: fields of `RunSpec`
    learners: dict[str, dict] = field(default_factory=dict)  #: settings of single learners
    rate: float | None = None  #: learning rate of every learner that has one, your own as well; None: its default

    @property
    def reduction(self) -> str:
        """What is reduced, for the face of every table and figure; empty: nothing is. Made from the settings."""
        if not self.run and not self.learners and self.rate is None:
            return ""
        changed = [f"{self.datasets[0]} only"] if len(self.datasets) == 1 else []
        changed += [_IN_WORDS[name](value) for name, value in self.run.items()]
        changed += [f"learning rate {self.rate:g}"] if self.rate else []
        for learner, own in self.learners.items():
            title = names.METHODS[learner].title if learner in names.METHODS else learner
            changed += [f"{title} {name.replace('_', ' ')} {value:g}" for name, value in own.items()]
        seeds = f"{len(self.seeds)} seed{'s' if len(self.seeds) > 1 else ''}"
        return f"profile {self.name}: {', '.join(changed)}, {seeds}"

    def spec(self, dataset: str, split: str, experiment: str, learner: str, **settings) -> RunSpec:
        """The spec of a cell of the paper's tables under this profile."""
        rated = self.rate is not None and learner in LEARNERS and "rate" in settings_of(learner)
        own = ({"rate": self.rate} if rated else {}) | self.learners.get(learner, {}) | settings
        return replace(RunSpec(dataset, split, experiment, learner, own), **self.run)


#: how a changed field of `RunSpec` is described; a profile cannot change one that is not listed here
_IN_WORDS = {
    "hidden": lambda widths: f"{len(widths)} × {widths[0]} hidden units",
    "epochs": "{} epochs".format,
    "task_count": "{} tasks (5 for class split)".format,
    "degrees_per_task": "{:g}° a rotation".format,
    "train_limit": "at most {} images a task".format,
    "test_limit": "{} to test".format,
}


PROFILES = {
    "smoke": Profile(
        name="smoke",
        seeds=(0, 1),
        datasets=("digits",),
        study_dataset="digits",
        run={"hidden": (32, 32), "epochs": 2, "task_count": 3, "train_limit": 60, "test_limit": 40},
        rate=2e-2,
        learners={"bgd": {"passes": 2}, "ta_ogd": {"clusters": 9}, "ta_agem": {"clusters": 5}}
        | {"ogd": {"samples_per_task": 10}, "agem": {"samples_per_task": 10}},
    ),
    "quick": Profile(
        name="quick",
        seeds=(0, 1),
        datasets=(*PAPER_DATASETS, "digits"),
        study_dataset="fashion_mnist",
        # Chosen on digits, which the paper does not have, so that short runs show what the paper found; the number of
        # images (digits have 308 a task) by what five minutes allow.
        run={"hidden": (100, 100), "epochs": 10, "task_count": 5, "degrees_per_task": 45.0, "train_limit": 400}
        | {"test_limit": 300},
        rate=8e-2,
        learners={
            # η σ² times the batch is then 0.08 as well: its first steps are as long as the others'.
            "bgd": {"passes": 2, "eta": 20.0},
            "ta_ogd": {"clusters": 33},
            "ogd": {"samples_per_task": 20},
        },
    ),
    "paper": Profile(
        name="paper",
        seeds=DEFAULT_SEEDS,
        datasets=PAPER_DATASETS,
        study_dataset="fashion_mnist",
    ),
}


def profile_named(name: str, seeds: Sequence[int] | None = None) -> Profile:
    """A profile by name; seeds: instead of its own."""
    if name not in PROFILES:
        raise unknown_name("profile", name, PROFILES)
    return replace(PROFILES[name], seeds=tuple(seeds)) if seeds else PROFILES[name]

"""The six result tables of the paper as data, and how the paper orders and spells what is in them."""

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import pandas as pd

from tacl_lib.core.learners import LEARNERS, Learner, TaskAwareLearner

CITATION = (
    "C. Lamers, R. Vidal, N. Belbachir, N. van Stein, T. Bäck, P. Giampouras: "
    '"Clustering-based Domain-Incremental Learning", arXiv:2309.12078, ICCV Workshops 2023'
)

# Our names → the paper's spelling, in the order of its tables.
DATASETS = {
    "mnist": "MNIST",
    "fashion_mnist": "Fashion MNIST",
    "notmnist": "NOT MNIST",
    "cifar10": "CIFAR10",
    "svhn": "SVHN",
}
SPLITS = {"permutation": "perm", "rotation": "rot", "class": "class"}
METHODS = {
    "sgd": "SGD",
    "sgd_lr_adapt": "SGD lr adapt",
    "bgd": "BGD",
    "ta_ogd": "TA-OGD",
    "ta_agem": "TA-A-GEM",
    "ogd": "OGD",
    "agem": "A-GEM",
}
EXPERIMENTS = {"disjoint": "disjoint tasks", "continuous": "continuous change"}

#: told when a task ends, so shown for context only; absent from the continuous change experiments
TASK_AWARE = frozenset({"ogd", "agem"})


class Metric(NamedTuple):
    """How a metric is called, and which end of it is good."""

    title: str
    of: str  #: what is averaged, in a few words
    higher_is_better: bool


METRICS = {
    "average_accuracy": Metric("Average validation accuracy", "over the tasks trained on so far", True),
    "first_task_accuracy": Metric("Validation accuracy of the first task", "of the first task", True),
    "forgetting": Metric("Forgetting of the first task", "best accuracy so far minus the present one", False),
}

#: what names one number; without the method it names a column of a table
COLUMN = ["experiment", "metric", "dataset", "split"]
KEY = [*COLUMN, "method"]


def is_task_aware(method: str) -> bool:
    """Whether a method, of the paper or a user's own, is told when a task ends."""
    return method in TASK_AWARE or issubclass(LEARNERS.get(method, Learner), TaskAwareLearner)


def in_order(names: Iterable[str], known: Mapping[str, str]) -> list[str]:
    """The paper's names in its order, then the others by name."""
    there = set(names)
    return [name for name in known if name in there] + sorted(there - set(known))


def methods_in(experiment: str) -> list[str]:
    """The methods in an experiment's tables, in the paper's order."""
    return [method for method in METHODS if experiment == "disjoint" or method not in TASK_AWARE]


def published() -> pd.DataFrame:
    """The paper's 540 numbers, in the order of its tables: experiment, metric, dataset, split, method, value, bold."""
    return _read().copy()


@cache
def _read() -> pd.DataFrame:
    with files("tacl_lib.paper").joinpath("published.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file, comment="#").astype({"bold": bool})

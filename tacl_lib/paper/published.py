"""The six result tables of the paper as data, and how the paper orders and spells what is in them."""

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files

import pandas as pd

from tacl_lib import names
from tacl_lib.core.learners import LEARNERS, Learner, TaskAwareLearner
from tacl_lib.names import EXPERIMENTS, METRICS, TASK_AWARE, Metric

CITATION = (
    "C. Lamers, R. Vidal, N. Belbachir, N. van Stein, T. Bäck, P. Giampouras: "
    '"Clustering-based Domain-Incremental Learning", arXiv:2309.12078, ICCV Workshops 2023'
)

# Our names → the paper's spelling, in the order of its tables.
DATASETS = {name: dataset.printed for name, dataset in names.DATASETS.items()}
SPLITS = {name: split.printed for name, split in names.SPLITS.items()}
METHODS = {name: method.title for name, method in names.METHODS.items()}

__all__ = [
    "CITATION",
    "COLUMN",
    "DATASETS",
    "EXPERIMENTS",
    "KEY",
    "METHODS",
    "METRICS",
    "SPLITS",
    "TASK_AWARE",
    "Metric",
    "in_order",
    "is_task_aware",
    "methods_in",
    "published",
]

#: what names one number; without the method it names a column of a table
COLUMN = ["experiment", "metric", "dataset", "split"]
KEY = [*COLUMN, "method"]


def is_task_aware(method: str) -> bool:
    """Whether a method, of the paper or a user's own, is told when a task ends."""
    return method in TASK_AWARE or issubclass(LEARNERS.get(method, Learner), TaskAwareLearner)


def in_order(found: Iterable[str], known: Mapping[str, str]) -> list[str]:
    """The paper's names in its order, then the others by name."""
    there = set(found)
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

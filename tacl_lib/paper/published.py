"""The six result tables of the paper as data, and the order of what is in them."""

from collections.abc import Iterable
from functools import cache
from importlib.resources import files

import pandas as pd

from tacl_lib.core.learners import LEARNERS, Learner, TaskAwareLearner
from tacl_lib.names import METHODS, TASK_AWARE

CITATION = (
    "C. Lamers, R. Vidal, N. Belbachir, N. van Stein, T. Bäck, P. Giampouras: "
    '"Clustering-based Domain-Incremental Learning", arXiv:2309.12078, ICCV Workshops 2023'
)

#: what identifies a column of a table
COLUMN = ["experiment", "metric", "dataset", "split"]
KEY = [*COLUMN, "method"]  #: what identifies a number


def is_task_aware(method: str) -> bool:
    """Whether a method, the paper's or a user's own, is told when a task ends."""
    return method in TASK_AWARE or issubclass(LEARNERS.get(method, Learner), TaskAwareLearner)


def in_order(found: Iterable[str], known: Iterable[str]) -> list[str]:
    """The paper's names in its order, then all others alphabetically."""
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

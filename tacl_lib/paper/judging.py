"""How a claim is judged: its parts, the results that decide them, and the comparisons that claims are made of.

"Clearly" and "significantly" are Welch's test over runs at 99% (the paper gives the confidence, not the test); words
such as "comparable" or "on par" get one of the `Limits`, and differences are judged as printed.
"""

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from math import isfinite

import pandas as pd

from tacl_lib.paper.compare import DIGITS
from tacl_lib.paper.published import DATASETS, METHODS, METRICS, published
from tacl_lib.paper.significance import not_worse


@dataclass(frozen=True)
class Limits:
    """What words without a number are taken to mean. They are ours, set with the paper's tables in view."""

    on_par: float = 0.015  #: how much lower "on par" may be
    comparable: float = 0.03
    alike: float = 0.05  #: largest spread of mean accuracies over methods with "no remarkable differences"
    little_forgetting: float = 0.1
    few: float = 0.05  #: share of a memory that "lost" may leave, and that "kept" must have

    def times(self, factor: float) -> "Limits":
        """All of them wider or narrower."""
        return Limits(*(factor * limit for limit in astuple(self)))


USUAL = Limits()


@dataclass(frozen=True)
class Part:
    """One thing that a claim says."""

    holds: bool | None  #: None: not tested, as runs are missing or diverged
    numbers: str


@dataclass(frozen=True)
class Finding:
    """A claim and what became of it."""

    claim: str
    parts: tuple[Part, ...]

    @property
    def tested(self) -> list[Part]:
        return [part for part in self.parts if part.holds is not None]

    @property
    def verdict(self) -> str:
        held = [part.holds for part in self.tested]
        if not held:
            return "not tested"
        word = "holds" if all(held) else "holds in part" if any(held) else "does not hold"
        return word if len(held) == len(self.parts) else f"{word}, as far as tested"

    @property
    def held(self) -> int:
        return sum(bool(part.holds) for part in self.parts)

    @property
    def count(self) -> str:
        """How many parts hold, of how many."""
        return f"{self.held} of {len(self.tested)} tested, {len(self.parts)} in all"


class Results:
    """Results over runs by cell. runs: `Store.summaries` of the paper's profile."""

    def __init__(self, runs: pd.DataFrame):
        keys = ["experiment", "dataset", "split", "method"]
        self._groups = {key: group for key, group in runs.groupby(keys, sort=False)}

    def values(self, dataset: str, split: str, method: str, metric="average_accuracy", experiment="disjoint"):
        """One number per run; empty where nothing was run, or where a run diverged: such a run is excluded."""
        group = self._groups.get((experiment, dataset, split, method))
        values = [] if group is None else list(group[metric])
        return values if all(map(isfinite, values)) else []

    def mean(self, *cell: str, **of: str) -> float | None:
        values = self.values(*cell, **of)
        return sum(values) / len(values) if values else None


def published_runs() -> pd.DataFrame:
    """The paper's numbers in the form of runs: two of each cell without any spread."""
    wide = published().pivot(index=["experiment", "dataset", "split", "method"], columns="metric", values="value")
    return pd.concat([wide.reset_index().assign(seed=seed) for seed in range(2)], ignore_index=True)


def significantly_better(
    results: Results,
    dataset: str,
    split: str,
    method: str,
    rival: str,
    metric: str = "average_accuracy",
    experiment: str = "disjoint",
) -> Part:
    """One method against another in one column."""
    ours, theirs = (results.values(dataset, split, m, metric=metric, experiment=experiment) for m in (method, rival))
    column = f"{DATASETS[dataset]} {split}" + ("" if experiment == "disjoint" else f" ({experiment})")
    numbers = f"{column}{_measure(metric)}: {METHODS[method]} {mean_of(ours)}, {METHODS[rival]} {mean_of(theirs)}"
    return Part(better(ours, theirs, metric), numbers)


def better(ours: Sequence[float], theirs: Sequence[float], metric: str) -> bool | None:
    """Whether our runs are significantly better than theirs; None if that cannot be tested."""
    return _alone_at_the_top([ours, theirs], metric) == 0 if _can_be_tested([ours, theirs]) else None


def significantly_best(results: Results, dataset: str, split: str, method: str, among: tuple[str, ...]) -> Part:
    """The method is best, and no other is as good by Welch's test."""
    cells = [results.values(dataset, split, name) for name in among]
    numbers = f"{DATASETS[dataset]} {split}: "
    numbers += ", ".join(f"{METHODS[name]} {mean_of(cell)}" for name, cell in zip(among, cells, strict=True))
    return Part(_alone_at_the_top(cells) == among.index(method) if _can_be_tested(cells) else None, numbers)


def near(
    results: Results,
    left: tuple,
    right: tuple,
    limit: float,
    experiment: str = "disjoint",
    metric: str = "average_accuracy",
    or_higher: bool = False,
) -> Part:
    """Two cells within a limit; ``experiment`` is that of the left one. or_higher: the left one may be far above."""
    one, other = results.mean(*left, experiment=experiment, metric=metric), results.mean(*right, metric=metric)
    names = f"{METHODS[left[2]]} {number(one)}, "
    names += f"disjoint {number(other)}" if experiment != "disjoint" else f"{METHODS[right[2]]} {number(other)}"
    numbers = f"{DATASETS[left[0]]} {left[1]}{_measure(metric)}: {names}"
    if None in (one, other):
        return Part(None, numbers)
    difference = as_printed(one, other)
    return Part(abs(difference) <= limit or (or_higher and difference > 0), numbers)


def _measure(metric: str) -> str:
    """What numbers are, where they are not the usual average accuracies."""
    return {"average_accuracy": "", "first_task_accuracy": ", first task", "forgetting": ", forgetting"}[metric]


def as_printed(one: float, other: float) -> float:
    """The difference of two numbers as tables print them."""
    return round(round(one, DIGITS) - round(other, DIGITS), DIGITS)


def number(value: float | None) -> str:
    return "–" if value is None else f"{value:.{DIGITS}f}"


def mean_of(values: Sequence[float]) -> str:
    return number(sum(values) / len(values) if values else None)


def _can_be_tested(cells: Sequence[Sequence[float]]) -> bool:
    """A single run has no deviation, so nothing can be said of significance."""
    return all(len(cell) >= 2 for cell in cells)


def _alone_at_the_top(cells: Sequence[Sequence[float]], metric: str = "average_accuracy") -> int | None:
    """Which of the cells is significantly better than each of the others; None if none is."""
    among_the_best = not_worse(cells, higher_is_better=METRICS[metric].higher_is_better)
    return among_the_best.index(True) if sum(among_the_best) == 1 else None

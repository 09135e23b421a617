"""How a claim is judged: its parts, the results that decide them, and the comparisons they need.

"Clearly" and "significantly" mean Welch's test over runs at 99% (the paper gives the confidence, not the test); words
such as "comparable" or "on par" mean one of the `Limits`. Differences are judged as printed.
"""

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from math import isfinite

import pandas as pd

from tacl_lib.names import METRICS, title
from tacl_lib.paper.compare import DIGITS
from tacl_lib.paper.published import published
from tacl_lib.paper.significance import not_worse


@dataclass(frozen=True)
class Limits:
    """What words without a number mean. The limits are ours, chosen with the paper's tables in view."""

    on_par: float = 0.015  #: how much lower "on par" may be
    comparable: float = 0.03
    alike: float = 0.05  #: "no remarkable differences": the largest spread of the methods' mean accuracies
    little_forgetting: float = 0.1
    few: float = 0.05  #: the share of a memory that "lost" may leave and "kept" must reach

    def times(self, factor: float) -> "Limits":
        """All limits multiplied."""
        return Limits(*(factor * limit for limit in astuple(self)))


USUAL = Limits()


@dataclass(frozen=True)
class Part:
    """One statement of a claim."""

    holds: bool | None  #: None: not tested, because runs are missing or diverged
    numbers: str


@dataclass(frozen=True)
class Finding:
    """A claim and its verdict."""

    claim: str
    parts: tuple[Part, ...]
    key: str = ""  #: of the claim, as in `claims.CLAIMS`

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
        """How many parts hold, out of how many."""
        return f"{self.held} of {len(self.tested)} tested, {len(self.parts)} in all"


class Results:
    """Results over runs by cell. runs: `Store.summaries` of the paper's profile."""

    def __init__(self, runs: pd.DataFrame):
        keys = ["experiment", "dataset", "split", "method"]
        self._groups = {key: group for key, group in runs.groupby(keys, sort=False)}

    def values(self, dataset: str, split: str, method: str, metric="average_accuracy", experiment="disjoint"):
        """One number per run; empty if nothing was run, or if a run diverged: such cells decide nothing."""
        group = self._groups.get((experiment, dataset, split, method))
        values = [] if group is None else list(group[metric])
        return values if all(map(isfinite, values)) else []

    def mean(self, *cell: str, **of: str) -> float | None:
        values = self.values(*cell, **of)
        return sum(values) / len(values) if values else None


def published_runs() -> pd.DataFrame:
    """The paper's numbers in the form of runs: two identical ones for each cell."""
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
    column = f"{title('dataset', dataset)} {split}" + ("" if experiment == "disjoint" else f" ({experiment})")
    values = ", ".join(f"{title('method', m)} {mean_of(v)}" for m, v in ((method, ours), (rival, theirs)))
    return Part(better(ours, theirs, metric), f"{column}{_measure(metric)}: {values}")


def better(ours: Sequence[float], theirs: Sequence[float], metric: str) -> bool | None:
    """Whether our runs are significantly better than the others; None if that cannot be tested."""
    return _alone_at_the_top([ours, theirs], metric) == 0 if _can_be_tested([ours, theirs]) else None


def significantly_best(results: Results, dataset: str, split: str, method: str, among: tuple[str, ...]) -> Part:
    """Whether the method is best and, by Welch's test, no other is as good."""
    cells = [results.values(dataset, split, name) for name in among]
    values = ", ".join(f"{title('method', name)} {mean_of(cell)}" for name, cell in zip(among, cells, strict=True))
    best = _alone_at_the_top(cells) == among.index(method) if _can_be_tested(cells) else None
    return Part(best, f"{title('dataset', dataset)} {split}: {values}")


def near(
    results: Results,
    left: tuple,
    right: tuple,
    limit: float,
    experiment: str = "disjoint",
    metric: str = "average_accuracy",
    or_higher: bool = False,
) -> Part:
    """Whether two cells lie within a limit. experiment: of the left one. or_higher: the left one may be far above."""
    one, other = results.mean(*left, experiment=experiment, metric=metric), results.mean(*right, metric=metric)
    second = "disjoint" if experiment != "disjoint" else title("method", right[2])
    column = f"{title('dataset', left[0])} {left[1]}{_measure(metric)}"
    numbers = f"{column}: {title('method', left[2])} {number(one)}, {second} {number(other)}"
    if None in (one, other):
        return Part(None, numbers)
    difference = as_printed(one, other)
    return Part(abs(difference) <= limit or (or_higher and difference > 0), numbers)


def _measure(metric: str) -> str:
    """What the numbers are, unless they are average accuracies."""
    return {"average_accuracy": "", "first_task_accuracy": ", first task", "forgetting": ", forgetting"}[metric]


def as_printed(one: float, other: float) -> float:
    """The difference of two numbers as the tables print them."""
    return round(round(one, DIGITS) - round(other, DIGITS), DIGITS)


def number(value: float | None) -> str:
    return "–" if value is None else f"{value:.{DIGITS}f}"


def mean_of(values: Sequence[float]) -> str:
    return number(sum(values) / len(values) if values else None)


def _can_be_tested(cells: Sequence[Sequence[float]]) -> bool:
    """A single run has no deviation, so its significance cannot be tested."""
    return all(len(cell) >= 2 for cell in cells)


def _alone_at_the_top(cells: Sequence[Sequence[float]], metric: str = "average_accuracy") -> int | None:
    """Which cell is significantly better than every other; None if none is."""
    among_the_best = not_worse(cells, higher_is_better=METRICS[metric].higher_is_better)
    return among_the_best.index(True) if sum(among_the_best) == 1 else None

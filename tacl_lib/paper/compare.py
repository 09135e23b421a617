"""Our numbers beside the paper's: differences, verdicts, and one honest line that sums them up."""

from collections.abc import Callable, Mapping
from itertools import product

import numpy as np
import pandas as pd

from tacl_lib.engine.networks import MLP
from tacl_lib.errors import TaclError
from tacl_lib.names import METHODS, METRICS, SPLITS
from tacl_lib.paper.published import COLUMN, KEY, is_task_aware, methods_in, published
from tacl_lib.paper.significance import not_worse

#: The largest difference from the paper's number that counts as agreement. The paper gives no deviations; 0.03
#: allows for five other seeds and for the choices that it leaves open.
TOLERANCE = 0.03
#: digits printed by the paper; we judge numbers as printed, so that no table contradicts its own verdicts
DIGITS = 3
PAPER_RUNS = 5
NEAR = (0.01, 0.03, 0.05)  #: agreement is counted within each of these distances

WITHIN, DEVIATES, NOT_RUN, REDUCED, UNPUBLISHED, ANOTHER_SET = VERDICTS = (
    "within tolerance",
    "deviates",
    "not run",
    "reduced: not comparable",
    "not in the paper",
    "another set of images: not comparable",
)
RUNS_OF = [
    "experiment",
    "dataset",
    "split",
    "method",
]  #: what the runs of a cell have in common; each run counts in three cells
NO_REASON = "there is no finished run of it"


def make_cells(
    runs: pd.DataFrame,
    *,
    reduced: str | bool | None = None,
    reasons: Mapping[str, str] | None = None,
    tolerance: float = TOLERANCE,
) -> pd.DataFrame:
    """One row for each of the paper's 540 numbers, with ours beside it.

    runs: `Store.summaries` of ONE profile. Datasets and learners that are not in the paper get rows of their own after
    the paper's, without a number of the paper and with the verdict "not in the paper".
    reduced: truthy unless the profile is the paper's; then no cell is judged.
    reasons: dataset → why it was not run.
    tolerance: the largest difference from the paper's number that counts as agreement.

    Columns: experiment, metric, dataset, split, method; ours (mean over runs, NaN if one diverged), std (n - 1;
    NaN for one run), runs, bold; paper, paper_bold; difference (ours as printed, minus the paper's), tolerance,
    verdict, reason.
    Bold follows the paper: among the methods that were run, the best task-agnostic one of a column and those that
    Welch's test at 99% cannot tell from it. Nothing is bold where only one was run, or where one has fewer than the
    paper's five runs: the test would mean little.
    The cell of a run on other images than the published ones is shown, but not judged.
    """
    cells = _with_unpublished(published().rename(columns={"value": "paper", "bold": "paper_bold"}), runs)
    values = _values(runs)
    cells["_values"] = [values.get(key, ()) for key in cells[KEY].itertuples(index=False, name=None)]
    cells["ours"] = [np.mean(v) if len(v) else np.nan for v in cells["_values"]]
    cells["std"] = [np.std(v, ddof=1) if len(v) > 1 else np.nan for v in cells["_values"]]
    cells["runs"] = [len(v) for v in cells["_values"]]
    cells["bold"] = _bold(cells)
    cells["difference"] = (cells["ours"].round(DIGITS) - cells["paper"]).round(DIGITS)
    cells["tolerance"] = tolerance
    elsewhere = _keys_where(runs, "another_set", bool)
    # The paper has no number of another network.
    others = _keys_where(runs, "network", lambda network: network != MLP)
    cells.loc[[key in others for key in cells[RUNS_OF].itertuples(index=False, name=None)], "paper"] = np.nan
    cells["verdict"] = np.select(
        [
            cells["runs"] == 0,
            np.full(len(cells), bool(reduced)),
            cells["paper"].isna(),
            [key in elsewhere for key in cells[RUNS_OF].itertuples(index=False, name=None)],
            cells["difference"].abs() <= tolerance,
        ],
        [NOT_RUN, REDUCED, UNPUBLISHED, ANOTHER_SET, WITHIN],
        default=DEVIATES,  # a run that diverged, too: its difference is NaN
    )
    cells["reason"] = [
        (reasons or {}).get(dataset) or NO_REASON if verdict == NOT_RUN else ""
        for dataset, verdict in zip(cells["dataset"], cells["verdict"], strict=True)
    ]
    ours = ["ours", "std", "runs", "bold"]
    return cells[[*KEY, *ours, "paper", "paper_bold", "difference", "tolerance", "verdict", "reason"]]


def counts(cells: pd.DataFrame) -> dict[str, int]:
    """How many cells were run, how many lie within each distance, and in how many columns the winner agrees.

    A column counts if all of its task-agnostic methods were run. Its winner agrees if our best mean (as printed)
    is that of a method that is best in the paper, and its bold if exactly the paper's bold methods are bold.
    """
    cells = cells[cells["paper"].notna()]
    was_run = comparable(cells)
    judged = agreeing = bold = columns = 0
    for (experiment, metric, *_), column in cells.groupby(COLUMN, sort=False):
        columns += 1
        column = comparable(column[~column["method"].map(is_task_aware)])
        rivals = {method for method in methods_in(experiment) if not is_task_aware(method)}
        if set(column.loc[column["ours"].notna(), "method"]) == rivals:
            judged += 1
            agreeing += bool(_winners(column, "ours", metric) & _winners(column, "paper", metric))
            bold += bool((column["bold"] == column["paper_bold"]).all())
    short = int((was_run["runs"] < PAPER_RUNS).sum())
    return {
        "cells": len(cells),
        "run": len(was_run),
        "short": short,
        **_near(was_run),
        "all_columns": columns,
        "columns": judged,
        "agree": agreeing,
        "bold_agree": bold,
    }


def comparable(cells: pd.DataFrame) -> pd.DataFrame:
    """The paper's cells that were run on the images it names."""
    return cells[cells["paper"].notna() & (cells["runs"] > 0) & (cells["verdict"] != ANOTHER_SET)]


def by_method(cells: pd.DataFrame) -> pd.DataFrame:
    """The same counts for each method: method, run, within_0.01, within_0.03, within_0.05."""
    was_run = comparable(cells)
    rows = [
        {"method": method, "run": len(own), **_near(own)}
        for method in METHODS
        if len(own := was_run[was_run["method"] == method])
    ]
    return pd.DataFrame(rows)


def _near(cells: pd.DataFrame) -> dict[str, int]:
    """How many cells lie within each distance of the paper's."""
    return {f"within_{limit}": int((cells["difference"].abs() <= limit).sum()) for limit in NEAR}


def whole_columns(cells: pd.DataFrame) -> pd.Series:
    """Whether every task-agnostic method in a cell's column has as many runs as the paper."""
    agnostic = ~cells["method"].map(is_task_aware)
    short = (agnostic & (cells["runs"] < PAPER_RUNS)).groupby([cells[name] for name in COLUMN]).transform("any")
    return ~short


def agreement(cells: pd.DataFrame, at_paper_settings: bool) -> str:
    """One line on how well the cells agree with the paper; reduced cells are never called a reproduction."""
    n = counts(cells)
    if not at_paper_settings:
        return (
            f"of {n['cells']} cells none were run at the paper's settings; {n['run']} were run in a reduced profile, "
            "which is not comparable with the paper"
        )
    if (cells["verdict"] == REDUCED).any():
        raise TaclError("these cells belong to a reduced profile; call agreement(cells, at_paper_settings=False).")
    line = (
        f"of {n['cells']} cells {n['run']} were run at the paper's settings; {n['within_0.01']} lie within 0.01, "
        f"{n['within_0.03']} within 0.03, {n['within_0.05']} within 0.05; "
        f"the winner agrees in {n['agree']} of the {n['columns']} columns (of {n['all_columns']}: dataset, split, "
        "experiment, metric) in which all task-agnostic methods were run"
    )
    return line + (f"; {n['short']} cells have fewer than {PAPER_RUNS} runs" if n["short"] else "")


def _with_unpublished(cells: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """The paper's cells, and empty ones for every other dataset or method among the runs, as whole columns and rows."""
    new = []
    for experiment in cells["experiment"].unique():
        paper, own = (frame[frame["experiment"] == experiment] for frame in (cells, runs))
        datasets, methods = (
            [*paper[name].unique(), *sorted(set(own[name]) - set(paper[name]))] for name in ("dataset", "method")
        )
        known = set(paper[KEY].itertuples(index=False, name=None))
        places = product([experiment], METRICS, datasets, SPLITS, methods)
        new += [dict(zip(KEY, place, strict=True)) for place in places if place not in known]
    if not new:
        return cells
    extra = pd.DataFrame(new).assign(paper=np.nan, paper_bold=False)
    return pd.concat([cells, extra], ignore_index=True)


def _keys_where(runs: pd.DataFrame, column: str, holds: Callable[[object], bool]) -> set[tuple]:
    """Experiment, dataset, split and method of the cells with a run for which the condition holds."""
    if column not in runs:
        return set()
    return set(runs.loc[runs[column].map(holds).astype(bool), RUNS_OF].itertuples(index=False, name=None))


def _values(runs: pd.DataFrame) -> dict[tuple, np.ndarray]:
    """The results of each cell's runs, by its key."""
    missing = [name for name in [*RUNS_OF, "seed", *METRICS] if name not in runs]
    if missing:
        raise TaclError(f"the runs have no column {', '.join(missing)}; pass what Store.summaries() returns.")
    values = {}
    for (experiment, dataset, split, method), group in runs.groupby(RUNS_OF, sort=False):
        specs = group["spec"].unique() if "spec" in group else ()
        if len(specs) > 1 or group["seed"].duplicated().any():
            # Means over different settings would look like results.
            raise TaclError(
                f"{method} on {dataset}, {split}, {experiment} has runs of more than one spec "
                f"({', '.join(specs) or 'a seed occurs twice'}); keep those of one profile."
            )
        for metric in METRICS:
            values[experiment, metric, dataset, split, method] = group[metric].to_numpy(float)
    return values


def _bold(cells: pd.DataFrame) -> pd.Series:
    bold = pd.Series(False, index=cells.index)
    rivals = cells[~cells["method"].map(is_task_aware) & (cells["runs"] > 0)]
    for (_, metric, *_), column in rivals.groupby(COLUMN, sort=False):
        if len(column) > 1 and column["runs"].min() >= PAPER_RUNS:
            bold[column.index] = not_worse(list(column["_values"]), METRICS[metric].higher_is_better)
    return bold


def _winners(column: pd.DataFrame, of: str, metric: str) -> set[str]:
    values = column[of].round(DIGITS)
    best = values.max() if METRICS[metric].higher_is_better else values.min()
    return set(column.loc[values == best, "method"])

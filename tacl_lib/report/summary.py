"""The first screen of report and evidence: the finding, how well the paper is reproduced, and ten claims."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from tacl_lib import names
from tacl_lib.paper.compare import PAPER_RUNS, TOLERANCE, counts
from tacl_lib.paper.headlines import in_numbers, ten_claims
from tacl_lib.paper.paper_runs import Evidence
from tacl_lib.paper.published import is_task_aware
from tacl_lib.paper.readings import PAPER
from tacl_lib.report.figures import Picture, heat_map, overview_figure, overview_halves, scatter
from tacl_lib.report.rendering import picture
from tacl_lib.runs.grid import experiment_jobs
from tacl_lib.training.record import Record

SHOWN = ("disjoint", "fashion_mnist", "class")  #: the column that that shows the finding
_OVERVIEW = ("sgd", "bgd", "ta_ogd", "ta_agem", "agem")


class Shown(NamedTuple):
    """A figure in a page, of one or more images: beside each other, or below where there is little room."""

    name: str
    title: str
    images: tuple[tuple[str, str], ...]  #: source and alternative text
    own: str = ""  #: which of its runs are the user's own


def summary_of(evidence: Evidence) -> dict:
    """What the first screen needs, with its figures."""
    figures = {"heat": (heat_map(evidence.cells),), "scatter": (scatter(evidence.cells),)}
    runs = _overview_runs(evidence)
    figures["overview"] = overview_halves(runs) if runs else ()
    titles = {
        "overview": "Fashion-MNIST in five tasks of two classes: the first task forgotten or not, and the memory",
        "heat": "Ours minus the paper's, all cells",
        "scatter": "Ours against the paper's",
    }
    shown = {
        name: Shown(name, titles[name], tuple((picture(part), part.alt) for part in parts if part))
        for name, parts in figures.items()
    }
    return {"pictures": {name: each for name, each in shown.items() if each.images}, **in_words(evidence)}


def in_words(evidence: Evidence) -> dict:
    """The same without figures: sentences and counts, for pages that link to them."""
    n = counts(evidence.cells)
    return {
        "finding": finding(evidence),
        "least_forgetting": least_forgetting(evidence.cells),
        "counts": n,
        "near": n["within_0.03"],
        "percent": round(100 * n["within_0.03"] / n["run"]) if n["run"] else 0,
        "tolerance": TOLERANCE,
        "paper_runs": PAPER_RUNS,
        "complete": int((evidence.cells.loc[evidence.cells["paper"].notna(), "runs"] >= PAPER_RUNS).sum()),
        "ten": [(found, in_numbers(found)) for found in ten_claims([each.ours for each in evidence.judged()])],
        "unrun": unrun(evidence.cells),
    }


def overview(evidence: Evidence) -> Picture | None:
    """The finding as a figure; None without a run of TA-A-GEM in its column."""
    runs = _overview_runs(evidence)
    return overview_figure(runs) if runs else None


def _overview_runs(evidence: Evidence) -> dict[str, list[Record]]:
    experiment, dataset, split = SHOWN
    jobs = [job for job in experiment_jobs(PAPER, experiment, dataset, _OVERVIEW) if job.spec.split == split]
    runs = {job.spec.learner: evidence.store.records(*job) for job in jobs}
    shown = next((record for record in runs["ta_agem"] if record.events is not None), None)
    if shown is None:
        return {}
    runs["ta_agem"].sort(key=lambda record: record is not shown)  # the first one's memory is drawn
    return runs


def finding(evidence: Evidence) -> str:
    """The paper's finding in one sentence with our numbers, from the column that is shown; else what is missing."""
    runs = {method: evidence.records.get((SHOWN, method)) for method in ("sgd", "ta_agem")}
    if not all(runs.values()):
        return "The runs that show the paper's main finding (Fashion-MNIST, class split) are not made yet."
    ends = {method: np.mean([record.accuracy[-1, 0] for record in records]) for method, records in runs.items()}
    column = _column(evidence.cells, *SHOWN)
    column = column[column["metric"] == "forgetting"].set_index("method")
    lost = {which: column.loc[["sgd", "ta_agem"], which].map("{:.2f}".format).tolist() for which in ("ours", "paper")}
    return (
        f"After five tasks of two classes each (Fashion-MNIST), plain SGD ends with {ends['sgd']:.2f} accuracy on the "
        f"first one, where guessing gives 0.50; TA-A-GEM, which nobody tells when a task ends, still has "
        f"{ends['ta_agem']:.2f}. Forgetting, mean over training: {lost['ours'][0]} and {lost['ours'][1]}; the paper "
        f"has {lost['paper'][0]} and {lost['paper'][1]}."
    )


def least_forgetting(cells: pd.DataFrame) -> list[tuple[str, str, float, float, bool]]:
    """For each dataset whose class split was run: the task-agnostic method that forgets least, ours and the paper's
    number, and whether all task-agnostic methods were there to be compared."""
    found = []
    for dataset in cells["dataset"].unique():
        column = _column(cells, "disjoint", dataset, "class")
        column = column[(column["metric"] == "forgetting") & ~column["method"].map(is_task_aware)]
        there = column[column["ours"].notna()]
        if len(there):
            best = there.loc[there["ours"].idxmin()]
            titles = names.title("dataset", dataset), names.title("method", best["method"])
            found.append((*titles, best["ours"], best["paper"], len(there) == len(column)))
    return found


def unrun(cells: pd.DataFrame) -> list[str]:
    """Which columns of the paper have no run at all, in few words: dataset, and if some have: which ones."""
    runs = cells[cells["paper"].notna()].groupby(["dataset", "experiment", "split"], sort=False)["runs"].sum()
    empty = runs[runs == 0].reset_index()
    said = []
    for dataset, own in empty.groupby("dataset", sort=False):
        title = names.title("dataset", dataset)
        if len(own) == len(runs[dataset]):
            said.append(title)
            continue
        said += [f"{title} {kind} ({', '.join(part['split'])})" for kind, part in own.groupby("experiment", sort=False)]
    return said


def _column(cells: pd.DataFrame, experiment: str, dataset: str, split: str) -> pd.DataFrame:
    columns = ("experiment", "dataset", "split")
    wanted = zip(columns, (experiment, dataset, split), strict=True)
    return cells[np.logical_and.reduce([cells[name] == value for name, value in wanted])]

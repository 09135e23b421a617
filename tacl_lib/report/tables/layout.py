"""From cells and settings to tables: the six result tables, a comparison beside each, three tables of settings."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pandas as pd

from tacl_lib.errors import TaclError, unknown_name
from tacl_lib.names import DATASETS, EXPERIMENTS, METHODS, METRICS, SPLITS, printed, title
from tacl_lib.paper.compare import DIGITS, NO_REASON, NOT_RUN, PAPER_RUNS, REDUCED
from tacl_lib.paper.published import CITATION, in_order, is_task_aware
from tacl_lib.paper.settings import SETTINGS, settings_table
from tacl_lib.report.tables.table import Cell, Row, Table
from tacl_lib.runs.spec import RunSpec

ABSENT = "–"  #: stands for a number that there is not; a footnote gives the reason
DIVERGED = "diverged"
REDUCED_NOTICE = "REDUCED profile; not comparable with the paper"


def result_table(
    cells: pd.DataFrame,
    experiment: str,
    metric: str,
    *,
    reduced: str | None = None,
    reasons: Mapping[str, str] | None = None,
    notes: Mapping[str, str] | None = None,
    datasets: Sequence[str] | None = None,
    beside: bool = False,
    own: Collection[tuple[str, ...]] = (),
) -> Table:
    """One of the six tables, laid out as in the paper, with our numbers.

    cells: what `make_cells` gives. reduced: the text that marks a reduced profile. reasons: dataset → why it was
    not run. notes: dataset → what must be said beside results from it, e.g. that its images were made again.
    datasets: only these; None takes all. beside: the paper's numbers stand below ours (in HTML).
    own: which cells (experiment, dataset, split, method) have runs of the user's own, to be marked.
    """
    part = _part(cells, experiment, metric, reasons, datasets)
    by_place = {(c.dataset, c.split, c.method): c for c in part.itertuples()}
    titles = {dataset: printed("dataset", dataset) for dataset in part["dataset"].unique()}
    places = [(dataset, split) for dataset in titles for split in SPLITS]
    methods = sorted(in_order(part["method"], METHODS), key=is_task_aware)
    rows, data = [], []
    for method in methods:
        found = [by_place[dataset, split, method] for dataset, split in places]
        shown = (Cell(title("method", method)), *(_beside(_ours(c), c, own) if beside else _ours(c) for c in found))
        aware = is_task_aware(method)
        rows.append(Row(shown, grey=aware, line=aware and not rows[-1].grey))
        data.append([title("method", method), *(c.ours if np.isfinite(c.ours) else _number(c) for c in found)])
    noted = _noted(part, notes)
    return Table(
        name=f"{experiment}_{metric}",
        kind="result",
        title=f"{METRICS[metric].title}, {EXPERIMENTS[experiment]}",
        caption=_result_caption(part, experiment, metric),
        notice=_notice(cells, reduced),
        groups=(("", 1), *((spelt + "†" * (dataset in noted), len(SPLITS)) for dataset, spelt in titles.items())),
        head=("", *[printed("split", split) for split in SPLITS] * len(titles)),
        rows=tuple(rows),
        data=pd.DataFrame(data, columns=["method", *(f"{titles[d]} {printed('split', s)}" for d, s in places)]),
        text_columns=(0,),
        footnotes=_footnotes(part, noted),
    )


def result_tables(cells: pd.DataFrame, **how) -> list[Table]:
    """The result tables of all experiments and metrics that there is something to show of.

    how: as for `result_table`.
    """
    datasets = how.get("datasets")
    some = cells if datasets is None else cells[cells["dataset"].isin(datasets)]
    there = [experiment for experiment in EXPERIMENTS if (some["experiment"] == experiment).any()]
    return [result_table(cells, experiment, metric, **how) for experiment in there for metric in METRICS]


def comparison_table(
    cells: pd.DataFrame,
    experiment: str,
    metric: str,
    *,
    reduced: str | None = None,
    reasons: Mapping[str, str] | None = None,
    notes: Mapping[str, str] | None = None,
) -> Table:
    """The same numbers one below the other: ours, the paper's, the difference and the verdict."""
    own = _part(cells, experiment, metric, reasons)
    noted = _noted(own, notes)
    rows = tuple(
        Row(
            (
                Cell(printed("dataset", c.dataset) + "†" * (c.dataset in noted)),
                Cell(printed("split", c.split)),
                Cell(title("method", c.method)),
                _ours(c),
                Cell(str(c.runs)),
                Cell(f"{c.paper:.{DIGITS}f}" if np.isfinite(c.paper) else ABSENT, bool(c.paper_bold)),
                Cell(_signed(c.difference)),
                Cell(c.verdict),
            ),
            grey=is_task_aware(c.method),
            line=c.Index > 0 and c.method == next(iter(METHODS)),  # the next column of the result table
        )
        for c in own.itertuples()
    )
    tolerance = " or ".join(f"{t:g}" for t in own["tolerance"].unique())
    return Table(
        name=f"{experiment}_{metric}_comparison",
        kind="comparison",
        caption=(
            f"{METRICS[metric].title}, {EXPERIMENTS[experiment]} experiments: our mean, the paper's number and the "
            f"difference between the two as printed; within tolerance means at most {tolerance} apart. "
            f"Paper: {CITATION}."
        ),
        notice=_notice(cells, reduced),
        head=("dataset", "split", "method", "ours", "runs", "paper", "difference", "verdict"),
        rows=rows,
        data=own,
        text_columns=(0, 1, 2, 7),
        footnotes=_footnotes(own, noted),
    )


def table_of_settings(name: str, spec: RunSpec | None = None, *, reduced: str | None = None) -> Table:
    """One of the three tables of settings: the values that are used here, and the paper's beside them."""
    data = settings_table(name, spec)
    rows = tuple(
        Row((Cell(r.parameter), Cell(r.value + " ≠" * r.differs, r.differs), Cell(r.paper), Cell(r.explanation)))
        for r in data.itertuples()
    )
    return Table(
        name=f"settings_{name}",
        kind="settings",
        title=SETTINGS[name].title,
        caption=f"{SETTINGS[name].title}: the values in use here, read from the library, and those of the paper.",
        notice=_one_line(reduced or ""),
        head=("parameter", "value", "paper", "explanation"),
        rows=rows,
        data=data,
        text_columns=(0, 1, 2, 3),
        footnotes=("≠ differs from the paper",) if data["differs"].any() else (),
    )


def _part(
    cells: pd.DataFrame,
    experiment: str,
    metric: str,
    reasons: Mapping[str, str] | None,
    datasets: Sequence[str] | None = None,
) -> pd.DataFrame:
    """The cells of one table, column after column as in the paper, with the reasons that were given."""
    for kind, name, valid in (("experiment", experiment, EXPERIMENTS), ("metric", metric, METRICS)):
        if name not in valid:
            raise unknown_name(kind, name, valid)
    own = cells[(cells["experiment"] == experiment) & (cells["metric"] == metric)]
    if datasets is not None:
        own = own[own["dataset"].isin(datasets)]
    known = {"dataset": DATASETS, "split": SPLITS, "method": METHODS}
    orders = {name: in_order(own[name], paper) for name, paper in known.items()}
    order = np.lexsort([own[name].map(orders[name].index) for name in ("method", "split", "dataset")])
    own = own.iloc[order].reset_index(drop=True)
    given = [(reasons or {}).get(dataset) for dataset in own["dataset"]]
    told = zip(given, own["reason"], own["runs"], strict=True)
    return own.assign(reason=["" if runs else new or old or NO_REASON for new, old, runs in told])


def _notice(cells: pd.DataFrame, reduced: str | None) -> str:
    """The text on the face of a table; it and the verdicts must not contradict each other."""
    marked = (cells["verdict"] == REDUCED).any()
    if reduced and not marked and (cells["verdict"] != NOT_RUN).any():
        raise TaclError("these cells were judged as runs of the paper's settings; use make_cells(..., reduced=True).")
    return _one_line(reduced or (REDUCED_NOTICE if marked else ""))


def _one_line(text: str) -> str:
    """A notice opens a comment line in some formats and a sentence in others."""
    return " ".join(text.split()).rstrip(".")


def _number(cell) -> str:
    if cell.runs == 0:
        return ABSENT
    return f"{cell.ours:.{DIGITS}f}" if np.isfinite(cell.ours) else DIVERGED


def _ours(cell) -> Cell:
    number = _number(cell)
    deviation = f"±{cell.std:.{DIGITS}f}" if np.isfinite(cell.std) else ""
    said = cell.reason if cell.runs == 0 else f"{number} {deviation}".strip() + f", {_runs(cell.runs)}"
    return Cell(number, bool(cell.bold), deviation, said)


def _beside(cell: Cell, of, own: Collection[tuple[str, ...]]) -> Cell:
    """A cell of ours with the paper's number below it."""
    if not np.isfinite(of.paper):
        return cell
    paper = f"{of.paper:.{DIGITS}f}"
    if of.runs == 0:
        return cell._replace(paper=paper, hint=f"not run yet; paper {paper}")
    said = f"{cell.hint}; paper {paper}, difference {_signed(of.difference)}"
    marked = (of.experiment, of.dataset, of.split, of.method) in own
    far = not abs(of.difference) <= of.tolerance
    return cell._replace(paper=paper, hint=said + "; your own runs" * marked, far=far, own=marked)


def _signed(difference: float) -> str:
    if not np.isfinite(difference):
        return ABSENT
    return f"{difference:+.{DIGITS}f}" if difference else f"{0:.{DIGITS}f}"


def _runs(fewest: int, most: int | None = None) -> str:
    most = fewest if most is None else most
    if fewest != most:
        return f"{fewest} to {most} runs"
    return {0: "no run yet", 1: "1 run"}.get(most, f"{most} runs")


def _result_caption(own: pd.DataFrame, experiment: str, metric: str) -> str:
    made = own.loc[own["runs"] > 0, "runs"]
    runs = _runs(made.min(), made.max()) if len(made) else _runs(0)
    name, of, higher = METRICS[metric]
    aware = any(map(is_task_aware, own["method"]))
    context = " Task-aware methods, set apart below, are given for context and never bold." if aware else ""
    bold = (
        "Bold: the best task-agnostic method of a column and those not significantly different from it (Welch's "
        "t-test over runs, 99% confidence)."
        if own["bold"].any()
        else f"Nothing is bold: that takes {PAPER_RUNS} runs of each task-agnostic method."
    )
    return (
        f"{name} ({of}), {EXPERIMENTS[experiment]} experiments: OUR results, mean over all epochs and then over runs "
        f"({runs}); {'higher' if higher else 'lower'} is better. {bold}{context} "
        f"Laid out as in the paper: {CITATION}."
    )


def _noted(own: pd.DataFrame, notes: Mapping[str, str] | None) -> dict[str, str]:
    """The notes on datasets that have a result in this table."""
    there = set(own.loc[own["runs"] > 0, "dataset"])
    return {dataset: note for dataset, note in (notes or {}).items() if note and dataset in there}


def _footnotes(own: pd.DataFrame, noted: Mapping[str, str]) -> tuple[str, ...]:
    lines = []
    for dataset, column in own.groupby("dataset", sort=False):
        absent = column[column["runs"] == 0]
        if len(absent):
            part = "" if len(absent) == len(column) else f" ({len(absent)} of {len(column)} cells)"
            lines.append(f"{ABSENT} {printed('dataset', dataset)}{part} not run: {absent['reason'].iloc[0]}")
    rivals = own[~own["method"].map(is_task_aware)]
    done = rivals.groupby(["dataset", "split"])["runs"].agg(lambda runs: (runs > 0).mean())
    if ((done > 0) & (done < 1)).any():
        lines.append("where a column is incomplete, bold compares only the methods that were run")
    if ((own["runs"] > 0) & own["ours"].isna()).any():
        lines.append(f"{DIVERGED}: the loss of at least one run did not stay finite")
    return (*lines, *(f"† {printed('dataset', dataset)}: {note}" for dataset, note in noted.items()))

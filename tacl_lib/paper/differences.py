"""Where our numbers differ from the paper's: by how much, and beyond chance."""

from math import sqrt

import pandas as pd
from scipy import stats

from tacl_lib.names import title
from tacl_lib.paper.calibration import CELL
from tacl_lib.paper.compare import PAPER_RUNS, comparable
from tacl_lib.paper.markdown import markdown_table
from tacl_lib.paper.readings import by_cell
from tacl_lib.paper.significance import CONFIDENCE
from tacl_lib.runs.store import Store


def differing(cells: pd.DataFrame, store: Store) -> pd.DataFrame:
    """A row for each cell that differs by more than its tolerance or beyond chance, the largest difference first.

    cells: `make_cells` of runs at the paper's settings.
    Columns: cell, ours, paper, difference, standard_errors, readings.
    readings: title → this reading's number in the cell, beginning with the profile's on the same seeds.
    """
    cells = comparable(cells).assign(standard_errors=standard_errors)
    far = cells[(cells["difference"].abs() > cells["tolerance"]) | _beyond_chance(cells)]
    far = far.sort_values("difference", key=lambda difference: -difference.abs(), kind="stable")
    readings = by_cell(store)
    rows = []
    for cell in far.to_dict("records"):
        where = f"{title('dataset', cell['dataset'])} {cell['split']} ({cell['experiment']})"
        name = f"{where}, {title('method', cell['method'])}: {title('metric', cell['metric'])}"
        row = {key: cell[key] for key in ("ours", "paper", "difference", "standard_errors")}
        found = readings.get(tuple(cell[key] for key in CELL), {})
        rows.append({"cell": name, **row, "readings": found})
    return pd.DataFrame(rows, columns=["cell", "ours", "paper", "difference", "standard_errors", "readings"])


def standard_errors(cells: pd.DataFrame) -> pd.Series:
    """Each cell's difference in standard errors, assuming that the paper's five runs spread as ours do.

    NaN for a single run, which has no deviation, and for runs that are all equal.
    """
    error = cells["std"] * (1 / cells["runs"].where(cells["runs"] > 1) + 1 / PAPER_RUNS).map(sqrt)
    return (cells["ours"] - cells["paper"]).abs() / error.where(error > 0)


def chance_line(cells: pd.DataFrame) -> str:
    """How many cells differ significantly, and how many would by chance."""
    cells = comparable(cells).assign(standard_errors=standard_errors)
    known = cells[cells["standard_errors"].notna()]
    if known.empty:
        return "No cell has the two runs that a standard error needs."
    by_two = 2 * stats.t.sf(2, _freedom(known)).sum()
    return (
        f"Of {len(known)} cells {(known['standard_errors'] > 2).sum()} differ by more than 2 standard errors "
        f"(about {by_two:.0f} would by chance), and {_beyond_chance(known).sum()} differ at {CONFIDENCE:.0%} "
        f"confidence (about {(1 - CONFIDENCE) * len(known):.0f} by chance). The three numbers of a run are correlated, "
        "and so are methods with the same seeds."
    )


def differing_table(cells: pd.DataFrame, store: Store) -> str:
    """`differing` as Markdown, or a sentence if nothing differs."""
    far = differing(cells, store)
    if far.empty:
        return f"No cell differs from the paper's by more than {cells['tolerance'].iloc[0]} or beyond chance."
    far["readings"] = [
        "; ".join(f"{title}: {value:.3f}" for title, value in found.items()) or "–" for found in far["readings"]
    ]
    for name, form in {"ours": ".3f", "paper": ".3f", "difference": "+.3f", "standard_errors": ".1f"}.items():
        far[name] = [format(value, form) if pd.notna(value) else "–" for value in far[name]]
    heads = {"standard_errors": "in standard errors", "readings": "readings, each on the seeds of its study"}
    return markdown_table([heads.get(name, name) for name in far], far.to_numpy().tolist())


def _beyond_chance(cells: pd.DataFrame) -> pd.Series:
    limit = stats.t.ppf((1 + CONFIDENCE) / 2, _freedom(cells))
    return cells["standard_errors"] > limit  # False where there is none


def _freedom(cells: pd.DataFrame) -> pd.Series:
    return (cells["runs"] + PAPER_RUNS - 2).clip(lower=1)

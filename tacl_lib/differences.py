"""Where our numbers and the paper's differ, and what was tried: other readings of the settings that it leaves open."""

from collections.abc import Iterator
from math import sqrt

import pandas as pd

from tacl_lib.calibration import AS_RUN, STUDIES, ranking, results_of
from tacl_lib.paper import DATASETS, METHODS, METRICS, PAPER_RUNS
from tacl_lib.readme import markdown_table
from tacl_lib.results import Store

_CELL = ["experiment", "dataset", "split", "method", "metric"]


def differing(cells: pd.DataFrame, store: Store) -> pd.DataFrame:
    """A row for each cell further from the paper's than its tolerance, the largest difference first.

    cells: `make_cells` of runs at the paper's settings.
    Columns: cell, ours, paper, difference, standard_errors, readings.
    standard_errors: the difference in standard errors, if the paper's runs spread as ours do (it gives no deviations):
    what other seeds alone explain is rarely above 2. NaN for a single run, which has no deviation.
    readings: what other readings give in this cell.
    """
    far = cells[cells["difference"].abs() > cells["tolerance"]]
    far = far.sort_values("difference", key=lambda difference: -difference.abs(), kind="stable")
    others = _other_readings(store)
    rows = []
    for cell in far.to_dict("records"):
        name = f"{DATASETS[cell['dataset']]} {cell['split']} ({cell['experiment']}), {METHODS[cell['method']]}: "
        error = cell["std"] * sqrt(1 / cell["runs"] + 1 / PAPER_RUNS)
        rows.append(
            {
                "cell": name + METRICS[cell["metric"]].title,
                "ours": cell["ours"],
                "paper": cell["paper"],
                "difference": cell["difference"],
                "standard_errors": abs(cell["difference"]) / error if error > 0 else float("nan"),
                "readings": others.get(tuple(cell[key] for key in _CELL), {}),
            }
        )
    return pd.DataFrame(rows, columns=["cell", "ours", "paper", "difference", "standard_errors", "readings"])


def differing_table(cells: pd.DataFrame, store: Store) -> str:
    """`differing` as Markdown, or one sentence if nothing differs."""
    far = differing(cells, store)
    tolerance = cells["tolerance"].iloc[0]
    if far.empty:
        return f"No cell that was run lies further than {tolerance} from the paper's."
    far["readings"] = [
        "; ".join(f"{title}: {value:.3f}" for title, value in sorted(found.items(), key=lambda pair: pair[1])) or "–"
        for found in far["readings"]
    ]
    for name, form in {"ours": ".3f", "paper": ".3f", "difference": "+.3f", "standard_errors": ".1f"}.items():
        far[name] = [format(value, form) if pd.notna(value) else "–" for value in far[name]]
    heads = {"standard_errors": "in standard errors", "readings": "other readings give"}
    return markdown_table([heads.get(name, name) for name in far], far.to_numpy().tolist())


def tried(store: Store) -> Iterator[str]:
    """The studies of open settings that have runs, as paragraphs of Markdown: each alternative with its error."""
    missing, better = [], []
    for name, study in STUDIES.items():
        table = ranking(study, store)
        if len(table) < 2:
            missing.append(name)
            continue
        errors = table.set_index("alternative")["total_error"]
        if errors.idxmin() != AS_RUN.title:
            better.append(f"{errors.idxmin()} (`{name}`: {errors.min():.3f} instead of {errors[AS_RUN.title]:.3f})")
        yield f"**{study.title}** (`{name}`, seeds {', '.join(map(str, study.seeds))})"
        yield markdown_table([name.replace("_", " ") for name in table], table.round(3).to_numpy().tolist())
    if better:
        yield (
            f"Readings that fit better than those of the runs on this page: {'; '.join(better)}. The profile `paper` "
            "takes such a reading over when all of its runs have been made with it."
        )
    if missing:
        yield f"Not run yet: {', '.join(missing)}."


def _other_readings(store: Store) -> dict[tuple, dict[str, float]]:
    """What each alternative of the studies gives in each cell that it was tried in (mean over the study's seeds)."""
    found: dict[tuple, dict[str, float]] = {}
    for study in STUDIES.values():
        results = results_of(study, store)
        for row in results[results["alternative"] != AS_RUN.title].to_dict("records"):
            readings = found.setdefault(tuple(row[key] for key in _CELL), {})
            if row["ours"] not in readings.values():  # the same runs: this alternative changes nothing in this column
                readings[row["alternative"]] = row["ours"]
    return found

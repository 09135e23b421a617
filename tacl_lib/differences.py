"""Where our numbers and the paper's differ, and what was tried: other readings of the settings that it leaves open."""

from collections.abc import Iterator
from math import sqrt

import pandas as pd

from tacl_lib.calibration import AS_RUN, CELL, STUDIES, Study, judged, ranking, results_of
from tacl_lib.paper import DATASETS, METHODS, METRICS, PAPER_RUNS
from tacl_lib.readme import markdown_table
from tacl_lib.results import Store


def differing(cells: pd.DataFrame, store: Store) -> pd.DataFrame:
    """A row for each cell further from the paper's than its tolerance, the largest difference first.

    cells: `make_cells` of runs at the paper's settings.
    Columns: cell, ours, paper, difference, standard_errors, readings.
    standard_errors: the difference in standard errors, if the paper's runs spread as ours do (it gives no deviations):
    what other seeds alone explain is rarely above 2. NaN for a single run, which has no deviation.
    readings: title → what this reading gives in the cell, beginning with the profile's on the same seeds.
    """
    far = cells[cells["difference"].abs() > cells["tolerance"]]
    far = far.sort_values("difference", key=lambda difference: -difference.abs(), kind="stable")
    readings = _readings(store)
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
                "readings": readings.get(tuple(cell[key] for key in CELL), {}),
            }
        )
    return pd.DataFrame(rows, columns=["cell", "ours", "paper", "difference", "standard_errors", "readings"])


def differing_table(cells: pd.DataFrame, store: Store) -> str:
    """`differing` as Markdown, or one sentence if nothing differs."""
    far = differing(cells, store)
    if far.empty:
        return f"No cell that was run lies further than {cells['tolerance'].iloc[0]} from the paper's."
    far["readings"] = [
        "; ".join(f"{title}: {value:.3f}" for title, value in found.items()) or "–" for found in far["readings"]
    ]
    for name, form in {"ours": ".3f", "paper": ".3f", "difference": "+.3f", "standard_errors": ".1f"}.items():
        far[name] = [format(value, form) if pd.notna(value) else "–" for value in far[name]]
    heads = {"standard_errors": "in standard errors", "readings": "readings, each on the seeds of its study"}
    return markdown_table([heads.get(name, name) for name in far], far.to_numpy().tolist())


def tried(store: Store) -> Iterator[str]:
    """The studies of open settings as paragraphs of Markdown: alternatives with their errors, and what was not run."""
    better = []
    for name, study in STUDIES.items():
        results = results_of(study, store)
        table = ranking(results)
        yield f"**{study.title}** (`{name}`, seeds {', '.join(map(str, study.seeds))})"
        if len(table) > 1:
            errors = table.set_index("alternative")["total_error"]
            if errors.idxmin() != AS_RUN.title:
                better.append(f"{errors.idxmin()} (`{name}`: {errors.min():.3f} instead of {errors[AS_RUN.title]:.3f})")
            yield markdown_table([column.replace("_", " ") for column in table], table.round(3).to_numpy().tolist())
        yield _scope(study, results)
    if better:
        yield (
            f"Readings that fit better than those of the runs on this page: {'; '.join(better)}. The profile `paper` "
            "takes such a reading over when all of its runs have been made with it."
        )


def chosen_on(store: Store) -> set[tuple]:
    """The cells (experiment, dataset, split, method, metric) that the studies have compared readings on."""
    found = set()
    for study in STUDIES.values():
        results = results_of(study, store)
        if results["alternative"].nunique() > 1:
            found |= set(results.loc[judged(results), CELL].itertuples(index=False, name=None))
    return found


def chosen_line(cells: pd.DataFrame, store: Store) -> str:
    """One sentence on how well those cells agree that no reading was chosen on."""
    chosen = chosen_on(store)
    was_run = cells[cells["paper"].notna() & (cells["runs"] > 0)]
    free = was_run[[cell not in chosen for cell in was_run[CELL].itertuples(index=False, name=None)]]
    near = [int((free["difference"].abs() <= limit).sum()) for limit in (0.01, 0.03, 0.05)]
    return (
        f"The studies below compared readings of the open settings on {len(was_run) - len(free)} of these cells; of "
        f"the other {len(free)}, {near[0]} lie within 0.01, {near[1]} within 0.03, {near[2]} within 0.05."
    )


def _scope(study: Study, results: pd.DataFrame) -> str:
    """On which columns a study was judged, and which of its readings have no runs."""
    parts = []
    if results["alternative"].nunique() > 1:
        columns = results.loc[judged(results), ["experiment", "dataset", "split", "method"]].drop_duplicates()
        names = [f"{DATASETS[c.dataset]} {c.split} ({c.experiment}, {METHODS[c.method]})" for c in columns.itertuples()]
        parts.append(f"Judged on: {', '.join(names)}.")
    waiting = [a.title for a in study.alternatives if a.title not in set(results["alternative"])]
    if waiting:
        parts.append(f"Not run: {'; '.join(waiting)}.")
    return " ".join(parts)


def _readings(store: Store) -> dict[tuple, dict[str, float]]:
    """What each alternative of the studies gives in each cell that it was tried in (mean over the study's seeds)."""
    found: dict[tuple, dict[str, float]] = {}
    for study in STUDIES.values():
        # An alternative that changes nothing in a column has the runs of another there, and is no reading of its own.
        results = results_of(study, store).drop_duplicates([*CELL, "spec"])
        for row in results.to_dict("records"):
            found.setdefault(tuple(row[key] for key in CELL), {})[row["alternative"]] = row["ours"]
    return {cell: readings for cell, readings in found.items() if len(readings) > 1}

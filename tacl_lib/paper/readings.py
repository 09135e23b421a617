"""Other readings of what the paper leaves open: which were tried, how well they fit, and what they would change."""

from collections.abc import Iterator, Sequence

import pandas as pd

from tacl_lib.names import METRICS, title
from tacl_lib.paper.calibration import (
    AS_RUN,
    CELL,
    FORMER_TA_AGEM,
    STUDIES,
    Study,
    judged,
    not_told_apart,
    ranking,
    results_of,
)
from tacl_lib.paper.claims import findings
from tacl_lib.paper.compare import NEAR, RUNS_OF, comparable
from tacl_lib.paper.markdown import markdown_table, without_tags
from tacl_lib.paper.memory_claims import Study as MemoryStudy
from tacl_lib.paper.published import published
from tacl_lib.runs.grid import all_jobs, study_jobs
from tacl_lib.runs.profiles import PROFILES
from tacl_lib.runs.spec import RunSpec
from tacl_lib.runs.store import Store
from tacl_lib.training.record import Record

PAPER = PROFILES["paper"]
HOW_TO_REPEAT = "options for `tacl run`"


def tried(store: Store) -> Iterator[str]:
    """The studies of open settings as Markdown: the alternatives with their errors, and what was not run."""
    better = []
    for name, study in STUDIES.items():
        results = results_of(study, store)
        table = ranking(results)
        yield f"**{study.title}** (`{name}`, seeds {', '.join(map(str, study.seeds))})"
        if len(table) > 1:
            errors = table.set_index("alternative")["total_error"]
            if AS_RUN.title in errors and errors.idxmin() != AS_RUN.title:
                better.append(f"{errors.idxmin()} (`{name}`: {errors.min():.3f} instead of {errors[AS_RUN.title]:.3f})")
            shown = table.assign(by_seed=[", ".join(f"{error:.3f}" for error in seeds) for seeds in table["by_seed"]])
            heads = [{"by_seed": "total error by seed"}.get(name, name.replace("_", " ")) for name in shown]
            yield markdown_table(heads, shown.round(3).to_numpy().tolist())
        yield _scope(study, results, table)
    if better:
        yield (
            f"Readings that fit better than those used for this page: {'; '.join(better)}. The profile `paper` "
            "adopts such a reading once all of its runs have been executed with it."
        )


def _scope(study: Study, results: pd.DataFrame, table: pd.DataFrame) -> str:
    """The columns on which a study was judged, what it cannot tell apart, and the readings without runs."""
    parts = []
    if results["alternative"].nunique() > 1:
        columns = results.loc[judged(results), RUNS_OF].drop_duplicates()
        parts.append(f"Judged on: {', '.join(map(_title, columns.itertuples(index=False)))}.")
    alike = not_told_apart(table)
    if alike:
        parts.append(f"Not distinguishable from the best, seed by seed: {'; '.join(alike)}.")
    waiting = [a.title for a in study.alternatives if a.title not in set(results["alternative"])]
    if waiting:
        parts.append(f"Not run: {'; '.join(waiting)}.")
    return " ".join(parts)


def _title(column: tuple[str, str, str, str]) -> str:
    experiment, dataset, split, method = column
    return f"{title('dataset', dataset)} {split} ({experiment}, {title('method', method)})"


def others(store: Store) -> str:
    """All other stored runs, which belong to no cell and no study, as a Markdown table."""
    known = _of_the_grid() | {job.spec.name() for study in STUDIES.values() for job in study.jobs()}
    known |= {FORMER_TA_AGEM.of(job.spec).name() for job in study_jobs(PAPER)}
    paper = published().set_index(CELL)["value"]
    rows = []
    for spec, seeds in store.catalogue().items():
        if spec.name() not in known:
            records, means = store.records(spec, seeds), store.summaries([(spec, seeds)])[list(METRICS)].mean()
            cell = _runs_of(spec)
            theirs = [paper.get((*cell, metric)) for metric in METRICS]  # None: the paper has no such cell
            numbers = [
                f"{means[metric]:.3f} ({'–' if value is None else f'{value:.3f}'})"
                for metric, value in zip(METRICS, theirs, strict=True)
            ]
            rows.append([_title(cell), *numbers, len(seeds), made(records), f"`{spec.options(seeds)}`"])
    heads = ["column", "average accuracy", "first task", "forgetting", "runs", "made", HOW_TO_REPEAT]
    return markdown_table(heads, sorted(rows)) if rows else "None."


def made(records: Sequence[Record]) -> str:
    """When, with which commit and on which machine the runs were executed."""
    days = sorted({record.info.get("finished", "")[:10] or "date not recorded" for record in records})
    commits = sorted({record.info.get("commit", "not recorded") for record in records})
    wheres = [[record.info.get(name, f"{name} not recorded") for name in ("machine", "device")] for record in records]
    machines = sorted({", ".join(where) for where in wheres})
    return without_tags(f"{' and '.join(days)}, commit {' and '.join(commits)}, {' and '.join(machines)}")


def touched(store: Store) -> set[tuple]:
    """Experiment, dataset, split and method of the cells on which any other reading was tried."""
    grid = _of_the_grid()
    return {_runs_of(spec) for spec in store.catalogue() if spec.name() not in grid}


def _of_the_grid() -> set[str]:
    """The names of the specs of the paper's tables and of its clustering study."""
    return {job.spec.name() for job in all_jobs(PAPER, PAPER.datasets)}


def _runs_of(spec: RunSpec) -> tuple[str, str, str, str]:
    return spec.experiment, spec.dataset, spec.split, spec.learner


def untouched_line(cells: pd.DataFrame, store: Store) -> str:
    """How well the cells agree on which no other reading was tried."""
    known = touched(store)
    was_run = comparable(cells)
    free = was_run[[cell not in known for cell in was_run[RUNS_OF].itertuples(index=False, name=None)]]
    near = [
        f"{(free['difference'].abs() <= limit).sum()} {'lie ' * (limit == NEAR[0])}within {limit}" for limit in NEAR
    ]
    return (
        f"Open settings were fitted to the paper's numbers. {len(free)} of these cells belong to methods and columns "
        f"on which no other reading was tried; of those, {', '.join(near)}."
    )


def by_cell(store: Store) -> dict[tuple, dict[str, float]]:
    """Each alternative's number in every cell in which it was tried (mean over the study's seeds)."""
    found: dict[tuple, dict[str, float]] = {}
    for study in STUDIES.values():
        # An alternative that changes nothing in a column shares its runs with another, and is no reading of its own.
        results = results_of(study, store).drop_duplicates([*CELL, "spec"])
        for row in results.to_dict("records"):
            found.setdefault(tuple(row[key] for key in CELL), {})[row["alternative"]] = row["ours"]
    return {cell: readings for cell, readings in found.items() if len(readings) > 1}


def reversed_claims(runs: pd.DataFrame, memories: MemoryStudy, store: Store) -> str:
    """The parts of claims that another setting of one method would reverse, as a Markdown table.

    runs, memories: what the claims were judged on. Only a learner's own settings are varied: inputs and weights would
    have to change for all methods at once.
    """
    as_run = findings(runs, memories)
    rows = []
    for study in STUDIES.values():
        for alternative in study.alternatives:
            jobs = [study.job(alternative, column, m) for column in study.columns for m in study.methods]
            other = store.summaries(jobs)
            if alternative is AS_RUN or alternative.run or other.empty:
                continue
            replaced = set(other[RUNS_OF].itertuples(index=False, name=None))
            kept = runs[[cell not in replaced for cell in runs[RUNS_OF].itertuples(index=False, name=None)]]
            with_other = findings(pd.concat([kept, other], ignore_index=True), memories)
            for before, after in zip(as_run, with_other, strict=True):
                for old, new in zip(before.parts, after.parts, strict=True):
                    if None not in (old.holds, new.holds) and old.holds != new.holds:
                        word = "holds" if new.holds else "does not hold"
                        reading = f"{study.title}: {alternative.title}"
                        rows.append([before.claim, reading, old.numbers, f"{word}: {new.numbers}"])
    if not rows:
        return "None of the readings that were tried."
    return markdown_table(["claim", "reading", "as run", "with this reading"], rows)

"""What holds of the paper, from stored runs at its own settings:  python -m tacl_lib.evidence [--write]

The reference runs in ``results/reference`` are part of the project. The page beside them, and the short table in the
README, are made from nothing else.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence

import pandas as pd

from tacl_lib.bench import versions
from tacl_lib.differences import CONFIDENCE, chance_line, differing_table
from tacl_lib.errors import TaclError
from tacl_lib.experiments.grid import EXPERIMENTS, Job, all_jobs, study_jobs
from tacl_lib.experiments.profiles import PAPER_DATASETS, PROFILES, SPLITS
from tacl_lib.experiments.spec import RunSpec
from tacl_lib.files import write_whole
from tacl_lib.metrics import summary
from tacl_lib.open_settings import chosen_settings
from tacl_lib.paper import (
    DATASETS,
    PAPER_RUNS,
    TOLERANCE,
    USUAL,
    Finding,
    agreement,
    by_method,
    counts,
    findings,
    make_cells,
    methods_in,
    published_runs,
)
from tacl_lib.paper import METHODS as TITLES
from tacl_lib.readings import AGAIN, made, others, tried, turned_round, untouched_line
from tacl_lib.readme import markdown_table, replaced_block
from tacl_lib.record import Record
from tacl_lib.results import METRICS, REFERENCE, ROOT, ReadOnce, Store

PAGE = REFERENCE / "README.md"
PAPER = PROFILES["paper"]
#: the column that the README shows
SHOWN = ("disjoint", "fashion_mnist", "class")
FAILS = "✗"  #: before the numbers of a part that does not hold
_BETWEEN_PARTS = "<br>"  # a line for each part of a claim, also in a cell of a Markdown table


class Evidence:
    """The runs of the paper's grid that a store holds, and what they say."""

    def __init__(self, store: Store):
        self.store = store = ReadOnce(store.folder)
        self.jobs = [job for job in all_jobs(PAPER, PAPER_DATASETS) if "policy" not in job.spec.learner_settings]
        self.records: dict[tuple[str, ...], list[Record]] = {}
        for job in self.jobs:
            found = store.records(*job)
            if found:
                self.records[_column(job), job.spec.learner] = found
        if not self.records:
            raise TaclError(f"there are no runs at the paper's settings in {store.folder.name}; run some first.")
        self.runs = store.summaries(self.jobs)
        self.cells = make_cells(self.runs)

    def line(self) -> str:
        text = agreement(self.cells, at_paper_settings=True)
        return f"{text[0].upper()}{text[1:]}."

    def column(self, column: tuple[str, str, str], more: bool = False) -> str:
        """A Markdown table of one column, ours and the paper's. more: also when it was made, and how to repeat it."""
        experiment = column[0]
        names = self.cells[["experiment", "dataset", "split"]].itertuples(index=False, name=None)
        cells = self.cells[[name == column for name in names]]
        heads = ["method", "average accuracy", "first task", "forgetting", "runs"]
        heads += ["made", AGAIN] if more else []
        rows = []
        for method in methods_in(experiment):
            records = self.records.get((column, method))
            if records:
                own = cells[cells["method"] == method].set_index("metric")
                row = [TITLES[method], *(_pair(own.loc[metric]) for metric in METRICS), str(len(records))]
                spec = PAPER.spec(*column[1:], experiment, method)
                row += [made(records), _again(spec, records)] if more else []
                rows.append(row)
        missing = [TITLES[method] for method in methods_in(experiment) if (column, method) not in self.records]
        return markdown_table(heads, rows) + (f"\n\nNot run yet: {', '.join(missing)}." if missing else "")

    def study(self) -> dict[tuple[str, float], list[Record]]:
        jobs = study_jobs(PAPER)
        return {
            (job.spec.learner_settings["policy"], job.spec.learner_settings["sampling_rate"]): self.store.records(*job)
            for job in jobs
        }

    def study_table(self) -> str:
        """The study as a Markdown table: what its memories do for accuracy, and what they hold at the end."""
        heads = ["assignment", "sampling rate", "average accuracy", "first task", "forgetting"]
        heads += ["members by task", "of all", "runs", "made", AGAIN]
        rows = []
        for (policy, rate), records in self.study().items():
            if not records:
                rows.append([policy, f"{rate:g}", *["–"] * 5, 0, "not run", "–"])
                continue
            results = pd.DataFrame([summary(record.accuracy, record.seen) for record in records])
            numbers = [_number(results[metric].mean(), results[metric].std()) for metric in METRICS]
            memory = sum(record.memory[-1] for record in records) / len(records)
            members = [", ".join(f"{count:.0f}" for count in memory), f"{memory.sum():.0f}"]
            spec = PAPER.spec(PAPER.study_dataset, "class", "disjoint", "ta_agem", policy=policy, sampling_rate=rate)
            again = _again(spec, records)
            rows.append([policy, f"{rate:g}", *numbers, *members, len(records), made(records), again])
        return markdown_table(heads, rows)

    def undated(self) -> str:
        """How many of the stored runs do not say when they were made: the oldest were made before records did."""
        count = sum("finished" not in info for _, _, info in self.store.descriptions())
        return f" ({count} early ones without a date)" if count else ""

    def complete(self) -> pd.DataFrame:
        """The runs of cells that have as many as the paper's: fewer decide no claim."""
        cell = ["experiment", "dataset", "split", "method"]
        return self.runs[self.runs.groupby(cell)["seed"].transform("size") >= PAPER_RUNS]

    def memories(self) -> dict[tuple[str, float], list[Record]]:
        """What of the study has as many runs as the paper's."""
        return {of: records for of, records in self.study().items() if len(records) >= PAPER_RUNS}

    def claims(self) -> pd.DataFrame:
        """Each claim with the verdict on our numbers (of cells with five runs), and on the paper's own."""
        runs, memories = self.complete(), self.memories()
        judged = [findings(runs, memories, USUAL.times(factor)) for factor in (1, 0.5, 2)]
        rows = []
        for ours, half, double, theirs in zip(*judged, findings(published_runs()), strict=True):
            numbers = _BETWEEN_PARTS.join(("" if part.holds else f"{FAILS} ") + part.numbers for part in ours.tested)
            others = "as many" if half.held == ours.held == double.held else f"{half.held} and {double.held}"
            count = [ours.count, others if ours.tested else "–"]
            rows.append((ours.claim, ours.verdict, *count, numbers or "–", _by_paper(theirs)))
        names = ["claim", "our runs", "parts that hold", "with half, and with double the limits"]
        return pd.DataFrame(rows, columns=[*names, "our numbers", "the paper's own tables"])

    def columns(self) -> Iterator[tuple[str, str, str]]:
        """Columns with at least one run."""
        for dataset in PAPER_DATASETS:
            for experiment in EXPERIMENTS:
                for split in SPLITS:
                    if any(key[0] == (experiment, dataset, split) for key in self.records):
                        yield experiment, dataset, split


def page(evidence: Evidence) -> str:
    """The whole page as Markdown."""
    about = (
        "Made by `python -m tacl_lib.evidence --write` from the runs in this folder: one file for each run, with its "
        f"settings, versions, commit, machine, wall time and date{evidence.undated()}. The last section is from "
        "`figures/engine.json`. Numbers are means over epochs, then runs, ± standard deviation over runs; the "
        "paper's are in brackets."
    )
    title = "# What holds of the paper, at the settings that it states"
    return "\n\n".join([title, about, opening(evidence), details(evidence)]) + "\n"


def opening(evidence: Evidence) -> str:
    """What a reader asks first: how many cells agree, and what became of each claim."""
    claims, agreeing = evidence.claims(), by_method(evidence.cells)
    agreeing["method"] = agreeing["method"].map(TITLES)
    n = counts(evidence.cells)
    bold = (
        f"The methods in bold, which the best of a column cannot be told from at 99%, are the paper's in "
        f"{n['bold_agree']} of these {n['columns']} columns."
    )
    parts = [
        f"**{evidence.line()}** {bold if n['columns'] else ''} {untouched_line(evidence.cells, evidence.store)}",
        markdown_table([name.replace("_", " ") for name in agreeing], agreeing.to_numpy().tolist()),
        "## Claims",
        markdown_table(list(claims), claims.to_numpy().tolist()),
        f"Claims are judged on cells with {PAPER_RUNS} runs; {FAILS} marks parts that do not hold. “Significantly” is "
        "Welch's t-test over runs at 99% (the paper gives the confidence, not the test), also where it says “clearly”. "
        "Limits in brackets are ours, set with the paper's tables in view. The paper's own tables give means without "
        "deviations, so there any difference counts as significant. “The two” are TA-OGD and TA-A-GEM.",
        "### Claims that hang on an open setting",
        "Parts of claims that another value of one method's own setting decides otherwise, with the seeds of its study "
        "in place of the five runs:",
        turned_round(evidence.complete(), evidence.memories(), evidence.store),
    ]
    return "\n\n".join(parts)


def details(evidence: Evidence) -> str:
    """Settings, every number and how to make it again, where ours and theirs differ, what was tried, speed."""
    parts = ["## Settings that the paper leaves open", chosen_settings(PAPER), "## Numbers"]
    notes = evidence.store.notes(evidence.jobs)
    for column in evidence.columns():
        experiment, dataset, split = column
        parts += [f"### {DATASETS[dataset]}, {split} split, {experiment}", evidence.column(column, more=True)]
        if dataset in notes:
            parts.append(f"Not the published data: {notes[dataset]}.")
    without = [
        f"{DATASETS[dataset]} {split} ({experiment})"
        for dataset in PAPER_DATASETS
        for experiment in EXPERIMENTS
        for split in SPLITS
        if (experiment, dataset, split) not in set(evidence.columns())
    ]
    parts += ["### Not run", ", ".join(without) + "." if without else "Every column has runs."]
    parts += [
        "## Clustering against random assignment",
        "TA-A-GEM on the class split of Fashion MNIST, with the paper's clusters and with random ones, at three "
        "sampling rates (its figure of memory contents). Members are those of the memory at the end, mean over runs.",
        evidence.study_table(),
        "## Where ours and theirs differ",
        f"Cells further from the paper's than {TOLERANCE}, the tolerance of this project, or than chance at "
        f"{CONFIDENCE:.0%}. Standard errors are those of a difference between our mean and another mean of five runs "
        f"that spread as ours do, as the paper gives no deviations. {chance_line(evidence.cells)}",
        differing_table(evidence.cells, evidence.store),
        "## What was tried",
        "Each alternative is another reading of what the paper leaves open; its error is the sum of the distances to "
        "the paper's numbers over the cells that all alternatives of a study have. `python -m tacl_lib.calibration "
        "NAME` prints a table from the runs in this folder; with `--run` it first makes all runs of the study, also "
        "those that are missing here, so that the table has more cells. A title says everything in which a reading "
        "differs from the profile: one with Glorot's initialisation and inputs in [0, 1] says nothing on its other "
        "setting alone. [Notebook 09](../../notebooks/09_calibration.ipynb) explains them.",
        *tried(evidence.store),
        "**Other stored runs**, which belong to no study:",
        others(evidence.store),
    ]
    speed = versions.stored()
    if speed:
        parts += ["## Speed of the engine", versions.table(speed), versions.caption(speed)]
    return "\n\n".join(parts)


def _by_paper(finding: Finding) -> str:
    """What the paper's own means say to a claim, with the numbers of the parts that they do not support."""
    if not finding.tested:
        return "has no table"
    failing = [f"{FAILS} {part.numbers}" for part in finding.tested if not part.holds]
    return _BETWEEN_PARTS.join(
        [f"{finding.verdict} ({len(finding.tested) - len(failing)} of {len(finding.tested)})", *failing]
    )


def short(evidence: Evidence) -> str:
    """What the README shows."""
    return f"{evidence.line()}\n\n{evidence.column(SHOWN)}"


def _column(job: Job) -> tuple[str, str, str]:
    return job.spec.experiment, job.spec.dataset, job.spec.split


def _again(spec: RunSpec, records: Sequence[Record]) -> str:
    """What to give to the command line for the very runs of a row."""
    return f"`{spec.options([record.seed for record in records])}`"


def _pair(cell: pd.Series) -> str:
    if pd.isna(cell["ours"]):
        return f"diverged ({cell['paper']:.3f})"
    return f"{_number(cell['ours'], cell['std'])} ({cell['paper']:.3f})"


def _number(mean: float, deviation: float) -> str:
    return f"{mean:.3f}" + ("" if pd.isna(deviation) else f" ± {deviation:.3f}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tacl_lib.evidence", description=__doc__.split("\n")[0])
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)} and the README's table")
    options = parser.parse_args(arguments)
    try:
        evidence = Evidence(Store(REFERENCE))
        text = page(evidence)
        if options.write:
            readme = replaced_block((ROOT / "README.md").read_text(encoding="utf-8"), "evidence", short(evidence))
            write_whole(PAGE, lambda part: part.write_text(text, encoding="utf-8"))
            write_whole(ROOT / "README.md", lambda part: part.write_text(readme, encoding="utf-8"))
    except TaclError as error:
        sys.exit(f"evidence: {error}")
    print(text)


if __name__ == "__main__":
    main()

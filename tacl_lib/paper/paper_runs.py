"""A store's runs of the paper's grid as tables: our numbers beside the paper's, the clustering study, claims."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pandas as pd

from tacl_lib.core.metrics import summary
from tacl_lib.errors import TaclError
from tacl_lib.names import DATASETS, EXPERIMENTS, METRICS, SPLITS, title
from tacl_lib.paper.calibration import AS_RUN, Alternative
from tacl_lib.paper.claims import findings
from tacl_lib.paper.compare import PAPER_RUNS, RUNS_OF, agreement, make_cells, whole_columns
from tacl_lib.paper.judging import USUAL, Finding, published_runs
from tacl_lib.paper.markdown import markdown_table
from tacl_lib.paper.published import methods_in
from tacl_lib.paper.readings import HOW_TO_REPEAT, PAPER, made
from tacl_lib.runs.grid import Job, all_jobs, study_jobs, study_records
from tacl_lib.runs.spec import RunSpec
from tacl_lib.runs.store import ReadOnce, Store
from tacl_lib.runs.together import Together
from tacl_lib.training.record import Record

FAILS = "✗"  #: marks the numbers of a part that does not hold
_BETWEEN_PARTS = "<br>"  # a line break that also works in a cell of a Markdown table


class Judged(NamedTuple):
    """A claim, judged four times."""

    ours: Finding
    half: Finding  #: with half the limits
    double: Finding
    theirs: Finding  #: on the paper's own tables


class Evidence:
    """A store's runs of the paper's grid, and what follows from them."""

    def __init__(self, store: Store):
        self.store = store = store if isinstance(store, ReadOnce) else ReadOnce(store.folder)
        self.jobs = [job for job in all_jobs(PAPER, PAPER.datasets) if "policy" not in job.spec.learner_settings]
        self.records: dict[tuple[str, ...], list[Record]] = {}
        #: cells with the user's own runs: their column and method
        self.own: set[tuple[str, ...]] = set()
        for job in self.jobs:
            found = store.records(*job)
            if found:
                self.records[_column(job), job.spec.learner] = found
            if isinstance(store, Together) and store.own_seeds(*job):
                self.own.add((*_column(job), job.spec.learner))
        if not self.records:
            raise TaclError(f"there are no runs at the paper's settings in {store.folder.name}; run some first.")
        self.runs = store.summaries(self.jobs)
        cells = make_cells(self.runs)
        # A method that leads only because its rivals have not been run must not look like a winner.
        self.cells = cells.assign(bold=cells["bold"] & whole_columns(cells))

    def line(self) -> str:
        text = agreement(self.cells, at_paper_settings=True)
        return f"{text[0].upper()}{text[1:]}."

    def column(self, column: tuple[str, str, str], more: bool = False) -> str:
        """A Markdown table of one column, our numbers and the paper's. more: also the name of its runs, when they were
        executed, and how to repeat them."""
        experiment = column[0]
        names = self.cells[["experiment", "dataset", "split"]].itertuples(index=False, name=None)
        cells = self.cells[[name == column for name in names]]
        heads = ["method", "average accuracy", "first task", "forgetting", "runs"]
        heads += ["name", "made", HOW_TO_REPEAT] if more else []
        rows = []
        for method in methods_in(experiment):
            records = self.records.get((column, method))
            if records:
                own = cells[cells["method"] == method].set_index("metric")
                row = [title("method", method), *(_pair(own.loc[metric]) for metric in METRICS), str(len(records))]
                spec = PAPER.spec(*column[1:], experiment, method)
                row += [f"`{spec.name()}`", made(records), _again(spec, records)] if more else []
                rows.append(row)
        missing = [title("method", method) for method in methods_in(experiment) if (column, method) not in self.records]
        return markdown_table(heads, rows) + (f"\n\nNot run yet: {', '.join(missing)}." if missing else "")

    def study(self, reading: Alternative = AS_RUN) -> dict[tuple[str, float], list[Record]]:
        """Records of the clustering study by policy and sampling rate. reading: of the other open settings."""
        return study_records(self.store, [Job(reading.of(job.spec), job.seeds) for job in study_jobs(PAPER)])

    def study_table(self, reading: Alternative = AS_RUN) -> str:
        """The study as a Markdown table: accuracies, and what the memories hold at the end."""
        heads = ["assignment", "sampling rate", "average accuracy", "first task", "forgetting"]
        heads += ["members by task", "of all", "runs", "made", HOW_TO_REPEAT]
        rows = []
        for (policy, rate), records in self.study(reading).items():
            if not records:
                rows.append([policy, f"{rate:g}", *["–"] * 5, 0, "not run", "–"])
                continue
            results = pd.DataFrame([summary(record.accuracy, record.seen) for record in records])
            numbers = [_number(results[metric].mean(), results[metric].std()) for metric in METRICS]
            memory = sum(record.memory[-1] for record in records) / len(records)
            members = [", ".join(f"{count:.0f}" for count in memory), f"{memory.sum():.0f}"]
            spec = PAPER.spec(PAPER.study_dataset, "class", "disjoint", "ta_agem", policy=policy, sampling_rate=rate)
            again = _again(reading.of(spec), records)
            rows.append([policy, f"{rate:g}", *numbers, *members, len(records), made(records), again])
        return markdown_table(heads, rows)

    def undated(self) -> str:
        """How many stored runs have no date: the oldest were executed before records had one."""
        count = sum("finished" not in info for _, _, info in self.store.descriptions())
        return f" ({count} early ones without a date)" if count else ""

    def complete(self) -> pd.DataFrame:
        """The runs of cells with as many runs as the paper's, on its images: only these decide claims."""
        runs = self.runs[~self.runs["another_set"].astype(bool)]
        return runs[runs.groupby(RUNS_OF)["seed"].transform("size") >= PAPER_RUNS]

    def memories(self) -> dict[tuple[str, float], list[Record]]:
        """The variants of the study with as many runs as in the paper."""
        return {of: records for of, records in self.study().items() if len(records) >= PAPER_RUNS}

    def judged(self) -> list[Judged]:
        """Each claim, judged on our numbers (cells with five runs) and on the paper's own."""
        runs, memories = self.complete(), self.memories()
        ours = (findings(runs, memories, USUAL.times(factor)) for factor in (1, 0.5, 2))
        return [Judged(*each) for each in zip(*ours, findings(published_runs()), strict=True)]

    def claims(self) -> pd.DataFrame:
        """`judged` as a table."""
        rows = []
        for ours, half, double, theirs in self.judged():
            numbers = _BETWEEN_PARTS.join(("" if part.holds else f"{FAILS} ") + part.numbers for part in ours.tested)
            others = "as many" if half.held == ours.held == double.held else f"{half.held} and {double.held}"
            count = [ours.count, others if ours.tested else "–"]
            rows.append((ours.claim, ours.verdict, *count, numbers or "–", _by_paper(theirs)))
        names = ["claim", "our runs", "parts that hold", "with half, and with double the limits"]
        return pd.DataFrame(rows, columns=[*names, "our numbers", "the paper's own tables"])

    def columns(self) -> Iterator[tuple[str, str, str]]:
        """Columns with at least one run."""
        for dataset in DATASETS:
            for experiment in EXPERIMENTS:
                for split in SPLITS:
                    if any(key[0] == (experiment, dataset, split) for key in self.records):
                        yield experiment, dataset, split


def _by_paper(finding: Finding) -> str:
    """The verdict of the paper's own means on a claim, with the numbers of the parts that they do not support."""
    if not finding.tested:
        return "no table"
    failing = [f"{FAILS} {part.numbers}" for part in finding.tested if not part.holds]
    return _BETWEEN_PARTS.join(
        [f"{finding.verdict} ({len(finding.tested) - len(failing)} of {len(finding.tested)})", *failing]
    )


def _column(job: Job) -> tuple[str, str, str]:
    return job.spec.experiment, job.spec.dataset, job.spec.split


def _again(spec: RunSpec, records: Sequence[Record]) -> str:
    """The options for `tacl run` that repeat exactly the runs of a row."""
    return f"`{spec.options([record.seed for record in records])}`"


def _pair(cell: pd.Series) -> str:
    if pd.isna(cell["ours"]):
        return f"diverged ({cell['paper']:.3f})"
    return f"{_number(cell['ours'], cell['std'])} ({cell['paper']:.3f})"


def _number(mean: float, deviation: float) -> str:
    return f"{mean:.3f}" + ("" if pd.isna(deviation) else f" ± {deviation:.3f}")

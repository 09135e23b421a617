"""The settings that the paper leaves open: which reading of them fits its numbers best.

    tacl calibrate                prints the tables, from stored runs
    tacl calibrate --run sgd      first executes a study's missing runs (hours, resumable)

A study tries alternatives with one or two methods on some columns of the paper's tables; the title of an alternative
lists all its differences from the profile. All are judged on the same cells: those for which every one has runs.
"""

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pandas as pd

from tacl_lib.errors import unknown_name
from tacl_lib.names import METRICS
from tacl_lib.paper.published import published
from tacl_lib.runs.execution import execute
from tacl_lib.runs.grid import Job
from tacl_lib.runs.profiles import PROFILES
from tacl_lib.runs.spec import DEFAULT_SEEDS, RunSpec
from tacl_lib.runs.store import OWN, REFERENCE, Store

Column = tuple[str, str, str]  #: experiment, dataset, split
CELL = ["experiment", "dataset", "split", "method", "metric"]


@dataclass(frozen=True)
class Alternative:
    """A reading of the paper, as changes to the profile ``paper``."""

    title: str
    run: dict = field(default_factory=dict)  #: fields of `RunSpec`
    learner: dict = field(default_factory=dict)  #: settings of the learner

    def of(self, spec: RunSpec) -> RunSpec:
        """A spec of the profile under this reading."""
        return replace(spec, learner_settings=spec.learner_settings | self.learner, **self.run)


@dataclass(frozen=True)
class Study:
    """Alternatives of some settings, tried with some methods on some columns."""

    title: str
    methods: tuple[str, ...]
    columns: tuple[Column, ...]
    alternatives: tuple[Alternative, ...]
    seeds: tuple[int, ...] = (0, 1)

    def job(self, alternative: Alternative, column: Column, method: str) -> Job:
        experiment, dataset, split = column
        return Job(alternative.of(PROFILES["paper"].spec(dataset, split, experiment, method)), self.seeds)

    def jobs(self) -> list[Job]:
        """All jobs, the alternatives of a column together."""
        return [
            self.job(alternative, column, method)
            for method in self.methods
            for column in self.columns
            for alternative in self.alternatives
        ]


AS_RUN = Alternative("as in the profile")
_SIX = tuple(("disjoint", d, s) for d in ("mnist", "fashion_mnist") for s in ("permutation", "rotation", "class"))
_COLOUR = tuple(("disjoint", d, s) for d in ("cifar10", "svhn") for s in ("permutation", "rotation", "class"))
_CLASS = tuple(("disjoint", dataset, "class") for dataset in ("fashion_mnist", "mnist"))
_CONTINUOUS_CLASS = tuple(("continuous", dataset, "class") for dataset in ("fashion_mnist", "mnist"))

_GLOROT = {"initialisation": "glorot"}
_GLOROT_UNIT = _GLOROT | {"scaling": "unit"}
_GLOROT_ALTERNATIVE = Alternative("Glorot's initialisation, inputs in [0, 1]", _GLOROT_UNIT)
#: the first settings of the clustering study
FORMER_TA_AGEM = Alternative(
    "10 samples, Glorot's initialisation, inputs in [0, 1]", _GLOROT_UNIT, {"reference_batch": 10}
)
_STANDARD = {"scaling": "standard", "fill": "black"}

STUDIES = {
    "sgd": Study(
        "Plain SGD: inputs, initialisation, momentum, validation data, rotation",
        ("sgd",),
        _SIX,
        (
            AS_RUN,
            Alternative("all datasets in [-1, 1]", {"scaling": "symmetric"}),
            Alternative("mean 0, deviation 1", {"scaling": "standard"}),
            Alternative("mean 0, deviation 1, corners black", _STANDARD),
            Alternative("corners black", {"fill": "black"}),
            Alternative("inputs in [0, 1]", {"scaling": "unit"}),
            Alternative("Glorot's initialisation, mean 0, deviation 1, corners black", _STANDARD | _GLOROT),
            _GLOROT_ALTERNATIVE,
            Alternative("Glorot's initialisation, inputs in [0, 1], momentum 0.9", _GLOROT_UNIT, {"momentum": 0.9}),
            Alternative(
                "Glorot's initialisation, inputs in [0, 1], validation on the whole test set",
                _GLOROT_UNIT | {"validation": "whole"},
            ),
            Alternative(
                "Glorot's initialisation, inputs in [0, 1], rotation by nearest neighbour",
                _GLOROT_UNIT | {"interpolation": "nearest"},
            ),
            Alternative("He's initialisation, inputs in [0, 1]", {"initialisation": "he", "scaling": "unit"}),
        ),
    ),
    "colour": Study(
        "CIFAR-10 and SVHN, SGD: inputs, rotation",
        ("sgd",),
        _COLOUR,
        (
            AS_RUN,
            Alternative("inputs in [-1, 1]", {"scaling": "symmetric"}),
            Alternative("corners black", {"fill": "black"}),
        ),
    ),
    "colour_lr_adapt": Study(
        "CIFAR-10 and SVHN, SGD lr adapt: inputs",
        ("sgd_lr_adapt",),
        _COLOUR,
        (
            AS_RUN,
            Alternative("inputs in [-1, 1]", {"scaling": "symmetric"}),
        ),
    ),
    "other_methods": Study(
        "SGD lr adapt and TA-OGD: inputs and initialisation",
        ("sgd_lr_adapt", "ta_ogd"),
        _SIX,
        (AS_RUN, _GLOROT_ALTERNATIVE),
    ),
    "running_loss": Study(
        "SGD lr adapt: the loss given to its scheduler",
        ("sgd_lr_adapt",),
        _SIX,
        (
            AS_RUN,
            Alternative("running loss, smoothing 0.9", learner={"smoothing": 0.9}),
            Alternative("running loss, smoothing 0.99", learner={"smoothing": 0.99}),
        ),
    ),
    "notmnist_steps": Study(
        "notMNIST's small set, SGD: would the large set's number of steps explain the paper's numbers?",
        ("sgd",),
        tuple(("disjoint", "notmnist", split) for split in ("permutation", "rotation", "class")),
        (AS_RUN, Alternative("80 epochs per task", {"epochs": 80})),
    ),
    "ta_agem": Study(
        "TA-A-GEM: reference batch",
        ("ta_agem",),
        _CLASS,
        (
            AS_RUN,
            Alternative("10 samples", learner={"reference_batch": 10}),
            Alternative("the whole memory", learner={"reference_batch": None}),
            FORMER_TA_AGEM,
        ),
    ),
    "agem": Study(
        "A-GEM: samples per task, reference batch",
        ("agem",),
        _CLASS,
        (
            AS_RUN,
            Alternative("300 per task", learner={"samples_per_task": 300}),
            Alternative("10 samples in a reference batch", learner={"reference_batch": 10}),
            Alternative(
                "300 per task, 10 in a batch, Glorot's initialisation, inputs in [0, 1]",
                _GLOROT_UNIT,
                {"samples_per_task": 300, "reference_batch": 10},
            ),
        ),
    ),
    "ogd": Study(
        "OGD: gradients per task",
        ("ogd",),
        _CLASS,
        (
            AS_RUN,
            Alternative("100 per task", learner={"samples_per_task": 100}),
            Alternative(
                "200 per task, Glorot's initialisation, inputs in [0, 1]", _GLOROT_UNIT, {"samples_per_task": 200}
            ),
        ),
    ),
    "bgd": Study(
        "BGD: first standard deviation",
        ("bgd",),
        _CLASS + _CONTINUOUS_CLASS,
        (AS_RUN, Alternative("first σ 0.06", learner={"std_init": 0.06})),
        seeds=DEFAULT_SEEDS,
    ),
    "bgd_loss": Study(
        "BGD: sum or mean of the batch",
        ("bgd",),
        _CLASS,
        (AS_RUN, Alternative("mean of the batch loss", learner={"batch_loss": "mean"})),
        seeds=(0,),
    ),
    "last_task": Study(
        "The continuous stream: its last task, and when a task begins to count for the average",
        ("sgd",),
        tuple(("continuous", dataset, split) for _, dataset, split in _SIX),
        (
            AS_RUN,
            Alternative("half of the last task's epochs", {"last_task": "pure"}),
            Alternative(
                "Glorot's initialisation, inputs in [0, 1]; half of the last task's epochs, counted when mixed in",
                _GLOROT_UNIT | {"last_task": "pure", "counted": "mixed"},
            ),
            Alternative(
                "Glorot's initialisation, inputs in [0, 1]; last task only mixed in, counted when mixed in",
                _GLOROT_UNIT | {"last_task": "mixed", "counted": "mixed"},
            ),
        ),
    ),
}


def results_of(study: Study, store: Store) -> pd.DataFrame:
    """A row for each alternative, column, method and metric that was run: our number (mean over seeds), the numbers by
    seed, the paper's, and the name of the spec.

    Alternatives whose difference does not matter in a column (of rotation, on another split) share their runs there; an
    alternative without any run of its own is left out.
    """
    paper = published().set_index(CELL)["value"]
    rows, tried = [], {AS_RUN.title}
    shared_by = Counter(job.spec.name() for job in study.jobs())
    for alternative, column, method in _cells(study):
        job = study.job(alternative, column, method)
        found = store.summaries([job])
        if len(found) == len(job.seeds):
            if shared_by[job.spec.name()] == 1:
                tried.add(alternative.title)
            for metric in METRICS:
                value = paper[(*column, method, metric)]
                single = tuple(found[metric])
                ours = (found[metric].mean(), single, value)
                rows.append((alternative.title, *column, method, metric, *ours, job.spec.name()))
    names = ["alternative", *CELL, "ours", "by_seed", "paper", "spec"]
    return pd.DataFrame([row for row in rows if row[0] in tried], columns=names)


def judged(results: pd.DataFrame) -> pd.Series:
    """Which rows of `results_of` belong to cells that all alternatives have, and so can be compared."""
    tried = results["alternative"].nunique()
    return results.groupby(CELL)["alternative"].transform("nunique") == tried


def ranking(results: pd.DataFrame) -> pd.DataFrame:
    """The alternatives by their total error on the cells that all have; those without any run are left out.

    results: `results_of` a study. Columns: alternative, cells, total_error, mean_error, largest_error, and by_seed, the
    total error of each seed, which shows how much of a difference may be chance.
    """
    if results.empty:
        return pd.DataFrame(columns=["alternative", "cells", "total_error", "mean_error", "largest_error", "by_seed"])
    shared = results[judged(results)]
    errors = (shared["ours"] - shared["paper"]).abs()
    groups = errors.groupby(shared["alternative"], sort=False)
    table = groups.agg(cells="count", total_error="sum", mean_error="mean", largest_error="max").reset_index()
    table["by_seed"] = [_errors_by_seed(shared[shared["alternative"] == title]) for title in table["alternative"]]
    return table.sort_values("total_error", ignore_index=True)


def not_told_apart(table: pd.DataFrame) -> list[str]:
    """Alternatives whose errors by seed overlap with those of the best; with one seed none can be found.

    table: from `ranking`.
    """
    if len(table) < 2 or len(table["by_seed"].iloc[0]) < 2:
        return []
    best = table["by_seed"].iloc[0]
    return [row.alternative for row in table.iloc[1:].itertuples() if min(row.by_seed) <= max(best)]


def _errors_by_seed(results: pd.DataFrame) -> tuple[float, ...]:
    distances = [[abs(value - row.paper) for value in row.by_seed] for row in results.itertuples()]
    return tuple(map(sum, zip(*distances, strict=True)))


def _cells(study: Study) -> Iterator[tuple[Alternative, Column, str]]:
    for alternative in study.alternatives:
        for column in study.columns:
            for method in study.methods:
                yield alternative, column, method


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="tacl calibrate", description=__doc__.split("\n")[0])
    parser.add_argument("studies", nargs="*", help=f"some of: {', '.join(STUDIES)}; default: all")
    parser.add_argument("--run", action="store_true", help="first execute the missing runs")
    parser.add_argument("--results", type=Path, help="the store; default: the reference runs, or results with --run")
    parser.add_argument("--cluster", help="address of a Dask scheduler; default: this machine")
    options = parser.parse_args(arguments)
    for name in options.studies:
        if name not in STUDIES:
            raise unknown_name("study", name, STUDIES)
    folder = options.results or (OWN if options.run else REFERENCE)
    for name in options.studies or STUDIES:
        study = STUDIES[name]
        if options.run:
            execute(study.jobs(), folder, options.cluster)
        table = ranking(results_of(study, Store(folder)))
        print(f"{study.title}\n{'not run' if table.empty else table.to_string(index=False)}\n")

"""The paper's three tables of settings, with the values actually in use beside the paper's."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import pandas as pd

from tacl_lib.core.learners import LEARNERS, Learner, make_learner, settings_of
from tacl_lib.core.tasks import task_names
from tacl_lib.engine.mlp import Mlp
from tacl_lib.errors import unknown_name
from tacl_lib.runs.profiles import Profile
from tacl_lib.runs.spec import RunSpec

LABELS = 10  #: of every dataset of the paper


class Setting(NamedTuple):
    """One row of a table of settings."""

    parameter: str
    paper: str  #: the paper's value
    used: Callable[[RunSpec], str]  #: the value under a spec
    explanation: str


class SettingsTable(NamedTuple):
    """One table of settings."""

    title: str
    rows: tuple[Setting, ...]


def settings_table(name: str, spec: RunSpec | None = None) -> pd.DataFrame:
    """A table of settings, by its name in `SETTINGS`: parameter, value, paper, differs, explanation.

    Values are not typed in, but read from the tasks and learners that a run of ``spec`` would build. A spec for another
    learner still determines batch size and tasks.
    """
    if name not in SETTINGS:
        raise unknown_name("table of settings", name, SETTINGS)
    rows = [(row, row.used(spec or RunSpec())) for row in SETTINGS[name].rows]
    return pd.DataFrame(
        [
            {
                "parameter": row.parameter,
                "value": value,
                "paper": row.paper,
                "differs": value != row.paper,
                "explanation": row.explanation,
            }
            for row, value in rows
        ]
    )


def specs_of_settings(profile: Profile) -> dict[str, RunSpec]:
    """For each table of settings, a spec of the profile, with the table's learner if it has one."""
    learners = {name: name if name in LEARNERS else "ta_agem" for name in SETTINGS}
    return {name: profile.spec(profile.datasets[0], "class", "disjoint", of) for name, of in learners.items()}


def _names(spec: RunSpec, split: str) -> tuple[str, ...]:
    return task_names(split, LABELS, spec.task_count, spec.degrees_per_task)


def _learners(spec: RunSpec, name: str) -> list[Learner]:
    """The learner, built for ten outputs (permutation, rotation) and for two (class split)."""
    own = spec.learner_settings if spec.learner == name else {}
    return [make_learner(name, Mlp((0,), (1, outputs)), **own) for outputs in (LABELS, 2)]


def _either(values: list) -> str:
    """``[10, 2]`` → ``"10 or 2"``; ``[1, 1]`` → ``"1"``."""
    return " or ".join(dict.fromkeys(f"{value:g}" for value in values))


def _subset_labels(spec: RunSpec) -> str:
    return str([[int(label) for label in name.split(" / ")] for name in _names(spec, "class")])


def _angles(spec: RunSpec) -> str:
    return f"[{', '.join(name.rstrip('°') for name in _names(spec, 'rotation'))}]"


def _rate(spec: RunSpec, learner: str) -> str:
    return _either([built.rate for built in _learners(spec, learner)])


def _sampling_rate(spec: RunSpec, learner: str) -> str:
    own = spec.learner_settings if spec.learner == learner else {}
    return _either([(settings_of(learner) | own)["sampling_rate"]])


def _geometry(spec: RunSpec, learner: str, part: str) -> str:
    return _either([getattr(built.geometry, part) for built in _learners(spec, learner)])


def _memory_rows(learner: str, paper: dict[str, str], why: dict[str, str]) -> tuple[Setting, ...]:
    """The six rows common to the tables of TA-A-GEM and TA-OGD."""
    used = {
        "Learning rate": partial(_rate, learner=learner),
        "Batch size": lambda spec: _either([spec.batch_size]),
        "Sampling rate": partial(_sampling_rate, learner=learner),
        "Number of pools": partial(_geometry, learner=learner, part="pools"),
        "Number of clusters": partial(_geometry, learner=learner, part="clusters"),
        "Cluster size": partial(_geometry, learner=learner, part="size"),
    }
    return tuple(Setting(name, paper[name], function, why[name]) for name, function in used.items())


SETTINGS = {
    "task_split": SettingsTable(
        "How a dataset becomes a sequence of tasks, in both experiments",
        (
            Setting(
                "Permutation: number of tasks",
                "10",
                lambda spec: str(len(_names(spec, "permutation"))),
                "Each task has its own part of the images, and its own permutation of the pixels.",
            ),
            Setting(
                "Rotation: angles in degrees",
                "[0, 20, 40, 60, 80, 100, 120, 140, 160, 180]",
                _angles,
                "Each task has its own part of the images, rotated by its own angle.",
            ),
            Setting(
                "Class split: labels of each task",
                "[[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]",
                _subset_labels,
                "Each task is to tell two classes apart, with the same two outputs for all tasks.",
            ),
        ),
    ),
    "ta_agem": SettingsTable(
        "Settings of TA-A-GEM",
        _memory_rows(
            "ta_agem",
            {
                "Learning rate": "0.001",
                "Batch size": "10",
                "Sampling rate": "1",
                "Number of pools": "10 or 2",
                "Number of clusters": "10 or 50",
                "Cluster size": "3",
            },
            {
                "Learning rate": "Step size of gradient descent, as for TA-OGD.",
                "Batch size": "Images per training step, as for TA-OGD.",
                "Sampling rate": "Labelled images that each batch adds to the memory.",
                "Number of pools": "One for each output: ten for permutation and rotation, two for class split.",
                "Number of clusters": "Per pool; 100 in all, with ten pools as with two.",
                "Cluster size": "Images per cluster; in a full cluster a newcomer replaces the oldest.",
            },
        ),
    ),
    "ta_ogd": SettingsTable(
        "Settings of TA-OGD",
        _memory_rows(
            "ta_ogd",
            {
                "Learning rate": "0.001",
                "Batch size": "10",
                "Sampling rate": "1",
                "Number of pools": "1",
                "Number of clusters": "99",
                "Cluster size": "3",
            },
            {
                "Learning rate": "Step size of gradient descent, from the paper on OGD; the scheduler lowers it.",
                "Batch size": "Images per training step; the authors report that large batches do not work.",
                "Sampling rate": "Model gradients that each batch adds to the memory.",
                "Number of pools": "One for all gradients, whatever their class.",
                "Number of clusters": "Groups of similar gradients.",
                "Cluster size": "Gradients per cluster; in a full cluster a newcomer replaces the oldest.",
            },
        ),
    ),
}

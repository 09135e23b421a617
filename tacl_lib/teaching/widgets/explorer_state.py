"""What a store holds, and the curves and numbers of a choice of it: no picture."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from tacl_lib.core import metrics
from tacl_lib.core.record import Record
from tacl_lib.paper.published import published
from tacl_lib.report.figures import style
from tacl_lib.report.figures.parts import METRICS, mean_and_spread, mixing_spans, task_changes
from tacl_lib.runs.profiles import METHODS, PROFILES
from tacl_lib.runs.spec import RunSpec
from tacl_lib.runs.store import REFERENCE, ROOT, Store

RESULTS = ROOT / "results"  #: the user's own runs
AT_PAPER = "the paper's settings"


@dataclass(frozen=True)
class Line:
    """The runs of one spec."""

    label: str  #: the method, and where its settings are not those of the group, what differs
    spec: RunSpec
    seeds: tuple[int, ...]
    group: str  #: `AT_PAPER`, a reduced profile, or what differs from the paper

    @property
    def place(self) -> tuple[str, str, str]:
        return self.spec.experiment, self.spec.dataset, self.spec.split

    @property
    def plain(self) -> bool:
        """It has the settings of its group, so the paper's number belongs to it."""
        return self.label == style.looks([self.spec.learner])[self.spec.learner].label


@dataclass(frozen=True)
class Drawn:
    """One line with its numbers. E epochs."""

    line: Line
    look: style.Look
    records: list[Record]
    mean: dict[str, np.ndarray]  #: by metric, ``[E]``
    spread: dict[str, np.ndarray]  #: standard deviation over runs, ``[E]``; 0 for a single run
    ours: dict[str, tuple[float, float]]  #: mean over epochs, then over runs, and its deviation, as in the tables
    paper: dict[str, float]  #: the paper's numbers of the same kind, where there are some


@dataclass(frozen=True)
class ExplorerState:
    """Everything that the explorer shows for a choice."""

    drawn: list[Drawn]
    notice: str  #: of reduced runs; empty at the paper's settings
    problem: str  #: one sentence where there is nothing to show
    changes: list[int] = field(default_factory=list)  #: epochs after which another task begins
    mixed: list[tuple[int, int]] = field(default_factory=list)  #: epochs in which two tasks are mixed


class Library:
    """A store, sorted by what was run; numbers are read when they are first asked for."""

    def __init__(self, store: Store):
        self.store = store
        self.lines = self._lines()  #: all runs, those at the paper's settings first, methods in the paper's order
        self._read: dict[str, list[Record]] = {}

    def _lines(self) -> list[Line]:
        lines = []
        for spec, seeds in self.store.catalogue().items():
            group, differs = group_of(spec)
            look = style.looks([spec.learner])[spec.learner]
            label = f"{look.label} ({differs})" if differs else look.label
            lines.append(Line(label, spec, tuple(seeds), group))
        return sorted(lines, key=_paper_order)

    def groups(self) -> list[str]:
        return list(dict.fromkeys(line.group for line in self.lines))

    def labels(self, group: str) -> list[str]:
        """The methods of the paper and those that were run otherwise, by label, in the order of the legend."""
        own = [line.label for line in self.lines if line.group == group]
        paper = [style.METHODS[method].label for method in METHODS]
        return list(dict.fromkeys([*paper, *own]))

    def available(self, group: str, experiment: str, dataset: str, split: str) -> list[Line]:
        return [line for line in self.lines if line.group == group and line.place == (experiment, dataset, split)]

    def records(self, line: Line) -> list[Record]:
        name = line.spec.name()
        if name not in self._read:
            records = self.store.records(line.spec, line.seeds)
            self._read[name] = [replace(record, events=None) for record in records]  # the log is not needed here
        return self._read[name]


def library_of(store: Store | Path | str | None = None) -> tuple[Library, str]:
    """The runs to show, and where they come from in words: those of the user, or those that came with the project."""
    if store is not None:
        store = store if isinstance(store, Store) else Store(store)
        return Library(store), f"runs in the folder {store.folder.name}"
    own = Library(Store(RESULTS))
    if own.lines:
        return own, "your own runs, in the folder results"
    return Library(Store(REFERENCE)), "reference runs that came with the project (you have none of your own yet)"


def explorer_state(
    library: Library, group: str, experiment: str, dataset: str, split: str, labels: Collection[str]
) -> ExplorerState:
    """The curves and numbers of the chosen methods."""
    notice = "" if group == AT_PAPER else f"{group}: not comparable with the paper."
    available = library.available(group, experiment, dataset, split)
    where = ", ".join(
        (style.DATASETS.get(dataset, dataset), style.SPLITS.get(split, split).lower(), style.EXPERIMENTS[experiment])
    )
    if not available:
        return ExplorerState([], notice, _not_run(library, where, group, dataset))
    looks = _looks(library.labels(group))
    drawn = [_drawn(library, line, looks[line.label]) for line in available if line.label in labels]
    drawn = [line for line in drawn if line.records]
    if not drawn:
        return ExplorerState([], notice, "no method is chosen; tick one of those that were run.")
    epochs = max((line.records[0].epochs for line in drawn), key=len)
    return ExplorerState(drawn, notice, "", task_changes(epochs), mixing_spans(epochs))


def group_of(spec: RunSpec) -> tuple[str, str]:
    """To which group of comparable runs a spec belongs, and in which settings of its learner it differs from it."""
    place = (spec.dataset, spec.split, spec.experiment, spec.learner)
    for profile in sorted(PROFILES.values(), key=lambda profile: profile.name != "paper"):
        usual = profile.spec(*place)
        if not _differences(spec, usual):
            name = f"REDUCED ({profile.reduction})" if profile.reduction else AT_PAPER
            return name, _in_words(_differences(spec, usual, learner=True))
    usual = PROFILES["paper"].spec(*place)
    return (
        f"OTHER SETTINGS ({_in_words(_differences(spec, usual))})",
        _in_words(_differences(spec, usual, learner=True)),
    )


def settings_of_lines(drawn: list[Drawn]) -> list[tuple[str, list[str], bool]]:
    """Every setting and circumstance of the runs: name, one value a line, and whether one differs from the paper's."""
    columns, papers = [], []
    for line in drawn:
        spec, info = line.line.spec, line.records[0].info
        columns.append(_flat(spec.full()) | _circumstances(line, info))
        place = (spec.dataset, spec.split, spec.experiment, spec.learner)
        papers.append(_flat(PROFILES["paper"].spec(*place).full()))
    names = dict.fromkeys(name for column in columns for name in column)
    rows = []
    for name in names:
        both = zip(columns, papers, strict=True)
        differs = any(name in paper and column.get(name) != paper[name] for column, paper in both)
        rows.append((name.replace("_", " "), [column.get(name, "–") for column in columns], differs))
    return rows


def _drawn(library: Library, line: Line, look: style.Look) -> Drawn:
    records = library.records(line)
    if not records:  # they were removed or damaged since the store was looked at
        return Drawn(line, look, [], {}, {}, {}, {})
    both = {metric: mean_and_spread(records, metric) for metric in METRICS}
    numbers = [metrics.summary(record.accuracy, record.seen) for record in records]
    ours = {}
    for metric in METRICS:
        values = np.array([of_run[metric] for of_run in numbers])
        ours[metric] = (float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else 0.0)
    mean, spread = ({metric: pair[part] for metric, pair in both.items()} for part in (0, 1))
    return Drawn(line, look, records, mean, spread, ours, _published(line.spec) if line.plain else {})


def _published(spec: RunSpec) -> dict[str, float]:
    table = published()
    own = table[
        (table["experiment"] == spec.experiment)
        & (table["dataset"] == spec.dataset)
        & (table["split"] == spec.split)
        & (table["method"] == spec.learner)
    ]
    return dict(zip(own["metric"], own["value"].astype(float), strict=True))


def _looks(labels: list[str]) -> dict[str, style.Look]:
    known = {look.label: name for name, look in style.METHODS.items()}
    looks = style.looks(known.get(label, label) for label in labels)
    return {look.label: look for look in looks.values()}


def _not_run(library: Library, where: str, group: str, dataset: str) -> str:
    if not library.lines:
        return f"there are no finished runs in the folder {library.store.folder.name}; make some: make reproduce."
    names = [name for name, profile in PROFILES.items() if profile.reduction and profile.reduction in group]
    profile = names[0] if names else "paper"
    return f"not run: {where}; to run it: make reproduce PROFILE={profile} DATASETS={dataset}."


def _paper_order(line: Line) -> tuple:
    groups = [AT_PAPER, *(f"REDUCED ({p.reduction})" for p in PROFILES.values() if p.reduction)]
    group = groups.index(line.group) if line.group in groups else len(groups)
    methods = list(style.METHODS)
    method = methods.index(line.spec.learner) if line.spec.learner in methods else len(methods)
    return group, line.group, method, line.label


def _differences(spec: RunSpec, usual: RunSpec, learner: bool = False) -> dict[str, object]:
    own, other = spec.full(), usual.full()
    if learner:
        own, other = own["learner_settings"], other["learner_settings"]
    return {name: own[name] for name in own if name != "learner_settings" and own[name] != other.get(name)}


def _in_words(differences: Mapping[str, object]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in differences.items())


def _flat(settings: dict) -> dict[str, str]:
    own = settings.pop("learner_settings")
    return {name: str(value) for name, value in {**settings, **own}.items()}


def _circumstances(line: Drawn, info: dict) -> dict[str, str]:
    data = info.get("data", {})
    versions = info.get("versions", {})
    facts = {
        "seeds": ", ".join(str(record.seed) for record in line.records),
        "data from": data.get("source"),
        "verified by": data.get("verified"),
        "seconds for all seeds": info.get("wall_seconds_of_stack"),
        "machine": info.get("machine"),
        "device": info.get("device"),
        "commit": info.get("commit"),
        "versions": ", ".join(f"{name} {number}" for name, number in versions.items()),
    }
    return {name: str(value) for name, value in facts.items() if value not in (None, "")}

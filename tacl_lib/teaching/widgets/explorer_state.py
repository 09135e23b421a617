"""What a store holds, and the curves and numbers of a choice of it: no figure."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from tacl_lib.core import metrics
from tacl_lib.engine.networks import MLP, network_names, settings_of_network
from tacl_lib.paper.published import published
from tacl_lib.report.figures import style
from tacl_lib.report.figures.parts import METRICS, mean_and_spread, mixing_spans, task_changes
from tacl_lib.runs.beyond import PROFILES as BEYOND_PROFILES
from tacl_lib.runs.beyond import STORED
from tacl_lib.runs.profiles import METHODS, PROFILES
from tacl_lib.runs.spec import RunSpec
from tacl_lib.runs.store import OWN, REFERENCE, Store
from tacl_lib.training.record import Record

RESULTS = OWN  #: the user's own runs
AT_PAPER = "the paper's settings"
PAPER_LABELS = [style.METHODS[method].label for method in METHODS]  #: the paper's methods, in its order
BEYOND = BEYOND_PROFILES["beyond"]
_OF_A_LINE = ("learner_settings", "network_settings", "network")  #: what a line's label tells, and not its group's
METHOD_OF = {look.label: name for name, look in style.METHODS.items()}


@dataclass(frozen=True)
class Line:
    """The runs of one spec."""

    label: str  #: the method, and where its settings are not those of the group, what differs
    spec: RunSpec
    seeds: tuple[int, ...]
    group: str  #: `AT_PAPER`, a reduced profile, or what differs from the paper
    store: Store

    @property
    def place(self) -> tuple[str, str, str]:
        return self.spec.experiment, self.spec.dataset, self.spec.split

    @property
    def plain(self) -> bool:
        """It has the settings of its group, so the paper's number belongs to it."""
        return self.label == style.looks([self.spec.learner])[self.spec.learner].label


@dataclass(frozen=True)
class Drawn:
    """One line with its numbers, or the paper's numbers of a method that was not run here. E epochs."""

    line: Line | None
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
    problem: str  #: one sentence where no run can be shown
    absent: list[Drawn] = field(default_factory=list)  #: chosen methods without runs here, with the paper's numbers
    changes: list[int] = field(default_factory=list)  #: epochs after which another task begins
    mixed: list[tuple[int, int]] = field(default_factory=list)  #: epochs in which two tasks are mixed


class Library:
    """Stores, sorted by what was run; numbers are read when they are first asked for.

    Of runs that are in several stores, those of the store with most seeds are taken, or else of the first.
    """

    def __init__(self, *stores: Store):
        self.stores = stores
        self.lines = self._lines()  #: all runs, those at the paper's settings first, methods in the paper's order
        self._read: dict[str, list[Record]] = {}

    def _lines(self) -> list[Line]:
        lines: dict[str, Line] = {}
        for store in self.stores:
            for spec, seeds in store.catalogue().items():
                group, differs = group_of(spec)
                look = style.looks([spec.learner])[spec.learner]
                label = f"{look.label} ({differs})" if differs else look.label
                line, other = Line(label, spec, tuple(seeds), group, store), lines.get(spec.name())
                if other is None or len(line.seeds) > len(other.seeds):
                    lines[spec.name()] = line
        return sorted(lines.values(), key=_paper_order)

    def groups(self) -> list[str]:
        return list(dict.fromkeys(line.group for line in self.lines))

    def labels(self, group: str) -> list[str]:
        """The methods of the paper and those that were run otherwise, by label, in the order of the legend."""
        own = [line.label for line in self.lines if line.group == group]
        return list(dict.fromkeys([*PAPER_LABELS, *own]))

    def available(self, group: str, experiment: str, dataset: str, split: str) -> list[Line]:
        return [line for line in self.lines if line.group == group and line.place == (experiment, dataset, split)]

    def records(self, line: Line) -> list[Record]:
        name = line.spec.name()
        if name not in self._read:
            records = line.store.records(line.spec, line.seeds)
            self._read[name] = [replace(record, events=None) for record in records]  # the log is not needed here
        return self._read[name]


def library_of(store: Store | Path | str | None = None) -> tuple[Library, str]:
    """The runs to show, and where they come from in words: those of a folder, or the user's and the project's."""
    if store is not None:
        store = store if isinstance(store, Store) else Store(store)
        return Library(store), f"runs in the folder {store.folder.name}"
    own = Store(RESULTS)
    library = Library(own, Store(REFERENCE), Store(STORED))
    if any(line.store is own for line in library.lines):
        return library, "your own runs, in the folder results, and the reference runs that came with the project"
    return library, "reference runs that came with the project (you have none of your own yet)"


def explorer_state(
    library: Library, group: str, experiment: str, dataset: str, split: str, labels: Collection[str]
) -> ExplorerState:
    """The curves and numbers of the chosen methods."""
    notice = "" if group == AT_PAPER else f"{group}: not comparable with the paper."
    available = library.available(group, experiment, dataset, split)
    looks = _looks(library.labels(group))
    place = {"experiment": experiment, "dataset": dataset, "split": split}
    run = {line.label for line in available}
    absent = [_not_drawn(looks[label], place) for label in PAPER_LABELS if label in labels and label not in run]
    absent = [line for line in absent if line.paper]
    if not available:
        where = ", ".join(
            (
                style.DATASETS.get(dataset, dataset),
                style.SPLITS.get(split, split).lower(),
                style.EXPERIMENTS[experiment],
            )
        )
        return ExplorerState([], notice, _not_run(library, where, group, dataset, bool(absent)), absent)
    drawn = [_drawn(library, line, looks[line.label]) for line in available if line.label in labels]
    drawn = [line for line in drawn if line.records]
    if not drawn:
        return ExplorerState([], notice, "no method is chosen that was run here; tick one of them.", absent)
    epochs = max((line.records[0].epochs for line in drawn), key=len)
    return ExplorerState(drawn, notice, "", absent, task_changes(epochs), mixing_spans(epochs))


def group_of(spec: RunSpec) -> tuple[str, str]:
    """To which group of comparable runs a spec belongs, and in which settings of its learner it differs from it."""
    place = (spec.dataset, spec.split, spec.experiment, spec.learner)
    for profile in sorted([*PROFILES.values(), BEYOND], key=lambda profile: profile.name != "paper"):
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


def _not_drawn(look: style.Look, place: Mapping[str, str]) -> Drawn:
    """A method that was not run here."""
    return Drawn(None, look, [], {}, {}, {}, paper_numbers(METHOD_OF[look.label], **place))


def paper_numbers(method: str, experiment: str, dataset: str, split: str) -> dict[str, float]:
    """The published numbers by metric; none where the paper has none."""
    table = published()
    own = table[
        (table["experiment"] == experiment)
        & (table["dataset"] == dataset)
        & (table["split"] == split)
        & (table["method"] == method)
    ]
    return dict(zip(own["metric"], own["value"].astype(float), strict=True))


def _published(spec: RunSpec) -> dict[str, float]:
    return paper_numbers(spec.learner, spec.experiment, spec.dataset, spec.split)


def _looks(labels: list[str]) -> dict[str, style.Look]:
    looks = style.looks(METHOD_OF.get(label, label) for label in labels)
    return {look.label: look for look in looks.values()}


def _not_run(library: Library, where: str, group: str, dataset: str, published_there: bool) -> str:
    if not library.lines:
        return f"there are no finished runs in the folder {library.stores[0].folder.name}; make some: make reproduce."
    names = [name for name, profile in PROFILES.items() if profile.reduction and profile.reduction in group]
    profile = names[0] if names else "paper"
    shown = " The paper's numbers are shown." if published_there else ""
    return f"not run yet: {where}. To run it: make reproduce PROFILE={profile} DATASETS={dataset}.{shown}"


def _paper_order(line: Line) -> tuple:
    groups = [AT_PAPER, *(f"REDUCED ({p.reduction})" for p in PROFILES.values() if p.reduction)]
    group = groups.index(line.group) if line.group in groups else len(groups)
    methods = list(style.METHODS)
    method = methods.index(line.spec.learner) if line.spec.learner in methods else len(methods)
    return group, line.group, method, line.label


def _differences(spec: RunSpec, usual: RunSpec, learner: bool = False) -> dict[str, object]:
    own, other = spec.full(), usual.full()
    if learner:  # and the network, so that those of one group are lines beside each other
        usual_one = settings_of_network(spec.network) if spec.network in network_names() else {}
        changed = {name: value for name, value in spec.network_settings.items() if usual_one.get(name) != value}
        network = {"network": spec.network} | changed if spec.network != MLP else {}
        own, other = network | own["learner_settings"], other["learner_settings"]
    return {name: own[name] for name in own if (learner or name not in _OF_A_LINE) and own[name] != other.get(name)}


def _in_words(differences: Mapping[str, object]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in differences.items())


def _flat(settings: dict) -> dict[str, str]:
    own, network = settings.pop("learner_settings"), settings.pop("network_settings", {})
    of_network = {f"network {name}": value for name, value in network.items()}
    return {name: str(value) for name, value in {**settings, **of_network, **own}.items()}


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

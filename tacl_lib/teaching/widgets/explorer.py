"""The forgetting explorer: accuracy and forgetting of stored runs, beside the paper's numbers."""

import html
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import ipywidgets

from tacl_lib.report.figures import style
from tacl_lib.report.figures.parts import METRICS
from tacl_lib.report.figures.picture import Picture
from tacl_lib.runs.grid import EXPERIMENTS
from tacl_lib.runs.profiles import PAPER_DATASETS, SPLITS
from tacl_lib.runs.store import Store
from tacl_lib.teaching.widgets.base import INK, RULE, WARNING, View, button, labelled, row
from tacl_lib.teaching.widgets.explorer_figure import draw, empty_figure, still
from tacl_lib.teaching.widgets.explorer_state import (
    AT_PAPER,
    METHOD_OF,
    PAPER_LABELS,
    Drawn,
    ExplorerState,
    explorer_state,
    library_of,
    paper_numbers,
    settings_of_lines,
)

_NAMES = {"experiment": style.EXPERIMENTS, "dataset": style.DATASETS, "split": style.SPLITS}
_USUAL = {"experiment": EXPERIMENTS, "dataset": PAPER_DATASETS, "split": SPLITS}
_KEY = (
    "Lines: mean over runs; bands: one standard deviation. Thin vertical lines: a new task begins (grey: two tasks are "
    "mixed). Filled mark at the right: our mean over all epochs. Dotted line and open mark: the paper's number, which "
    "is such a mean."
)


class ForgettingExplorer(View):
    """The paper's methods at its settings; runs at other settings lie in a fold.

    ``state`` is what the controls ask for: curves, numbers, or one sentence on why there are none.
    """

    def __init__(self, store: Store | Path | str | None = None):
        self._quiet, self._asked = False, store
        self._heard: list[str] = []  # the store's warnings about damaged files
        self.group = labelled(ipywidgets.Dropdown, "Runs at", "560px")
        self.experiment = labelled(ipywidgets.Dropdown, "Experiment", "260px")
        self.dataset = labelled(ipywidgets.Dropdown, "Dataset", "240px")
        self.split = labelled(ipywidgets.Dropdown, "Split", "240px")
        self.again = button("Look for new runs", "refresh", "Read the folder of results again")
        self.paper = labelled(ipywidgets.Checkbox, "the paper's numbers", "190px", value=True, indent=False)
        self.boxes: dict[str, ipywidgets.Checkbox] = {}
        self._methods, self._others = row(), row()
        self.source = ipywidgets.HTML()
        self.table = ipywidgets.HTML(layout=ipywidgets.Layout(overflow="auto", margin="4px 0 0"))
        self.settings = ipywidgets.HTML()
        self._look_up()
        self.figure = empty_figure(self._most())
        self.again.on_click(self._refresh)
        self.paper.observe(lambda _: self._draw(), "value")
        for control in (self.group, self.experiment, self.dataset, self.split):
            control.observe(self._chosen, "value")
        choices = row(self.experiment, self.dataset, self.split, self.again)
        children = [choices, self._methods, self.figure, self.table, self._folds()]
        title = "Forgetting explorer: what is remembered, epoch by epoch"
        super().__init__(title, children, message_first=True)
        self._draw()

    def _folds(self) -> ipywidgets.Widget:
        """What a lesson does without: one click away."""
        key = ipywidgets.HTML(f'<div style="line-height:1.4;font-size:13px;color:{INK}">{_KEY}</div>')
        self.other = ipywidgets.VBox([row(self.group), self._others])
        titles = ("How to read this", "Other settings", "Settings of these runs")
        parts = [ipywidgets.VBox([key, self.source]), self.other, self.settings]
        self.more = ipywidgets.Accordion(parts, titles=titles, selected_index=None)
        return self.more

    @property
    def labels(self) -> list[str]:
        """The methods that are ticked."""
        return [label for label, box in self.boxes.items() if box.value and not box.disabled]

    def _look_up(self) -> None:
        """Read which runs there are, and offer them; others say that they were not run."""
        with self._listening():
            self.library, self._where = library_of(self._asked)
        self._quiet = True
        try:
            groups = self.library.groups() or [AT_PAPER]
            kept = self.group.value
            self.group.options = [(_short(group), group) for group in groups]
            self.group.value = kept if kept in groups else groups[0]
            self._offer(first=True)
        finally:
            self._quiet = False

    def _offer(self, first: bool = False) -> None:
        """Options of the lists and boxes for the chosen group; first: choose something that was run."""
        lines = [line for line in self.library.lines if line.group == self.group.value]
        chosen = (self.experiment.value, self.dataset.value, self.split.value)
        places = [line.place for line in lines if line.plain] or [line.place for line in lines]
        if places and (first or None in chosen) and chosen not in places:
            chosen = min(places, key=lambda place: (-places.count(place), *map(_rank, _USUAL, place)))  # most to see
        for name, control, value in zip(_USUAL, self._lists, chosen, strict=True):
            run = {getattr(line.spec, name) for line in lines}
            known = [*_USUAL[name], *sorted(run - set(_USUAL[name]))]
            control.options = [(_NAMES[name].get(v, v) + ("" if v in run else " – not run"), v) for v in known]
            control.value = value if value in known else known[0]
        self._offer_methods()

    @property
    def _lists(self) -> Sequence[ipywidgets.Dropdown]:
        return self.experiment, self.dataset, self.split

    def _offer_methods(self) -> None:
        """One box for each method; what was not run here and is not in the paper is grey.

        Methods begin with a tick; the paper's ones run at other settings lie in the fold, without one.
        """
        methods = {*PAPER_LABELS, *(line.label for line in self.library.lines if line.plain)}
        run = {line.label for line in self._available()}
        published = self._published()
        labels = self.library.labels(self.group.value)
        for label in labels:
            if label not in self.boxes:
                box = ipywidgets.Checkbox(value=label in methods, description=label, indent=False)
                box.layout = ipywidgets.Layout(width=f"{34 + 7.6 * len(label):.0f}px", margin="0 10px 0 0")
                box.observe(lambda _: self._draw(), "value")
                self.boxes[label] = box
            box = self.boxes[label]
            box.disabled = label not in run | published
            box.tooltip = f"show {label}" if label in run else f"{label} was not run here"
        others = [self.boxes[label] for label in labels if label not in PAPER_LABELS]
        self._methods.children = [*(self.boxes[label] for label in PAPER_LABELS), self.paper]
        self._others.children = others or [ipywidgets.HTML("There are no runs at other settings here.")]

    def _published(self) -> set[str]:
        """The methods of which the paper has numbers here."""
        experiment, dataset, split = (control.value for control in self._lists)
        return {label for label in PAPER_LABELS if paper_numbers(METHOD_OF[label], experiment, dataset, split)}

    def _available(self):
        return self.library.available(self.group.value, *(control.value for control in self._lists))

    def _most(self) -> int:
        """The largest number of lines that can stand in one panel."""
        others = [(line.group, line.place) for line in self.library.lines if line.label not in PAPER_LABELS]
        return len(PAPER_LABELS) + max((others.count(place) for place in set(others)), default=0)

    def _chosen(self, change) -> None:
        if self._quiet:
            return
        self._quiet = True
        try:
            if change.owner is self.group:
                self._offer(first=True)
            else:
                self._offer_methods()
        finally:
            self._quiet = False
        self._draw()

    def _refresh(self, _) -> None:
        before = len(self.library.lines)
        self._look_up()
        wider = empty_figure(self._most())  # more methods than before may be there now
        if len(wider.data) > len(self.figure.data):
            self.figure.add_traces(wider.data[len(self.figure.data) :])
        self._draw()
        now = len(self.library.lines)
        if "⚠" not in self.message.value:
            self.tell(f"{now} sets of runs are stored, {now - before} more than before.")

    def _draw(self) -> None:
        if self._quiet:
            return
        with self._listening():
            self.state = explorer_state(
                self.library, self.group.value, *(control.value for control in self._lists), self.labels
            )
        draw(self.figure, self.state, self.paper.value)
        self.source.value = _source(self._where, self.state)
        self.table.value = _table(self.state)
        self.settings.value = _settings(self.state)
        self._speak()
        self._heard.clear()

    @contextmanager
    def _listening(self) -> Iterator[None]:
        """Keep what the store says of damaged files, to show it in the message line."""
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            yield
        self._heard += [str(warning.message) for warning in heard]

    def _speak(self) -> None:
        """Say what is wrong with the choice, if something is."""
        problem = self._heard[0] if self._heard else self.state.problem
        if problem:
            self.tell(problem[0].upper() + problem[1:], wrong=True)
        else:
            self.tell(self.state.notice)

    def still(self) -> Picture:
        spec = [
            _NAMES[name].get(control.value, control.value) for name, control in zip(_NAMES, self._lists, strict=True)
        ]
        return still(self.state, ", ".join((spec[1], spec[2].lower(), spec[0])))


def _rank(name: str, value: str) -> int:
    usual = list(_USUAL[name])
    return usual.index(value) if value in usual else len(usual)


def _short(group: str) -> str:
    """``"REDUCED (profile quick: 5 epochs, …)"`` → ``"REDUCED (profile quick)"``."""
    name, _, rest = group.partition(":")
    text = f"{name})" if rest and "(" in name else group
    return text if len(text) <= 72 else f"{text[:70]}…)"


def _source(where: str, state: ExplorerState) -> str:
    notice = f'<b style="color:{WARNING}">⚠ {html.escape(state.notice)}</b> ' if state.notice else ""
    return f'<div style="line-height:1.4;font-size:13px;color:{INK}">{notice}Shown: {html.escape(where)}.</div>'


def _table(state: ExplorerState) -> str:
    """Our means over epochs ± deviation over runs, the paper's in brackets: the numbers of its tables; and the key."""
    head = "".join(f'<th style="{_CELL}">{label}</th>' for label, _ in METRICS.values())
    body = "".join(_row(drawn) for drawn in [*state.drawn, *state.absent])
    if not body:
        return ""
    return (
        f'<table style="{_TABLE}"><tr><th style="{_CELL}">mean over all epochs</th>{head}'
        f'<th style="{_CELL}">runs</th></tr>{body}</table>'
    )


def _row(drawn: Drawn) -> str:
    cells = ""
    for metric in METRICS:
        value, deviation = drawn.ours.get(metric, (None, 0.0))
        spread = f" ± {deviation:.3f}" if len(drawn.records) > 1 else ""
        ours = "–" if value is None else "diverged" if value != value else f"{value:.3f}{spread}"
        paper = f" (paper {drawn.paper[metric]:.3f})" if metric in drawn.paper else ""
        cells += f'<td style="{_CELL}">{ours}{paper}</td>'
    name = f"{_swatch(drawn.look)} {html.escape(drawn.look.label)}"
    runs = len(drawn.records) or "not run here"
    return f'<tr><td style="{_CELL}">{name}</td>{cells}<td style="{_CELL}">{runs}</td></tr>'


def _swatch(look: style.Look) -> str:
    """How the line of a method looks, on the white of the figures."""
    dash = " ".join(f"{part * look.width:.1f}" for part in look.dash) or "none"
    line = f'<line x1="2" y1="7" x2="42" y2="7" stroke="{look.colour}" stroke-width="{look.width}" '
    return (
        '<svg width="44" height="14" aria-hidden="true" style="background:#fff;border-radius:3px;vertical-align:-2px">'
        f'{line}stroke-dasharray="{dash}"/><text x="22" y="11" text-anchor="middle" font-size="11" '
        f'fill="{look.colour}">{_SIGNS[look.marker]}</text></svg>'
    )


_SIGNS = {"v": "▼", "^": "▲", "s": "■", "P": "✚", "D": "◆", "o": "●", "d": "♦", "X": "✖", ">": "▶", "<": "◀"}
_SIGNS |= {"p": "⬟", "h": "⬢"}


def _settings(state: ExplorerState) -> str:
    if not state.drawn:
        return "Nothing is shown."
    head = "".join(f'<th style="{_CELL}">{html.escape(drawn.look.label)}</th>' for drawn in state.drawn)
    body = ""
    for name, values, differs in settings_of_lines(state.drawn):
        cells = "".join(f'<td style="{_CELL};white-space:normal">{html.escape(value)}</td>' for value in values)
        body += f'<tr><td style="{_CELL}">{html.escape(name)}{" ≠" if differs else ""}</td>{cells}</tr>'
    return (
        f'<div style="max-height:340px;overflow:auto"><table style="{_TABLE}"><tr><th style="{_CELL}">setting</th>'
        f"{head}</tr>{body}</table><p>≠: not the paper's value.</p></div>"
    )


_TABLE = f"border-collapse:collapse;font-size:13px;line-height:1.4;color:{INK}"
_CELL = f"padding:2px 14px 2px 0;text-align:left;border-bottom:1px solid {RULE};white-space:nowrap;vertical-align:top"


def forgetting_explorer(store: Store | Path | str | None = None) -> ForgettingExplorer:
    """Accuracy and forgetting of stored runs over epochs, beside the paper's numbers.

    store: a folder of results; None takes your own runs and the project's reference runs.
    """
    return ForgettingExplorer(store)

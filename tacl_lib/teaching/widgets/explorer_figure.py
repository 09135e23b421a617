"""The figure of the forgetting explorer: three metrics over epochs, in plotly and as a still image."""

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from tacl_lib.report.figures import style
from tacl_lib.report.figures.parts import METRICS, draw_runs, ends, key_of, mark_tasks, tidy
from tacl_lib.report.figures.picture import Picture, finished, new_picture
from tacl_lib.teaching.widgets.base import figure_widget, plain
from tacl_lib.teaching.widgets.explorer_state import Drawn, ExplorerState
from tacl_lib.teaching.widgets.stills import empty_still

HEIGHT = 290
PARTS = ("band", "line", "ours", "paper")  #: the traces of one method in one panel
_NOTHING = {"x": [], "y": [], "visible": False}
SYMBOLS = {"v": "triangle-down", "^": "triangle-up", "s": "square", "P": "cross", "D": "diamond", "o": "circle"}
SYMBOLS |= {"d": "diamond-tall", "X": "x", ">": "triangle-right", "<": "triangle-left", "p": "pentagon", "h": "hexagon"}


def empty_figure(slots: int) -> go.FigureWidget:
    """Three panels with room for so many methods."""
    titles = [label for label, _ in METRICS.values()]
    figure = make_subplots(1, len(METRICS), subplot_titles=titles, horizontal_spacing=0.065)
    for slot in range(slots):
        for column, metric in enumerate(METRICS, start=1):
            for part in PARTS:
                figure.add_scatter(meta=[slot, metric, part], **_NOTHING, row=1, col=column)
    widget = figure_widget(
        figure,
        height=HEIGHT,
        margin={"l": 46, "r": 12, "t": 34, "b": 44},  # the table below is the legend
        hovermode="x unified",
        hoverdistance=30,
    )
    widget.update_xaxes(title="Epochs trained", showgrid=False, fixedrange=True, title_standoff=6)
    widget.update_yaxes(fixedrange=True, automargin=False, nticks=6)
    widget.update_annotations(font={"size": 14})
    return widget


def draw(figure: go.FigureWidget, state: ExplorerState, with_paper: bool) -> None:
    """Bring the figure into line with a state, in one update."""
    epochs = max((len(drawn.records[0].epochs) for drawn in state.drawn), default=100)
    lines = [*state.drawn, *state.absent]
    with figure.batch_update():
        for trace in figure.data:
            slot, metric, part = trace.meta
            if slot < len(lines):
                trace.update(_trace(lines[slot], metric, part, epochs, with_paper))
            elif trace.visible is not False:
                trace.update(_NOTHING)
        for number, metric in enumerate(METRICS, start=1):
            figure.layout[f"xaxis{number}"].range = [0, epochs * 1.16]
            figure.layout[f"yaxis{number}"].range = _room(state, metric, with_paper)
        figure.layout.shapes = _marks(state)


def _trace(drawn: Drawn, metric: str, part: str, epochs: int, with_paper: bool) -> dict:
    look = drawn.look
    if part == "paper":
        return _paper_line(look, drawn.paper.get(metric), epochs) if with_paper else _NOTHING
    if not drawn.records:
        return _NOTHING
    mean, spread = drawn.mean[metric], drawn.spread[metric]
    x = np.arange(1, len(mean) + 1)
    finite = np.isfinite(mean)
    mark = {"color": look.colour, "symbol": SYMBOLS[look.marker]}
    shown = {"visible": True, "hoverinfo": "skip"}
    if part == "band":
        low, high = (mean - spread)[finite], (mean + spread)[finite]
        there = x[finite] if len(drawn.records) > 1 else x[:0]
        edge = np.concatenate([high, low[::-1]]) if len(there) else []
        fill = {"fill": "toself", "fillcolor": _faded(look.colour), "mode": "lines", "line": {"width": 0}}
        return shown | fill | {"x": np.concatenate([there, there[::-1]]), "y": edge}
    if part == "line":
        runs = f"{len(drawn.records)} run{'s' if len(drawn.records) > 1 else ''}"
        return shown | {
            "x": x[finite],
            "y": mean[finite],
            "customdata": spread[finite],
            "mode": "lines+markers",
            "line": {"color": look.colour, "width": look.width, "dash": _dash(look)},
            "marker": mark | {"size": 7, "maxdisplayed": 9},
            "name": plain(look.label),
            "hoverinfo": "all",
            "hovertemplate": f"{plain(look.label)} <b>%{{y:.3f}}</b> ± %{{customdata:.3f}}, {runs}<extra></extra>",
        }
    value, deviation = drawn.ours[metric]
    return shown | {
        "x": [epochs * 1.06],
        "y": [value],
        "mode": "markers",
        "marker": mark | {"size": 10},
        "error_y": {"type": "data", "array": [deviation], "color": look.colour, "thickness": 1.5, "width": 4},
    }


def _paper_line(look: style.Look, value: float | None, epochs: int) -> dict:
    if value is None:
        return _NOTHING
    symbol = {"symbol": SYMBOLS[look.marker] + "-open", "size": [0, 10], "line": {"width": 1.8}, "color": look.colour}
    return {
        "visible": True,
        "x": [0, epochs * 1.12],
        "y": [value, value],
        "mode": "lines+markers",
        "line": {"color": look.colour, "width": 1.2, "dash": "1px,3px"},
        "marker": symbol,
        "hoverinfo": "all",
        "hovertemplate": f"the paper's mean of {plain(look.label)} <b>%{{y:.3f}}</b><extra></extra>",
    }


def _room(state: ExplorerState, metric: str, with_paper: bool) -> list[float]:
    values = [0.0] if metric == "forgetting" else []
    for drawn in state.drawn:
        values += [*(drawn.mean[metric] - drawn.spread[metric]), *(drawn.mean[metric] + drawn.spread[metric])]
    for drawn in [*state.drawn, *state.absent]:
        values += [drawn.paper[metric]] if with_paper and metric in drawn.paper else []
    values = [value for value in values if np.isfinite(value)]
    low, high = (min(values), max(values)) if len(values) > 1 else (0.0, 1.0)
    margin = 0.06 * (high - low) or 0.05
    return [low - (margin if low else 0.3 * margin), high + margin]


def _marks(state: ExplorerState) -> list[dict]:
    """Thin lines where the task changes, grey where two tasks are mixed, in each panel."""
    marks = []
    for number in range(1, len(METRICS) + 1):
        axis = "" if number == 1 else number
        panel = {"xref": f"x{axis}", "yref": f"y{axis} domain", "y0": 0, "y1": 1, "layer": "below"}
        line = {"type": "line", "line": {"color": style.FAINT, "width": 0.8}}
        marks += [panel | line | {"x0": at, "x1": at} for at in state.changes]
        area = {"type": "rect", "fillcolor": style.GROUND, "line": {"width": 0}, "opacity": 0.75}
        marks += [panel | area | {"x0": begin, "x1": end} for begin, end in state.mixed]
    return marks


def _dash(look: style.Look) -> str:
    return ",".join(f"{part * look.width:.1f}px" for part in look.dash) or "solid"


def _faded(colour: str) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.16)"


def still(state: ExplorerState, title: str) -> Picture:
    """The same state as a matplotlib figure, with the paper's numbers as dotted lines."""
    if not state.drawn:
        return empty_still(f"{title}: {state.problem}")
    with style.applied():
        picture = new_picture(11, 4.4, title=title, reduced=state.notice or None)
        axes = picture.subplots(1, len(METRICS))
        for ax, (metric, (label, _)) in zip(axes, METRICS.items(), strict=True):
            ax.set_title(label)
            for drawn in state.absent:
                if metric in drawn.paper:
                    ax.axhline(drawn.paper[metric], color=drawn.look.colour, ls=":", lw=1, label="_paper")
            mark_tasks(ax, max((drawn.records[0].epochs for drawn in state.drawn), key=len))
            for turn, drawn in enumerate(state.drawn):
                draw_runs(ax, drawn.records, metric, drawn.look, turn)
                if metric in drawn.paper:
                    ax.axhline(drawn.paper[metric], color=drawn.look.colour, ls=":", lw=1, label="_paper")
            tidy(ax, max(len(drawn.records[0].epochs) for drawn in state.drawn))
            ax.set_xlabel("Epochs trained")
        looks = [drawn.look for drawn in state.drawn]
        picture.legend(handles=key_of(looks), loc="outside lower center", ncols=min(len(looks), 5), frameon=False)
    numbers = "; ".join(
        f"{drawn.look.label}: average accuracy {ends(drawn.records, 'average_accuracy')}, "
        f"first task {ends(drawn.records, 'first_task_accuracy')}, forgetting {ends(drawn.records, 'forgetting')}"
        for drawn in state.drawn
    )
    alt = (
        f"{title}. Three line charts over epochs, dotted lines are the paper's means. After the last epoch: {numbers}."
    )
    return finished(picture, alt)

"""The figure of the scheduler lab: loss, learning rate and counters over steps, in plotly and as a still image."""

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from tacl_lib.report.figures import style
from tacl_lib.report.figures.picture import Picture, finished, new_picture
from tacl_lib.teaching.widgets.base import figure_widget
from tacl_lib.teaching.widgets.scheduler_state import STEPS, Answer

LOSS, BEST, RATE, STAGNANT, SPIKES = "#004c94", "#555555", "#7a1f00", "#8a5a00", "#5e1c4c"
_STEP = np.arange(STEPS)

#: What each trace shows of an answer; the loss comes first, for clicks.
_TRACES = {
    "loss": lambda a: {"y": a.loss},
    "Best": lambda a: {"y": a.best},
    "Best + reset threshold": lambda a: {"y": a.best + a.constants.reset_threshold},
    "learning rate": lambda a: {"y": a.rate},
    "lowered": lambda a: {"x": _STEP[a.lowered], "y": a.rate[a.lowered]},
    "reset": lambda a: {"x": _STEP[a.reset], "y": a.rate[a.reset]},
    "N_stagnant": lambda a: {"y": a.stagnant},
    "N_spike": lambda a: {"y": a.spikes},
}


def empty_figure(handles: int) -> go.FigureWidget:
    """Three panels, a cursor, the line of patience, and so many points of the curve that can be dragged."""
    figure = make_subplots(3, 1, shared_xaxes=True, vertical_spacing=0.045, row_heights=[0.46, 0.27, 0.27])
    stairs = {"shape": "hv"}
    lines = {
        "loss": (1, {"color": LOSS, "width": 1.6}),
        "Best": (1, {"color": BEST, "width": 2, "dash": "6px,3px"} | stairs),
        "Best + reset threshold": (1, {"color": BEST, "width": 1.5, "dash": "2px,3px"} | stairs),
        "learning rate": (2, {"color": RATE, "width": 2} | stairs),
        "N_stagnant": (3, {"color": STAGNANT, "width": 1.6} | stairs),
        "N_spike": (3, {"color": SPIKES, "width": 2.4, "dash": "5px,2px"} | stairs),
    }
    marks = {
        "lowered": {"color": RATE, "symbol": "triangle-down", "size": 6},
        "reset": {"color": RATE, "symbol": "star", "size": 14, "line": {"color": "white", "width": 1}},
    }
    for name in _TRACES:
        if name in marks:
            figure.add_scatter(name=name, mode="markers", marker=marks[name], hoverinfo="skip", row=2, col=1)
        else:
            place, line = lines[name]
            number = "%{y:.6f}" if name == "learning rate" else "%{y:.3~f}"
            text = f"{name} {number}<extra></extra>"
            named = name not in ("loss", "learning rate")  # their axes have these names
            figure.add_scatter(
                x=_STEP, name=name, mode="lines", line=line, hovertemplate=text, showlegend=named, row=place, col=1
            )
    widget = figure_widget(
        figure,
        height=430,
        showlegend=True,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "itemclick": False},
        margin={"l": 78, "r": 16, "t": 48, "b": 40},
        hovermode="x",
        shapes=[
            {"type": "line", "xref": "x", "yref": "paper", "x0": 0, "x1": 0, "y0": 0, "y1": 1}
            | {"line": {"color": style.INK, "width": 1}},
            {"type": "line", "xref": "paper", "yref": "y3", "x0": 0, "x1": 1, "y0": 5, "y1": 5}
            | {"line": {"color": style.FAINT, "width": 1.5, "dash": "dot"}},
        ],
        annotations=[_handle() for _ in range(handles)],
    )
    widget.update_xaxes(range=[-4, STEPS + 3], fixedrange=True, showgrid=False)
    widget.update_yaxes(fixedrange=True, zeroline=False, automargin=False)
    widget.update_layout(
        xaxis3_title="step (one batch each)",
        yaxis={"title": "loss", "range": [-0.15, 3.6], "dtick": 1},
        yaxis2={"title": "learning rate", "tickformat": ".3~e", "nticks": 4},
        yaxis3={"title": "counters", "nticks": 4},
    )
    # The points of the curve are texts that can be dragged.
    widget._config = widget._config | {"edits": {"annotationPosition": True}}
    return widget


def _handle() -> dict:
    return {
        "text": "<b>↕</b>",
        "showarrow": False,
        "xref": "x",
        "yref": "y",
        "x": 0,
        "y": 0,
        "font": {"size": 13, "color": LOSS},
        "bgcolor": "rgba(255,255,255,0.85)",
        "bordercolor": LOSS,
        "borderwidth": 1.2,
        "borderpad": 1,
    }


def draw(figure: go.FigureWidget, shown: Answer, at: int, handles: list[tuple[float, float]]) -> None:
    """Bring the figure into line with an answer, the step that is looked at, and the points of the curve."""
    with figure.batch_update():
        for trace in figure.data:
            trace.update(_TRACES[trace.name](shown))
        patience = shown.constants.patience
        figure.layout.shapes[0].update(x0=at, x1=at)
        figure.layout.shapes[1].update(y0=patience, y1=patience)
        figure.layout.yaxis2.range = _room(shown.rate)
        figure.layout.yaxis3.range = [0, max(patience, 5) * 1.35]
        for mark, (x, y) in zip(figure.layout.annotations, handles, strict=True):
            mark.update(x=x, y=y)


def _room(rates: np.ndarray) -> list[float]:
    """A range that shows every change of the rate, however small."""
    low, high = float(rates.min()), float(rates.max())
    margin = 0.12 * (high - low) or 0.05 * high
    return [low - margin, high + margin]


def still(shown: Answer, at: int) -> Picture:
    """The same state as a matplotlib figure."""
    step = np.arange(STEPS)
    with style.applied():
        picture = new_picture(10, 7, title="A loss curve, and the learning rate of the paper's scheduler")
        axes = picture.subplots(3, sharex=True, height_ratios=[2, 1.2, 1.2])
        axes[0].plot(step, shown.loss, color=LOSS, lw=1, label="loss")
        axes[0].plot(step, shown.best, "--", color=BEST, label="best")
        axes[0].plot(step, shown.best + shown.constants.reset_threshold, ":", color=BEST, label="… + reset threshold")
        axes[1].step(step, shown.rate, color=RATE, where="post", label="learning rate")
        axes[1].plot(step[shown.reset], shown.rate[shown.reset], "^", color=RATE, ms=9, label="reset")
        axes[2].step(step, shown.stagnant, color=STAGNANT, where="post", label="N_stagnant")
        axes[2].step(step, shown.spikes, "--", color=SPIKES, where="post", label="N_spike")
        axes[2].axhline(shown.constants.patience, color=style.FAINT, ls=":", label="patience")
        for ax, name in zip(axes, ("loss", "learning rate", "counters"), strict=True):
            ax.axvline(at, color=style.FAINT)
            ax.set_ylabel(name)
            ax.legend(loc="upper right", frameon=False, ncols=3)
        axes[2].set_xlabel("step")
    return finished(picture, f"Three charts over {STEPS} steps: loss, learning rate, counters. {shown.summary()}")

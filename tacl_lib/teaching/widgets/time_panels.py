"""Parts of a plotly figure that show what a memory held over time, with a cursor at the present step."""

import numpy as np
import plotly.graph_objects as go

from tacl_lib.report.figures import style
from tacl_lib.teaching.widgets.panels import FOLLOWED, NOW, QUIET, Panel, colour_scale
from tacl_lib.training.events import EMPTY

UNKNOWN = "#f1f1f1"  #: what was not reached yet


class TimePanel(Panel):
    """Something against the steps of a run, with a cursor at the present one.

    hides_future: what was not reached yet is covered, so that a run can be watched without knowing its end. The last
    two traces are the cover and the cursor.
    """

    title_shift = 18

    def __init__(self, *place, hides_future: bool = False):
        super().__init__(*place)
        self.hides_future, self.reached = hides_future, 0

    def axes(self) -> dict:
        axes = super().axes()
        steps = {"text": "training step", "standoff": 4, "font": {"size": 11}}
        axes[f"xaxis{self.name}"] |= {"tickformat": ",d", "nticks": 6, "ticks": "outside", "title": steps}
        return axes

    def cover_and_cursor(self) -> list:
        cover = go.Scatter(name="future", mode="lines", fill="toself", fillcolor=UNKNOWN, line={"width": 0}, **QUIET)
        return [cover, go.Scatter(name="cursor", mode="lines", line={"color": NOW, "width": 2}, **QUIET)]

    def show(self, history, looks):
        self.xaxis.range = (0, history.steps)
        self.reached = 0

    def span(self, low: float, high: float) -> None:
        """The cover and the cursor reach from low to high."""
        self.drawn[-2].y, self.drawn[-1].y = [low, low, high, high, low], [low, high]

    def move(self, history, state, followed):
        self.drawn[-1].x = [state.step + 0.5] * 2
        now, end = state.step + 1, history.steps
        self.reached = end if not self.hides_future else max(self.reached, now)
        hidden = self.reached < end
        self.drawn[-2].x = [self.reached, end, end, self.reached, self.reached] if hidden else []


class TimelinePanel(TimePanel):
    """The paper's figure: one line per cluster, in the colour of its oldest task."""

    clickable = (0,)

    def traces(self) -> list:
        line = {"mode": "lines", **QUIET}
        starts = {"mode": "text", "textposition": "top right", "cliponaxis": False}
        return [
            go.Heatmap(name="oldest task", showscale=False, hoverongaps=False),
            go.Scatter(name="pools", line={"color": "#ffffff", "width": 2}, **line),
            go.Scatter(name="first arrivals", line={"color": "#000000", "width": 1, "dash": "dot"}, **line),
            go.Scatter(name="starts", textfont={"size": 10, "color": style.INK}, **starts, **QUIET),
            go.Scatter(name="followed, outside", line={"color": "#ffffff", "width": 4}, **line),
            go.Scatter(name="followed", line={"color": FOLLOWED, "width": 1.6}, **line),
            *self.cover_and_cursor(),
        ]

    def axes(self) -> dict:
        axes = super().axes()
        axes[f"xaxis{self.name}"] |= {"showgrid": False}
        axes[f"yaxis{self.name}"] |= {"showgrid": False}
        return axes

    def show(self, history, looks):
        super().show(history, looks)
        pools, of_pool, _ = history.geometry
        heat, lines, firsts, starts, *_ = self.drawn
        name = "cluster" if history.clustered else "row"
        content = np.where(history.oldest == EMPTY, None, history.oldest)  # NaN would not be JSON
        heat.update(
            z=content,
            x=history.moments,
            y=np.arange(history.clusters),
            zmin=-0.5,
            zmax=len(looks) - 0.5,
            colorscale=colour_scale(looks),
            hovertemplate=f"{name} %{{y}}<br>step %{{x:,.0f}}<br>oldest task: %{{z:.0f}}<extra></extra>",
        )
        ends = (-0.5, history.clusters - 0.5)
        bounds = [pool * of_pool - 0.5 for pool in range(1, pools)]
        lines.x, lines.y = _segments([((0, bound), (history.steps, bound)) for bound in bounds])
        known = [(task, step) for task, step in enumerate(history.first_arrivals) if step is not None]
        firsts.x, firsts.y = _segments([((step, ends[0]), (step, ends[1])) for task, step in known if task])
        starts.update(x=[step for _, step in known], y=[ends[0]] * len(known), text=[f"task {t}" for t, _ in known])
        self.span(*ends)
        self.yaxis.update(range=ends[::-1], title={"text": name, "standoff": 4, "font": {"size": 11}})
        if pools > 1:
            middle = [(pool + 0.5) * of_pool - 0.5 for pool in range(pools)]
            self.yaxis.update(tickvals=middle, ticktext=[f"class {pool}" for pool in range(pools)])
        else:
            self.yaxis.update(tickvals=None, ticktext=None)

    def move(self, history, state, followed):
        super().move(history, state, followed)
        for box in self.drawn[4:6]:  # black with a white edge: seen on dark lines and on light ones
            if followed is None:
                box.x, box.y = [], []
            else:
                room = 0.015 * history.clusters
                low, high = followed - 0.5 - room, followed + 0.5 + room
                box.x, box.y = [0, history.steps, history.steps, 0, 0], [low, low, high, high, low]

    def cluster_at(self, trace, point, y):
        return round(y)


class SharePanel(TimePanel):
    """How much of the memory each task has."""

    def traces(self) -> list:
        areas = [
            go.Scatter(name=f"task {task}", mode="lines", stackgroup=f"tasks{self.name}")
            for task in range(style.MOST_TASKS)
        ]
        labels = go.Scatter(name="labels", mode="text", textfont={"size": 11}, **QUIET)
        return [*areas, labels, *self.cover_and_cursor()]

    def axes(self) -> dict:
        axes = super().axes()
        axes[f"yaxis{self.name}"] |= {"range": (0, 1), "tickformat": ".0%", "nticks": 3}
        return axes

    def show(self, history, looks):
        super().show(history, looks)
        shares = history.shares
        for task, area in enumerate(self.drawn[: style.MOST_TASKS]):
            if task >= len(looks):
                area.update(x=[], y=[])
                continue
            look = looks[task]
            area.update(
                x=history.moments,
                y=shares[task],
                line={"width": 0.6, "color": style.INK},
                fillcolor=look.colour,
                fillpattern={
                    "shape": look.pattern,
                    "fgcolor": look.ink,
                    "bgcolor": look.colour,
                    "size": 7,
                    "solidity": 0.14,
                    "fgopacity": 0.6,
                },
                hovertemplate=f"{look.name}: %{{y:.0%}}<extra></extra>",
            )
        labels = share_labels(shares)
        self.drawn[-3].update(
            x=history.moments[[at for _, at, _ in labels]],
            y=[height for *_, height in labels],
            text=[f"<b>{task}</b>" for task, *_ in labels],
            textfont_color=[looks[task].ink for task, *_ in labels],
        )
        self.span(0, 1)


def share_labels(shares: np.ndarray) -> list[tuple[int, int, float]]:
    """Where the number of each task has room in the stacked areas: task, number of the moment, height."""
    top = shares.cumsum(0)
    edge = shares.shape[1] // 25
    found = []
    for task, share in enumerate(shares if shares.size else ()):
        at = edge + int(share[edge : len(share) - edge].argmax()) if edge else int(share.argmax())
        if share[at] > 0.12:
            found.append((task, at, float(top[task, at] - share[at] / 2)))
    return found


def _segments(pairs) -> tuple[list, list]:
    """Separate lines as one trace: None lifts the pen."""
    xs, ys = [], []
    for (x0, y0), (x1, y1) in pairs:
        xs += [x0, x1, None]
        ys += [y0, y1, None]
    return xs, ys

"""Parts of a plotly figure that show a memory: its clusters now, and its content over time.

A panel owns a pair of axes and some traces. ``show`` draws a history, ``move`` goes to a step of it; both change the
figure and are called inside its ``batch_update``. All speak of clusters by number, so that one can be followed.
"""

import numpy as np
import plotly.graph_objects as go
import torch

from tacl_lib.figures import style
from tacl_lib.memory.events import EMPTY
from tacl_lib.widgets import thumbnails
from tacl_lib.widgets.base import TaskLook
from tacl_lib.widgets.history import MemoryHistory, MemoryState, cluster_texts, member_texts

NOW = "#d6006c"  #: the newcomer and the cursor: not a colour of any task
FOLLOWED = "#000000"  #: the cluster that was clicked
_QUIET = {"hoverinfo": "skip", "showlegend": False}


def colour_scale(looks: list[TaskLook]) -> list[tuple[float, str]]:
    """Steps of colour for task numbers between ``-0.5`` and ``T - 0.5``."""
    count = len(looks)
    return [((look.task + side) / count, look.colour) for look in looks for side in (0, 1)]


class Panel:
    """A pair of axes at a place of the figure, ``x`` and ``y`` from 0 to 1, and its traces."""

    clickable: tuple[int, ...] = ()  #: numbers of the traces whose points belong to clusters
    image_number: int | None = None  #: of its image among those of the figure

    def __init__(self, axis: int, x: tuple[float, float], y: tuple[float, float], title: str):
        self.name, self.x, self.y, self.title = "" if axis == 1 else str(axis), x, y, title

    def traces(self) -> list:
        """Empty traces, in the order in which ``self.drawn`` will hold them."""
        raise NotImplementedError

    def axes(self) -> dict:
        """What the figure's layout says of this panel's axes."""
        quiet = {"fixedrange": True, "zeroline": False}
        return {
            f"xaxis{self.name}": {"domain": self.x, "anchor": f"y{self.name}"} | quiet,
            f"yaxis{self.name}": {"domain": self.y, "anchor": f"x{self.name}"} | quiet,
        }

    def pictures(self) -> list[dict]:
        """Images on this panel's axes, empty still, in the order of ``layout.images``."""
        if self.image_number is None:
            return []
        place = {"xref": f"x{self.name}", "yref": f"y{self.name}", "x": 0, "y": 0, "yanchor": "top"}
        return [place | {"sizing": "stretch", "layer": "below", "sizex": 1, "sizey": 1}]

    def heading(self) -> dict:
        place = {"x": self.x[0], "y": self.y[1], "xref": "paper", "yref": "paper", "xanchor": "left"}
        return place | {
            "text": f"<b>{self.title}</b>",
            "yanchor": "bottom",
            "showarrow": False,
            "yshift": self.title_shift,
            "font": {"size": 12.5},
        }

    title_shift = 4

    def placed(self) -> list:
        """The traces on this panel's axes."""
        traces = self.traces()
        for trace in traces:
            trace.update(xaxis=f"x{self.name}", yaxis=f"y{self.name}")
        return traces

    def bind(self, figure: go.FigureWidget, first: int) -> int:
        """Remember the figure and the traces in it, of which the first has this number; the number of the next."""
        self.figure = figure
        self.drawn = figure.data[first : first + len(self.traces())]
        self.xaxis, self.yaxis = figure.layout[f"xaxis{self.name}"], figure.layout[f"yaxis{self.name}"]
        return first + len(self.drawn)

    def show(self, history: MemoryHistory, looks: list[TaskLook]) -> None:
        """Draw what does not change from step to step."""

    def move(self, history: MemoryHistory, state: MemoryState, followed: int | None) -> None:
        """Go to a step."""

    def cluster_at(self, trace: int, point: int, y: float) -> int:
        """The cluster of a clicked point."""
        raise NotImplementedError


class ClusterPanel(Panel):
    """One strip of thumbnails per cluster."""

    clickable = (0,)

    def __init__(self, *place, image: int = 0, aspect: float = 2.8):
        super().__init__(*place)
        self.image_number, self.aspect = image, aspect

    def traces(self) -> list:
        # Points that cannot be seen answer the mouse in front of the picture. As few as will do: the browser draws
        # each of them at every step.
        strips = {"mode": "markers", "marker": {"size": 24, "opacity": 0}, "hovertemplate": "%{text}<extra></extra>"}
        line = {"mode": "lines", **_QUIET}
        small = {"size": 10, "color": "#666666"}
        return [
            go.Scatter(name="strips", **strips),
            go.Scatter(name="pools", mode="text", textposition="top center", textfont=small, **_QUIET),
            go.Scatter(name="newcomer", line={"color": NOW, "width": 3}, **line),
            go.Scatter(name="followed", line={"color": FOLLOWED, "width": 2.5}, **line),
        ]

    def axes(self) -> dict:
        axes = super().axes()
        for axis in axes.values():
            axis["visible"] = False
        axes[f"yaxis{self.name}"] |= {"scaleanchor": f"x{self.name}"}
        axes[f"xaxis{self.name}"] |= {"constrain": "domain"}
        axes[f"yaxis{self.name}"] |= {"constrain": "domain", "constraintoward": "middle"}
        return axes

    def show(self, history, looks):
        geometry = history.geometry
        self.looks = looks
        self.sheet = sheet = thumbnails.sheet_for(*geometry, history.image_shape, self.aspect)
        self.drawn[0].x, self.drawn[0].y = sheet.handles().T
        pools = np.arange(geometry.pools) if geometry.pools > 1 else np.arange(0)
        across = sheet.width / geometry.pools
        self.drawn[1].update(
            x=(pools + 0.5) * across, y=np.zeros(len(pools)), text=[f"pool of class {pool}" for pool in pools]
        )
        top = 0.06 * sheet.height if len(pools) else 0
        self.xaxis.range, self.yaxis.range = (0, sheet.width), (sheet.height, -top)
        self.figure.layout.images[self.image_number].update(sizex=sheet.width, sizey=sheet.height)

    def move(self, history, state, followed):
        self.figure.layout.images[self.image_number].source = thumbnails.as_uri(
            cluster_picture(self.sheet, history, state, self.looks)
        )
        texts = cluster_texts(history, member_texts(history, state))
        self.drawn[0].text = [text for text in texts for _ in range(self.sheet.handles_each)]
        came = state.arrival
        self.drawn[2].x, self.drawn[2].y = ([], []) if came is None else self._slot_box(came.cluster, came.slot)
        self.drawn[3].x, self.drawn[3].y = ([], []) if followed is None else self.sheet.box(followed)

    def _slot_box(self, cluster: int, slot: int) -> tuple[list[float], list[float]]:
        (x, y), (wide, high) = self.sheet.corner(cluster, slot), self.sheet.cell
        return [x, x + wide, x + wide, x, x], [y, y, y + high, y + high, y]

    def cluster_at(self, trace, point, y):
        return point // self.sheet.handles_each


def cluster_picture(sheet, history: MemoryHistory, state: MemoryState, looks: list[TaskLook]) -> np.ndarray:
    """The sheet of thumbnails at a step; images are read from the tasks only now."""
    rows = torch.from_numpy(np.maximum(state.row, 0)).to(history.images.device)
    return thumbnails.composed(sheet, history.images[rows].cpu().numpy(), state.task, looks, history.image_shape)


class TimePanel(Panel):
    """Something against the steps of a run, with a cursor at the present one; the cursor is the last trace."""

    def axes(self) -> dict:
        axes = super().axes()
        axes[f"xaxis{self.name}"] |= {"tickformat": ",d", "nticks": 7, "ticks": "outside"}
        return axes

    def cursor(self):
        return go.Scatter(name="cursor", mode="lines", line={"color": NOW, "width": 2}, **_QUIET)

    def show(self, history, looks):
        self.xaxis.range = (0, history.steps)

    def move(self, history, state, followed):
        self.drawn[-1].x = [state.step + 0.5] * 2


class TimelinePanel(TimePanel):
    """The paper's figure: one line per cluster, in the colour of its oldest task."""

    clickable = (0,)
    title_shift = 18

    def traces(self) -> list:
        line = {"mode": "lines", **_QUIET}
        starts = {"mode": "text", "textposition": "top center", "cliponaxis": False}
        return [
            go.Heatmap(name="oldest task", showscale=False, hoverongaps=False),
            go.Scatter(name="pools", line={"color": "#ffffff", "width": 2}, **line),
            go.Scatter(name="first arrivals", line={"color": "#000000", "width": 1, "dash": "dot"}, **line),
            go.Scatter(name="starts", textfont={"size": 10, "color": style.INK}, **starts, **_QUIET),
            go.Scatter(name="followed, outside", line={"color": "#ffffff", "width": 4}, **line),
            go.Scatter(name="followed", line={"color": FOLLOWED, "width": 1.6}, **line),
            self.cursor(),
        ]

    def axes(self) -> dict:
        axes = super().axes()
        axes[f"xaxis{self.name}"] |= {"showticklabels": False, "showgrid": False}
        axes[f"yaxis{self.name}"] |= {"showgrid": False}
        return axes

    def show(self, history, looks):
        super().show(history, looks)
        pools, of_pool, _ = history.geometry
        heat, lines, firsts, starts, *_, cursor = self.drawn
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
        cursor.y = ends
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
        return [*areas, go.Scatter(name="labels", mode="text", textfont={"size": 11}, **_QUIET), self.cursor()]

    def axes(self) -> dict:
        axes = super().axes()
        axes[f"xaxis{self.name}"] |= {"title": {"text": "training step", "standoff": 4, "font": {"size": 11}}}
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
        self.drawn[-2].update(
            x=history.moments[[at for _, at, _ in labels]],
            y=[height for *_, height in labels],
            text=[f"<b>{task}</b>" for task, *_ in labels],
            textfont_color=[looks[task].ink for task, *_ in labels],
        )
        self.drawn[-1].y = (0, 1)


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

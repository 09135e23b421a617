"""Parts of a plotly figure that show a memory: what they have in common, and the clusters at a step.

A panel owns a pair of axes and some traces. ``show`` draws a history, ``move`` goes to a step of it; both change the
figure and are called inside its ``batch_update``. All speak of clusters by number, so that one can be followed.
"""

import numpy as np
import plotly.graph_objects as go
import torch

from tacl_lib.teaching.widgets import thumbnails
from tacl_lib.teaching.widgets.base import TaskLook, plain
from tacl_lib.teaching.widgets.history import MemoryHistory, MemoryState, cluster_texts, member_texts

NOW = "#d6006c"  #: the newcomer and the cursor: not a colour of any task
FOLLOWED = "#000000"  #: the cluster that was clicked
QUIET = {"hoverinfo": "skip", "showlegend": False}


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
            "text": f"<b>{plain(self.title)}</b>",
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
        # Points that cannot be seen answer the mouse in front of the image. As few as will do: the browser draws
        # each of them at every step.
        strips = {"mode": "markers", "marker": {"size": 24, "opacity": 0}, "hovertemplate": "%{text}<extra></extra>"}
        line = {"mode": "lines", **QUIET}
        small = {"size": 10, "color": "#666666"}
        return [
            go.Scatter(name="strips", **strips),
            go.Scatter(name="pools", mode="text", textposition="top center", textfont=small, **QUIET),
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

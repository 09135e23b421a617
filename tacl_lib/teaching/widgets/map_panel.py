"""Samples, cluster means and the newcomer on a plane: the first two principal components of the images."""

import numpy as np
import plotly.graph_objects as go
from PIL import Image, ImageDraw

from tacl_lib.teaching.widgets.base import TaskLook
from tacl_lib.teaching.widgets.history import MemoryHistory, MemoryState, member_texts
from tacl_lib.teaching.widgets.panels import FOLLOWED, NOW, Panel, colour_scale
from tacl_lib.teaching.widgets.thumbnails import as_uri

SCATTERED = 1500  #: samples of the stream that are shown faintly behind the memory
CLOUD = np.array([640, 384])  #: width and height of their image in pixels: about the shape of the panel


class MapPanel(Panel):
    """The map; a line goes from the newcomer to the nearest mean, and to its cluster where that is another one."""

    clickable = (0, 1)
    title_shift = 18

    def __init__(self, *place, image: int):
        super().__init__(*place)
        self.image_number = image

    def traces(self) -> list:
        quiet = {"hoverinfo": "skip"}
        over = {"hovertemplate": "%{text}<extra></extra>"}
        line = {"mode": "lines", **quiet}
        # Ends in a dot, where the mean was before the newcomer moved it.
        arrow = {"mode": "lines+markers", "marker": {"size": [0, 9], "color": NOW, "symbol": "circle"}, **quiet}
        means = {"symbol": "cross", "size": 8, "color": "#ffffff", "line": {"width": 1.2, "color": "#000000"}}
        return [
            go.Scatter(name="members", mode="markers", marker={"size": 8, "line": {"width": 0.5}}, **over),
            go.Scatter(name="means", mode="markers", marker=means, **over),
            go.Scatter(name="spokes", line={"color": FOLLOWED, "width": 1.2}, **line),
            go.Scatter(
                name="followed",
                mode="markers",
                marker={"symbol": "circle-open", "size": 15, "color": FOLLOWED, "line": {"width": 2.2}},
                **quiet,
            ),
            go.Scatter(name="to its cluster", line={"color": NOW, "width": 1.5, "dash": "dot"}, **arrow),
            go.Scatter(name="to the nearest mean", line={"color": NOW, "width": 2.5}, **arrow),
            go.Scatter(
                name="newcomer",
                mode="markers",
                marker={"symbol": "star", "size": 17, "line": {"width": 1.6, "color": "#ffffff"}, "color": NOW},
                **over,
            ),
        ]

    def axes(self) -> dict:
        axes = super().axes()
        bare = {"showticklabels": False, "showgrid": False, "showline": True, "mirror": True, "linecolor": "#bbbbbb"}
        axes[f"xaxis{self.name}"] |= bare
        axes[f"yaxis{self.name}"] |= bare
        return axes

    def show(self, history, looks):
        self.symbols, self.size = np.array([look.symbol for look in looks]), history.geometry.size
        self.drawn[0].marker.update(colorscale=colour_scale(looks), cmin=-0.5, cmax=len(looks) - 0.5)
        low, high = np.nanmin(history.places_on_map, 0), np.nanmax(history.places_on_map, 0)
        room = 0.06 * (high - low) + 1e-6
        low, high = low - room, high + room
        self.xaxis.range, self.yaxis.range = zip(low, high, strict=True)
        (x, y), (wide, tall) = low.tolist(), (high - low).tolist()
        cloud = as_uri(cloud_picture(history, looks, low, high))
        self.figure.layout.images[self.image_number].update(source=cloud, x=x, y=y + tall, sizex=wide, sizey=tall)

    def move(self, history, state, followed):
        members, means, spokes, ring, to_cluster, to_nearest, star = self.drawn
        seen = map_state(history, state, followed)
        members.x, members.y = seen["members"].T
        members.marker.color = state.task.ravel().astype(np.int32)
        members.marker.symbol = self.symbols[np.maximum(state.task.ravel(), 0)]
        members.text = member_texts(history, state)
        means.x, means.y = seen["means"].T
        means.text = [f"mean of cluster {cluster}" for cluster in range(history.clusters)]
        for trace, name in (
            (spokes, "spokes"),
            (ring, "ring"),
            (to_cluster, "to_cluster"),
            (to_nearest, "to_nearest"),
            (star, "newcomer"),
        ):
            trace.x, trace.y = seen[name].T
        star.text = ["" if state.arrival is None else f"newcomer of task {state.arrival.task}"]

    def cluster_at(self, trace, point, y):
        return point // self.size if trace == 0 else point


def cloud_picture(history: MemoryHistory, looks: list[TaskLook], low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Samples of all tasks as faint dots, uint8 ``[n, n, 4]``: one image, as points would be drawn at every step."""
    rows = np.random.default_rng(1).permutation(np.unique(history.log.row))[:SCATTERED]
    spots = (history.places_on_map[rows] - low) / (high - low) * CLOUD
    width, height = CLOUD.tolist()
    picture = Image.new("RGB", (width, height), "white")
    pen = ImageDraw.Draw(picture)
    for (x, y), task in zip(spots.tolist(), task_of_row(history)[rows], strict=True):
        pen.ellipse((x - 3, height - y - 3, x + 3, height - y + 3), fill=_faint(looks[task].colour))
    return np.asarray(picture.convert("RGBX"))


def _faint(colour: str) -> tuple[int, ...]:
    return tuple(255 - (255 - int(colour[i : i + 2], 16)) * 3 // 10 for i in (1, 3, 5))


def task_of_row(history: MemoryHistory) -> np.ndarray:
    """The true task of each sample that ever came: int64 ``[N]``."""
    tasks = np.zeros(len(history.images), np.int64)
    tasks[history.log.row] = history.log.task_in
    return tasks


def map_state(history: MemoryHistory, state: MemoryState, followed: int | None) -> dict[str, np.ndarray]:
    """What the map shows at a step, each as points ``[n, 2]``; NaN where there is nothing or a line is interrupted."""
    nothing = np.full((0, 2), np.nan, np.float32)
    spots = history.places_on_map
    held = state.row.ravel() >= 0
    members = np.where(held[:, None], spots[np.maximum(state.row.ravel(), 0)], np.nan)
    means = history.means_on_map(state.row)
    seen = {"members": members, "means": means}
    seen |= dict.fromkeys(("spokes", "ring", "to_cluster", "to_nearest", "newcomer"), nothing)
    if followed is not None:
        of_cluster = members.reshape(*state.row.shape, 2)[followed]
        pen_up = np.full_like(of_cluster, np.nan)
        centre = np.broadcast_to(means[followed], of_cluster.shape)
        seen["spokes"] = np.stack([centre, of_cluster, pen_up], axis=1).reshape(-1, 2)
        seen["ring"] = of_cluster
    came = state.arrival
    if came is None:
        return seen
    seen["newcomer"] = spots[came.row][None]
    # The means as they were when the newcomer came: it had not moved them yet.
    before = history.means_on_map(history.log.rows(came.step - 1))
    if came.nearest is not None:
        seen["to_nearest"] = np.stack([spots[came.row], before[came.nearest]])
    if came.nearest != came.cluster and not came.opened:
        seen["to_cluster"] = np.stack([spots[came.row], before[came.cluster]])
    return seen

"""OGD in space: a gradient, up to three stored ones, their span, what is free, and what is left."""

import ipywidgets
import numpy as np
import plotly.graph_objects as go

from tacl_lib.report.figures import style
from tacl_lib.report.figures.picture import Picture, finished, new_picture
from tacl_lib.teaching.widgets.base import Row, figure_widget
from tacl_lib.teaching.widgets.projection_agem import OWN, RESULT, SIDE, SIZE, WRAPPED, G, aligned, beside, in_words
from tacl_lib.teaching.widgets.projection_state import OgdState, ogd_state

STORED = "#b8500a"
SPAN, FREE = "#e9a46c", "#7fb2dd"
REMOVED = "#555555"
REACH = 2.0
VECTORS = ("g", "u1", "u2", "u3")

#: how many are stored, then angle and height in degrees of g, u1, u2, u3
EXAMPLES = {
    "one stored gradient": (1, (60, 40), (0, 0), (90, 0), (45, 60)),
    "two stored gradients": (2, (60, 40), (0, 0), (75, 0), (45, 60)),
    "three of them in one plane": (3, (60, 40), (0, 0), (75, 0), (130, 0)),
    "three that fill the space": (3, (60, 40), (0, 0), (75, 0), (45, 60)),
    "g in the span already": (2, (40, 0), (0, 0), (75, 0), (45, 60)),
}


class OgdSpace(Row):
    """Controls, figure and words. ``state`` is what they show."""

    def __init__(self, tell):
        """tell: shows a sentence to the user."""
        self._tell, self._quiet = tell, False
        count, *places = EXAMPLES["two stored gradients"]
        self.places = dict(zip(VECTORS, places, strict=True))  #: angle and height of each vector
        self.example = aligned(ipywidgets.Dropdown, "Example", options=[OWN, *EXAMPLES], value="two stored gradients")
        self.count = aligned(ipywidgets.IntSlider, "stored gradients", value=count, min=0, max=3)
        self.moved = aligned(ipywidgets.Dropdown, "turn", options=self._movable(count))
        self.angle = aligned(ipywidgets.IntSlider, "angle °", value=places[0][0], min=-180, max=180, step=5)
        self.height = aligned(ipywidgets.IntSlider, "height °", value=places[0][1], min=-90, max=90, step=5)
        self.look = aligned(ipywidgets.IntSlider, "look from °", value=-60, min=-180, max=180, step=5)
        self.words = ipywidgets.HTML(layout=ipywidgets.Layout(height="260px", width=f"{SIDE}px"))
        self.figure = _empty_figure()
        self._draw()
        self.example.observe(self._chosen, "value")
        self.count.observe(self._counted, "value")
        self.moved.observe(self._picked, "value")
        self.angle.observe(self._turned, "value")
        self.height.observe(self._turned, "value")
        self.look.observe(self._looked, "value")
        controls = [self.example, self.count, self.moved, self.angle, self.height, self.look]
        super().__init__(beside(self.figure, [*controls, self.words]), layout=WRAPPED)

    @property
    def state(self) -> OgdState:
        vectors = [1.5 * _direction(*self.places[name]) for name in VECTORS]
        return ogd_state(vectors[0], [u / 1.5 for u in vectors[1 : self.count.value + 1]])

    def _movable(self, count: int) -> list[str]:
        return list(VECTORS[: count + 1])

    def _chosen(self, change) -> None:
        if change.new == OWN or self._quiet:
            return
        count, *places = EXAMPLES[change.new]
        self.places = dict(zip(VECTORS, places, strict=True))
        self._show(count)

    def _counted(self, change) -> None:
        if not self._quiet:
            self._show(change.new, own=True)

    def _picked(self, _) -> None:
        if not self._quiet:
            self._show(self.count.value)

    def _turned(self, _) -> None:
        if not self._quiet:
            self.places[self.moved.value] = (self.angle.value, self.height.value)
            self._show(self.count.value, own=True)

    def _looked(self, change) -> None:
        self.figure.layout.scene.camera.eye = _eye(change.new)

    def _show(self, count: int, own: bool = False) -> None:
        """Bring the controls into line with the vectors, then draw once."""
        self._quiet = True
        try:
            self.count.value = count
            moved = self.moved.value if self.moved.value in self._movable(count) else "g"
            if tuple(self.moved.options) != tuple(self._movable(count)):
                self.moved.options = self._movable(count)
            self.moved.value = moved
            self.angle.value, self.height.value = self.places[moved]
            if own:
                self.example.value = OWN
        finally:
            self._quiet = False
        self._tell("")
        self._draw()

    def _draw(self) -> None:
        state = self.state
        self.words.value = in_words(_rows(state), state.sentence(), _KEY)
        with self.figure.batch_update():
            drawn = {trace.name: trace for trace in self.figure.data}
            for name, points in _lines(state).items():
                drawn[name].update(_points(points))
            free = _complement(state.basis)
            for name, basis in (("span", state.basis), ("free", free)):
                disc = _disc(basis) if len(basis) == 2 else []
                drawn[f"{name} plane"].update(**_points(disc), visible=len(basis) == 2)
                drawn[f"{name} line"].update(_points([-REACH * basis[0], REACH * basis[0]] if len(basis) == 1 else []))
                rim = (0.93 if name == "free" else -0.93) * REACH  # the span is named in front, what is free behind
                drawn[f"{name} name"].update(_points([rim * basis[-1]] if len(basis) in (1, 2) else []))

    def still(self) -> Picture:
        """The same state as a matplotlib figure."""
        state = self.state
        with style.applied():
            picture = new_picture(6, 6, title="OGD: what is left of g beside the stored gradients")
            ax = picture.add_subplot(projection="3d")
            ax.view_init(elev=22, azim=self.look.value)
            ax.set(xlim=(-1.5, 1.5), ylim=(-1.5, 1.5), zlim=(-1.5, 1.5))
            ax.set_box_aspect((1, 1, 1))
            for basis, colour in ((state.basis, SPAN), (_complement(state.basis), FREE)):
                if len(basis) == 2:
                    ax.plot_trisurf(
                        *np.transpose(_disc(basis)),
                        triangles=np.transpose(_FAN),
                        color=colour,
                        alpha=0.3,
                        linewidth=0,
                        antialiased=False,
                    )
                elif len(basis) == 1:
                    ax.plot(*np.transpose([-REACH * basis[0], REACH * basis[0]]), color=colour, lw=4, alpha=0.6)
            for name, points in _lines(state).items():
                if not points:
                    continue
                looks = {"removed": (REMOVED, ":", 2), "ĝ": (RESULT, "-", 5), "g": (G, "-", 2.5)}
                look = looks.get(name, (STORED, "-", 2.5))
                ax.plot(*np.transpose(points), color=look[0], linestyle=look[1], lw=look[2])
                if name != "removed":
                    ax.text(*(1.12 * np.array(points[-1])), name, color=look[0], size=13)
        return finished(picture, f"Arrows in space: g, {len(state.stored)} stored gradients and ĝ. {state.sentence()}")


_KEY = (
    "Thick black: ĝ. Dotted grey: the part of g that is taken away. Orange: the span of the stored gradients. "
    "Blue: what is at a right angle to it, where g may still move. Drag the figure to rotate it."
)
_CORNERS = 48
_FAN = ([0] * _CORNERS, list(range(1, _CORNERS + 1)), [*range(2, _CORNERS + 1), 1])


def _direction(angle: float, height: float) -> np.ndarray:
    around, up = np.radians(angle), np.radians(height)
    return np.array([np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up)])


def _lines(state: OgdState) -> dict[str, list]:
    """Every line by the name of its trace; an empty list where there is nothing to draw."""
    zero = np.zeros(3)
    lines = {"g": [zero, state.g], "ĝ": [zero, state.result] if state.kept > 1e-6 else []}
    lines["removed"] = [state.g, state.result] if state.removed.any() else []
    stored = list(state.stored)
    return lines | {name: [zero, stored.pop(0)] if stored else [] for name in VECTORS[1:]}


def _complement(basis: np.ndarray) -> np.ndarray:
    """An orthonormal basis of what is at a right angle to the span: ``[3 - r, 3]``."""
    return np.linalg.svd(basis, full_matrices=True)[2][len(basis) :] if len(basis) else np.eye(3)


def _disc(basis: np.ndarray) -> np.ndarray:
    turn = np.linspace(0, 2 * np.pi, _CORNERS, endpoint=False)
    rim = REACH * 0.85 * (np.cos(turn)[:, None] * basis[0] + np.sin(turn)[:, None] * basis[1])
    return np.vstack([np.zeros(3), rim])


def _points(points) -> dict[str, list[float]]:
    columns = np.reshape(np.asarray(points, float), (-1, 3)).T
    return dict(zip("xyz", columns.tolist(), strict=True))


def _eye(angle: float) -> dict[str, float]:
    around = np.radians(angle)
    return {"x": 1.25 * np.cos(around), "y": 1.25 * np.sin(around), "z": 0.65}


def _empty_figure() -> go.FigureWidget:
    quiet = {"hoverinfo": "skip"}
    i, j, k = _FAN
    traces = [
        trace
        for name, colour, opacity in (("span", SPAN, 0.34), ("free", FREE, 0.3))
        for trace in (
            go.Mesh3d(name=f"{name} plane", i=i, j=j, k=k, color=colour, opacity=opacity, flatshading=True, **quiet),
            go.Scatter3d(name=f"{name} line", mode="lines", line={"color": colour, "width": 9}, opacity=0.6, **quiet),
            go.Scatter3d(
                name=f"{name} name", mode="text", text=[name], textfont={"size": 14, "color": style.INK}, **quiet
            ),
        )
    ]
    traces += [_arrow("ĝ", RESULT, 11, "diamond"), _arrow("g", G, 6, "circle")]
    traces += [_arrow(name, STORED, 6, "square") for name in VECTORS[1:]]
    traces.append(
        go.Scatter3d(name="removed", mode="lines", line={"color": REMOVED, "width": 5, "dash": "dot"}, **quiet)
    )
    axis = {"range": [-REACH, REACH], "showticklabels": False, "title": "", "showspikes": False, "dtick": 1}
    axis |= {"showbackground": False, "gridcolor": "#ededed", "zerolinecolor": "#a0a0a0"}
    scene = {"xaxis": axis, "yaxis": axis, "zaxis": axis, "aspectmode": "cube", "dragmode": "turntable"}
    scene["camera"] = {"eye": _eye(-60), "center": {"x": 0, "y": 0, "z": 0}}
    margin = {"l": 0, "r": 0, "t": 0, "b": 0}
    figure = figure_widget(
        go.Figure(traces), height=SIZE, width=SIZE, autosize=False, margin=margin, scene=scene, hovermode=False
    )
    figure._config = figure._config | {"responsive": False}
    return figure


def _arrow(name: str, colour: str, width: int, symbol: str) -> go.Scatter3d:
    """A line from the origin with a mark and its name at the end."""
    return go.Scatter3d(
        name=name,
        mode="lines+markers+text",
        line={"color": colour, "width": width},
        marker={"color": colour, "size": [0, 5], "symbol": symbol, "opacity": 1, "line": {"width": 0}},
        text=["", f"<b>{name}</b>"],
        textposition="top center",
        textfont={"size": 17, "color": colour},
        hoverinfo="skip",
    )


def _rows(state: OgdState) -> list[tuple[str, str]]:
    before, after = (
        ", ".join(f"{value:+.2f}" for value in values) or "–"
        for values in (state.products, state.result_products + 0.0)
    )
    return [
        ("g · u, of each stored u", before),
        ("ĝ · u", f"{after.replace('-0.00', '+0.00')}"),
        ("dimensions of the span", f"<b>{state.rank}</b>, free: <b>{len(state.g) - state.rank}</b>"),
        ("length of g that is left", f"<b>{state.kept:.0%}</b>"),
    ]

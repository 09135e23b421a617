"""A-GEM in the plane: two arrows that can be dragged, and what A-GEM makes of them."""

import ipywidgets
import numpy as np
import plotly.graph_objects as go

from tacl_lib.report.figures import style
from tacl_lib.report.figures.picture import Picture, finished, new_picture
from tacl_lib.teaching.widgets.base import INK, Row, Stage, figure_widget, labelled
from tacl_lib.teaching.widgets.projection_state import AgemState, agem_state

LONGEST = 2.0
REACH = 2.35  #: of the axes
SIZE = 460  #: pixels
G, G_REF, RESULT = "#004c94", "#b8500a", style.INK
OWN = "your own"
STEP = 0.05  #: of a length
SIDE = 350  #: pixels of the controls beside the figure

#: angle and length of g, then of g_ref
EXAMPLES = {
    "a conflict": (140, 1.5, 20, 1.2),
    "no conflict": (70, 1.5, 20, 1.2),
    "a right angle": (110, 1.5, 20, 1.2),
    "opposite": (200, 1.5, 20, 1.2),
    "almost forgotten: a tiny g_ref": (140, 1.5, 20, 0.1),
}


class AgemPlane(Row):
    """Controls, figure and words. ``state`` is what they show."""

    def __init__(self, tell):
        """tell: shows a sentence to the user."""
        self._tell, self._quiet = tell, False
        start = EXAMPLES["a conflict"]
        self.example = aligned(ipywidgets.Dropdown, "Example", options=[OWN, *EXAMPLES], value="a conflict")
        self.angles, self.lengths = {}, {}
        for name, (angle, length) in {"g": start[:2], "g_ref": start[2:]}.items():
            self.angles[name] = aligned(ipywidgets.IntSlider, f"{name}: angle °", value=angle, min=0, max=359)
            self.lengths[name] = aligned(
                ipywidgets.FloatSlider, f"{name}: length", value=length, min=0, max=LONGEST, step=STEP
            )
        self.words = ipywidgets.HTML(layout=ipywidgets.Layout(height="292px", width=f"{SIDE}px"))
        self.figure = _empty_figure()
        self._draw()
        self.example.observe(self._chosen, "value")
        sliders = [slider for name in self.angles for slider in (self.angles[name], self.lengths[name])]
        for slider in sliders:
            slider.observe(self._slid, "value")
        self.figure.layout.on_change(self._dragged, "annotations")
        super().__init__(beside(self.figure, [self.example, *sliders, self.words]), layout=WRAPPED)

    @property
    def state(self) -> AgemState:
        return agem_state(self._vector("g"), self._vector("g_ref"))

    def _vector(self, name: str) -> np.ndarray:
        angle = np.radians(self.angles[name].value)
        return self.lengths[name].value * np.array([np.cos(angle), np.sin(angle)])

    def _chosen(self, change) -> None:
        if change.new != OWN and not self._quiet:
            values = EXAMPLES[change.new]
            self._set({"g": values[:2], "g_ref": values[2:]}, change.new)
            self._tell("")

    def _slid(self, _) -> None:
        if not self._quiet:
            self._set({})
            self._tell("")

    def _dragged(self, _, annotations) -> None:
        """The user has moved an end: ``ax`` and ``ay`` of its annotation are where it is now."""
        if self._quiet:
            return
        polar, too_long = {}, False
        for name, mark in zip(self.angles, annotations, strict=True):
            length = float(np.hypot(mark.ax, mark.ay))
            angle = round(np.degrees(np.arctan2(mark.ay, mark.ax))) % 360 if length else self.angles[name].value
            too_long |= length > LONGEST + STEP / 2
            polar[name] = (angle, min(length, LONGEST))
        self._set(polar)
        self._tell(f"An arrow is at most {LONGEST:g} long: it was shortened." if too_long else "", too_long)

    def _set(self, polar: dict[str, tuple[float, float]], example: str = OWN) -> None:
        """Bring the controls into line with new ends of the arrows, then draw once."""
        self._quiet = True
        try:
            self.example.value = example
            for name, (angle, length) in polar.items():
                self.angles[name].value = int(angle)
                self.lengths[name].value = round(length / STEP) * STEP
        finally:
            self._quiet = False
        self._draw()

    def _draw(self) -> None:
        state = self.state
        self.words.value = in_words(_rows(state), state.sentence(), _KEY)
        self._quiet = True
        try:
            with self.figure.batch_update():
                drawn = {trace.name: trace for trace in self.figure.data}
                drawn["conflict"].update(_points(_half_plane(state.g_ref)))
                drawn["removed"].update(_points([state.g, state.result] if state.projects else []))
                drawn["result"].update(_points([[0, 0], state.result] if state.result.any() else []))
                drawn["g̃"].update(_points([_beside(state)] if state.result.any() else []))
                for mark, end in zip(self.figure.layout.annotations, (state.g, state.g_ref), strict=True):
                    mark.update(ax=end[0], ay=end[1])
        finally:
            self._quiet = False

    def still(self) -> Picture:
        """The same state as a matplotlib figure."""
        state = self.state
        with style.applied():
            picture = new_picture(6, 6, title="A-GEM: the gradient g and the memory's gradient g_ref")
            ax = picture.subplots()
            ax.set(xlim=(-REACH, REACH), ylim=(-REACH, REACH), aspect="equal")
            ax.axhline(0, color=style.GROUND, zorder=0)
            ax.axvline(0, color=style.GROUND, zorder=0)
            if state.g_ref.any():
                ax.fill(*np.transpose(_half_plane(state.g_ref)), facecolor="#f6ece4", edgecolor="#d9b79f", hatch="//")
            for name, end, colour, width in (
                ("g̃", state.result, RESULT, 5),
                ("g", state.g, G, 2.4),
                ("g_ref", state.g_ref, G_REF, 2.4),
            ):
                ax.annotate("", end, (0, 0), arrowprops={"arrowstyle": "-|>", "lw": width, "color": colour})
                ax.annotate(name, end, (0, 10), textcoords="offset points", color=colour, size=13, ha="center")
            ax.plot(*np.transpose([state.g, state.result]), ":", color=style.FAINT, lw=2)
        return finished(picture, _alt(state))


def _empty_figure() -> go.FigureWidget:
    line = {"mode": "lines", "hoverinfo": "skip"}
    pattern = {"shape": "/", "fgcolor": "#d9b79f", "bgcolor": "#fbf4ee", "size": 9, "solidity": 0.15}
    axis = {"range": [-REACH, REACH], "showticklabels": False, "fixedrange": True, "zeroline": True, "showgrid": True}
    figure = figure_widget(
        go.Figure(
            [
                go.Scatter(name="conflict", fill="toself", fillpattern=pattern, line_width=0, **line),
                go.Scatter(name="removed", line={"color": style.FAINT, "width": 3, "dash": "2px,4px"}, **line),
                go.Scatter(
                    name="result",
                    mode="lines+markers",
                    hoverinfo="skip",
                    line={"color": RESULT, "width": 7},
                    marker={"symbol": "arrow", "size": 22, "angleref": "previous", "color": RESULT},
                ),
                go.Scatter(
                    name="g̃", mode="text", text=["<b>g̃</b>"], textfont={"size": 17, "color": RESULT}, hoverinfo="skip"
                ),
            ]
        ),
        height=SIZE,
        width=SIZE,
        autosize=False,
        margin={"l": 6, "r": 6, "t": 6, "b": 6},
        xaxis=axis | {"zerolinecolor": "#9a9a9a", "dtick": 1},
        yaxis=axis | {"zerolinecolor": "#9a9a9a", "dtick": 1},
        annotations=[_arrow("g", G), _arrow("g<sub>ref</sub>", G_REF)],
    )
    # The far end of an annotation's arrow, and its text there, can be dragged.
    figure._config = figure._config | {"edits": {"annotationTail": True}, "responsive": False}
    return figure


def _arrow(name: str, colour: str) -> dict:
    """An arrow from the origin whose head is at its movable end, beside the name."""
    return {
        "text": f"<b>{name}</b>",
        "font": {"size": 17, "color": colour},
        "bgcolor": "rgba(255,255,255,0.92)",
        "bordercolor": colour,
        "borderwidth": 1.5,
        "borderpad": 4,
        "x": 0,
        "y": 0,
        "xref": "x",
        "yref": "y",
        "axref": "x",
        "ayref": "y",
        "showarrow": True,
        "arrowside": "start",
        "startarrowhead": 2,
        "startarrowsize": 1.1,
        "arrowwidth": 3.2,
        "arrowcolor": colour,
    }


def _half_plane(g_ref: np.ndarray) -> list[np.ndarray]:
    """Where g · g_ref < 0, as far as the axes reach; nothing where g_ref is zero."""
    if not g_ref.any():
        return []
    along = g_ref / np.linalg.norm(g_ref) * 2 * REACH
    across = np.array([-along[1], along[0]])
    return [across, across - along, -across - along, -across, across]


def _points(ends: list) -> dict[str, list[float]]:
    return {"x": [float(end[0]) for end in ends], "y": [float(end[1]) for end in ends]}


def _beside(state: AgemState) -> np.ndarray:
    """Where the name of g̃ is written: beside the arrow, on the side away from g."""
    x, y = state.result / np.linalg.norm(state.result)
    side = np.array([-y, x]) * (-1 if x * state.g[1] - y * state.g[0] > 1e-9 else 1)
    return state.result * 0.62 + side * 0.2


def _degrees(angle: float | None) -> str:
    return "–" if angle is None else f"{angle:.0f}°"


_KEY = (
    "Thick black: g̃. Dotted: what was taken away. Hatched: a g that ends here is in conflict with the memory. "
    "Drag a name in the figure, or use the sliders."
)


def _rows(state: AgemState) -> list[tuple[str, str]]:
    end = ", ".join(f"{value:.2f}" for value in state.result + 0.0)
    return [
        ("g · g_ref", f"<b>{state.product:+.2f}</b>, {'projected' if state.projects else 'not projected'}"),
        ("g̃, used for the step", f"<b>({end})</b>"),
        ("angle of g and g_ref", f"{_degrees(state.angle)}; of g̃ and g_ref {_degrees(state.result_angle)}"),
        ("length of g that is left", f"<b>{state.kept:.0%}</b>"),
    ]


def _alt(state: AgemState) -> str:
    g, g_ref, result = (f"({v[0]:.2f}, {v[1]:.2f})" for v in (state.g, state.g_ref, state.result))
    return (
        f"Arrows in a plane: g {g}, g_ref {g_ref}; their product is {state.product:.2f}, and A-GEM uses {result}. "
        + (state.sentence())
    )


# What the plane and the space (projection_ogd) have in common.

WRAPPED = ipywidgets.Layout(flex_flow="row wrap", overflow="hidden")


def aligned(kind: type[ipywidgets.Widget], label: str, **settings) -> ipywidgets.Widget:
    """A control in the column beside the figure; all labels are equally wide."""
    control = labelled(kind, label, f"{SIDE - 10}px", **settings)
    control.style.description_width = "110px"
    return control


def beside(figure: go.FigureWidget, controls: list[ipywidgets.Widget]) -> list[ipywidgets.Widget]:
    """A figure of fixed size, and a column of controls and words."""
    fixed = ipywidgets.Layout(width=f"{SIZE}px", height=f"{SIZE}px", margin="0 12px 0 0", overflow="hidden")
    column = ipywidgets.Layout(width=f"{SIDE + 8}px", overflow="hidden")
    return [Stage([figure], layout=fixed), ipywidgets.VBox(controls, layout=column)]


def in_words(rows: list[tuple[str, str]], sentence: str, key: str) -> str:
    """The numbers, what they mean, and how to read the figure."""
    cell = '<td style="padding:1px 10px 1px 0;white-space:nowrap">'
    body = "".join(f"<tr>{cell}{name}</td>{cell}{value}</td></tr>" for name, value in rows)
    text = (
        f'<div style="line-height:1.4;font-size:13px;color:{INK}"><table style="border-spacing:0">{body}</table>'
        f'<p style="margin:6px 0 0;font-size:14px;font-weight:600">{sentence}</p>'
        f'<p style="margin:6px 0 0">{key}</p></div>'
    )
    return text.replace("g_ref", "g<sub style='line-height:0'>ref</sub>")

"""What all widgets share: the message line, the still image, labelled controls, and how a task looks.

A widget is a `View`: controls and one figure over pure ``state(...)`` functions that live in modules of their own. A
view never computes what it shows.
"""

import base64
import html
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import anywidget
import ipywidgets
import plotly.graph_objects as go
from plotly.basedatatypes import Undefined

from tacl_lib.errors import TaclError
from tacl_lib.report.figures import style
from tacl_lib.report.figures.picture import Picture
from tacl_lib.teaching.widgets.light_figure import LightFigure

WIDTH = 1160  #: pixels that a view takes at most; JupyterLab leaves about 900 to 1,160 of 1,280
HEIGHT = 670  #: … of the 800 pixels of a small laptop's screen that JupyterLab leaves to a cell
STILL_DPI = 80  #: a still image 11 inches wide is 880 pixels wide and some 100 kB large
FONT = '"DejaVu Sans", "Segoe UI", "Helvetica Neue", Arial, sans-serif'

# Words around the figures have the colours of JupyterLab's theme, light or dark; elsewhere those of the page.
INK = "var(--jp-ui-font-color1, inherit)"
WARNING = "var(--jp-error-color1, #b3261e)"
RULE = "var(--jp-border-color2, #bdbdbd)"
PAPER = "#ffffff"  #: of figures: light cards in either theme, as their colours were chosen, and checked, on white
_STYLE = (
    "<style>.tacl-view .js-plotly-plot {border-radius: 6px; overflow: hidden}"
    ".tacl-view .jupyter-widget-Collapse-header {color: var(--jp-ui-font-color0, inherit)}</style>"
)


class Late:
    """A widget that the browser hears of only when it is shown or put into something that is.

    Plotly's figures load slowly there, and what is sent meanwhile may come too late for the first drawing; opened
    late, a figure arrives complete.
    """

    _asked_to_open = False

    def ask_to_open(self) -> None:
        self._asked_to_open = True
        self.open()

    def open(self) -> None:
        if self._asked_to_open and self.comm is None:
            super().open()

    @property
    def model_id(self) -> str:
        """Asked for by whatever this is put into."""
        self.ask_to_open()
        return super().model_id

    def _repr_mimebundle_(self, **kwargs):
        self.ask_to_open()
        return super()._repr_mimebundle_(**kwargs)


class Row(Late, ipywidgets.HBox):
    """Widgets side by side. A plain box would have its figures opened at once."""


class Stage(Late, ipywidgets.VBox):
    """Widgets below each other."""


class Pictured:
    """A widget with a still image of its state, which stands in for it where no front end can show it: nbconvert,
    papermill, a plain viewer.
    """

    def still(self) -> Picture:
        """The present state as a matplotlib figure with its alternative text."""
        raise NotImplementedError

    def _repr_mimebundle_(self, **kwargs):
        picture, buffer = self.still(), io.BytesIO()
        with style.applied():
            picture.savefig(buffer, format="png", dpi=STILL_DPI)
        shown = super()._repr_mimebundle_(**kwargs)
        data = shown[0] if isinstance(shown, tuple) else shown or {}
        image = base64.b64encode(buffer.getvalue()).decode()
        return data | {"image/png": image, "text/plain": picture.alt}, {"image/png": {"alt": picture.alt}}


class View(Pictured, Late, ipywidgets.VBox):
    """A widget of the kit: what it is, its controls and figures, a message line."""

    def __init__(self, title: str, children: Sequence[ipywidgets.Widget], message_first: bool = False):
        self.heading = ipywidgets.HTML(_STYLE + _heading(title), layout=ipywidgets.Layout(height="26px", margin="0"))
        self.message = caption()
        self.tell("")
        parts = [self.message, *children] if message_first else [*children, self.message]
        # Nothing of a view may change its height, or the page jumps while it plays.
        layout = ipywidgets.Layout(width="100%", max_width=f"{WIDTH}px", overflow="hidden")
        super().__init__([self.heading, *parts, Fitting()], layout=layout)
        self.add_class("tacl-view")

    def tell(self, sentence: str, wrong: bool = False) -> None:
        """Show one sentence; wrong: in the colour of warnings, with a sign."""
        self.said = sentence
        first, *more = sentence.splitlines() or [""]
        if more:  # e.g. a list of all sources that were tried: it is one hover away
            first = f"{first.rstrip(':')}. {more[-1].strip()}"
        self.message.value = (
            f'<div role="status" aria-live="polite" title="{html.escape(sentence)}" '
            f'style="{_LINES};color:{WARNING if wrong else INK}">{"⚠ " if wrong else ""}{html.escape(first)}</div>'
        )

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """A TaclError raised inside becomes the message; the view stays as it was and can be used on."""
        try:
            yield
        except TaclError as error:
            self.tell(str(error), wrong=True)
        else:
            if self.message.value.count("⚠"):
                self.tell("")


def figure_widget(figure: go.Figure | None = None, height: int = 400, **layout) -> go.FigureWidget:
    """A plotly figure for a view, as wide as there is room; change it inside ``with fig.batch_update():`` only."""
    widget = Figure(figure)
    widget.update_layout(
        template="plotly_white",
        paper_bgcolor=PAPER,
        height=height,
        autosize=True,
        margin={"l": 50, "r": 16, "t": 40, "b": 40},
        font={"family": FONT, "size": 12, "color": style.INK},
        hoverlabel={"font": {"family": FONT, "size": 12, "color": style.INK}, "bgcolor": "#ffffff"},
        hovermode="closest",
        dragmode=False,
        showlegend=False,
        uirevision="kept",  # an update does not undo what the user has zoomed to
    )
    widget.update_layout(**layout)
    widget._config = {"displayModeBar": False, "responsive": True, "scrollZoom": False}
    widget.bind_state()
    return widget


class Figure(Late, LightFigure):
    """A plotly figure whose later views in the browser show what its first one shows."""

    def bind_state(self) -> None:
        """A new view (shown again, page reloaded) starts from these two, which plotly fills only once, when the figure
        is made. Bound to the living dictionaries they are never out of date.
        """
        self._widget_data, self._widget_layout = self._data, self._layout

    def _send_update_msg(self, restyle_data, relayout_data, trace_indexes=None, source_view_id=None):
        # A batch names each attribute for all its traces, and says "undefined" for those that keep theirs. Views leave
        # these alone, but the model, from which the next view is made, loses them: so say what they have.
        for name, values in restyle_data.items():
            for number, value in enumerate(values):
                if value is Undefined:
                    values[number] = _within(self._data[trace_indexes[number]], name)
        super()._send_update_msg(restyle_data, relayout_data, trace_indexes, source_view_id)


def _within(properties: dict, name: str) -> object:
    """The value of e.g. ``"marker.color"``, or `Undefined`."""
    value = properties
    for key in name.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return Undefined if value is None else value


class Fitting(anywidget.AnyWidget):
    """Nothing to see: it has figures fit the width of the notebook when that changes, and tells sliders their names.

    Plotly asks for the width before a figure is on the page, and then only when the window changes, not the side bar.
    The handles of ipywidgets' sliders have no name that a screen reader could say.
    """

    _esm = """
    export default { render({ el }) {
        el.style.height = "0";
        let waiting = 0;
        const name_sliders = () => {
            for (const handle of document.querySelectorAll(".tacl-view .noUi-handle:not([aria-label])")) {
                const label = handle.closest(".widget-slider")?.querySelector(".widget-label");
                if (label?.textContent) handle.setAttribute("aria-label", label.textContent);
            }
        };
        const resized = new ResizeObserver(() => {
            cancelAnimationFrame(waiting);
            waiting = requestAnimationFrame(() => window.dispatchEvent(new Event("resize")));
            name_sliders();
            const view = el.closest(".tacl-view");
            if (view) added.observe(view, { childList: true, subtree: true });
        });
        const added = new MutationObserver(name_sliders);  // another room of the playground
        resized.observe(el);
        return () => { resized.disconnect(); added.disconnect(); };
    } };
    """


_LABELLED = {"description_width": "initial"}


def labelled(kind: type[ipywidgets.Widget], label: str, width: str = "auto", tooltip: str = "", **settings):
    """A control with its label beside it, e.g. ``labelled(ipywidgets.Dropdown, "Dataset", options=…)``."""
    layout = ipywidgets.Layout(width=width, margin="2px 10px 2px 0")
    return kind(description=label, tooltip=tooltip or label, style=_LABELLED, layout=layout, **settings)


def button(label: str, icon: str = "", tooltip: str = "", width: str = "auto", **settings) -> ipywidgets.Button:
    """A button that says what it does; ``icon`` is a name of Font Awesome 5."""
    layout = ipywidgets.Layout(width=width, margin="2px 6px 2px 0")
    return ipywidgets.Button(description=label, icon=icon, tooltip=tooltip or label, layout=layout, **settings)


def row(*controls: ipywidgets.Widget, **layout) -> Row:
    """Controls side by side, on a second line where there is no room."""
    layout = {"flex_flow": "row wrap", "align_items": "center", "overflow": "hidden"} | layout
    return Row(controls, layout=ipywidgets.Layout(**layout))


#: Long sentences are wrapped, never cut: what has no room can be scrolled to.
_LINES = "line-height:20px;font-size:13px;overflow-wrap:anywhere"


def caption(lines: int = 1, **layout) -> ipywidgets.HTML:
    """An empty place of fixed height for what a figure shows, in words; see `show_text`."""
    return ipywidgets.HTML(
        layout=ipywidgets.Layout(height=f"{20 * lines + 4}px", margin="0", overflow="auto", **layout)
    )


def show_text(line: ipywidgets.HTML, text: str) -> None:
    """Write plain text into a caption."""
    line.value = f'<div style="{_LINES};color:{INK}">{html.escape(text)}</div>'


def plain(text: str) -> str:
    """Text from a name or a file for plotly, which reads ``<b>`` as bold and ``%{…}`` as a value."""
    return html.escape(text, quote=False).replace("%{", "&#37;{")


@dataclass(frozen=True)
class TaskLook:
    """A task is known by its colour, and without colour by its number, symbol and pattern."""

    task: int
    name: str  #: e.g. ``"task 3"``
    colour: str
    ink: str  #: of letters on the colour
    symbol: str  #: of plotly
    marker: str  #: of matplotlib, the same shape
    pattern: str  #: of plotly's fills, and as often as it stands here a hatch of matplotlib


_SHAPES = (
    ("circle", "o"),
    ("square", "s"),
    ("diamond", "D"),
    ("triangle-up", "^"),
    ("triangle-down", "v"),
    ("cross", "P"),
    ("x", "X"),
    ("star", "*"),
    ("hexagon", "h"),
    ("pentagon", "p"),
)
_PATTERNS = ("", "/", ".", "\\", "x", "-", "|", "+", "/", ".")


def task_looks(count: int) -> list[TaskLook]:
    """How the tasks 0 … count - 1 look, from dark (the oldest) to light."""
    looks = []
    for task, colour in enumerate(style.task_colours(count)):
        red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
        ink = "#ffffff" if 0.299 * red + 0.587 * green + 0.114 * blue < 140 else "#000000"
        looks.append(TaskLook(task, f"task {task}", colour, ink, *_SHAPES[task], _PATTERNS[task]))
    return looks


def _heading(title: str) -> str:
    return f'<div style="font-weight:600;font-size:15px;line-height:24px;color:{INK}">{html.escape(title)}</div>'

"""Plotly figures that share one copy of plotly's code in the browser.

A FigureWidget brings the whole library, 5 MB each time, and the browser reads it again for each figure. Where that
takes more than two seconds, on a slow or busy machine, anywidget gives up on the figure: it is drawn, but never hears
of its kernel again. Here the code is sent once, and a figure that waits for it loses nothing.
"""

from functools import cache
from pathlib import Path

import anywidget
import plotly
import plotly.graph_objects as go
import traitlets

# A promise in the page, by version: the first figure makes it, the library fulfils it.
_SHARED = """
const shared = ((window.taclPlotly ??= {})["VERSION"] ??= (() => {
    const waiting = {};
    waiting.loaded = new Promise((resolve, reject) => Object.assign(waiting, { resolve, reject }));
    return waiting;
})());
""".replace("VERSION", plotly.__version__)

_LIBRARY = """
export default { initialize({ model }) {
    const code = new Blob([model.get("code")], { type: "text/javascript" });
    import(URL.createObjectURL(code)).then(shared.resolve, shared.reject);
} };
"""

_FIGURE = """
const MESSAGES = ["addTraces", "deleteTraces", "moveTraces", "restyle", "relayout", "update"];

const fresh = model => new Promise(resolve => {
    const heard = content => { if (content === "fresh") { model.off("msg:custom", heard); resolve(); } };
    model.on("msg:custom", heard);
    model.send("fresh");
});

// Where each output is a page of its own (Colab), the library was shown to another one: the kernel sends it here too.
const PATIENCE = 4000;
const library_for = model => {
    const heard = (content, buffers) => {
        if (content !== "library") return;
        const code = new Blob([buffers[0]], { type: "text/javascript" });
        import(URL.createObjectURL(code)).then(shared.resolve, shared.reject);
    };
    model.on("msg:custom", heard);
    const late = setTimeout(() => {
        if (!shared.asked) { shared.asked = true; model.send("library"); }
    }, PATIENCE);
    return shared.loaded.finally(() => { clearTimeout(late); model.off("msg:custom", heard); });
};

export default () => {
    let figure = null, missed = false;
    const miss = () => { missed = true; };
    return {
        initialize({ model }) {
            for (const name of MESSAGES) model.on(`change:_py2js_${name}`, miss);
        },
        async render({ model, el, ...others }) {
            const library = await library_for(model);
            while (missed && !figure) {  // the kernel went on while the library was loading
                missed = false;
                await fresh(model);
            }
            if (!figure) {
                for (const name of MESSAGES) model.off(`change:_py2js_${name}`, miss);
                figure = library.default();
                await figure.initialize({ model, ...others });
            }
            return figure.render({ model, el, ...others });
        },
    };
};
"""


class PlotlyLibrary(anywidget.AnyWidget):
    """The code of plotly's figures, for all of them; it has no view."""

    _esm = _SHARED + _LIBRARY
    code = traitlets.Unicode().tag(sync=True)


class LightFigure(go.FigureWidget):
    """A FigureWidget that takes plotly's code from the `PlotlyLibrary` of its kernel."""

    _esm = _SHARED + _FIGURE

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.on_msg(self._asked)

    def open(self) -> None:
        _library()
        super().open()

    def _asked(self, _, content: object, buffers: list) -> None:
        """The browser has missed something and asks for the whole."""
        if content == "fresh":
            self.send_state(["_widget_data", "_widget_layout"])
            self.send("fresh")
        elif content == "library":
            self.send("library", buffers=[_code().encode()])


@cache
def _code() -> str:
    return (Path(plotly.__file__).parent / "package_data" / "widgetbundle.js").read_text(encoding="utf-8")


@cache
def _library() -> PlotlyLibrary:
    return PlotlyLibrary(code=_code())

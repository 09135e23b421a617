"""The loss landscape of two tasks: move the start, change the order, and see who leaves the old valley."""

from collections.abc import Sequence
from pathlib import Path

import anywidget
import traitlets

from tacl_lib.errors import unknown_name
from tacl_lib.report.figures import style
from tacl_lib.report.figures.picture import Picture, finished, new_picture
from tacl_lib.teaching.widgets.base import Pictured
from tacl_lib.teaching.widgets.landscape_state import EDGE, METHODS, ORDERS, START, Scene, level_lines, scene

COLOURS = {"sgd": "#c79200", "agem": "#2b8a3e", "ogd": "#1c6fb5"}  #: as in the lessons' curves


class Landscape(Pictured, anywidget.AnyWidget):
    """Drawn in the browser; every walk is computed here, with the projections of the lessons."""

    _esm = (Path(__file__).parent / "landscape.js").read_text(encoding="utf-8")
    start = traitlets.List(traitlets.Float(), list(START)).tag(sync=True)
    order = traitlets.Unicode(ORDERS[0]).tag(sync=True)
    _methods = traitlets.List(traitlets.Unicode()).tag(sync=True)
    _fixed = traitlets.Dict().tag(sync=True)
    _scene = traitlets.Dict().tag(sync=True)

    def __init__(self, methods: Sequence[str]):
        super().__init__(_methods=list(methods), _fixed=_fixed_parts())
        self._redraw()
        self.observe(self._redraw, ["start", "order"])

    @property
    def scene(self) -> Scene:
        return scene(self.start, self.order, self._methods)

    def _redraw(self, _=None) -> None:
        found = self.scene
        self._scene = {
            "old": found.old,
            "new": found.new,
            "learned": found.learned.round(3).tolist(),
            "walks": {
                name: {"points": walk.points.round(3).tolist(), "loss": walk.old_loss.round(4).tolist()}
                for name, walk in found.walks.items()
            },
            "sentence": found.sentence,
        }

    def still(self) -> Picture:
        found = self.scene
        with style.applied():
            picture = new_picture(10, 4, title="Two weights, two tasks")
            left, right = picture.subplots(1, 2, width_ratios=(1.3, 1))
            for task, dash in ((found.old, "-"), (found.new, ":")):
                for number, line in enumerate(level_lines(task)):
                    left.plot(*zip(*line, strict=True), dash, color="#777777", lw=2.2 if number == 0 else 0.5)
            left.plot(*found.learned.T, color=style.INK, lw=1, label=f"task {found.old}, SGD")
            for name, walk in found.walks.items():
                left.plot(*walk.points.T, color=COLOURS[name], lw=2.2, label=METHODS[name])
                right.plot(walk.old_loss, color=COLOURS[name], lw=2.2)
            left.set(xlim=(-EDGE, EDGE), ylim=(-EDGE, EDGE), xlabel="$w_1$", ylabel="$w_2$")
            left.legend(loc="upper right")
            right.set(xlabel=f"Steps on task {found.new}", ylabel=f"Loss of task {found.old}", ylim=(0, None))
        return finished(picture, found.sentence)


def _fixed_parts() -> dict:
    return {
        "edge": EDGE,
        "orders": list(ORDERS),
        "lines": {task: level_lines(task) for task in ("A", "B")},
        "names": METHODS,
        "colours": COLOURS,
        "home": list(START),
    }


def loss_landscape(methods: Sequence[str] = ("sgd", "agem", "ogd")) -> Landscape:
    """Two tasks of a network with two weights, learned one after the other; methods: some of sgd, agem, ogd."""
    for method in methods:
        if method not in METHODS:
            raise unknown_name("method", method, METHODS)
    return Landscape(methods)

"""The scheduler lab: bend a loss curve, and see the learning rate that the paper's scheduler answers with."""

from dataclasses import replace

import ipywidgets
import numpy as np

from tacl_lib.report.figures.picture import Picture
from tacl_lib.teaching.widgets.base import INK, Stage, View, button, caption, labelled, row, show_text
from tacl_lib.teaching.widgets.scheduler_figure import draw, empty_figure, still
from tacl_lib.teaching.widgets.scheduler_state import STEPS, Constants, Curve, answer

OWN = "your own"
HIGHEST = 3.0  #: of a point of the curve
STEP = 0.05  #: of a point
POINTS = 7
PLACES = np.linspace(0, STEPS - 1, POINTS).round().astype(int)
SIDE = 350  #: pixels of the controls beside the figure
VISIBLE = 0.97  #: a factor with which something happens in a few hundred steps

CURVES = {
    "learn, then a plateau": Curve((2.2, 0.7, 0.3, 0.25, 0.25, 0.25, 0.25), noise=0.02),
    "a new task: the loss jumps": Curve((2.2, 0.6, 0.25, 0.2, 0.2, 0.2, 0.2), 210, 2.0, 60, 0.02),
    "a spike of four steps": Curve((2.2, 0.6, 0.25, 0.2, 0.2, 0.2, 0.2), 210, 2.0, 5, 0.02),
    "noise only": Curve((0.6,) * POINTS, noise=0.3),
    "a small jump: never noticed": Curve((2.2, 0.6, 0.25, 0.2, 0.2, 0.2, 0.2), 210, 0.8, 60, 0.02),
    "a steady fall": Curve(tuple(np.linspace(3.0, 0.3, POINTS).round(2))),
}
START = "a new task: the loss jumps"


class SchedulerLab(View):
    """``curve`` and ``constants`` are what the controls say; ``answer`` is what the scheduler made of them."""

    def __init__(self):
        self._quiet = False
        self._make_controls()
        self.figure = empty_figure(len(PLACES))
        self.figure.layout.on_change(self._dragged, "annotations")
        self.figure.data[0].on_click(self._clicked)
        self.words, self.summary = caption(2), caption(2)
        self._answer()
        curve = [_group("The loss"), self.example, self.change_at, self.jump, self.lasts, self.noise]
        scheduler = [_group("The scheduler"), self.factor, self.patience, self.threshold, self.reset, self.paper]
        side = ipywidgets.VBox([*curve, *scheduler], layout=ipywidgets.Layout(width=f"{SIDE}px", flex="none"))
        stage = Stage([self.figure], layout=ipywidgets.Layout(flex="1 1 500px", overflow="hidden"))
        super().__init__(
            "Scheduler lab: bend the loss, and see the learning rate that follows",
            [row(side, stage, align_items="flex-start"), self.step, self.words, self.summary, self._keyboard()],
        )

    def _keyboard(self) -> ipywidgets.Widget:
        """The points of the curve as sliders, for use without a mouse; folded."""
        bend = ipywidgets.HTML(f"{_UPRIGHT}Loss at step", layout=ipywidgets.Layout(width="95px"))
        upright = ipywidgets.HBox([bend, *self.points], layout=ipywidgets.Layout(height="152px", overflow="visible"))
        upright.add_class("tacl-upright")
        return ipywidgets.Accordion([upright], titles=("Bend the curve with sliders",), selected_index=None)

    def _make_controls(self) -> None:
        slider, whole = ipywidgets.FloatSlider, ipywidgets.IntSlider
        self.example = _aligned(ipywidgets.Dropdown, "Loss curve", options=[OWN, *CURVES], value=START)
        curve, paper = CURVES[START], Constants()
        self.change_at = _aligned(whole, "new task at step", value=curve.change_at, min=0, max=STEPS - 1)
        self.jump = _aligned(slider, "the loss jumps by", value=curve.jump, min=0, max=HIGHEST, step=0.1)
        self.lasts = _aligned(whole, "and fades in steps", value=curve.lasts, min=1, max=200)
        self.noise = _aligned(slider, "noise of a batch", value=curve.noise, min=0, max=0.5, step=0.01)
        self.points = [
            ipywidgets.FloatSlider(
                description=str(place),
                value=value,
                min=0,
                max=HIGHEST,
                step=STEP,
                orientation="vertical",
                tooltip=f"loss at step {place}",
                layout=ipywidgets.Layout(height="140px", width="92px", overflow="visible"),
            )
            for place, value in zip(PLACES.tolist(), curve.points, strict=True)
        ]
        factors = [0.9, 0.95, VISIBLE, 0.99, 0.999, paper.factor, 1.0]
        self.factor = _aligned(ipywidgets.SelectionSlider, "factor", options=factors, value=VISIBLE)
        self.patience = _aligned(whole, "patience", value=paper.patience, min=0, max=30)
        thresholds = [0.0, paper.threshold, 0.001, 0.01, 0.1]
        self.threshold = _aligned(ipywidgets.SelectionSlider, "threshold", options=thresholds, value=paper.threshold)
        self.reset = _aligned(slider, "reset threshold", value=paper.reset_threshold, min=0.1, max=HIGHEST, step=0.1)
        self.paper = button("The paper's values", "book", "factor, patience and thresholds as in the appendix")
        self.step = labelled(whole, "Step", "98%", "look at one step", value=215, min=0, max=STEPS - 1)
        for control in (self.change_at, self.jump, self.lasts, self.noise, *self.points):
            control.observe(self._bent, "value")
        for control in (self.factor, self.patience, self.threshold, self.reset):
            control.observe(self._retuned, "value")
        self.example.observe(self._chosen, "value")
        self.paper.on_click(self._as_in_the_paper)
        self.step.observe(self._stepped, "value")

    @property
    def curve(self) -> Curve:
        points = tuple(point.value for point in self.points)
        return Curve(points, self.change_at.value, self.jump.value, self.lasts.value, self.noise.value)

    @property
    def constants(self) -> Constants:
        return Constants(self.factor.value, self.patience.value, self.threshold.value, self.reset.value)

    def _chosen(self, change) -> None:
        if change.new != OWN and not self._quiet:
            self._set(CURVES[change.new], change.new)

    def _bent(self, _) -> None:
        if not self._quiet:
            self._set(self.curve)

    def _dragged(self, _, marks) -> None:
        """The user has moved a point of the curve; only its height counts."""
        if self._quiet:
            return
        curve = self.curve
        heights = np.array([mark.y for mark in marks], float) - curve.rise(PLACES)
        kept = heights.clip(0, HIGHEST)
        outside = bool((abs(heights - kept) > STEP).any())
        self._set(replace(curve, points=tuple((kept / STEP).round() * STEP)))
        if outside:
            self.tell(f"Without the jump, a point lies between 0 and {HIGHEST:g}: it was set there.", wrong=True)

    def _set(self, curve: Curve, example: str = OWN) -> None:
        """Bring the controls into line with a curve, then answer once."""
        self._quiet = True
        try:
            self.example.value = example
            self.change_at.value, self.jump.value = curve.change_at, curve.jump
            self.lasts.value, self.noise.value = curve.lasts, curve.noise
            for slider, value in zip(self.points, curve.points, strict=True):
                slider.value = value
        finally:
            self._quiet = False
        self.tell("")
        self._answer()

    def _retuned(self, _) -> None:
        if not self._quiet:
            self.tell("")
            self._answer()

    def _as_in_the_paper(self, _) -> None:
        paper = Constants()
        self._quiet = True
        try:
            self.factor.value, self.patience.value = paper.factor, paper.patience
            self.threshold.value, self.reset.value = paper.threshold, paper.reset_threshold
        finally:
            self._quiet = False
        self._answer()
        self.tell("These are the values of the paper's appendix.")

    def _stepped(self, change) -> None:
        show_text(self.words, self.answer.sentence(change.new))
        with self.figure.batch_update():
            self.figure.layout.shapes[0].update(x0=change.new, x1=change.new)

    def _clicked(self, _, points, __) -> None:
        if points.point_inds:
            self.step.value = points.point_inds[0]

    def _answer(self) -> None:
        curve = self.curve
        self.answer = answer(curve.losses(), self.constants)
        show_text(self.summary, self.answer.summary())
        show_text(self.words, self.answer.sentence(self.step.value))
        self._quiet = True
        try:
            heights = np.array(curve.points) + curve.rise(PLACES)
            draw(self.figure, self.answer, self.step.value, list(zip(PLACES.tolist(), heights.tolist(), strict=True)))
        finally:
            self._quiet = False

    def still(self) -> Picture:
        return still(self.answer, self.step.value)


#: Upright sliders keep room for their labels and numbers, however low they are.
_UPRIGHT = (
    "<style>.tacl-upright .slider-container{flex:1 1 40px!important;min-height:0}"
    ".tacl-upright .widget-label,.tacl-upright .widget-readout{flex:none!important}</style>"
)


def _aligned(kind: type[ipywidgets.Widget], label: str, **settings) -> ipywidgets.Widget:
    control = labelled(kind, label, f"{SIDE - 10}px", **settings)
    control.style.description_width = "120px"
    return control


def _group(name: str) -> ipywidgets.HTML:
    title = f'<div style="font-weight:600;font-size:13px;line-height:20px;color:{INK}">{name}</div>'
    return ipywidgets.HTML(title, layout=ipywidgets.Layout(height="22px", margin="2px 0 0"))


def scheduler_lab() -> SchedulerLab:
    """A loss curve to bend, the learning rate that the appendix's scheduler answers with, and its counters."""
    return SchedulerLab()

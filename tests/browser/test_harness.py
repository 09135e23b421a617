"""The harness itself: it sees what a person would see."""

import sys

import pytest

from .lab import ROOT

CELLS = [
    """
import sys

import ipywidgets as widgets
import plotly.graph_objects as go

import tacl_lib

figure = go.FigureWidget(go.Scatter(x=[0, 1, 2], y=[0.0, 0.5, 1.0], mode="markers", marker_size=20))
figure.update_layout(title_text="start", width=500, height=300)
step = widgets.IntSlider(0, 0, 10, description="step")
again = widgets.Button(description="again")
kind = widgets.Dropdown(options=["one", "two"], description="kind")


def moved(change):
    with figure.batch_update():
        figure.data[0].y = [0.0, change.new, 1.0]
        figure.layout.title.text = f"step {change.new}"


def say(text):
    figure.layout.title.text = text


step.observe(moved, "value")
again.on_click(lambda _: say("again"))
kind.observe(lambda change: say(change.new), "value")
figure.data[0].on_click(lambda trace, points, state: points.point_inds and say(f"point {points.point_inds[0]}"))
widgets.VBox([step, again, kind, figure])
""",
    "print(sys.executable, tacl_lib.__file__)",
]


@pytest.fixture(scope="module")
def notebook(lab):
    with lab.open(CELLS) as opened:
        yield opened


def test_keys_clicks_and_choices_reach_the_kernel_and_come_back(notebook):
    figure = notebook.figure()
    assert figure.model().layout["title"]["text"] == "start"

    notebook.press("step", "ArrowRight", "ArrowRight")
    model = figure.wait_for(lambda model: model.layout["title"]["text"] == "step 2", "two steps")
    assert model.data[0]["y"] == [0, 2, 1]
    assert notebook.slider_value("step") == "2"

    notebook.click("again")
    figure.wait_for(lambda model: model.layout["title"]["text"] == "again", "the button")
    notebook.choose("kind", "two")
    figure.wait_for(lambda model: model.layout["title"]["text"] == "two", "the choice")

    assert "2" in figure.hover(2, 1)
    figure.click(2, 1)
    figure.wait_for(lambda model: model.layout["title"]["text"] == "point 2", "the click")


def test_the_kernel_is_this_interpreter_and_this_checkout(notebook):
    said = notebook.text()
    assert f"{sys.executable} {ROOT / 'tacl_lib' / '__init__.py'}" in said

"""Figures that share plotly's code; the browser's side is tested in tests/browser."""

import pytest

from tacl_lib.teaching.widgets import light_figure
from tacl_lib.teaching.widgets.base import figure_widget


@pytest.fixture
def sent(monkeypatch):
    messages = []
    monkeypatch.setattr(light_figure.LightFigure, "send", lambda self, content, buffers=None: messages.append(content))
    monkeypatch.setattr(
        light_figure.LightFigure, "send_state", lambda self, key=None: messages.append(tuple(key) if key else None)
    )
    return messages


def test_the_code_is_sent_once_and_no_figure_brings_it_along():
    figures = [figure_widget(), figure_widget()]
    for figure in figures:
        figure.ask_to_open()
    library = light_figure._library()
    assert light_figure._library() is library
    assert "Plotly" in library.code
    assert len(library.code) > 1_000_000
    assert all(len(figure._esm) < 5000 for figure in figures)


def test_a_browser_that_missed_something_gets_the_whole(sent):
    figure = figure_widget()
    figure.add_scatter(y=[1, 2])
    sent.clear()
    figure._handle_custom_msg("fresh", [])
    assert sent == [("_widget_data", "_widget_layout"), "fresh"]
    assert figure._widget_data[0]["y"] == [1, 2]
    figure._handle_custom_msg({"something": "else"}, [])
    assert len(sent) == 2


def test_an_update_does_not_take_from_a_trace_what_another_is_given(monkeypatch):
    """In a batch each attribute is named for all traces that change; those that keep theirs must not lose it."""
    messages = []
    monkeypatch.setattr(
        "plotly.basewidget.BaseFigureWidget._send_update_msg", lambda self, *message: messages.append(message)
    )
    figure = figure_widget()
    figure.add_scatter(y=[1, 2], marker_color="red")
    figure.add_scatter(y=[3, 4], marker_color="blue")
    figure.bind_state()
    with figure.batch_update():
        figure.data[0].marker.color = "green"
        figure.data[1].y = [5, 6]
    styles, _, numbers, _ = messages[-1]
    assert dict(zip(numbers, styles["marker.color"], strict=True)) == {0: "green", 1: "blue"}
    assert [trace["y"] for trace in figure._widget_data] == [[1, 2], [5, 6]]  # what a reloaded page is given

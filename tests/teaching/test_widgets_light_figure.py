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

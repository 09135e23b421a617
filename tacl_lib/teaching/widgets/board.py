"""Several panels as one figure, so that a step of the slider is one update; their clicks, and the key of the tasks."""

import html
from collections.abc import Callable

import plotly.graph_objects as go

from tacl_lib.teaching.widgets.base import INK, TaskLook, figure_widget
from tacl_lib.teaching.widgets.panels import Panel


def assembled(panels: list[Panel], height: int) -> go.FigureWidget:
    """One figure of several panels."""
    layout, images, traces = {}, [], []
    for panel in panels:
        layout |= panel.axes()
        traces += panel.placed()
        images += panel.pictures()
    figure = figure_widget(
        go.Figure(traces),
        height,
        images=images,
        hoverdistance=60,  # the strips of thumbnails are long, and have few points
        annotations=[panel.heading() for panel in panels],
        margin={"l": 58, "r": 12, "t": 26, "b": 40},
        **layout,
    )
    first = 0
    for panel in panels:
        first = panel.bind(figure, first)
    return figure


def listen(panels: list[Panel], choose: Callable[[int], None]) -> None:
    """Have a click on a cluster, in any panel, choose it."""
    for panel in panels:
        for number in panel.clickable:

            def clicked(trace, points, _, panel=panel, number=number):
                if points.ys:
                    point = points.point_inds[0]
                    choose(panel.cluster_at(number, point if isinstance(point, int) else 0, points.ys[0]))

            panel.drawn[number].on_click(clicked)


SIGNS = "●■◆▲▼✚✖★⬢⬟"


def key(looks: list[TaskLook], names: tuple[str, ...]) -> str:
    """The tasks with colour, number and symbol, as HTML."""
    entries = "".join(
        f'<span style="margin-right:14px;display:inline-block"><span style="background:{look.colour};color:{look.ink};'
        f'font-weight:700;padding:1px 5px;margin-right:4px">{look.task}</span>{SIGNS[look.task]} '
        f"{html.escape(name)}</span>"
        for look, name in zip(looks, names, strict=True)
    )
    return f'<div style="line-height:22px;font-size:13px;color:{INK}">Tasks: {entries}</div>'

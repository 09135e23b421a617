"""Controls that lead through the steps of a run: play and pause, one arrival back and forward, a slider, a speed."""

from collections.abc import Callable

import ipywidgets
import numpy as np

from tacl_lib.widgets.base import button, labelled, row

INTERVAL = 120  #: milliseconds between two steps while playing
PLAYED = 25_000  #: milliseconds that a whole run plays, at first


class Playback:
    """``value`` is the present step; ``on_move`` is told each new one. ``box`` holds the controls."""

    def __init__(self, on_move: Callable[[int], None]):
        self._on_move, self._stops = on_move, np.zeros(0, np.int64)
        self.play = ipywidgets.Play(interval=INTERVAL, show_repeat=False, tooltip="Play", layout={"width": "auto"})
        self.slider = labelled(ipywidgets.IntSlider, "Step", readout_format=",d", tooltip="Step of the training")
        self.slider.layout.flex, self.slider.layout.min_width = "1 1 260px", "260px"
        self.back = button("", "step-backward", "Go back to the arrival before", "38px")
        self.forward = button("", "step-forward", "Go on to the next arrival", "38px")
        self.speed = labelled(ipywidgets.Dropdown, "Speed", "190px", "Steps at a time while playing")
        # In the browser: playing moves the slider there, and the kernel hears of as many steps as it can draw.
        self._link = ipywidgets.jslink((self.play, "value"), (self.slider, "value"))
        self.slider.observe(lambda change: self._on_move(change["new"]), "value")
        self.speed.observe(self._set_speed, "value")
        self.back.on_click(lambda _: self.go(self._neighbour(-1)))
        self.forward.on_click(lambda _: self.go(self._neighbour(1)))
        self.box = row(self.play, self.back, self.forward, self.slider, self.speed, flex_flow="row")

    @property
    def value(self) -> int:
        return self.slider.value

    def go(self, step: int) -> None:
        """Show a step."""
        self.slider.value = step

    def cover(self, steps: int, stops: np.ndarray) -> None:
        """The steps 0 … steps - 1; ``stops`` are those at which something arrived, in order."""
        self._stops = stops
        self.slider.max = self.play.max = max(steps - 1, 0)
        ticks = PLAYED / INTERVAL
        speeds = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000]
        chosen = min(speeds, key=lambda speed: abs(np.log(speed * ticks / max(steps, 1))))
        options = [(f"{speed:,} step{'s' if speed > 1 else ''} a tick", speed) for speed in speeds if speed <= steps]
        if list(self.speed.options) != options:
            self.speed.options = options
            self.speed.value = chosen if chosen <= steps else 1

    def _neighbour(self, direction: int) -> int:
        """The next stop in a direction; the present step where there is none."""
        side = "left" if direction < 0 else "right"
        at = int(np.searchsorted(self._stops, self.value, side=side)) + (-1 if direction < 0 else 0)
        return int(self._stops[at]) if 0 <= at < len(self._stops) else self.value

    def _set_speed(self, change: dict) -> None:
        if change["new"]:
            self.play.step = change["new"]

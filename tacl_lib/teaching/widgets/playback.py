"""Controls that lead through a run: play, pause, one arrival back and forward, a slider; and the cluster to follow."""

from collections.abc import Callable

import ipywidgets
import numpy as np

from tacl_lib.teaching.widgets.base import button, labelled, row

INTERVAL = 120  #: milliseconds between two steps while playing
UNKNOWN = 10**9  #: steps
PLAYED = 25_000  #: milliseconds that a whole run plays, at first


class Playback:
    """``value`` is the present step; ``on_move`` is called when it changes. ``box`` holds the controls."""

    def __init__(self, on_move: Callable[[], None]):
        self._stops = np.zeros(0, np.int64)
        # The clock ticks in the browser. Its own buttons have no names, so a button with a name stands for them.
        self.clock = ipywidgets.Play(interval=INTERVAL, repeat=True, layout={"display": "none"})
        self.play = ipywidgets.ToggleButton(layout={"width": "84px", "margin": "2px 6px 2px 0"})
        self.play.observe(lambda _: self._name_play(), "value")
        self._name_play()
        # The End key goes to the end of the range that a slider was first shown with, or to its present end if that
        # comes first: hence the large range of a slider that is shown before there is anything to slide over.
        self.slider = labelled(
            ipywidgets.IntSlider, "Step", readout_format=",d", tooltip="Step of the training", max=UNKNOWN
        )
        self.slider.layout.flex, self.slider.layout.min_width = "1 1 260px", "260px"
        self.back = button("", "step-backward", "Go back to the arrival before", "38px")
        self.forward = button("", "step-forward", "Go on to the next arrival", "38px")
        self.speed = labelled(ipywidgets.Dropdown, "Speed", "190px", "Steps at a time while playing")
        # Linked in the browser: the clock moves the slider there, and the kernel hears of as many steps as it can draw.
        self._links = [
            ipywidgets.jslink((self.play, "value"), (self.clock, "playing")),
            ipywidgets.jslink((self.clock, "value"), (self.slider, "value")),
        ]
        self.slider.observe(lambda _: on_move(), "value")
        self.speed.observe(self._set_speed, "value")
        self.back.on_click(lambda _: self.go(self._neighbour(-1)))
        self.forward.on_click(lambda _: self.go(self._neighbour(1)))
        self.box = row(
            self.clock, self.play, self.back, self.forward, self.slider, self.speed, flex_flow="row", flex="1 1 auto"
        )

    @property
    def value(self) -> int:
        return self.slider.value

    def go(self, step: int) -> None:
        """Show a step."""
        self.slider.value = step

    def cover(self, steps: int, stops: np.ndarray) -> None:
        """The steps 0 … steps - 1; ``stops`` are those at which something arrived, in order."""
        self._stops = stops
        self.slider.max = self.clock.max = max(steps - 1, 0)
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

    def _name_play(self) -> None:
        going = self.play.value
        self.play.description, self.play.icon = ("Pause", "pause") if going else ("Play", "play")
        self.play.tooltip = "Stop here" if going else "Play from here; after the last step it starts anew"

    def _set_speed(self, change: dict) -> None:
        if change["new"]:
            self.clock.step = change["new"]


NOBODY = -1


class Follow:
    """Which cluster all views highlight: ``value`` is its number, or None. ``control`` serves the keyboard."""

    def __init__(self, on_change: Callable[[], None]):
        self.control = labelled(ipywidgets.Dropdown, "Follow", "150px", "The cluster to follow in all views")
        self.cover(0)
        self.control.observe(lambda _: on_change(), "value")

    @property
    def value(self) -> int | None:
        return None if self.control.value == NOBODY else self.control.value

    def cover(self, clusters: int) -> None:
        """Offer so many clusters; none is followed."""
        self.control.options = [("none", NOBODY), *((str(cluster), cluster) for cluster in range(clusters))]
        self.control.index = 0

    def toggle(self, cluster: int) -> None:
        """Follow a cluster that was clicked; a second click lets it go."""
        self.control.value = NOBODY if cluster == self.value else cluster

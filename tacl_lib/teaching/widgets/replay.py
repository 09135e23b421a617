"""What memories held, step by step, played in the browser: the script is the site's, and no step asks the kernel."""

from collections.abc import Sequence
from pathlib import Path

import anywidget
import traitlets

from tacl_lib.errors import TaclError
from tacl_lib.teaching.widgets.base import Pictured
from tacl_lib.teaching.widgets.history import MemoryHistory
from tacl_lib.teaching.widgets.recording import recording


class MemoryReplay(Pictured, anywidget.AnyWidget):
    """One memory with all its views, or two side by side over the same steps."""

    _esm = (Path(__file__).parent / "memory.js").read_text(encoding="utf-8")
    step = traitlets.Int(0).tag(sync=True)  #: the one that is shown; while it plays, the browser is ahead
    followed = traitlets.Int(None, allow_none=True).tag(sync=True)  #: the cluster that all views highlight
    _sides = traitlets.List().tag(sync=True)
    _titles = traitlets.List(traitlets.Unicode()).tag(sync=True)
    _heading = traitlets.Unicode().tag(sync=True)
    _said = traitlets.Unicode().tag(sync=True)

    def __init__(self, **settings):
        self.histories: list[MemoryHistory] = []
        super().__init__(**settings)

    @traitlets.validate("step")
    def _within(self, proposal) -> int:
        last = max((history.steps for history in self.histories), default=1) - 1
        return min(max(proposal["value"], 0), last)

    @traitlets.validate("followed")
    def _one_of_them(self, proposal) -> int | None:
        clusters = max((history.clusters for history in self.histories), default=0)
        if proposal["value"] is not None and not 0 <= proposal["value"] < clusters:
            raise TaclError(f"there are the clusters 0 to {clusters - 1} to follow, not {proposal['value']}.")
        return proposal["value"]

    def give(
        self, histories: Sequence[MemoryHistory], titles: Sequence[str] = (), step: int = 0, with_map: bool = True
    ) -> None:
        """Play these from now on."""
        self.histories = list(histories)
        with self.hold_sync():
            self.followed, self.step, self._titles = None, step, list(titles)
            self._sides = [recording(history, with_map) for history in histories]

    def play(self) -> None:
        """Press Play, from the first step on, wherever it is shown."""
        self.send("play")

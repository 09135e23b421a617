"""The memory player: what a memory held at each step of a run, in four views that speak of the same clusters."""

from tacl_lib.core.tasks import Tasks
from tacl_lib.errors import TaclError
from tacl_lib.teaching.widgets import sources
from tacl_lib.teaching.widgets.base import task_looks
from tacl_lib.teaching.widgets.history import MemoryHistory
from tacl_lib.teaching.widgets.replay import MemoryReplay
from tacl_lib.teaching.widgets.stills import empty_still, player_still
from tacl_lib.training.events import EventLog
from tacl_lib.training.record import Record


def memory_player(
    source: EventLog | Record | str | None = sources.DEMO,
    tasks: Tasks | None = None,
    *,
    run: int = 0,
    title: str = "",
) -> "MemoryPlayer":
    """A player of what a memory held at each step.

    source: the event log of a run, with the ``tasks`` that it was trained on; or a record from the store, which
        brings its own; or nothing, for a memory that is filled from ``digits`` while you wait.
    run: which run of the stack, where ``tasks`` holds several.
    """
    player = MemoryPlayer(title or "Memory player: what the memory holds, step by step")
    player.show(source, tasks, run=run)
    return player


class MemoryPlayer(MemoryReplay):
    """A replay of one memory; ``step`` and ``followed`` say what is shown, and can be set."""

    def __init__(self, title: str):
        super().__init__(_heading=title)

    @property
    def history(self) -> MemoryHistory | None:
        return self.histories[0] if self.histories else None

    @property
    def said(self) -> str:
        """What could not be played, and why."""
        return self._said

    def show(self, source, tasks: Tasks | None = None, run: int = 0) -> None:
        """Play another run; a source that cannot be played is named in the message, and the present one stays."""
        try:
            self.give([sources.history_of(source, tasks, run)])
            self._said = ""
        except TaclError as error:
            self._said = str(error)

    def still(self):
        if self.history is None:
            return empty_still(self.said)
        history = self.history
        step = self.step or history.steps - 1  # nobody can press Play on an image: it shows the end
        return player_still(history, history.state(step), self.followed, task_looks(history.task_count))

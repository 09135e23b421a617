"""The memory player: what a memory held at each step of a run, in four views that speak of the same clusters."""

from tacl_lib.core.tasks import Tasks
from tacl_lib.teaching.widgets import sources
from tacl_lib.teaching.widgets.base import TaskLook, View, caption, row, show_text, task_looks
from tacl_lib.teaching.widgets.board import assembled, key, listen
from tacl_lib.teaching.widgets.history import MemoryHistory
from tacl_lib.teaching.widgets.map_panel import MapPanel
from tacl_lib.teaching.widgets.panels import ClusterPanel, Panel
from tacl_lib.teaching.widgets.playback import Follow, Playback
from tacl_lib.teaching.widgets.stills import empty_still, player_still
from tacl_lib.teaching.widgets.time_panels import SharePanel, TimelinePanel
from tacl_lib.training.events import EventLog
from tacl_lib.training.record import Record

HEIGHT = 480
START = (
    "Press Play: samples stream past, and the memory fills. You can also drag the step, or go on arrival by arrival."
)
HINT = "Click a cluster in any view, or choose one in “Follow”, and see it in all of them."


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


class MemoryPlayer(View):
    """Controls and one figure over a `MemoryHistory`."""

    def __init__(self, title: str):
        self.history: MemoryHistory | None = None
        self.looks: list[TaskLook] = []
        self.playback, self.follow = Playback(self._moved), Follow(self._moved)
        self.words, self.story, self.key = caption(2), caption(), caption()
        low, now = (0, 0.385), "In the memory now: a strip per cluster, framed and numbered by task"
        self.panels: list[Panel] = [
            ClusterPanel(1, (0, 1), (0.52, 1), now, aspect=4.6),
            TimelinePanel(2, (0, 0.4), low, "Over time: the oldest task in each cluster", hides_future=True),
            SharePanel(3, (0.455, 0.71), low, "Share of each task", hides_future=True),
            MapPanel(4, (0.745, 1), low, "Map: ★ newcomer, + cluster means", image=1),
        ]
        self.figure = assembled(self.panels, HEIGHT)
        listen(self.panels, self.follow.toggle)
        controls = row(self.playback.box, self.follow.control, flex_flow="row")
        super().__init__(title, [controls, self.words, self.figure, self.key, self.story])

    def show(self, source, tasks: Tasks | None = None, run: int = 0) -> None:
        """Play another run; a source that cannot be played is named in the message, and the present one stays."""
        with self.guarded():
            self._open(sources.history_of(source, tasks, run))

    def _open(self, history: MemoryHistory) -> None:
        looks = task_looks(history.task_count)
        self.history = None  # nothing moves while the controls are set
        self.follow.cover(history.clusters)
        self.playback.cover(history.steps, history.log.step)
        self.playback.go(0)  # viewers find out the end for themselves
        self.history, self.looks = history, looks
        self.key.value = key(looks, history.task_names)
        with self.figure.batch_update():
            for panel in self.panels:
                panel.show(history, looks)
            self._draw()

    def _moved(self) -> None:
        if self.history is not None:
            with self.figure.batch_update():
                self._draw()

    def _draw(self) -> None:
        state = self.history.state(self.playback.value)
        followed = self.follow.value
        for panel in self.panels:
            panel.move(self.history, state, followed)
        show_text(self.words, self.history.sentence(state))
        hint = HINT if self.playback.value else START
        show_text(self.story, hint if followed is None else self.history.story(followed, state))

    def still(self):
        if self.history is None:
            return empty_still(self.said)
        step = self.playback.value or self.history.steps - 1  # nobody can press Play on an image: it shows the end
        return player_still(self.history, self.history.state(step), self.follow.value, self.looks)

"""The memory builder: choose a stream and a policy, or two, and watch the memory fill."""

import asyncio
import time
from dataclasses import fields

import ipywidgets

from tacl_lib.core.memory import POLICIES
from tacl_lib.core.tasks import Tasks
from tacl_lib.data import available
from tacl_lib.errors import TaclError, unknown_name
from tacl_lib.names import EXPERIMENTS
from tacl_lib.report.figures.style import DATASETS, SPLITS
from tacl_lib.teaching.widgets.base import Stage, TaskLook, View, button, caption, labelled, row, show_text, task_looks
from tacl_lib.teaching.widgets.board import assembled, key, listen
from tacl_lib.teaching.widgets.choices import POLICY_TITLES, Choice
from tacl_lib.teaching.widgets.filling import Filling
from tacl_lib.teaching.widgets.history import MemoryHistory
from tacl_lib.teaching.widgets.panels import ClusterPanel, Panel
from tacl_lib.teaching.widgets.playback import Follow, Playback
from tacl_lib.teaching.widgets.stills import builder_still, empty_still
from tacl_lib.teaching.widgets.time_panels import SharePanel, TimelinePanel

HEIGHT = 410
NOTHING = "nothing"
PART = 0.15  #: seconds of filling between two updates of the figure
INVITATION = "Choose, then press “Run”: the memory fills before your eyes, without any training."
HALF, WHOLE = "49.5%", "100%"  #: of the width, for the words of a memory


def memory_builder(dataset: str = "digits", **settings) -> "MemoryBuilder":
    """Fill a memory from a stream, or two of different policies from the same stream, side by side.

    settings: what is chosen at first; the fields of `Choice`, e.g. ``split="rotation"``, ``clusters=10``,
        ``policies=("clustering", "reservoir")``.
    """
    known = [field.name for field in fields(Choice)]
    try:
        for name in settings:
            if name not in known:
                raise unknown_name("setting", name, known)
        return MemoryBuilder(Choice(dataset=dataset, **settings))
    except TaclError as error:
        builder = MemoryBuilder(Choice())
        builder.tell(str(error), wrong=True)
        return builder


class MemoryBuilder(View):
    """Settings, a button, and the panels of one memory or two over the same steps."""

    def __init__(self, choice: Choice):
        self.controls = _controls(choice)
        self.seed = choice.seed
        self.run = button("Run", "play", "Fill the memory from the stream", "84px", button_style="primary")
        self.stop = button("Stop", "stop", "Stop here; what was recorded stays", "84px", disabled=True)
        self.progress = ipywidgets.IntProgress(
            description="", layout={"width": "110px", "margin": "2px 10px"}, tooltip="How much of the stream has passed"
        )
        self.run.on_click(lambda _: self._run_clicked())
        self.stop.on_click(lambda _: self._ask_to_stop())
        self.playback, self.follow = Playback(self._moved), Follow(self._moved)
        self.words, self.story, self.key = [caption(2, width=HALF), caption(2, width=HALF)], caption(), caption()
        self.choice: Choice | None = None  # of the memories that are shown
        self.histories: list[MemoryHistory] = []
        self.looks: list[TaskLook] = []
        self._tasks: Tasks | None = None
        self._tasks_of: tuple | None = None
        self._stopping = self._busy = False
        self.stage = Stage(layout={"height": f"{HEIGHT}px", "overflow": "hidden"})
        self._set_stage(choice.policies)
        names = self.controls
        super().__init__(
            "Memory builder: the same stream, your memory",
            [
                row(*(names[name] for name in ("dataset", "split", "experiment", "epochs", "sampling_rate"))),
                row(
                    *(names[name] for name in ("policy", "rival", "pool_per_class", "clusters", "cluster_size")),
                    *(self.run, self.stop, self.progress),
                ),
                row(self.playback.box, self.follow.control, flex_flow="row"),
                self.stage,
                row(*self.words, justify_content="space-between"),
                self.key,
                self.story,
            ],
        )
        show_text(self.words[0], INVITATION)

    def chosen(self) -> Choice:
        """What the controls say."""
        values = {name: control.value for name, control in self.controls.items()}
        policy, rival = values.pop("policy"), values.pop("rival")
        policies = (policy,) if rival in (NOTHING, policy) else (policy, rival)
        return Choice(**values, policies=policies, seed=self.seed)

    def start(self) -> None:
        """Fill the memories again, to the end: shown afterwards, they are complete also while other cells run."""
        if self._busy:
            return
        with self.guarded():
            filling = self._begin()
            try:
                filling.advance(filling.stream.steps)
            finally:
                self._set_busy(False)
            self._show(filling)

    def _run_clicked(self) -> None:
        """The same in the background, before the user's eyes; it can be stopped."""
        if self._busy:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # no notebook
            self.start()
            return
        with self.guarded():
            self._running = loop.create_task(self._in_background(self._begin()))  # kept, or it might be collected

    def _begin(self) -> Filling:
        """Empty memories of what is chosen, and a stage for them."""
        choice = self.chosen()
        if self._tasks_of != choice.images:
            self.tell(f"Loading {DATASETS.get(choice.dataset, choice.dataset)} …")
            self._tasks, self._tasks_of = choice.tasks(), choice.images
        filling = choice.filling(self._tasks)
        looks = task_looks(self._tasks.count)
        self.tell("")
        self._prepare(choice, looks, filling)
        return filling

    async def _in_background(self, filling: Filling) -> None:
        with self.guarded():
            for _ in self._parts(filling):
                await asyncio.sleep(0.02)  # lets the kernel hear the stop button

    def _prepare(self, choice: Choice, looks: list[TaskLook], filling: Filling) -> None:
        self._set_busy(True)
        if self.choice is None or len(choice.policies) != len(self.histories):
            self._set_stage(choice.policies)
        self.choice, self.looks, self.histories = choice, looks, []
        self._stopping = False
        self.key.value = key(looks, self._tasks.names)
        self.follow.cover(filling.geometry.pools * filling.geometry.clusters)
        self.progress.max, self.progress.value = filling.stream.steps, 0
        for line in self.words:
            show_text(line, "")

    def _parts(self, filling: Filling):
        """Fill and show in turn, until it is done or stopped."""
        try:
            while not filling.done and not self._stopping:
                pause = time.monotonic() + PART
                filling.advance(8)
                while not filling.done and time.monotonic() < pause:
                    filling.advance(8)
                self._show(filling)
                yield
        finally:
            self._set_busy(False)
        if not filling.done:
            self.tell(f"Stopped after {filling.steps:,} of {filling.stream.steps:,} steps; press “Run” to start anew.")

    def _show(self, filling: Filling) -> None:
        """The memories as they are now, and the slider at their last step."""
        settings = {"steps": filling.stream.steps, "recorded": filling.steps}
        histories = [
            MemoryHistory(log, self._tasks, policy=policy, **settings)
            for log, policy in zip(filling.logs(), filling.policies, strict=True)
        ]
        self.histories = []  # nothing moves while the slider is set
        self.progress.value = filling.steps
        self.playback.cover(filling.steps, histories[0].log.step)
        self.playback.go(filling.steps - 1)
        self.histories = histories
        with self.figure.batch_update():
            for panels, history in zip(self.columns, histories, strict=True):
                for panel in panels:
                    panel.show(history, self.looks)
            self._draw()

    def _moved(self) -> None:
        if self.histories:
            with self.figure.batch_update():
                self._draw()

    def _draw(self) -> None:
        followed, stories = self.follow.value, []
        states = [history.state(self.playback.value) for history in self.histories]
        for line, name, panels, history, state in zip(
            self.words, self.choice.policies, self.columns, self.histories, states, strict=False
        ):
            for panel in panels:
                panel.move(history, state, followed)
            show_text(
                line,
                f"{name[:1].upper()}{name[1:]}, step {state.step:,} of {history.steps:,}: {history.happened(state)}",
            )
            stories.append(f"{name}: {state.counts[0]:,} of {max(state.counts.sum(), 1):,}")
        if followed is None:
            show_text(self.story, f"Members from the first task: {', '.join(stories)}.")
        else:
            show_text(self.story, self.histories[0].story(followed, states[0]))

    def still(self):
        if not self.histories:
            return empty_still(INVITATION)
        names = [POLICY_TITLES.get(name, name) for name in self.choice.policies]
        return builder_still(names, self.histories, self.playback.value, self.follow.value, self.looks)

    def _set_stage(self, policies: tuple[str, ...]) -> None:
        """A new figure with a column of panels per policy."""
        titles = [POLICY_TITLES.get(name, name) for name in policies]
        sides = [(0, 0.475), (0.525, 1)] if len(titles) > 1 else [(0, 1)]
        self.columns: list[list[Panel]] = []
        for number, (side, title) in enumerate(zip(sides, titles, strict=True)):
            aspect = 3.4 if len(titles) > 1 else 5.4
            begin, wide = side[0], side[1] - side[0]
            over_time, share = (begin, begin + 0.54 * wide), (begin + 0.64 * wide, begin + wide)
            place, low = 3 * number + 1, (0, 0.365)
            self.columns.append(
                [
                    ClusterPanel(place, side, (0.53, 1), title[:1].upper() + title[1:], image=number, aspect=aspect),
                    TimelinePanel(place + 1, over_time, low, "Oldest task in each cluster"),
                    SharePanel(place + 2, share, low, "Share of each task"),
                ]
            )
        for line in self.words:
            line.layout.width = HALF if len(titles) > 1 else WHOLE
        self.words[1].layout.display = None if len(titles) > 1 else "none"
        every = [panel for panels in self.columns for panel in panels]
        self.figure = assembled(every, HEIGHT)
        listen(every, self.follow.toggle)
        self.stage.children = (self.figure,)

    def _set_busy(self, busy: bool) -> None:
        self._busy = self.run.disabled = busy
        self.stop.disabled = not busy

    def _ask_to_stop(self) -> None:
        self._stopping = True


def _controls(choice: Choice) -> dict[str, ipywidgets.Widget]:
    """The settings by their names in `Choice`; ``policy`` and ``rival`` stand for its policies."""
    drop, whole = ipywidgets.Dropdown, ipywidgets.BoundedIntText
    datasets = [(DATASETS.get(name, name), name) for name in available()]
    splits = [(title.lower(), name) for name, title in SPLITS.items()]
    pools = [("one for all", False), ("one per class", True)]
    policies = list(POLICIES)
    rival = choice.policies[1] if len(choice.policies) > 1 else NOTHING
    limits = {"min": 1, "max": 100_000}
    rate = "Sampling rate: how many samples of a batch are offered to the memory"
    return {
        "dataset": labelled(drop, "Dataset", "195px", options=datasets, value=choice.dataset),
        "split": labelled(drop, "Tasks by", "165px", options=splits, value=choice.split),
        "experiment": labelled(drop, "Stream", "155px", options=list(EXPERIMENTS), value=choice.experiment),
        "epochs": labelled(whole, "Epochs", "105px", "Epochs a task", value=choice.epochs, **limits),
        "sampling_rate": labelled(
            ipywidgets.BoundedFloatText,
            "Sampling rate",
            "150px",
            rate,
            value=choice.sampling_rate,
            min=0,
            max=1,
            step=0.1,
        ),
        "policy": labelled(drop, "Policy", "160px", options=policies, value=choice.policies[0]),
        "rival": labelled(
            drop, "against", "165px", "The policy to compare with", options=[NOTHING, *policies], value=rival
        ),
        "pool_per_class": labelled(drop, "Pools", "165px", options=pools, value=choice.pool_per_class),
        "clusters": labelled(whole, "Q", "100px", "Clusters of a pool", value=choice.clusters, **limits),
        "cluster_size": labelled(whole, "P", "95px", "Members of a cluster", value=choice.cluster_size, **limits),
    }

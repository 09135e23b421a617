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
from tacl_lib.teaching.widgets.base import View, button, labelled, row, task_looks
from tacl_lib.teaching.widgets.choices import POLICY_TITLES, Choice
from tacl_lib.teaching.widgets.filling import Filling
from tacl_lib.teaching.widgets.history import MemoryHistory
from tacl_lib.teaching.widgets.replay import MemoryReplay
from tacl_lib.teaching.widgets.stills import builder_still, empty_still

NOTHING = "nothing"
PART = 0.15  #: seconds of filling between two looks at the stop button
INVITATION = "Choose, then press “Run”: the memory fills before your eyes, without any training."


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
    """Settings, a button, and a replay of one memory or two over the same steps."""

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
        self.replay = MemoryReplay()
        self.choice: Choice | None = None  # of the memories that are shown
        self._tasks: Tasks | None = None
        self._tasks_of: tuple | None = None
        self._stopping = self._busy = False
        names = self.controls
        super().__init__(
            "Memory builder: the same stream, your memory",
            [
                row(*(names[name] for name in ("dataset", "split", "experiment", "epochs", "sampling_rate"))),
                row(
                    *(names[name] for name in ("policy", "rival", "pool_per_class", "clusters", "cluster_size")),
                    *(self.run, self.stop, self.progress),
                ),
                self.replay,
            ],
        )
        self.tell(INVITATION)

    @property
    def histories(self) -> list[MemoryHistory]:
        """Of the memories that are shown."""
        return self.replay.histories

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
            for _ in self._parts(self._begin()):
                pass

    def _run_clicked(self) -> None:
        """The same in the background; it can be stopped. What was filled is played."""
        if self._busy:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # no notebook
            self.start()
            return
        with self.guarded():
            self._running = loop.create_task(self._in_background(self._begin()))  # kept, or it might be collected

    def _begin(self) -> tuple[Choice, Filling]:
        """Empty memories of what is chosen."""
        choice = self.chosen()
        if self._tasks_of != choice.images:
            self.tell(f"Loading {DATASETS.get(choice.dataset, choice.dataset)} …")
            self._tasks, self._tasks_of = choice.tasks(), choice.images
        filling = choice.filling(self._tasks)
        self.tell("")
        self._set_busy(True)
        self._stopping = False
        self.progress.max, self.progress.value = filling.stream.steps, 0
        return choice, filling

    async def _in_background(self, begun: tuple[Choice, Filling]) -> None:
        with self.guarded():
            for _ in self._parts(begun):
                await asyncio.sleep(0.02)  # lets the kernel hear the stop button
            self.replay.play()

    def _parts(self, begun: tuple[Choice, Filling]):
        """Fill, and say how far it is, until it is done or stopped; then show it."""
        choice, filling = begun
        try:
            while not filling.done and not self._stopping:
                pause = time.monotonic() + PART
                filling.advance(8)
                while not filling.done and time.monotonic() < pause:
                    filling.advance(8)
                self.progress.value = filling.steps
                yield
        finally:
            self._set_busy(False)
        self._show(choice, filling)
        if not filling.done:
            self.tell(f"Stopped after {filling.steps:,} of {filling.stream.steps:,} steps; press “Run” to start anew.")

    def _show(self, choice: Choice, filling: Filling) -> None:
        """The memories as they are now, at their last step."""
        histories = [
            MemoryHistory(log, self._tasks, policy=policy, steps=filling.steps)
            for log, policy in zip(filling.logs(), filling.policies, strict=True)
        ]
        if not all(len(history.log) for history in histories):
            raise TaclError("nothing has entered a memory yet; press “Run” again and let it go on a little.")
        self.choice = choice
        titles = [POLICY_TITLES.get(name, name) for name in choice.policies]
        self.replay.give(histories, titles, step=filling.steps - 1, with_map=False)

    def still(self):
        if not self.histories:
            return empty_still(INVITATION)
        looks = task_looks(self._tasks.count)
        return builder_still(self.replay._titles, self.histories, self.replay.step, self.replay.followed, looks)

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

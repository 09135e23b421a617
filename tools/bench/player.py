"""What a step of the memory player costs in the kernel and in a browser, and what a player of a full run holds."""

import os
import shutil
import tempfile
import tracemalloc
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from bench.measure import Contender, Effort, race, spread, stepper, threads
from bench.rows import row
from tacl_lib.core.memory import Geometry
from tacl_lib.core.tasks import Tasks, make_tasks
from tacl_lib.data import Dataset
from tacl_lib.errors import TaclError
from tacl_lib.teaching.widgets import memory_player
from tacl_lib.teaching.widgets.history import MemoryHistory
from tacl_lib.training.events import EventLog, log_of

STEPS, GEOMETRY = 120_000, Geometry(10, 10, 3)  #: of a run with the paper's settings, one sample a batch
MOVES = 15  #: slider moves that are measured in the browser


def full_run() -> tuple[EventLog, Tasks]:
    """A log as long and a memory as large as those of the paper, of noise: the cost does not depend on the images."""
    random = np.random.default_rng(0)
    images, labels = random.integers(256, size=(60_000, 28, 28, 1), dtype=np.uint8), random.integers(10, size=60_000)
    tasks = make_tasks(Dataset("noise", images, labels, images[:10_000], labels[:10_000]), "permutation")
    steps = np.arange(STEPS)
    # Each task is shown for a tenth of the steps, its samples over and over.
    rows = steps // 12_000 * 6_000 + random.integers(6_000, size=STEPS)
    cluster, slot = random.integers(100, size=STEPS), random.integers(GEOMETRY.size, size=STEPS)
    return log_of(GEOMETRY, steps, cluster, slot, rows // 6_000, rows), tasks


def rows(effort: Effort) -> Iterable[dict]:
    """The rows of the player."""
    tracemalloc.start()
    try:
        log, tasks = full_run()
        player = memory_player(log, tasks)
        held = tracemalloc.get_traced_memory()[0] / 1e6
    finally:
        tracemalloc.stop()
    steps = np.random.default_rng(1).permutation(STEPS)[:2000]
    history, at = MemoryHistory(log, tasks), [(int(step),) for step in steps]
    sent = _counted(player.figure)
    contenders = [stepper("state", history.state, at), stepper("move", player.playback.go, at)]
    with threads(1):
        times = race([*contenders, _replay(log)], effort)
    if sent["other"] or not sent["update"]:
        raise TaclError(f"a slider move should be one batched update, but {sent} messages were sent.")
    note = f"Player: {STEPS:,} recorded steps, {GEOMETRY.capacity} members, 784 features; replay from the first step."
    yield _limit("player_state", f"state of any of {STEPS:,} steps", "plain replay of the log", times, 20.0, note=note)
    yield _limit("player_move", "a slider move in the kernel, one batched update", "", times, 50.0)
    cell = {"ratio": spread([held]), "ours": held}
    limit = {"at_most": True, "ratio_unit": " MB"}
    yield row("player_memory", "player of a full run, images included", "", "MB", 200.0, {"any": cell}, **limit)
    drawn = [seconds * 1e3 for seconds in in_browser()]
    cell = {"ratio": spread(drawn), "ours": float(np.median(drawn)), "raw_milliseconds": drawn}
    note = "In the browser: from the key press to the picture, JupyterLab and headless Chromium, drawn in software."
    limit |= {"ratio_unit": " ms", "note": note}
    yield row("player_browser", "a slider move until it is drawn in a browser", "", "ms", None, {"any": cell}, **limit)


def _limit(name: str, ours: str, theirs: str, times: dict, bar: float, **more) -> dict:
    """A row of milliseconds: ours, and beside them those of a plain way, if there is one."""
    own = np.asarray(times[name.removeprefix("player_")]) * 1e3
    cell = {"ratio": spread(own), "ours": float(np.median(own))}
    if theirs:
        cell["theirs"] = float(np.median(times["replay"])) * 1e3
    return row(name, ours, theirs, "ms", bar, {"1": cell}, at_most=True, ratio_unit=" ms", **more)


def _replay(log: EventLog) -> Contender:
    """The content of a memory by going through the log up to the middle."""
    arrivals = list(zip(log.cluster.tolist(), log.slot.tolist(), log.row.tolist(), strict=True))[: STEPS // 2]

    def replay() -> dict:
        memory = {}
        for cluster, slot, sample in arrivals:
            memory[cluster, slot] = sample
        return memory

    return stepper("replay", replay, [()])


def _counted(figure) -> dict[str, int]:
    """Count the messages that a figure sends from now on."""
    sent = {"update": 0, "other": 0}
    for name, kind in (("_send_update_msg", "update"), ("_send_restyle_msg", "other"), ("_send_relayout_msg", "other")):
        plain = getattr(figure, name)

        def counting(*args, plain=plain, kind=kind, **kwargs):
            sent[kind] += 1
            return plain(*args, **kwargs)

        setattr(figure, name, counting)
    return sent


def in_browser() -> list[float]:
    """Seconds from a key press on the slider to the end of drawing, in a real JupyterLab."""
    try:
        from playwright.sync_api import sync_playwright

        from tests.browser.conftest import FLAGS
        from tests.browser.lab import Lab, running_jupyterlab
    except ImportError as error:
        raise TaclError(f"measuring in a browser needs the extra [browser] and a checkout ({error}).") from error
    browser = shutil.which(os.environ.get("TACL_CHROMIUM", "chromium"))
    if browser is None:
        raise TaclError("measuring in a browser needs Chromium; name one in TACL_CHROMIUM.")
    cell = [
        "from bench.player import full_run\n"
        "from tacl_lib.teaching.widgets import memory_player\n"
        "player = memory_player(*full_run())\nplayer.playback.go(60_000)\nplayer"
    ]
    with (
        tempfile.TemporaryDirectory() as folder,
        running_jupyterlab(Path(folder)) as server,
        sync_playwright() as playwright,
    ):
        chromium = playwright.chromium.launch(executable_path=browser, args=FLAGS)
        try:
            with Lab(server, chromium).open(cell) as notebook:
                figure = notebook.figure()
                figure.model()
                seconds = [_one_move(notebook, figure) for _ in range(MOVES + 2)]
        finally:
            chromium.close()
    return seconds[2:]


_WATCH = """(figure) => { window.drawn = new Promise(done => {
    let start = null;
    document.addEventListener("keydown", () => { start = performance.now(); }, {capture: true, once: true});
    const after = () => {
        if (start === null) return;
        figure.removeListener("plotly_afterplot", after);
        done((performance.now() - start) / 1000);
    };
    figure.on("plotly_afterplot", after);
}); }"""


def _one_move(notebook, figure) -> float:
    figure.locator.evaluate(_WATCH)
    notebook.press("Step", "ArrowRight")
    seconds = notebook.page.evaluate("window.drawn")
    notebook.page.wait_for_timeout(300)  # what plotly reports back to the kernel is over
    return seconds

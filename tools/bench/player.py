"""What a step of the memory player costs in a browser, and what a player of a full run holds."""

import os
import shutil
import tempfile
import tracemalloc
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from bench.measure import Effort, spread
from bench.rows import row
from tacl_lib.core.memory import Geometry
from tacl_lib.core.tasks import Tasks, make_tasks
from tacl_lib.data import Dataset
from tacl_lib.errors import TaclError
from tacl_lib.teaching.widgets import memory_player
from tacl_lib.training.events import EventLog, log_of

TOOLS = Path(__file__).resolve().parents[1]  #: the kernel runs in another folder
STEPS, GEOMETRY = 120_000, Geometry(10, 10, 3)  #: of a run with the paper's settings, one sample a batch
MOVES, RATES = 15, 5  #: how many slider moves, and how often the rate of pictures, is measured in the browser


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
    if player.said:
        raise TaclError(f"the player does not show a full run: {player.said}")
    limit = {"at_most": True, "ratio_unit": " MB"}
    cell = {"ratio": spread([held]), "ours": held}
    note = f"Player: {STEPS:,} recorded steps, {GEOMETRY.capacity} members, 784 features; JupyterLab in headless "
    note += "Chromium, drawn in software; from the key press to the next picture."
    yield row("player_memory", "player of a full run, images included", "", "MB", 200.0, {"any": cell}, **limit)
    moves, rates = in_browser()
    drawn = [seconds * 1e3 for seconds in moves]
    cell = {"ratio": spread(drawn), "ours": float(np.median(drawn)), "raw_milliseconds": drawn}
    limit |= {"ratio_unit": " ms", "note": note}
    yield row("player_browser", "a slider move until it is drawn in a browser", "", "ms", None, {"any": cell}, **limit)
    cell = {"ratio": spread(rates), "ours": float(np.median(rates))}
    more = {"ratio_unit": " a second"}
    yield row("player_frames", "pictures while it plays", "", "a second", 30.0, {"any": cell}, **more)


def in_browser() -> tuple[list[float], list[float]]:
    """In a real JupyterLab: seconds from a key press on the slider to the picture; pictures a second while it plays."""
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
        f"import sys\nsys.path.insert(0, {str(TOOLS)!r})\n"
        "from bench.player import full_run\n"
        "from tacl_lib.teaching.widgets import memory_player\n"
        "player = memory_player(*full_run())\nplayer.step = 60_000\nplayer"
    ]
    with (
        tempfile.TemporaryDirectory() as folder,
        running_jupyterlab(Path(folder)) as server,
        sync_playwright() as playwright,
    ):
        chromium = playwright.chromium.launch(executable_path=browser, args=FLAGS)
        try:
            with Lab(server, chromium).open(cell) as notebook:
                page = notebook.page
                page.locator(".tacl-memory .said", has_text="Step 60,000 of").wait_for()
                seconds = [_one_move(page) for _ in range(MOVES + 2)]
                page.locator(".tacl-memory .play").click()
                rates = [_next_rate(page) for _ in range(RATES)]
        finally:
            chromium.close()
    return seconds[2:], rates


_WATCH = """() => { window.drawn = new Promise(done => {
    let start = null;
    document.addEventListener("keydown", () => { start = performance.now(); }, {capture: true, once: true});
    document.addEventListener("input", () => requestAnimationFrame(() => setTimeout(() => {
        done((performance.now() - start) / 1000);
    })), {once: true});
}); }"""


def _one_move(page) -> float:
    page.evaluate(_WATCH)
    page.locator(".tacl-memory .step").press("ArrowRight")
    return page.evaluate("window.drawn")


def _next_rate(page) -> float:
    """The player counts its pictures itself, thirty at a time."""
    page.evaluate("delete document.querySelector('.tacl-memory').dataset.rate")
    page.wait_for_function("document.querySelector('.tacl-memory').dataset.rate")
    return float(page.evaluate("document.querySelector('.tacl-memory').dataset.rate"))

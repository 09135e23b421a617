"""The script that replays memories, in an empty page: what it says and holds is what the log says."""

import json
from pathlib import Path

import numpy as np
import pytest
from website import live

from tacl_lib.core.memory import Geometry
from tacl_lib.core.streams import Stream
from tacl_lib.core.tasks import make_tasks
from tacl_lib.data import Dataset, load
from tacl_lib.teaching.widgets import replay
from tacl_lib.teaching.widgets.filling import Filling
from tacl_lib.teaching.widgets.history import MemoryHistory
from tacl_lib.teaching.widgets.recording import recording
from tacl_lib.teaching.widgets.sources import demonstration
from tacl_lib.training.events import log_of

SCRIPT = (Path(replay.__file__).parent / "memory.js").read_text(encoding="utf-8")
_READ = """async ([script, given, steps, cluster]) => {
    const code = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
    const { Recording, shareLabels } = await import(code);
    const raw = (text) => new DataView(Uint8Array.from(atob(text), c => c.charCodeAt(0)).buffer);
    for (const [name, part] of Object.entries(given)) if ("base64" in part) given[name] = raw(part.base64);
    const log = new Recording(given), over = log.overTime(60);
    return {
        states: steps.map(step => {
            log.goTo(step);
            const came = log.arrival();
            const tasks = [...log.held].map(e => e < 0 ? -1 : log.task[e]);
            return [log.sentence(step, came), log.story(cluster), tasks, log.counts(), came && came.nearest];
        }),
        shares: [...over.shares], oldest: [...over.oldest], labels: shareLabels(log, over, 60), firsts: log.firsts(),
    };
}"""


@pytest.fixture(scope="module")
def page(browser):
    context = browser.new_context()
    yield context.new_page()
    context.close()


def pools() -> MemoryHistory:
    """Two pools, and samples that are turned away now and then."""
    tasks = make_tasks(load("digits"), "class", train_limit=80)
    stream = Stream(tasks, epochs=2)
    filling = Filling(stream, ("random",), clusters=4, cluster_size=3, sampling_rate=0.4)
    filling.advance(stream.steps)
    return MemoryHistory(filling.logs()[0], tasks, policy="random", steps=stream.steps)


def reservoir() -> MemoryHistory:
    tasks = make_tasks(load("digits"), "class", train_limit=80)
    filling = Filling(
        Stream(tasks, epochs=1), ("reservoir",), clusters=4, cluster_size=3, pool_per_class=False, sampling_rate=1.0
    )
    filling.advance(filling.stream.steps)
    return MemoryHistory(filling.logs()[0], tasks, policy="reservoir", steps=filling.stream.steps)


def colours() -> MemoryHistory:
    """Images whose channels are scaled by deviations of their own: a plain distance of bytes is another one."""
    random = np.random.default_rng(0)
    images = random.integers(256, size=(60, 3, 3, 3), dtype=np.uint8)
    images[..., 1] //= 40
    labels = np.arange(60) % 2
    tasks = make_tasks(Dataset("tiny", images, labels, images, labels), "permutation", task_count=2, scaling="standard")
    places, rows = random.integers(12, size=60), random.permutation(60)
    log = log_of(Geometry(1, 4, 3), np.arange(60), places // 3, places % 3, (rows >= 30).astype(int), rows)
    return MemoryHistory(log, tasks)


@pytest.mark.parametrize("make", [demonstration, pools, reservoir, colours])
def test_the_script_says_and_holds_what_the_log_says(page, make):
    history = make()
    last = history.steps - 1
    steps = [*range(min(120, last)), last, 12, last // 2, last // 3, last // 3 + 1, 0]
    given = json.loads(json.dumps(recording(history), default=live.as_text))
    found = page.evaluate(_READ, [SCRIPT, given, steps, 3])
    for step, (sentence, story, tasks, counts, nearest) in zip(steps, found["states"], strict=True):
        state = history.state(step)
        assert sentence == history.sentence(state)
        assert story == history.story(3, state)
        assert tasks == state.task.ravel().tolist()
        assert counts == state.counts.tolist()
        assert nearest == (state.arrival and state.arrival.nearest)
    moments = ((np.arange(60) + 0.5) * history.steps / 60).astype(int)
    states = [history.state(moment) for moment in moments]
    shares = np.reshape(found["shares"], (-1, 60))
    np.testing.assert_allclose(shares, np.transpose([s.counts / history.geometry.capacity for s in states]), atol=1e-6)
    oldest = [np.where(s.task < 0, 99, s.task).min(1) for s in states]
    np.testing.assert_array_equal(found["oldest"], np.transpose([np.where(o == 99, -1, o) for o in oldest]).ravel())
    for task, moment, height in found["labels"]:
        assert shares[:task, moment].sum() < height < shares[: task + 1, moment].sum()
    came = {task: int(history.log.step[history.log.task_in == task][0]) for task in set(history.log.task_in.tolist())}
    assert dict(found["firsts"]) == came


def test_the_cases_can_tell_distances_of_inputs_from_those_of_bytes():
    """Otherwise the test above could not fail by them."""
    history = colours()
    pixels = history.images.double().numpy()
    differ = 0
    for step in range(30, 60):
        came, before = history.state(step).arrival, history.log.rows(step - 1)
        if came.nearest is not None:
            means = [pixels[rows[rows >= 0]].mean(0) for rows in before]
            differ += came.nearest != int(np.argmin([((mean - pixels[came.row]) ** 2).sum() for mean in means]))
    assert differ > 2

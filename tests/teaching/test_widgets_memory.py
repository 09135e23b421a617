"""The memory player and builder: what they show is what the log says, step by step."""

import asyncio
import base64
import io

import ipywidgets
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tacl_lib.core.memory import Geometry
from tacl_lib.core.streams import Stream
from tacl_lib.core.tasks import make_tasks
from tacl_lib.data import Dataset, load
from tacl_lib.errors import TaclError
from tacl_lib.runs import RunSpec, run
from tacl_lib.teaching import widgets
from tacl_lib.teaching.widgets import base, thumbnails
from tacl_lib.teaching.widgets.filling import Filling
from tacl_lib.teaching.widgets.history import MemoryHistory
from tacl_lib.teaching.widgets.recording import recording
from tacl_lib.teaching.widgets.stills import map_state, share_labels
from tacl_lib.training.events import EventLog, log_of

SPEC = RunSpec(dataset="digits", split="class", epochs=2, train_limit=60, test_limit=10, hidden=(8,))


@pytest.fixture(scope="module")
def records():
    """Two trained runs of TA-A-GEM, whose pools are of a class each."""
    settings = {"clusters": 5, "cluster_size": 3}
    spec = RunSpec(**{**vars(SPEC), "learner_settings": settings})
    return spec, run(spec, (0, 3), progress=False)


@pytest.fixture(scope="module")
def player():
    return widgets.memory_player()


def replayed(log: EventLog, step: int) -> list[list[tuple | None]]:
    """The memory after a step by plain replay: per cluster, per slot (task, row, step of arrival)."""
    pools, of_pool, size = log.geometry
    memory = [[None] * size for _ in range(pools * of_pool)]
    events = zip(log.step, log.cluster, log.slot, log.task_in, log.row, strict=True)
    for when, cluster, slot, task, row in events:
        if when <= step:
            memory[cluster][slot] = (int(task), int(row), int(when))
    return memory


# The history: pure states against a replay.


def test_any_step_of_a_trained_run_is_rebuilt(records):
    _, (record, _) = records
    tasks = make_tasks(load("digits"), "class", (0,), train_limit=60, test_limit=10)
    history = MemoryHistory(record.events, tasks)
    for step in (0, 1, 7, 30, len(record.events) - 1):
        state = history.state(step)
        expected = replayed(record.events, step)
        for cluster, members in enumerate(expected):
            for slot, member in enumerate(members):
                task, row, since = member or (-1, -1, -1)
                assert (state.task[cluster, slot], state.row[cluster, slot]) == (task, row)
                assert state.since[cluster, slot] == since
        held = [member[0] for members in expected for member in members if member]
        assert state.counts.tolist() == [held.count(task) for task in range(tasks.count)]


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_states_shares_and_oldest_tasks_follow_a_replay(data):
    geometry = Geometry(data.draw(st.integers(1, 2)), data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3)))
    count = data.draw(st.integers(1, 30))
    places = data.draw(st.lists(st.integers(0, geometry.capacity - 1), min_size=count, max_size=count))
    gaps = data.draw(st.lists(st.integers(1, 4), min_size=count, max_size=count))
    labels = np.arange(20) % 2
    images = np.random.default_rng(0).integers(256, size=(20, 2, 2, 1), dtype=np.uint8)
    tasks = make_tasks(Dataset("tiny", images, labels, images, labels), "permutation", task_count=4)
    rows = data.draw(st.lists(st.integers(0, 19), min_size=count, max_size=count))
    of_row = np.repeat(np.arange(4), 5)
    cluster, slot = np.divmod(places, geometry.size)
    log = log_of(geometry, np.cumsum(gaps), cluster, slot, of_row[rows], rows)
    history = MemoryHistory(log, tasks, steps=int(np.sum(gaps)) + 3)
    for number, moment in enumerate(history.moments):
        memory = replayed(log, moment)
        held = [member[0] for members in memory for member in members if member]
        np.testing.assert_allclose(
            history.shares[:, number], [held.count(task) / geometry.capacity for task in range(4)]
        )
        oldest = [min((member[0] for member in members if member), default=-1) for members in memory]
        assert history.oldest[:, number].tolist() == oldest


def test_the_newcomer_goes_to_the_nearest_mean_unless_chance_decides():
    tasks = make_tasks(load("digits"), "class", train_limit=40)
    stream = Stream(tasks, epochs=2)
    filling = Filling(stream, ("clustering", "random"), clusters=4, cluster_size=3)
    filling.advance(stream.steps)
    pixels = tasks.train.images[0].double().numpy() / 255
    astray = 0
    for log, policy in zip(filling.logs(), filling.policies, strict=True):
        history = MemoryHistory(log, tasks, policy=policy)
        for step in range(len(log)):
            came = history.state(step).arrival
            assert came.step == step
            before = replayed(log, step - 1)
            first = came.cluster // 4 * 4
            of_pool = before[first : first + 4]
            if not all(any(members) for members in of_pool):
                assert came.nearest is None
                assert came.opened
                continue
            means = [np.mean([pixels[member[1]] for member in members if member], axis=0) for members in of_pool]
            distances = [((mean - pixels[came.row]) ** 2).sum() for mean in means]
            assert distances[came.nearest - first] <= min(distances) + 1e-6
            if policy == "clustering":
                assert came.nearest == came.cluster
            else:
                astray += came.nearest != came.cluster
    assert astray > 10


def test_the_map_is_the_plane_of_largest_spread_and_a_mean_lies_amid_its_members(player):
    history = player.history
    rows = np.unique(history.log.row)
    x = history.scaled(rows).double().numpy()
    spots = history.places_on_map[rows].astype(float)
    # Independently: the variance on the two axes is that of the two largest eigenvalues.
    values = np.linalg.eigvalsh(np.cov(x.T))[::-1][:2]
    np.testing.assert_allclose(np.var(spots, axis=0, ddof=1), values, rtol=0.02)
    assert abs(np.corrcoef(spots.T)[0, 1]) < 0.05
    state = history.state(history.steps - 1)
    seen = map_state(history, state, followed=2)
    cluster = history.places_on_map[state.row[2][state.row[2] >= 0]]
    np.testing.assert_allclose(seen["means"][2], cluster.mean(0), rtol=1e-4)
    np.testing.assert_allclose(seen["ring"][: len(cluster)], cluster)


def test_sentences_say_what_happened():
    tasks = make_tasks(load("digits"), "class")
    first = tasks.train.bounds
    labels = tasks.train.labels[0]
    sevens = first[3] + int((labels[first[3] : first[4]] == 1).nonzero()[0])
    geometry = Geometry(1, 2, 1)
    log = log_of(geometry, [3, 4, 9], [0, 1, 0], [0, 0, 0], [1, 1, 3], [first[1], first[1] + 1, sevens])
    history = MemoryHistory(log, tasks, steps=20)
    digit = 2 + int(labels[first[1]])
    assert history.sentence(history.state(0)) == "Step 0 of 20: the memory is empty."
    assert history.sentence(history.state(3)) == f"Step 3 of 20: a ‘{digit}’ of task 1 opened cluster 0."
    told = history.sentence(history.state(9))
    assert told.startswith("Step 9 of 20: a ‘7’ of task 3 entered cluster 0 and replaced a member of task 1")
    assert history.sentence(history.state(12)).startswith("Step 12 of 20: nothing entered; at step 9 a ‘7’ of task 3")
    assert history.story(1, history.state(3)) == "Cluster 1 is still empty."
    assert "holds 1 of task 3" in history.story(0, history.state(15))


# The picture of the clusters.


@pytest.mark.parametrize("shape", [(8, 8, 1), (5, 7, 3)])
def test_each_thumbnail_stands_in_its_frame_with_its_colour(shape):
    rng = np.random.default_rng(0)
    tasks = np.array([[0, 2], [-1, 1], [1, 1]])
    images = rng.integers(256, size=(3, 2, *shape), dtype=np.uint8)
    looks = base.task_looks(3)
    sheet = thumbnails.sheet_for(1, 3, 2, shape, 1.0)
    picture = thumbnails.composed(sheet, images.reshape(3, 2, -1), tasks, looks, shape)[..., :3]
    frame, (wide, high) = thumbnails.FRAME, sheet.cell
    for cluster, slot in np.ndindex(3, 2):
        x, y = sheet.corner(cluster, slot)
        cell = picture[y : y + high, x : x + wide]
        if tasks[cluster, slot] < 0:
            assert (cell[frame:-frame, frame:-frame] == cell[frame, frame]).all()
            continue
        colour = looks[tasks[cluster, slot]].colour
        expected = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
        assert cell[1, 1].tolist() == cell[high - 3, 1].tolist() == expected
        assert cell[high - 2, wide // 2].tolist() == expected
        # The whole image, pixel by pixel: nothing is written over it.
        image = np.broadcast_to(images[cluster, slot], (*shape[:2], 3)).repeat(sheet.zoom, 0).repeat(sheet.zoom, 1)
        np.testing.assert_array_equal(cell[frame:-frame, thumbnails.BAND : -frame], image)


def test_numbers_tell_tasks_apart_without_colour():
    tags = [thumbnails._tag(task, "#888888", "#000000").tobytes() for task in range(10)]
    assert len(set(tags)) == 10
    looks = base.task_looks(10)
    assert len({look.symbol for look in looks}) == len({look.marker for look in looks}) == 10


@pytest.mark.parametrize(("pools", "of_pool", "size"), [(1, 16, 4), (10, 10, 3), (2, 50, 3), (1, 99, 3), (1, 1, 1)])
def test_no_two_thumbnails_overlap_and_pools_have_their_own_columns(pools, of_pool, size):
    sheet = thumbnails.sheet_for(pools, of_pool, size, (28, 28, 1), 2.8)
    corners = [sheet.corner(cluster, slot) for cluster in range(pools * of_pool) for slot in range(size)]
    taken = np.zeros((sheet.height, sheet.width), int)
    for x, y in corners:
        taken[y : y + sheet.cell[1], x : x + sheet.cell[0]] += 1
    assert taken.max() == 1
    assert taken.sum() == len(corners) * sheet.cell[0] * sheet.cell[1]
    columns = [{sheet.corner(p * of_pool + q)[0] for q in range(of_pool)} for p in range(pools)]
    assert pools == 1 or len(set.union(*columns)) == sum(map(len, columns))


# The player. What it draws in a browser is tested there (browser/test_memory_script.py).


def test_a_player_is_given_the_whole_log_and_each_image_once(records):
    _, (record, _) = records
    tasks = make_tasks(load("digits"), "class", (0,), train_limit=60, test_limit=10)
    history = MemoryHistory(record.events, tasks)
    given = recording(history)
    step, place, image, task = np.frombuffer(given["events"], "<i4").reshape(4, -1)
    pixels = np.frombuffer(given["pixels"], np.uint8).reshape(-1, 64)
    spots = np.frombuffer(given["spots"], "<f4").reshape(-1, 2)
    names = [given["meta"]["names"][number] for number in np.frombuffer(given["names"], "<i2")]
    rows = record.events.row
    assert step.tolist() == record.events.step.tolist()
    assert task.tolist() == record.events.task_in.tolist()
    assert (place // 3).tolist() == record.events.cluster.tolist()
    assert (place % 3).tolist() == record.events.slot.tolist()
    np.testing.assert_array_equal(pixels[image], tasks.train.images[0][rows].numpy())
    np.testing.assert_array_equal(spots[image], history.places_on_map[rows])
    assert len(pixels) == len(set(rows.tolist()))
    for number, row in zip(image, rows.tolist(), strict=True):
        digit = 2 * int(np.searchsorted(tasks.train.bounds, row, side="right") - 1) + int(tasks.train.labels[0][row])
        assert names[number] in (f"a ‘{digit}’", f"an ‘{digit}’")


def test_a_player_opens_at_the_start_and_its_image_shows_the_end():
    player = widgets.memory_player()
    assert player.step == 0
    assert player.still().alt.startswith("Step 627 of 628")  # nobody can press Play on an image
    player.step = 10**9
    assert player.step == 627
    player.step, player.followed = 300, 3
    assert player.still().alt.startswith("Step 300 of 628")
    with pytest.raises(TaclError, match="clusters 0 to 19 to follow, not 20"):
        player.followed = 20
    assert player.followed == 3


def test_a_record_brings_its_own_tasks(records):
    _, (_, record) = records
    player = widgets.memory_player(record)
    assert player.said == ""
    tasks = make_tasks(load("digits"), "class", (0, 3), train_limit=60, test_limit=10)
    again = MemoryHistory(record.events, tasks, run=1)
    state = player.history.state(40)
    held = state.row[state.row >= 0]
    assert torch.equal(player.history.images[held], tasks.train.images[1][held])
    said = player.history.sentence(state)
    assert said == again.sentence(again.state(40)).replace(f"{again.steps:,}", f"{60:,}")
    assert "pool of class" in said


def test_what_cannot_be_played_is_told_and_what_was_there_stays(records):
    _, (record, _) = records
    fields = {name: getattr(record, name) for name in ("seed", "epochs", "accuracy", "seen", "memory")}
    without = type(record)(**fields, info=record.info)
    player = widgets.memory_player(without)
    assert "kept no event log" in player.said
    assert player.still().alt == player.said

    player.show(record)
    assert player.said == ""
    shown = player.history
    empty = log_of(Geometry(1, 2, 1), [], [], [], [], [])
    tasks = make_tasks(load("digits"), "class")
    far = log_of(Geometry(1, 2, 1), [0], [0], [0], [0], [10_000_000])
    elsewhere = type(record)(**fields, events=record.events, info={"spec": {**record.info["spec"], "dataset": "nope"}})
    for source, with_tasks, part in (
        (None, None, "no finished run"),
        (record.events, None, "give the tasks"),
        (empty, tasks, "nothing entered"),
        (far, tasks, "do not have"),
        (elsewhere, None, "unknown dataset 'nope'"),
        (7, None, "not int"),
    ):
        player.show(source, with_tasks)
        assert part in player.said
        assert player.said.count("\n") == 0
        assert player.history is shown


def test_a_long_error_is_one_sentence_with_the_rest_to_hover():
    view = widgets.scheduler_lab()
    view.tell("MNIST is not available from any source:\n  - web\n  - npm\nPut its files into a folder.", wrong=True)
    shown = view.message.value.partition(">")[2].removesuffix("</div>")
    assert shown == "⚠ MNIST is not available from any source. Put its files into a folder."
    assert "- npm" in view.message.value


def test_without_a_front_end_there_is_a_picture_of_the_same_state(player):
    player.step = 200
    data, about = player._repr_mimebundle_()
    assert data["application/vnd.jupyter.widget-view+json"]["model_id"] == player.model_id
    picture = Image.open(io.BytesIO(base64.b64decode(data["image/png"])))
    assert picture.width == 880
    assert len(data["image/png"]) < 400_000
    state = player.history.state(200)
    assert data["text/plain"] == about["image/png"]["alt"]
    assert data["text/plain"].startswith(player.history.sentence(state))
    assert f"{state.counts[0]} of task 0" in data["text/plain"]


def test_the_browser_hears_of_a_figure_when_it_is_complete():
    lab = widgets.scheduler_lab()
    assert lab.comm is lab.figure.comm is None
    lab._repr_mimebundle_()
    assert lab.comm is not None
    assert lab.figure.comm is not None
    boxed = widgets.scheduler_lab()
    ipywidgets.VBox([boxed])  # not shown itself, but in something that will be
    assert boxed.comm is not None
    assert boxed.figure.comm is not None


@pytest.mark.parametrize("view", [widgets.projection_playground, widgets.scheduler_lab])
def test_no_box_of_a_view_opens_its_figure_too_early(view):
    """What changes before a view is shown must not be sent: a browser that missed it would wait for a busy kernel."""
    made = view()
    figures = [made.figure] if hasattr(made, "figure") else [made.agem.figure, made.ogd.figure]
    assert [figure.comm for figure in figures] == [None] * len(figures)
    made.ask_to_open()
    assert figures[0].comm is not None


def test_labels_of_the_shares_lie_in_their_areas(player):
    shares = player.history.shares
    labels = share_labels(shares)
    assert len({task for task, _, _ in labels}) >= 3
    for task, at, height in labels:
        assert shares[:task, at].sum() < height < shares[: task + 1, at].sum()


def test_a_player_of_a_full_run_holds_little_more_than_its_images():
    """120,000 steps, 300 members, 784 features: what it sends is the log and each image that came, once."""
    rng = np.random.default_rng(0)
    images = rng.integers(256, size=(60_000, 28, 28, 1), dtype=np.uint8)
    labels = rng.integers(10, size=60_000)
    tasks = make_tasks(Dataset("noise", images, labels, images[:100], labels[:100]), "permutation", task_count=10)
    steps = np.arange(120_000)
    of_row = np.repeat(np.arange(10), 6_000)
    rows = steps // 2
    cluster, slot = rng.integers(100, size=len(steps)), rng.integers(3, size=len(steps))
    log = log_of(Geometry(10, 10, 3), steps, cluster, slot, of_row[rows], rows)
    player = widgets.memory_player(log, tasks)
    assert player.said == ""
    sent = sum(len(part) for part in player._sides[0].values() if isinstance(part, bytes))
    pixels = images.nbytes
    assert pixels < sent < pixels + 4e6


# The builder.


def test_the_builder_fills_the_memory_of_a_trained_run(records):
    """What enters a memory does not depend on the network, so that no training is needed to see it."""
    _, (record, _) = records
    builder = widgets.memory_builder("digits", epochs=2, clusters=5, cluster_size=3, pool_per_class=True)
    stream = Stream(make_tasks(load("digits"), "class", (0,), train_limit=60, test_limit=10), epochs=2)
    filling = Filling(stream, ("clustering", "fifo"), clusters=5, cluster_size=3, pool_per_class=True)
    filling.advance(stream.steps)
    for name, column in filling.logs()[0].columns().items():
        np.testing.assert_array_equal(column, record.events.columns()[name], err_msg=name)
    assert builder.chosen().filling(stream.tasks).geometry == record.events.geometry


def test_two_policies_see_the_same_samples_under_one_slider():
    builder = widgets.memory_builder(epochs=1, clusters=8, cluster_size=2, policies=("clustering", "reservoir"))
    builder.run.click()
    assert builder.said == ""
    assert not builder.run.disabled
    assert builder.stop.disabled
    ours, theirs = (history.log for history in builder.histories)
    rows = dict(zip(ours.step, ours.row, strict=True))
    assert all(rows[step] == row for step, row in zip(theirs.step, theirs.row, strict=True))
    assert len(theirs) < len(ours)  # a reservoir turns some away
    assert builder.replay._titles == ["clustering: to the nearest mean", "reservoir: all alike likely to stay"]
    for side, log in zip(builder.replay._sides, (ours, theirs), strict=True):
        np.testing.assert_array_equal(np.frombuffer(side["events"], "<i4").reshape(4, -1)[3], log.task_in)
        assert side["spots"] == b""
    builder.replay.step, builder.replay.followed = 100, 3
    assert builder.still().alt.count("Step 100") == 2


def test_filling_can_be_stopped_and_what_was_recorded_is_played(monkeypatch):
    builder = widgets.memory_builder(epochs=1, clusters=4, cluster_size=2, policies=("fifo",))
    monkeypatch.setattr("tacl_lib.teaching.widgets.builder.PART", 0)  # the button is looked at after every few steps
    sent, seen = [], []
    monkeypatch.setattr(builder.replay, "send", sent.append)

    def watched(change):
        seen.append(change["new"])
        if len(seen) == 6:
            builder.stop.click()

    builder.progress.observe(watched, "value")

    async def in_a_notebook():
        builder.run.click()
        await builder._running

    asyncio.run(in_a_notebook())
    assert seen == [8, 16, 24, 32, 40, 48]
    assert builder.said.startswith("Stopped after 48 of ")
    assert builder.histories[0].steps == 48
    assert builder.replay.step == 47
    assert sent == ["play"]
    assert "row" in builder.histories[0].sentence(builder.histories[0].state(3))


def test_a_wrong_choice_is_told_and_the_builder_goes_on(monkeypatch, tmp_path):
    monkeypatch.setenv("TACL_OFFLINE", "all")
    monkeypatch.setenv("TACL_CACHE", str(tmp_path))  # an empty one: no dataset but the embedded one is there
    monkeypatch.delenv("TACL_DATA", raising=False)
    builder = widgets.memory_builder(epochs=1, clusters=6, cluster_size=2)
    builder.run.click()
    before = builder.histories
    for name, value, part in (
        ("clusters", 5000, "Q = 5000 needs 5,000 samples"),
        ("sampling_rate", 0.0, "sampling rate"),
        ("dataset", "mnist", "is not available"),
    ):
        old = builder.controls[name].value
        builder.controls[name].value = value
        builder.run.click()
        assert part in builder.said
        assert "⚠" in builder.message.value
        assert builder.histories is before
        assert not builder.run.disabled
        builder.controls[name].value = old
    builder.controls["experiment"].value = "continuous"
    builder.run.click()
    assert "needs at least 2 epochs" in builder.said
    builder.controls["epochs"].value = 2
    builder.run.click()
    assert builder.said == ""
    assert builder.histories is not before


def test_a_policy_that_a_user_adds_can_be_chosen(monkeypatch):
    from tacl_lib.core.memory.policies import POLICIES, fifo

    monkeypatch.setitem(POLICIES, "mine", fifo)
    builder = widgets.memory_builder(epochs=1, clusters=6, cluster_size=2, policies=("mine", "fifo"))
    builder.run.click()
    mine, theirs = builder.histories
    np.testing.assert_array_equal(mine.log.row, theirs.log.row)


def test_before_the_first_run_the_builder_invites():
    builder = widgets.memory_builder()
    assert "press “Run”" in builder.still().alt
    assert builder.histories == []


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"dataset": "nope"}, "unknown dataset 'nope'"),
        ({"policies": ("clustering", "luck")}, "unknown memory policy 'luck'"),
        ({"policies": ()}, "one policy can be shown, or two"),
        ({"Q": 3}, "unknown setting 'Q'; choose one of: dataset, split"),
    ],
)
def test_a_wrong_setting_is_told_and_the_builder_starts_with_the_usual_ones(settings, part):
    builder = widgets.memory_builder(**settings)
    assert part in builder.said
    builder.controls["epochs"].value = 1
    builder.run.click()
    assert builder.said == ""
    assert len(builder.histories) == 2


def test_a_builder_that_was_started_before_it_is_shown_is_complete():
    """In a notebook, where an event loop runs: nothing is left to a moment in which no cell runs."""

    async def in_a_cell():
        builder = widgets.memory_builder(epochs=2)
        builder.start()
        return builder

    builder = asyncio.run(in_a_cell())
    assert [history.steps for history in builder.histories] == [314, 314]
    assert builder.replay.step == 313
    assert not builder.run.disabled

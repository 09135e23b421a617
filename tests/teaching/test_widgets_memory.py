"""The memory player and builder: what they show is what the log says, step by step."""

import asyncio
import base64
import io
import json
from types import SimpleNamespace

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
from tacl_lib.runs import RunSpec, run
from tacl_lib.teaching import widgets
from tacl_lib.teaching.widgets import base, thumbnails
from tacl_lib.teaching.widgets.filling import Filling
from tacl_lib.teaching.widgets.history import MemoryHistory, cluster_texts, member_texts
from tacl_lib.teaching.widgets.map_panel import map_state
from tacl_lib.teaching.widgets.time_panels import share_labels
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


def trace(view, name: str, number: int = 0):
    return [trace for trace in view.figure.data if trace.name == name][number]


def words_of(line) -> str:
    return line.value.partition(">")[2].removesuffix("</div>")


def clicked(trace, point, x, y) -> None:
    """What plotly does when the browser reports a click."""
    points = SimpleNamespace(point_inds=[point], xs=[x], ys=[y])
    for callback in trace._click_callbacks:
        callback(trace, points, None)


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


@pytest.mark.parametrize("size", [1, 4, 9])
def test_every_thumbnail_is_near_a_point_of_its_own_strip(size):
    sheet = thumbnails.sheet_for(1, 6, size, (28, 28, 1), 2.0)
    handles = sheet.handles()
    for cluster, slot in np.ndindex(6, size):
        middle = np.array(sheet.corner(cluster, slot)) + np.array(sheet.cell) / 2
        nearest = int(((handles - middle) ** 2).sum(1).argmin())
        assert nearest // sheet.handles_each == cluster


# The player.


def test_the_slider_moves_all_views_in_one_update(player, monkeypatch):
    sent = []
    monkeypatch.setattr(player.figure, "_send_update_msg", lambda *args, **kwargs: sent.append("update"))
    for other in ("_send_restyle_msg", "_send_relayout_msg"):
        monkeypatch.setattr(player.figure, other, lambda *args, other=other, **kwargs: sent.append(other))
    player.playback.slider.value = 400
    assert sent == ["update"]
    player.playback.slider.value = 333
    assert sent == ["update"] * 2

    memory = replayed(player.history.log, 333)
    places = [member for members in memory for member in members]
    shown = trace(player, "members").marker.color
    assert [int(task) for task in shown] == [-1 if member is None else member[0] for member in places]
    strips = trace(player, "strips").text
    assert len(strips) == len(memory)
    for cluster, (text, members) in enumerate(zip(strips, memory, strict=True)):
        head, *lines = text.split("<br>")
        assert head == f"<b>cluster {cluster}</b>"
        ends = [f"of task {member[0]}, since step {member[2]}" for member in members if member] or ["empty"]
        assert [line.endswith(end) for line, end in zip(lines, ends, strict=True)] == [True] * len(ends)
    for cursor in [trace for trace in player.figure.data if trace.name == "cursor"]:
        assert list(cursor.x) == [333.5, 333.5]
    assert words_of(player.words).startswith("Step 333 of 628: ")


@pytest.mark.parametrize("step", [50, 400])
def test_the_picture_in_the_figure_is_that_of_the_step(player, step):
    player.playback.slider.value = step
    source = player.figure.layout.images[0].source
    seen = np.asarray(Image.open(io.BytesIO(base64.b64decode(source.partition(",")[2]))).convert("RGB")).astype(int)
    state, panel = player.history.state(step), player.panels[0]
    memory = replayed(player.history.log, step)
    tasks = {member[0] for members in memory for member in members if member}
    # Or the picture of another step would do: one has empty places, the other several tasks.
    assert any(None in members for members in memory) if step == 50 else len(tasks) > 2
    for cluster, members in enumerate(memory):
        for slot, member in enumerate(members):
            x, y = panel.sheet.corner(cluster, slot)
            colour = seen[y + 27, x + 1]
            expected = _rgb("#dcdcdc") if member is None else _rgb(player.looks[member[0]].colour)
            assert np.abs(colour - expected).max() < 40, (cluster, slot, colour, expected)
    assert state.counts.sum() == sum(member is not None for members in memory for member in members)


def _rgb(colour):
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


def test_the_newcomer_is_marked_and_tied_to_its_nearest_mean(player):
    player.playback.slider.value = 500
    came = player.history.state(500).arrival
    star, line = trace(player, "newcomer", 1), trace(player, "to the nearest mean")
    spot = player.history.places_on_map[came.row]
    assert (star.x[0], star.y[0]) == tuple(spot)
    members = [member[1] for member in replayed(player.history.log, 499)[came.cluster] if member]
    np.testing.assert_allclose([line.x[1], line.y[1]], player.history.places_on_map[members].mean(0), rtol=1e-4)
    box = trace(player, "newcomer", 0)
    assert (min(box.x), min(box.y)) == player.panels[0].sheet.corner(came.cluster, came.slot)


def test_a_player_opens_at_the_start_and_hides_what_is_to_come():
    player = widgets.memory_player()
    assert player.playback.value == 0
    assert "Press Play" in words_of(player.story)
    covers = [trace for trace in player.figure.data if trace.name == "future"]
    assert [list(cover.x[:2]) for cover in covers] == [[1, 628]] * 2
    player.playback.go(300)
    player.playback.go(100)  # what was seen stays seen
    assert [list(cover.x[:2]) for cover in covers] == [[301, 628]] * 2
    player.playback.go(627)
    assert [len(cover.x) for cover in covers] == [0, 0]
    # Nobody can press Play on an image: it shows the end.
    player.playback.go(0)
    assert player.still().alt.startswith("Step 627 of 628")


def test_a_builder_that_was_started_before_it_is_shown_is_complete():
    """In a notebook, where an event loop runs: nothing is left to a moment in which no cell runs."""

    async def in_a_cell():
        builder = widgets.memory_builder(epochs=2)
        builder.start()
        return builder

    builder = asyncio.run(in_a_cell())
    assert [history.recorded for history in builder.histories] == [314, 314]
    assert builder.playback.value == 313
    assert not builder.run.disabled


def test_names_of_a_user_reach_no_figure_as_markup(monkeypatch):
    from tacl_lib.core.memory.policies import POLICIES, fifo

    name = "<a href='x'>mine</a> %{y}"
    monkeypatch.setitem(POLICIES, name, fifo)
    builder = widgets.memory_builder(epochs=1, clusters=4, cluster_size=2, policies=(name, "fifo"))
    builder.start()
    headings = [mark.text for mark in builder.figure.layout.annotations]
    assert headings[0] == "<b>&lt;a href='x'&gt;mine&lt;/a&gt; &#37;{y}</b>"
    for line in (builder.story, builder.message, *builder.words):
        assert "<a" not in line.value
    assert "&lt;a href=" in builder.words[0].value


def test_a_click_in_any_view_highlights_the_cluster_in_all(player):
    player.playback.slider.value = 627
    size = player.history.geometry.size
    clicks = {
        "strips": (trace(player, "strips"), 7, 0, 0, 7),
        "oldest task": (trace(player, "oldest task"), [3, 8], 100, 8, 8),
        "members": (trace(player, "members"), 5 * size, 0, 0, 5),
        "means": (trace(player, "means"), 11, 0, 0, 11),
    }
    for clicked_trace, point, x, y, cluster in clicks.values():
        clicked(clicked_trace, point, x, y)
        assert player.follow.value == player.follow.control.value == cluster
        in_clusters, in_timeline = trace(player, "followed", 0), trace(player, "followed", 1)
        assert (list(in_clusters.x), list(in_clusters.y)) == player.panels[0].sheet.box(cluster)
        assert np.mean(in_timeline.y[:4]) == pytest.approx(cluster)
        rows = player.history.state(627).row[cluster]
        ring = np.column_stack([trace(player, "followed", 2).x, trace(player, "followed", 2).y])
        held = ~np.isnan(ring[:, 0])
        np.testing.assert_array_equal(ring[held], player.history.places_on_map[rows[rows >= 0]])
        assert words_of(player.story).startswith(f"Cluster {cluster} holds")
    clicked(trace(player, "means"), 11, 0, 0)  # once more: let it go
    assert player.follow.value is None
    assert not len(trace(player, "followed", 0).x)
    assert not len(trace(player, "spokes").x)


def test_step_buttons_go_from_arrival_to_arrival():
    tasks = make_tasks(load("digits"), "class", train_limit=50)
    stream = Stream(tasks, epochs=2)
    filling = Filling(stream, ("clustering",), clusters=2, cluster_size=2, sampling_rate=0.3)
    filling.advance(stream.steps)
    (log,) = filling.logs()
    player = widgets.memory_player(log, tasks)
    player.playback.slider.value = int(log.step[4])
    player.playback.forward.click()
    assert player.playback.value == log.step[5]
    player.playback.back.click()
    player.playback.back.click()
    assert player.playback.value == log.step[3]
    player.playback.go(int(log.step[0]))
    player.playback.back.click()
    assert player.playback.value == log.step[0]
    player.playback.go(int(log.step[4]) + 1)
    assert "nothing entered" in words_of(player.words)


def test_play_is_a_button_with_a_name_and_drives_the_slider_in_the_browser(player):
    assert player.playback.play.description == "Play"
    player.playback.play.value = True
    assert player.playback.play.description == "Pause"
    player.playback.play.value = False
    linked = [(link.source, link.target) for link in player.playback._links]
    assert ((player.playback.play, "value"), (player.playback.clock, "playing")) in linked
    assert ((player.playback.clock, "value"), (player.playback.slider, "value")) in linked
    player.playback.speed.value = 10
    assert player.playback.clock.step == 10
    assert player.playback.clock.max == player.playback.slider.max == 627


def test_a_record_brings_its_own_tasks(records):
    _, (_, record) = records
    player = widgets.memory_player(record)
    assert player.said == ""
    player.playback.slider.value = 40
    tasks = make_tasks(load("digits"), "class", (0, 3), train_limit=60, test_limit=10)
    again = MemoryHistory(record.events, tasks, run=1)
    rows = player.history.state(40).row
    held = rows[rows >= 0]
    assert torch.equal(player.history.images[held], tasks.train.images[1][held])
    assert words_of(player.words) == again.sentence(again.state(40)).replace(f"{again.steps:,}", f"{60:,}")
    assert "pool of class" in words_of(player.words)


def test_what_cannot_be_played_is_told_and_what_was_there_stays(records):
    _, (record, _) = records
    fields = {name: getattr(record, name) for name in ("seed", "epochs", "accuracy", "seen", "memory")}
    without = type(record)(**fields, info=record.info)
    player = widgets.memory_player(without)
    assert "kept no event log" in player.said
    assert "⚠" in player.message.value
    assert player.still().alt == player.said
    player.playback.slider.value = 3  # nothing to move, and no complaint

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
    player.playback.slider.value = 5
    assert words_of(player.words).startswith("Step 5 of")


def test_a_long_error_is_one_sentence_with_the_rest_to_hover(player):
    player.tell("MNIST is not available from any source:\n  - web\n  - npm\nPut its files into a folder.", wrong=True)
    shown = words_of(player.message)
    assert shown == "⚠ MNIST is not available from any source. Put its files into a folder."
    assert "- npm" in player.message.value
    player.tell("")


def test_without_a_front_end_there_is_a_picture_of_the_same_state(player):
    player.playback.slider.value = 200
    data, about = player._repr_mimebundle_()
    assert data["application/vnd.jupyter.widget-view+json"]["model_id"] == player.model_id
    picture = Image.open(io.BytesIO(base64.b64decode(data["image/png"])))
    assert picture.width == 880
    assert len(data["image/png"]) < 400_000
    state = player.history.state(200)
    assert data["text/plain"] == about["image/png"]["alt"]
    assert data["text/plain"].startswith(player.history.sentence(state))
    assert f"{state.counts[0]} of task 0" in data["text/plain"]


def test_the_state_that_a_new_page_is_given_is_the_present_one(player):
    """A page that is reloaded asks the kernel for the state of all widgets."""
    player.playback.slider.value = 300
    state = player.figure.get_state()
    cursors = [trace for trace in state["_widget_data"] if trace.get("name") == "cursor"]
    assert [list(cursor["x"]) for cursor in cursors] == [[300.5, 300.5]] * 2
    assert state["_widget_layout"]["images"][0]["source"] == player.figure.layout.images[0].source
    json.dumps(plain(state["_widget_layout"]), allow_nan=False)
    json.dumps(plain(state["_widget_data"]), allow_nan=False)


def plain(value):
    """Without what travels as bytes."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items() if key != "buffer"}
    return [plain(part) for part in value] if isinstance(value, (list, tuple)) else value


def test_the_browser_hears_of_a_figure_when_it_is_complete():
    player = widgets.memory_player()
    assert player.comm is player.figure.comm is None
    player._repr_mimebundle_()
    assert player.comm is not None
    assert player.figure.comm is not None
    boxed = widgets.memory_builder()
    ipywidgets.VBox([boxed])  # not shown itself, but in something that will be
    assert boxed.comm is not None
    assert boxed.figure.comm is not None


@pytest.mark.parametrize(
    "view", [widgets.memory_player, widgets.memory_builder, widgets.projection_playground, widgets.scheduler_lab]
)
def test_no_box_of_a_view_opens_its_figure_too_early(view):
    """What changes before a view is shown must not be sent: a browser that missed it would wait for a busy kernel."""
    made = view()
    if hasattr(made, "start"):
        made.start()
    figures = [made.figure] if hasattr(made, "figure") else [made.agem.figure, made.ogd.figure]
    assert [figure.comm for figure in figures] == [None] * len(figures)
    made.ask_to_open()
    assert figures[0].comm is not None


def test_an_update_does_not_take_from_a_trace_what_another_is_given(player, monkeypatch):
    """In a batch each attribute is named for all traces that change; those that keep theirs must not lose it."""
    sent = []
    monkeypatch.setattr(
        "plotly.basewidget.BaseFigureWidget._send_update_msg", lambda self, *message: sent.append(message)
    )
    player.playback.go(150)
    player.playback.go(151)
    styles, _, numbers, _ = sent[-1]
    names = [player.figure.data[number].name for number in numbers]
    colours = dict(zip(names, styles["marker.color"], strict=True))
    assert {"members", "means"} <= set(colours)
    assert colours["means"] == "#ffffff"


def test_no_edit_names_an_attribute_and_its_parent_at_once(player, monkeypatch):
    """Plotly.js refuses such an update as a whole, and then nothing moves."""
    sent = []

    def keep(restyle_data, relayout_data, **_):
        sent.append((restyle_data, relayout_data))

    monkeypatch.setattr(player.figure, "_send_update_msg", keep)
    player.show("demo")
    player.follow.toggle(3)
    assert len(sent) == 2
    for parts in sent:
        for keys in map(list, parts):
            assert [(a, b) for a in keys for b in keys if b.startswith(f"{a}.")] == []


def test_labels_of_the_shares_lie_in_their_areas(player):
    shares = player.history.shares
    labels = share_labels(shares)
    assert len({task for task, _, _ in labels}) >= 3
    for task, at, height in labels:
        assert shares[:task, at].sum() < height < shares[: task + 1, at].sum()


# The memory that a player takes.


def test_a_player_of_a_full_run_holds_little():
    """120,000 steps, 300 members, 784 features: everything but the images of the tasks, which are the user's."""
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
    player.playback.slider.value = 77_777
    held = held_bytes(player)
    assert 1e6 < held < 40e6, held


def held_bytes(player) -> int:
    """Arrays, tensors (but for the images) and text in what a player holds, each once."""
    seen, total, queue = set(), 0, [player.history, player.figure._data, player.figure._layout, player.panels]
    images = player.history.images.untyped_storage().data_ptr()
    while queue:
        thing = queue.pop()
        if id(thing) in seen or thing is None:
            continue
        seen.add(id(thing))
        if isinstance(thing, np.ndarray):
            total += thing.nbytes if thing.base is None else 0
            queue.append(thing.base)
        elif isinstance(thing, torch.Tensor):
            total += 0 if thing.untyped_storage().data_ptr() == images else thing.untyped_storage().nbytes()
        elif isinstance(thing, (str, bytes)):
            total += len(thing)
        elif isinstance(thing, dict):
            queue += thing.values()
        elif isinstance(thing, (list, tuple)):
            total += 8 * len(thing)
            queue += thing
        elif type(thing).__module__.startswith("tacl_lib"):
            queue += vars(thing).values()
    return total


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
    builder.playback.slider.value = 100
    for number, log in enumerate((ours, theirs)):
        places = [member for members in replayed(log, 100) for member in members]
        texts = trace(builder, "strips", number).text
        tasks = [int(part[0]) for text in texts for part in text.split("of task ")[1:]]
        assert tasks == [member[0] for member in places if member]
    cursors = [trace.x[0] for trace in builder.figure.data if trace.name == "cursor"]
    assert cursors == [100.5] * 4
    assert words_of(builder.words[1]).startswith("Reservoir, step 100 of")

    clicked(trace(builder, "oldest task", 1), [0, 0], 5, 3)
    assert builder.follow.value == 3
    assert all(len(trace(builder, "followed", number).x) == 5 for number in range(4))
    assert builder.still().alt.count("Step 100") == 2


def test_the_memory_is_shown_while_it_fills(monkeypatch):
    builder = widgets.memory_builder(epochs=1, clusters=4, cluster_size=2, policies=("fifo",))
    monkeypatch.setattr("tacl_lib.teaching.widgets.builder.PART", 0)  # a picture after every few steps
    seen = []
    show = builder._show

    def watched(filling):
        show(filling)
        history = builder.histories[0]
        assert history.moments.max() < filling.steps == builder.playback.value + 1
        assert builder.playback.slider.max == filling.steps - 1
        seen.append(filling.steps)
        if len(seen) == 6:
            builder.stop.click()

    async def in_a_notebook():
        builder.run.click()
        await builder._running

    monkeypatch.setattr(builder, "_show", watched)
    asyncio.run(in_a_notebook())
    assert len(seen) == 6
    assert seen == sorted(set(seen))
    assert builder.said.startswith(f"Stopped after {seen[-1]} of ")
    builder.playback.slider.value = 3  # what was recorded can be looked at
    assert words_of(builder.words[0]).startswith("Fifo, step 3 of")
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
    assert "needs 2 epochs" in builder.said
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
    builder.playback.slider.value = 0
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


def test_views_do_not_change_their_height():
    """Fixed heights: nothing on the page jumps while a memory plays."""
    for view in (widgets.memory_player(), widgets.memory_builder()):
        lines = [
            view.heading,
            view.message,
            view.story,
            view.key,
            *([view.words] if not isinstance(view.words, list) else view.words),
        ]
        assert all(line.layout.height.endswith("px") for line in lines)
        assert view.figure.layout.height > 400


def test_texts_name_what_stands_at_each_place(player):
    state = player.history.state(627)
    texts = member_texts(player.history, state)
    for place, member in enumerate(m for members in replayed(player.history.log, 627) for m in members):
        label = 2 * member[0] + int(player.history.labels[member[1]]) if member else None
        expected = f"‘{label}’ of task {member[0]}, since step {member[2]}" if member else "empty"
        assert texts[place] == expected
    assert cluster_texts(player.history, ["empty"] * len(texts))[4] == "<b>cluster 4</b><br>empty"

"""The event log of a memory against a replay."""

import io

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_streams import FEATURES, UNIT, entry, replay, streams

from tacl_lib.core.memory import (
    POLICIES,
    Geometry,
    sample_memory,
)
from tacl_lib.plain.memory import ClusterMemory
from tacl_lib.training.events import EMPTY, EventLog, EventRecorder, log_of

# ---- the event log


@st.composite
def arrivals(draw):
    """Steps in order with gaps, places, and who came; the geometry is small, so that places are replaced."""
    geometry = Geometry(draw(st.integers(1, 2)), draw(st.integers(1, 3)), draw(st.integers(1, 3)))
    length = draw(st.integers(0, 30))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    step = np.cumsum(rng.integers(1, 4, length)) + draw(st.integers(-1, 5))
    places = rng.integers(0, geometry.capacity, length)
    return geometry, step, *np.divmod(places, geometry.size), rng.integers(0, 7, length), rng.integers(0, 1000, length)


@settings(deadline=None, max_examples=60)
@given(arrivals())
def test_contents_at_every_step_are_those_of_a_replay(events):
    geometry, step, cluster, slot, task, row = events
    log = log_of(*events)
    assert len(log) == len(step)
    shape = (geometry.pools * geometry.clusters, geometry.size)
    tasks, rows, number, since = (np.full(shape, EMPTY) for _ in range(4))
    after, oldest, numbers = 0, [], []
    last = int(step[-1]) if len(step) else 0
    moments = range(-3, last + 4)
    for now in moments:
        while after < len(step) and step[after] <= now:
            where = cluster[after], slot[after]
            assert log.task_out[after] == tasks[where]
            tasks[where], rows[where], number[where], since[where] = task[after], row[after], after, step[after]
            after += 1
        assert np.array_equal(log.tasks(now), tasks)
        assert np.array_equal(log.rows(now), rows)
        assert all(map(np.array_equal, log.members(now), (tasks, rows, since)))
        assert np.array_equal(log.last_arrivals(now), number.ravel())
        numbers.append(number.ravel().copy())
        oldest.append([min((task for task in cluster if task != EMPTY), default=EMPTY) for cluster in tasks.tolist()])
    assert after == len(step)
    assert np.array_equal(log.last_arrivals(moments), numbers)  # many steps at once
    assert np.array_equal(log.oldest(moments), np.transpose(oldest))
    assert np.array_equal(log.rows(10**9), rows)  # far beyond the last event
    # The columns are enough to build it again.
    again = EventLog(geometry, **log.columns())
    assert np.array_equal(again.tasks(last), tasks)


def test_an_empty_log_is_an_empty_memory():
    log = log_of(Geometry(2, 2, 3), [], [], [], [], [])
    assert len(log) == 0
    for step in (-5, -1, 0, 7):
        assert log.tasks(step).tolist() == [[-1] * 3] * 4
        assert log.rows(step).tolist() == [[-1] * 3] * 4
        assert log.last_arrivals(step).tolist() == [-1] * 12
    assert log.oldest([-1, 7]).tolist() == [[-1, -1]] * 4
    assert EventRecorder(Geometry(1, 1, 1), 2).logs()[1].tasks(3).tolist() == [[-1]]


def record(recorder, memory, z, labels, uniforms, rng, start=0, every=None):
    """Feed a memory and note what it did. Yields (step, run, cluster, slot, kept, task, row)."""
    for step, placement in replay(memory, z, labels, uniforms):
        runs = z.shape[1]
        chosen = torch.from_numpy(rng.integers(0, 5, runs))
        task = torch.from_numpy(rng.integers(0, 9, (runs, 5)))
        row = torch.from_numpy(rng.integers(0, 60000, (runs, 5)))
        recorder.note(start + step, placement, chosen, task, row)
        if every and step % every == 0:
            recorder.flush()
        for run in range(runs):
            yield start + step, run, *entry(placement, run), int(task[run, chosen[run]]), int(row[run, chosen[run]])


@settings(deadline=None, max_examples=20)
@given(streams(), st.sampled_from(sorted(POLICIES)), st.sampled_from([None, 1, 4]))
def test_recorder_logs_what_was_kept_and_nothing_else(stream, policy, every):
    """Also the reservoir, which turns newcomers away: they must leave no trace."""
    geometry, z, labels, uniforms = stream
    runs = z.shape[1]
    memory, recorder = sample_memory(runs, FEATURES, geometry, policy), EventRecorder(geometry, runs)
    rng = np.random.default_rng(1)
    expected = [[] for _ in range(runs)]
    for step, run, cluster, slot, kept, task, row in record(recorder, memory, z, labels, uniforms, rng, every=every):
        if kept:
            expected[run].append((step, cluster, slot, task, row))
    logs = recorder.logs()
    assert len(logs) == runs
    counts = recorder.members_by_task(9)
    for run, (log, events) in enumerate(zip(logs, expected, strict=True)):
        held = log.tasks(10**6)
        assert counts[run].tolist() == [(held == task).sum() for task in range(9)]
        columns = (log.step, log.cluster, log.slot, log.task_in, log.row)
        assert [tuple(map(int, event)) for event in zip(*columns, strict=True)] == events


def test_some_newcomers_are_turned_away():
    """The test above would be idle if a reservoir took everybody."""
    rng = np.random.default_rng(0)
    geometry = Geometry(1, 1, 2)
    memory, recorder = sample_memory(1, FEATURES, geometry, "reservoir"), EventRecorder(geometry, 1)
    z = UNIT * rng.integers(-2, 3, (30, 1, FEATURES))
    notes = list(record(recorder, memory, z, np.zeros((30, 1), int), rng.random((30, 1)), rng))
    kept = [note[4] for note in notes]
    assert 2 < sum(kept) < 30
    assert len(recorder.logs()[0]) == sum(kept)


def recorded(runs=2, geometry=Geometry(2, 2, 2)):  # noqa: B008 (a tuple)
    """A recorder after 20 of 40 steps, and a function that notes the other 20 in any recorder."""
    rng = np.random.default_rng(3)
    z, labels = UNIT * rng.integers(-2, 3, (40, runs, FEATURES)), rng.integers(0, geometry.pools, (40, runs))
    uniforms = rng.random((40, runs))
    memory, recorder = sample_memory(runs, FEATURES, geometry, "reservoir"), EventRecorder(geometry, runs)
    list(record(recorder, memory, z[:20], labels[:20], uniforms[:20], rng))  # not flushed yet

    def go_on(other):
        list(record(other, memory, z[20:], labels[20:], uniforms[20:], rng, start=20))
        other.flush()

    return recorder, go_on


def same_books(one, two):
    for log, other in zip(one.logs(), two.logs(), strict=True):
        assert len(log) > 0
        for name, column in log.columns().items():
            np.testing.assert_array_equal(column, other.columns()[name])
    np.testing.assert_array_equal(one.members_by_task(9), two.members_by_task(9))


def test_recorder_state_round_trip_through_a_file():
    recorder, _ = recorded()
    file = io.BytesIO()
    torch.save(recorder.state(), file)
    file.seek(0)
    resumed = EventRecorder(recorder.geometry, recorder.runs)
    resumed.load_state(torch.load(file, weights_only=True))
    same_books(recorder, resumed)


def test_a_resumed_recorder_keeps_its_own_book():
    """What one notes after load_state does not show in the other."""
    recorder, go_on = recorded()
    resumed = EventRecorder(recorder.geometry, recorder.runs)
    resumed.load_state(recorder.state())
    same_books(recorder, resumed)
    events, members = len(recorder.logs()[0]), recorder.members_by_task(9)
    go_on(resumed)
    assert len(recorder.logs()[0]) == events < len(resumed.logs()[0])
    np.testing.assert_array_equal(recorder.members_by_task(9), members)


def test_recorder_state_is_not_changed_by_what_comes_later():
    """A checkpoint in hand must stay what it was, as with a file."""
    recorder, go_on = recorded()
    state = recorder.state()
    before, _ = recorded()
    go_on(recorder)
    resumed = EventRecorder(recorder.geometry, recorder.runs)
    resumed.load_state(state)
    same_books(before, resumed)


def test_a_log_of_one_run_is_that_of_the_oracle():
    """From samples to figures: the log's content at the end is the content of Algorithm 3."""
    rng = np.random.default_rng(9)
    geometry = Geometry(1, 3, 2)
    z = UNIT * rng.integers(-3, 4, (50, 1, 2))
    memory, recorder, oracle = (
        sample_memory(1, 2, geometry, "clustering"),
        EventRecorder(geometry, 1),
        ClusterMemory(3, 2),
    )
    zero = np.zeros((50, 1), int)
    for step, placement in replay(memory, z, zero, zero.astype(float)):
        recorder.note(step, placement, torch.tensor([0]), torch.tensor([[0]]), torch.tensor([[step]]))
        oracle.add(z[step, 0], step)
    rows = recorder.logs()[0].rows(49)
    assert [sorted(row) for row in rows.tolist()] == oracle.contents()

"""The disjoint and the continuous stream: what is shown, in which order, and to whom."""

from collections import Counter
from itertools import chain

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tacl_lib.core.learners import Learner, Step
from tacl_lib.core.randomness import generator
from tacl_lib.core.streams import Stream
from tacl_lib.core.tasks import make_tasks
from tacl_lib.data import Dataset
from tacl_lib.engine.mlp import Mlp
from tacl_lib.errors import TaclError
from tacl_lib.names import SPLITS
from tacl_lib.plain import streams as oracle
from tacl_lib.training import train

SEEDS = (0, 4, 9, 2, 11)


def tasks_of_sizes(*sizes, seeds=(0, 1)):
    """Class split gives tasks of any sizes: as many images of labels 2k and 2k + 1 as asked for."""
    rng = np.random.default_rng(0)
    labels = np.concatenate([2 * task + np.arange(size) % 2 for task, size in enumerate(sizes)])
    labels[-1] = 2 * len(sizes) - 1  # the last odd label must occur
    labels = rng.permutation(labels).astype(np.int64)
    images = rng.integers(0, 256, (len(labels), 2, 3, 1), dtype=np.uint8)
    test_labels = np.arange(2 * len(sizes), dtype=np.int64)
    test_images = np.zeros((len(test_labels), 2, 3, 1), np.uint8)
    return make_tasks(Dataset("sized", images, labels, test_images, test_labels), "class", seeds)


def varied_tasks(split, seeds=SEEDS, **options):
    rng = np.random.default_rng(3)
    parts = []
    for count in (70, 30):
        images = rng.integers(0, 256, (count, 5, 7, 3), dtype=np.uint8)
        parts += [images, rng.permutation(np.arange(count, dtype=np.int64) % 10)]
    return make_tasks(Dataset("varied", *parts), split, seeds, task_count=4, **options)


def shown(stream, epoch, run=0):
    """The rows of every batch of an epoch, as lists."""
    return [batch.row[run].tolist() for batch in stream.batches(epoch)]


def rows_of(tasks, task):
    return list(range(tasks.train.bounds[task], tasks.train.bounds[task + 1]))


# --- disjoint -------------------------------------------------------------------------------------------------


@given(
    sizes=st.lists(st.integers(2, 23), min_size=1, max_size=4),
    batch_size=st.integers(1, 9),
    epochs=st.integers(1, 3),
)
@settings(deadline=None, max_examples=25)
def test_disjoint_shows_every_sample_once_an_epoch(sizes, batch_size, epochs):
    tasks = tasks_of_sizes(*sizes)
    stream = Stream(tasks, "disjoint", batch_size=batch_size, epochs=epochs)
    assert [epoch.task for epoch in stream.epochs] == [task for task in range(len(sizes)) for _ in range(epochs)]
    assert [epoch.number for epoch in stream.epochs] == list(range(len(sizes) * epochs))
    step = 0
    for epoch in stream.epochs:
        size = sizes[epoch.task]
        full, rest = divmod(size, batch_size)
        assert epoch.next_task is None
        assert (epoch.steps, epoch.first_step) == (full + (rest > 0), step)
        assert epoch.seen == tuple(range(epoch.task + 1))
        assert epoch.ends_task == (epoch.task if epoch.number % epochs == epochs - 1 else None)
        for run in range(2):
            batches = shown(stream, epoch, run)
            assert [len(batch) for batch in batches] == [batch_size] * full + [rest] * (rest > 0)
            assert sorted(chain(*batches)) == rows_of(tasks, epoch.task)
        step += epoch.steps
    assert stream.steps == step


def test_disjoint_order_is_another_one_in_each_epoch_and_run():
    stream = Stream(tasks_of_sizes(30, 30), "disjoint", epochs=3)
    orders = [tuple(stream.rows(epoch)[run].tolist()) for epoch in stream.epochs for run in range(2)]
    orders.append(tuple(range(30)))
    assert len(set(orders)) == len(orders)


# --- continuous -----------------------------------------------------------------------------------------------


def expected_pair(stream, seed, pair_epochs):
    """The oracle's batches of one pair of tasks, as lists of rows, from the library's own shuffles."""
    bounds, size = stream.tasks.train.bounds, stream.tasks.train.size
    first = pair_epochs[0].task
    shuffles_a, shuffles_b = [], []
    for epoch in pair_epochs:
        rng = generator(seed, "shuffle", epoch.number)
        shuffles_a.append(bounds[first] + rng.permutation(size(first)))
        mixed = epoch.next_task is not None
        shuffles_b.append(bounds[first + 1] + rng.permutation(size(first + 1)) if mixed else None)
    pure = sum(epoch.next_task is None for epoch in pair_epochs)
    change = oracle.continuous_change(shuffles_a, shuffles_b, stream.batch_size, pure, len(pair_epochs) - pure)
    return [[int(row) for row in [*of_a, *of_b]] for of_a, of_b in change]


@given(
    sizes=st.lists(st.integers(2, 25), min_size=2, max_size=3),
    batch_size=st.integers(1, 12),
    epochs=st.integers(2, 5),
)
@example(sizes=[20, 20], batch_size=10, epochs=20)  # the paper's numbers: ⌊0.3 · 10⌋ must be 3
@example(sizes=[3, 2], batch_size=10, epochs=2)  # a single mixed batch
@settings(deadline=None, max_examples=40)
def test_continuous_batch_by_batch_against_the_paper(sizes, batch_size, epochs):
    tasks = tasks_of_sizes(*sizes)
    stream = Stream(tasks, "continuous", batch_size=batch_size, epochs=epochs, last_task="mixed", counted="mixed")
    assert len(stream.epochs) == epochs * (len(sizes) - 1)
    step = 0
    for first in range(len(sizes) - 1):
        pair = stream.epochs[first * epochs : (first + 1) * epochs]
        assert [epoch.task for epoch in pair] == [first] * epochs
        assert [epoch.next_task for epoch in pair] == [None] * (epochs // 2) + [first + 1] * (epochs - epochs // 2)
        for run, seed in enumerate(tasks.seeds):
            got = [batch for epoch in pair for batch in shown(stream, epoch, run)]
            expected = expected_pair(stream, seed, pair)
            # As multisets: the batch is shuffled at last, which the oracle leaves out.
            assert [Counter(batch) for batch in got] == [Counter(batch) for batch in expected]
        for epoch in pair:
            assert (epoch.steps, epoch.first_step) == (len(shown(stream, epoch)), step)
            assert epoch.ends_task is None  # there is no such moment
            assert epoch.seen == tuple(range(first + (1 if epoch.next_task is None else 2)))
            step += epoch.steps
    assert stream.steps == step


def test_continuous_shares_fall_linearly_from_one_to_zero():
    """'the first batch of epoch 10 will contain 100% samples from the current tasks … the last of epoch 19 0%'."""
    tasks = tasks_of_sizes(110, 110)
    stream = Stream(tasks, "continuous", batch_size=10, epochs=2)
    mixed = stream.epochs[1]
    from_first = [(batch.task[0] == 0).sum().item() for batch in stream.batches(mixed)]
    assert from_first == [10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]
    pure = [set(batch.task[0].tolist()) for batch in stream.batches(stream.epochs[0])]
    assert pure == [{0}] * 11


def test_a_mixed_batch_is_shuffled():
    """'so no distinction between the tasks can be made': position in the batch must not tell the task."""
    stream = Stream(tasks_of_sizes(400, 400), "continuous", batch_size=20, epochs=2)
    tasks = torch.stack([batch.task[0] for batch in stream.batches(stream.epochs[1])])
    assert (tasks[1:-1].diff(dim=1) < 0).any(1).sum() >= 16  # hardly a batch has A's before all of B's
    for column in tasks[1:-1].T:  # every position sees both
        assert set(column.tolist()) == {0, 1}


def test_continuous_order_is_another_one_in_each_epoch_and_run():
    stream = Stream(tasks_of_sizes(30, 30), "continuous", epochs=6)
    orders = [tuple(stream.rows(epoch)[run].tolist()) for epoch in stream.epochs for run in range(2)]
    assert len(set(orders)) == len(orders)


@pytest.mark.parametrize(("last_task", "share"), [("pure", 2), ("whole", 1)])
@pytest.mark.parametrize("epochs", [2, 5])
def test_the_last_task_may_have_epochs_of_its_own(epochs, last_task, share):
    """Open in the paper: the last task has no successor."""
    tasks = tasks_of_sizes(12, 9, 14)
    mixed = Stream(tasks, "continuous", batch_size=5, epochs=epochs, last_task="mixed")
    pure = Stream(tasks, "continuous", batch_size=5, epochs=epochs, last_task=last_task)
    assert pure.epochs[: len(mixed.epochs)] == mixed.epochs
    assert len(mixed.epochs) == 2 * epochs
    added = pure.epochs[len(mixed.epochs) :]
    assert [(epoch.task, epoch.next_task) for epoch in added] == [(2, None)] * (epochs // share)
    for epoch in added:
        assert sorted(chain(*shown(pure, epoch))) == rows_of(tasks, 2)
        assert (epoch.seen, epoch.ends_task) == ((0, 1, 2), None)
    assert pure.steps == mixed.steps + 3 * (epochs // share)


def test_a_task_may_count_in_its_own_epochs_only():
    """Open in the paper: whether a task that is being mixed in is already "trained thus far"."""
    how = {"batch_size": 5, "epochs": 4, "last_task": "pure"}
    mixed, own = (Stream(tasks_of_sizes(12, 9, 14), "continuous", **how, counted=c) for c in ("mixed", "own"))
    seen = [[0], [0], [0, 1], [0, 1], [0, 1], [0, 1], [0, 1, 2], [0, 1, 2], [0, 1, 2], [0, 1, 2]]
    assert [list(epoch.seen) for epoch in mixed.epochs] == seen
    seen = [[0], [0], [0], [0], [0, 1], [0, 1], [0, 1], [0, 1], [0, 1, 2], [0, 1, 2]]
    assert [list(epoch.seen) for epoch in own.epochs] == seen
    for one, other in zip(mixed.epochs, own.epochs, strict=True):
        assert shown(mixed, one) == shown(own, other)  # nothing else changes


# --- batches --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [None, 9])
@pytest.mark.parametrize("experiment", ["disjoint", "continuous"])
@pytest.mark.parametrize("split", SPLITS)
def test_batches_hold_what_their_rows_say(split, experiment, limit):
    """Images shared by the runs (class) and not, across chunks of batches."""
    tasks = varied_tasks(split, SEEDS[:3], scaling="standard", train_limit=limit)
    stream = Stream(tasks, experiment, batch_size=3, epochs=2)
    stream.CHUNK = 2
    train_part = tasks.train
    for epoch in stream.epochs:
        for batch in stream.batches(epoch):
            count = batch.y.shape[1]
            assert batch.x.shape == (3, count, 105)
            assert (batch.x.dtype, batch.y.dtype) == (torch.float32, torch.int64)
            for run in range(3):
                data = run % len(train_part.images)
                rows = batch.row[run]
                assert torch.equal(batch.x[run], tasks.scaling(train_part.images[data, rows]))
                assert torch.equal(batch.y[run], train_part.labels[data, rows])
                true = np.searchsorted(train_part.bounds, rows.numpy(), side="right") - 1
                assert batch.task[run].tolist() == true.tolist()
                assert set(true) <= {epoch.task, epoch.next_task}


@pytest.mark.parametrize("experiment", ["disjoint", "continuous"])
def test_an_epoch_can_start_at_any_step(experiment):
    """A resumed run must see just the batches that are left, also beyond a chunk."""
    stream = Stream(tasks_of_sizes(83, 90), experiment, batch_size=2, epochs=2)
    for epoch in stream.epochs[:2]:
        whole = list(stream.batches(epoch))
        assert len(whole) > stream.CHUNK
        for start in (0, 1, 31, 32, 33, len(whole) - 1, len(whole)):
            rest = list(stream.batches(epoch, start))
            assert len(rest) == len(whole) - start
            for ours, theirs in zip(rest, whole[start:], strict=True):
                assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("experiment", ["disjoint", "continuous"])
@pytest.mark.parametrize("split", SPLITS)
def test_a_run_alone_equals_its_row_in_a_stack(split, experiment):
    together = Stream(varied_tasks(split), experiment, batch_size=4, epochs=2)
    for run, seed in enumerate(SEEDS):
        alone = Stream(varied_tasks(split, (seed,)), experiment, batch_size=4, epochs=2)
        assert alone.epochs == together.epochs
        for epoch in together.epochs:
            for one, many in zip(alone.batches(epoch), together.batches(epoch), strict=True):
                assert all(torch.equal(a[0], b[run]) for a, b in zip(one, many, strict=True))


@pytest.mark.parametrize("experiment", ["disjoint", "continuous"])
def test_a_learner_is_given_samples_and_labels_and_nothing_else(experiment):
    """The task-agnostic claim stands or falls with this."""
    tasks = varied_tasks("rotation", SEEDS[:2])
    stream = Stream(tasks, experiment, batch_size=4, epochs=2)
    calls = []

    class Spy(Learner):
        name = "spy"

        def step(self, *arguments, **named):
            calls.append((arguments, named))
            return Step(torch.zeros(2))

    train(Spy(Mlp(tasks.seeds, (tasks.features, tasks.classes))), stream, progress=False)
    batches = [batch for epoch in stream.epochs for batch in stream.batches(epoch)]
    assert len(calls) == len(batches) == stream.steps
    for (arguments, named), batch in zip(calls, batches, strict=True):
        assert named == {}
        assert len(arguments) == 2
        assert [type(argument) for argument in arguments] == [torch.Tensor, torch.Tensor]  # not a Batch
        x, y = arguments
        assert torch.equal(x, batch.x)
        assert torch.equal(y, batch.y)
        assert (x.dim(), x.shape[2], y.dim()) == (3, tasks.features, 2)  # no column to hide a task in


# --- bad input ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"experiment": "mixed"}, ["experiment", "'mixed'", "disjoint", "continuous"]),
        ({"last_task": "none"}, ["last_task", "'none'", "mixed", "pure", "whole"]),
        ({"counted": "never"}, ["counted", "'never'", "mixed", "own"]),
        ({"batch_size": 0}, ["batch_size", "0"]),
        ({"epochs": 0}, ["epochs", "0"]),
        ({"epochs": -2}, ["epochs", "-2"]),
        ({"experiment": "continuous", "epochs": 1}, ["2 epochs", "1"]),
    ],
)
def test_bad_input(options, words):
    with pytest.raises(TaclError) as caught:
        Stream(tasks_of_sizes(8, 8), **options)
    message = str(caught.value)
    assert all(word in message for word in words)
    assert message.endswith(".")
    assert "\n" not in message


def test_continuous_needs_two_tasks():
    with pytest.raises(TaclError, match="2 tasks"):
        Stream(tasks_of_sizes(8), "continuous")

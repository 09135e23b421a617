"""Training end to end: what is recorded, and what happens when it is stopped, damaged or blown up."""

import contextlib
import errno
import io
import multiprocessing
import os
import pickle
import random
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from tacl_lib.core.checkpoint import Checkpoint, sealed, unsealed
from tacl_lib.core.learners import LEARNERS, Learner, Step, TaskAwareLearner, make_learner
from tacl_lib.core.record import Record, read_record
from tacl_lib.core.streams import Stream
from tacl_lib.core.tasks import make_tasks
from tacl_lib.core.training import train
from tacl_lib.data import Dataset
from tacl_lib.engine.mlp import Mlp
from tacl_lib.errors import TaclError
from tacl_lib.files import write_whole
from tacl_lib.runs import RunSpec, run
from tacl_lib.runs.command import main

SEEDS = (3, 8, 5)
#: small settings of every learner, with rates at which they learn something in a few steps
SMALL = {
    "sgd": {"rate": 0.1},
    "sgd_lr_adapt": {"rate": 0.1},
    "agem": {"rate": 0.1, "samples_per_task": 6, "reference_batch": 4},
    "ta_agem": {"rate": 0.1, "clusters": 3, "cluster_size": 2, "reference_batch": 4},
    "ogd": {"rate": 0.1, "samples_per_task": 4},
    "ta_ogd": {"rate": 0.1, "clusters": 4, "cluster_size": 3},
    "bgd": {"passes": 2, "std_init": 0.1},
}
AGNOSTIC = [name for name in SMALL if not issubclass(LEARNERS[name], TaskAwareLearner)]
AWARE = [name for name in SMALL if name not in AGNOSTIC]
STOPPED = ("sgd", "ta_agem", "ta_ogd", "agem", "bgd")


def dataset():
    """Class means plus noise: easy enough to be learnt a little in a few steps."""
    rng = np.random.default_rng(0)
    means = rng.integers(40, 200, (10, 4, 4, 1))

    def part(amount):
        labels = rng.permutation(np.arange(amount, dtype=np.int64) % 10)
        return np.clip(means[labels] + rng.integers(-40, 40, (amount, 4, 4, 1)), 0, 255).astype(np.uint8), labels

    return Dataset("synthetic", *part(110), *part(60))


def make(name="ta_agem", *, split="class", experiment="disjoint", seeds=SEEDS, epochs=2, **changes):
    """A learner and a stream: 5 (class) or 3 tasks of a few batches of 5."""
    tasks = make_tasks(dataset(), split, seeds, task_count=3)
    stream = Stream(tasks, experiment, batch_size=5, epochs=epochs)
    network = Mlp(tasks.seeds, (tasks.features, 6, tasks.classes))
    return make_learner(name, network, **(SMALL[name] | changes)), stream


def saved(file):
    """The state in a checkpoint."""
    return torch.load(io.BytesIO(unsealed(file.read_bytes())), weights_only=True)["state"]


def quiet(learner, stream, **options):
    return train(learner, stream, progress=False, **options)


def contents(records, learner=None) -> list[dict[str, bytes]]:
    """All that a record says but the circumstances, as bytes: NaN equals NaN, and -0.0 is not 0.0."""
    found = []
    for place, record in enumerate(records):
        arrays = {name: getattr(record, name) for name in ("accuracy", "seen", "memory")}
        arrays |= {f"epochs {name}": record.epochs[name].to_numpy() for name in record.epochs}
        if record.events is not None:
            arrays |= {f"event {name}": column for name, column in record.events.columns().items()}
        if learner is not None:
            arrays["weights"] = learner.network.vector(place).numpy()
        known = {"seed": str(record.seed).encode(), "diverged": str(record.diverged_at).encode()}
        found.append(known | {name: array.dtype.str.encode() + array.tobytes() for name, array in arrays.items()})
    return found


def on_step(learner, act):
    """Let ``act(number, x, y)`` run before every step of a learner."""
    original, numbers = learner.step, count()

    def step(x, y):
        act(next(numbers), x, y)
        return original(x, y)

    learner.step = step


def send_before(learner, step, number=signal.SIGTERM):
    """Send this process a signal before a step."""
    on_step(learner, lambda at, x, y: signal.raise_signal(number) if at == step else None)


def watch(learner) -> list[Step]:
    """What a learner says of each step."""
    said, original = [], learner.step

    def step(x, y):
        said.append(original(x, y))
        return said[-1]

    learner.step = step
    return said


def one_sentence(caught) -> str:
    message = str(caught.value)
    assert "\n" not in message
    assert message.endswith(".")
    return message


def parts_in(folder) -> list[str]:
    return [path.name for path in Path(folder).rglob("*.part")]


def test_every_learner_is_tested_here():
    """A new learner must join the tests below."""
    own = {name for name, learner in LEARNERS.items() if learner.__module__.startswith("tacl_lib.")}
    assert own == set(SMALL)


# --- what is recorded -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("experiment", "tested"), [("disjoint", "seen"), ("disjoint", "all"), ("continuous", "seen")])
@pytest.mark.parametrize("name", ["ta_agem", "sgd_lr_adapt", "ta_ogd"])
def test_record_tells_what_happened(name, experiment, tested):
    """Every column against what a spy saw, and accuracy computed anew from the weights that were tested."""
    learner, stream = make(name, experiment=experiment)
    said, at_tests, original = watch(learner), [], learner.network.accuracy
    tasks, plan = stream.tasks, stream.epochs

    def accuracy(x, y):
        at_tests.append([learner.network.vector(run).double().numpy() for run in range(3)])
        return original(x, y)

    learner.network.accuracy = accuracy
    records = quiet(learner, stream, tested=tested, info={"mine": 1})
    last_tests = np.cumsum([tasks.count if tested == "all" else len(epoch.seen) for epoch in plan])
    weights = [at_tests[number - 1] for number in last_tests]
    assert len(at_tests) == last_tests[-1]
    assert [record.seed for record in records] == list(SEEDS)
    assert len(said) == stream.steps
    for place, record in enumerate(records):
        assert record.accuracy.shape == record.seen.shape == record.memory.shape == (len(plan), tasks.count)
        assert (record.accuracy.dtype, record.seen.dtype, record.memory.dtype) == (float, bool, np.int64)
        assert (record.diverged_at, record.info["mine"], record.info["learner"]) == (None, 1, name)
        table = record.epochs
        assert table["epoch"].tolist() == list(range(len(plan)))
        assert table["task"].tolist() == [epoch.task for epoch in plan]
        assert table["next_task"].tolist() == [-1 if epoch.next_task is None else epoch.next_task for epoch in plan]
        assert table["steps"].tolist() == [epoch.steps for epoch in plan]
        assert table["first_step"].tolist() == [epoch.first_step for epoch in plan]
        for epoch in plan:
            steps = said[epoch.first_step : epoch.first_step + epoch.steps]
            losses = [step.loss[place].item() for step in steps]
            assert table["loss"][epoch.number] == pytest.approx(np.mean(losses), rel=1e-12)
            rate = steps[-1].rate
            assert table["rate"][epoch.number] == (rate[place].item() if torch.is_tensor(rate) else rate)
            projected = [step.projected is not None and bool(step.projected[place]) for step in steps]
            assert table["projected"][epoch.number] == sum(projected)
            for task in range(tasks.count):
                assert record.seen[epoch.number, task] == (task in epoch.seen)
                measured = record.accuracy[epoch.number, task]
                if task in epoch.seen or tested == "all":
                    assert measured == accuracy_by_hand(tasks, task, place, weights[epoch.number][place])
                else:
                    assert np.isnan(measured)


def accuracy_by_hand(tasks, task, place, vector):
    """In numpy, from the images; the vector holds the weights of both layers, then the biases."""
    rows = slice(tasks.test.bounds[task], tasks.test.bounds[task + 1])
    data = place % len(tasks.test.images)
    x, y = tasks.test.images[data, rows].numpy() / 127.5 - 1, tasks.test.labels[data, rows].numpy()
    f, h, c = tasks.features, 6, tasks.classes
    first, second, bias, last = np.split(vector, np.cumsum([f * h, h * c, h]))
    hidden = np.maximum(x @ first.reshape(f, h) + bias, 0)
    return np.mean((hidden @ second.reshape(h, c) + last).argmax(1) == y)


def test_the_learners_learn():
    """Else the comparisons of this file would compare noise: after its task is trained, it is above chance."""
    for name in SMALL:
        records = quiet(*make(name, epochs=4))
        last_epochs = [(3, 0), (7, 1), (11, 2), (15, 3), (19, 4)]
        assert np.mean([record.accuracy[at] for record in records for at in last_epochs]) > 0.6, name


@pytest.mark.parametrize("experiment", ["disjoint", "continuous"])
@pytest.mark.parametrize("name", ["ta_agem", "ta_ogd"])
def test_memory_by_task_is_the_replay_of_the_event_log(name, experiment):
    """And each event points to a sample that the stream showed at that step, with its true task."""
    learner, stream = make(name, experiment=experiment, epochs=4)
    records = quiet(learner, stream)
    batches = [batch for epoch in stream.epochs for batch in stream.batches(epoch)]
    bounds = stream.tasks.train.bounds
    for place, record in enumerate(records):
        log = record.events
        assert len(log) == stream.steps  # one sample a batch
        holds, at = {}, 0
        for epoch in stream.epochs:
            while at < len(log) and log.step[at] < epoch.first_step + epoch.steps:
                where = (log.cluster[at], log.slot[at])
                assert log.task_out[at] == holds.get(where, -1)
                assert log.row[at] in batches[log.step[at]].row[place]
                assert bounds[log.task_in[at]] <= log.row[at] < bounds[log.task_in[at] + 1]
                holds[where] = int(log.task_in[at])
                at += 1
            expected = [list(holds.values()).count(task) for task in range(stream.tasks.count)]
            assert record.memory[epoch.number].tolist() == expected
        assert record.memory[-1].sum() > 0


def test_the_log_of_ta_agem_names_what_its_memory_holds():
    """The log is written by the training loop; the memory itself is the witness."""
    learner, stream = make("ta_agem", epochs=3)
    records = quiet(learner, stream)
    for place, record in enumerate(records):
        rows = record.events.rows(stream.steps).ravel()
        filled = learner.memory.filled[place].numpy()
        assert np.array_equal(rows >= 0, filled)
        images = stream.tasks.scaling(stream.tasks.train.images[0, rows[filled]])
        assert torch.equal(learner.memory.store.x[place, filled], images)


def test_learners_without_a_memory_have_no_log():
    for name in ("sgd", "bgd"):
        for record in quiet(*make(name, epochs=1)):
            assert record.events is None
            assert (record.memory == 0).all()


# --- task-aware learners --------------------------------------------------------------------------------------


@pytest.mark.parametrize("split", ["class", "rotation"])
@pytest.mark.parametrize("name", AWARE)
def test_task_aware_learners_are_given_samples_of_the_task_that_ended(name, split):
    samples = 30 if split == "rotation" else 6  # 30 is less than a rotation task has, 6 than a class task
    learner, stream = make(name, split=split, samples_per_task=samples)
    tasks, ended, original, steps = stream.tasks, [], learner.end_task, watch(learner)

    def end_task(x, y):
        ended.append((len(steps), x.clone(), y.clone()))
        original(x, y)

    learner.end_task = end_task
    records = quiet(learner, stream)
    assert len(ended) == tasks.count
    for task, (when, x, y) in enumerate(ended):
        last = [epoch for epoch in stream.epochs if epoch.task == task][-1]
        assert when == last.first_step + last.steps
        amount = min(samples, tasks.train.size(task))
        assert x.shape == (3, amount, tasks.features)
        assert y.shape == (3, amount)
        for place in range(3):
            data = place % len(tasks.train.images)
            of_task = {
                (row.numpy().tobytes(), int(label)): number
                for number, (row, label) in enumerate(
                    zip(tasks.inputs(tasks.train, task)[data], tasks.targets(tasks.train, task)[data], strict=True)
                )
            }
            keys = [(row.numpy().tobytes(), int(label)) for row, label in zip(x[place], y[place], strict=True)]
            numbers = [of_task[key] for key in keys]  # a KeyError: a sample of another task, or a wrong label
            assert len(set(numbers)) == amount
            assert numbers != sorted(numbers)  # drawn at random
            memory = records[place].memory
            assert (memory[: last.number, task] == 0).all()
            assert (memory[last.number :, task] == amount).all()
    assert not torch.equal(ended[0][1][0], ended[0][1][1])  # each run its own


def test_a_task_with_fewer_samples_than_asked_for_gives_all():
    learner, stream = make("agem", samples_per_task=1000)
    records = quiet(learner, stream)
    assert records[0].memory[-1].tolist() == [stream.tasks.train.size(task) for task in range(5)]
    assert learner.samples.capacity == 110


def test_only_task_aware_learners_are_told():
    """A method of that name is not enough: the learner must be declared as task-aware."""

    class Curious(Learner):
        name = "curious"
        samples_per_task = 3

        def step(self, x, y):
            return Step(torch.zeros(3))

        def end_task(self, x, y):
            pytest.fail("a task-agnostic learner was told that a task ended")

    _, stream = make()
    quiet(Curious(Mlp(SEEDS, (16, 6, 2))), stream)


@pytest.mark.parametrize("name", AWARE)
def test_task_aware_learners_cannot_take_a_continuous_stream(name):
    with pytest.raises(TaclError, match="task-agnostic") as caught:
        quiet(*make(name, experiment="continuous"))
    assert name in one_sentence(caught)


@pytest.mark.parametrize("name", SMALL)
def test_a_trained_learner_can_be_used_outside_of_the_loop(name):
    learner, stream = make(name)
    quiet(learner, stream)
    assert not any(tensor.is_inference() for tensor in _tensors(learner.state()))
    trained, batch = learner.network.flat.clone(), next(stream.batches(stream.epochs[0]))
    if isinstance(learner, TaskAwareLearner):
        learner.end_task(batch.x, batch.y)
    for _ in range(3):
        learner.step(batch.x, batch.y)
    assert not torch.equal(learner.network.flat, trained)


@pytest.mark.parametrize("name", SMALL)
def test_a_learner_can_be_used_after_an_interruption(name):
    """Stop in a notebook, then look at what has been learnt and go on by hand; a task has ended before."""
    learner, stream = make(name)
    batch = next(stream.batches(stream.epochs[0]))
    send_before(learner, stream.steps - 2, signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        quiet(learner, stream)
    trained = learner.network.flat.clone()
    learner.step(batch.x, batch.y)
    assert not torch.equal(learner.network.flat, trained)


def _tensors(state):
    """All tensors in a state."""
    if isinstance(state, torch.Tensor):
        return [state]
    parts = state.values() if isinstance(state, dict) else state if isinstance(state, list) else ()
    return [tensor for part in parts for tensor in _tensors(part)]


def test_a_learner_of_the_users_may_use_autograd():
    class Autograd(Learner):
        """SGD, the way that most people would write it."""

        name = "autograd"

        def step(self, x, y):
            flat = self.network.flat.clone().requires_grad_()
            w1, w2, b1, b2 = self.network.views(flat)
            out = torch.baddbmm(b2, torch.baddbmm(b1, x, w1).relu(), w2)
            losses = torch.nn.functional.cross_entropy(out.flatten(0, 1), y.flatten(), reduction="none").view_as(y)
            losses.mean(1).sum().backward()
            self.network.flat.add_(flat.grad, alpha=-self.rate)
            return Step(losses.detach().mean(1))

    plain, stream = make("sgd")
    own = Autograd(Mlp(plain.network.seeds, plain.network.sizes), rate=plain.rate)
    quiet(plain, stream)
    quiet(own, stream)
    assert torch.allclose(own.network.flat, plain.network.flat, atol=1e-6)


# --- the same again, and blind --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SMALL)
def test_two_runs_are_the_same_to_the_byte(name):
    learners = [make(name, split="rotation") for _ in range(2)]
    first, second = (contents(quiet(*pair), pair[0]) for pair in learners)
    assert first == second
    other = make(name, split="rotation", seeds=(3, 9, 5))
    changed = contents(quiet(*other), other[0])
    assert first[1] != changed[1]  # else the comparison has no teeth


@pytest.mark.parametrize("experiment", ["disjoint", "continuous"])
@pytest.mark.parametrize("name", AGNOSTIC)
def test_task_agnostic_learners_are_blind_to_the_task(name, experiment):
    """With the true tasks shuffled in the stream, the weights must be the same to the bit."""
    learner, stream = make(name, experiment=experiment)
    records = quiet(learner, stream)
    blind, shuffled = make(name, experiment=experiment)
    order = torch.from_numpy(np.random.default_rng(1).permutation(len(stream._task_of_row)))
    shuffled._task_of_row = shuffled._task_of_row[order]
    blind_records = quiet(blind, shuffled)
    assert torch.equal(learner.network.flat, blind.network.flat)
    for record, other in zip(records, blind_records, strict=True):
        assert record.accuracy.tobytes() == other.accuracy.tobytes()
        pd.testing.assert_frame_equal(record.epochs, other.epochs)
        if record.events is not None:  # the log is the only one to notice
            assert np.array_equal(record.events.row, other.events.row)
            assert not np.array_equal(record.events.task_in, other.events.task_in)


# --- stopped and resumed --------------------------------------------------------------------------------------


def work(folder: Path, name: str, seconds: float, stop_at: int | None, number: int):
    """In a process of its own: train with a checkpoint, and send oneself a signal before step ``stop_at``.

    SIGKILL comes in the middle of the save before that step.
    """
    torch.set_num_threads(1)
    learner, stream = make(name, epochs=3)
    if number == signal.SIGKILL:
        original, saves = os.fsync, count()

        def fsync(handle):  # the part is written and has not got its name yet
            original(handle)
            if next(saves) == stop_at:
                os.kill(os.getpid(), number)

        os.fsync = fsync
    elif stop_at is not None:
        on_step(learner, lambda step, x, y: os.kill(os.getpid(), number) if step == stop_at else None)
    try:
        records = quiet(learner, stream, checkpoint=folder / "training.pt", checkpoint_seconds=seconds)
    except KeyboardInterrupt:
        sys.exit(99)
    part = folder / "result.new"
    part.write_bytes(pickle.dumps(contents(records, learner)))
    part.replace(folder / "result")


@pytest.fixture(scope="module")
def start():
    """Starts `work` in a fresh process; a fork server has imported torch once for all of them."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["pytest", "tacl_lib.runs.command"])
    started = []

    def begin(folder, name, seconds=0.0, stop_at=None, number=signal.SIGTERM):
        process = context.Process(target=work, args=(folder, name, seconds, stop_at, number))
        process.start()
        started.append(process)
        return process

    yield begin
    for process in started:
        if process.is_alive():
            process.kill()
        process.join(60)


def result(folder):
    return pickle.loads((folder / "result").read_bytes())


def uninterrupted(name):
    learner, stream = make(name, epochs=3)
    return contents(quiet(learner, stream), learner)


@pytest.mark.parametrize("name", STOPPED)
def test_killed_at_random_and_resumed(name, start, tmp_path):
    """SIGKILL leaves no time for anything. The checkpoint is written at every step, so most kills hit a write."""
    rng, file, killed = random.Random(name), tmp_path / "training.pt", 0
    for attempt in range(4):
        process = start(tmp_path, name)
        if attempt < 3:
            saves, last = rng.randrange(5, 20), file.stat().st_mtime_ns if file.exists() else None
            while process.is_alive() and saves:
                with contextlib.suppress(FileNotFoundError):
                    stamp = file.stat().st_mtime_ns
                    saves, last = saves - (stamp != last), stamp
            time.sleep(rng.random() / 200)
            process.kill()
        process.join(60)
        killed += process.exitcode == -signal.SIGKILL
    assert killed >= 2
    assert process.exitcode == 0
    assert result(tmp_path) == uninterrupted(name)
    assert not file.exists()  # the run is finished


def test_what_a_kill_in_the_middle_of_a_save_leaves_is_swept_up(start, tmp_path):
    """Else every kill would leave a hidden file as large as a checkpoint, for ever."""
    process = start(tmp_path, "sgd", 0.0, 7, signal.SIGKILL)
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    state = saved(tmp_path / "training.pt")
    assert state["epoch"] * 5 + state["step"] == 6  # of the save before
    process = start(tmp_path, "sgd")
    process.join(60)
    assert result(tmp_path) == uninterrupted("sgd")
    assert [path.name for path in tmp_path.iterdir()] == ["result"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 99)])
def test_a_signal_saves_ends_and_can_be_resumed(number, code, start, tmp_path):
    """Stopped in the middle of an epoch and at the last step of one (5 steps each), without a timed save."""
    for stop_at in (12, 2):
        process = start(tmp_path, "ta_agem", 1e9, stop_at, number)
        process.join(60)
        assert process.exitcode == code
        assert [path.name for path in tmp_path.iterdir()] == ["training.pt"]
    state = saved(tmp_path / "training.pt")
    assert state["epoch"] * 5 + state["step"] == 16  # 13 steps, then 3: the step at the signal is finished
    process = start(tmp_path, "ta_agem", 1e9)
    process.join(60)
    assert process.exitcode == 0
    assert result(tmp_path) == uninterrupted("ta_agem")


@pytest.mark.parametrize("name", SMALL)
def test_every_learner_resumes_at_any_step(name, tmp_path):
    """In one process, by both signals in turn: in and between epochs and at the very last step."""
    file, done, total = tmp_path / "training.pt", 0, make(name, epochs=3)[1].steps
    for turn, stop_at in enumerate((1, 5, 17, 32, total)):
        learner, stream = make(name, epochs=3)
        number, end = (signal.SIGINT, KeyboardInterrupt) if turn % 2 else (signal.SIGTERM, SystemExit)
        send_before(learner, stop_at - done - 1, number)
        with pytest.raises(end):
            quiet(learner, stream, checkpoint=file, checkpoint_seconds=1e9)
        done = stop_at
    learner, stream = make(name, epochs=3)
    assert contents(quiet(learner, stream, checkpoint=file), learner) == uninterrupted(name)


def test_signal_handlers_are_given_back():
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    learner, stream = make("sgd", epochs=1)
    send_before(learner, 3, signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        quiet(learner, stream)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_a_signal_during_the_last_test_is_not_lost(tmp_path):
    """After the last step there is no other step that would notice it; a sweep of runs must stop nevertheless."""
    learner, stream = make("sgd", epochs=1)
    original, tests = learner.network.accuracy, count(1)
    last = sum(len(epoch.seen) for epoch in stream.epochs)

    def accuracy(x, y):
        if next(tests) == last:
            signal.raise_signal(signal.SIGINT)
        return original(x, y)

    learner.network.accuracy = accuracy
    with pytest.raises(KeyboardInterrupt):
        quiet(learner, stream, checkpoint=tmp_path / "training.pt")
    again, stream = make("sgd", epochs=1)
    resumed = contents(quiet(again, stream, checkpoint=tmp_path / "training.pt"), again)
    fresh, stream = make("sgd", epochs=1)
    assert resumed == contents(quiet(fresh, stream), fresh)


def stopped_at(step, file, name="ta_agem", **options):
    """Leave a checkpoint of a training that was stopped after some steps."""
    learner, stream = make(name, epochs=3)
    send_before(learner, step - 1)
    with pytest.raises(SystemExit) as caught:
        quiet(learner, stream, checkpoint=file, checkpoint_seconds=1e9, **options)
    assert caught.value.code == 143


@pytest.mark.parametrize(
    "change",
    [{"name": "sgd"}, {"seeds": (3, 8, 6)}, {"epochs": 2}, {"split": "rotation"}, {"experiment": "continuous"}],
    ids=str,
)
def test_the_checkpoint_of_another_run_is_refused(change, tmp_path):
    file = tmp_path / "training.pt"
    stopped_at(7, file)
    before = file.read_bytes()
    learner, stream = make(**{"epochs": 3} | change)
    with pytest.raises(TaclError, match="another run") as caught:
        quiet(learner, stream, checkpoint=file)
    assert str(file) in one_sentence(caught)
    assert file.read_bytes() == before


def rewritten(file, change):
    """A checkpoint whose state was changed by somebody who knows how to seal it."""
    content = torch.load(io.BytesIO(unsealed(file.read_bytes())), weights_only=True)
    change(content["state"])
    buffer = io.BytesIO()
    torch.save(content, buffer)
    file.write_bytes(sealed(buffer.getvalue()))


ODD_STATES = {
    "an epoch too late": lambda state: state.update(epoch=999),
    "an epoch too early": lambda state: state.update(epoch=-1),
    "a step too late": lambda state: state.update(step=10**9),
    "a step too early": lambda state: state.update(step=-1),
    "a step after the end": lambda state: state.update(epoch=15, step=1),
    "half a step": lambda state: state.update(step=0.5),
    "a step in words": lambda state: state.update(step="seven"),
    "no step": lambda state: state.pop("step"),
    "endless": lambda state: state.update(seconds=float("inf")),
    "a rate in words": lambda state: state.update(last_rate="fast"),
    "accuracies of another shape": lambda state: state.update(accuracy=torch.zeros(1, 1, 1)),
    "accuracies as a list": lambda state: state.update(accuracy=[0.5]),
    "losses of another type": lambda state: state.update(losses=state["losses"].double()),
    "no memory": lambda state: state["learner"].pop("memory"),
    "no learner": lambda state: state.update(learner=None),
    "weights as a number": lambda state: state["learner"]["network"].update(weights=3),
    "a network as a number": lambda state: state["learner"].update(network=3),
    "steps in words": lambda state: state["learner"].update(steps="four"),
    "half a memory": lambda state: state["learner"]["memory"].pop("added"),
    "a log of something else": lambda state: state["recorder"].update(content=[3]),
    "no log": lambda state: state.pop("recorder"),
}


@pytest.mark.parametrize("change", ODD_STATES.values(), ids=ODD_STATES.keys())
def test_a_checkpoint_that_does_not_fit_is_set_aside_and_the_run_begins_anew(change, tmp_path):
    """Also what had been loaded before the odd value was met leaves no trace."""
    file = tmp_path / "training.pt"
    stopped_at(7, file)
    rewritten(file, change)
    learner, stream = make(epochs=3)
    with pytest.warns(
        UserWarning, match=r"training\.pt is damaged or of another version \(.*from the beginning"
    ) as said:
        records = quiet(learner, stream, checkpoint=file)
    assert len(said) == 1
    assert "\n" not in str(said[0].message)
    assert contents(records, learner) == uninterrupted("ta_agem")
    assert [path.name for path in tmp_path.iterdir()] == ["training.damaged"]


@pytest.mark.parametrize("name", ["ta_agem", "ta_ogd"])
def test_no_flipped_bit_of_a_checkpoint_is_overlooked(name, tmp_path):
    """200 bits, one at a time; the test above says what follows."""
    file, rng = tmp_path / "training.pt", random.Random(5)
    stopped_at(7, file, name)
    good, overlooked = file.read_bytes(), []
    belongs_to = torch.load(io.BytesIO(unsealed(good)), weights_only=True)["of"]
    assert Checkpoint(file, 1e9, belongs_to).load(torch.device("cpu")) is not None
    for bit in rng.sample(range(len(good) * 8), 200):
        bad = bytearray(good)
        bad[bit // 8] ^= 1 << bit % 8
        file.write_bytes(bad)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            state = Checkpoint(file, 1e9, belongs_to).load(torch.device("cpu"))
        if state is not None or len(said) != 1 or file.exists():
            overlooked.append(bit)
    assert overlooked == []


def test_other_settings_in_the_info_are_another_run(tmp_path):
    file = tmp_path / "training.pt"
    stopped_at(7, file, info={"degrees": 20})
    for options in ({"info": {"degrees": 45}}, {"info": {"degrees": 20}, "tested": "all"}, {}):
        with pytest.raises(TaclError, match="another run"):
            quiet(*make(epochs=3), checkpoint=file, **options)


@pytest.mark.parametrize(
    "damage",
    [
        lambda good: good[: len(good) // 2],
        lambda good: b"",
        lambda good: b"this is no checkpoint" * 50,
        lambda good: good[:300] + bytes(len(good) - 300),
    ],
    ids=["truncated", "empty", "garbage", "zeros"],
)
def test_a_damaged_checkpoint_is_set_aside(damage, tmp_path):
    file = tmp_path / "training.pt"
    stopped_at(7, file)
    bad = damage(file.read_bytes())
    file.write_bytes(bad)
    learner, stream = make(epochs=3)
    with pytest.warns(UserWarning, match=r"damaged .*digest") as caught:
        records = quiet(learner, stream, checkpoint=file)
    assert len(caught) == 1
    assert "starts from the beginning" in str(caught[0].message)
    assert contents(records, learner) == uninterrupted("ta_agem")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("training.damaged", bad)]


def test_a_checkpoint_that_cannot_be_read_just_now_is_left_alone(tmp_path, monkeypatch):
    """Rights, or a network disk that is away: the file may be good, and hours of work."""
    file = tmp_path / "training.pt"
    stopped_at(7, file)
    good = file.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(type(file), "read_bytes", lambda path: (_ for _ in ()).throw(OSError(5, "Input/output error")))
        with pytest.raises(TaclError, match="cannot be read \\(Input/output error\\); try again") as caught:
            quiet(*make(epochs=3), checkpoint=file)
    one_sentence(caught)
    assert file.read_bytes() == good
    learner, stream = make(epochs=3)
    assert contents(quiet(learner, stream, checkpoint=file), learner) == uninterrupted("ta_agem")


@pytest.mark.parametrize("change", [{"reference_batch": 1}, {"clusters": 5}], ids=str)
def test_a_checkpoint_of_other_settings_is_set_aside(change, tmp_path):
    """Without ``info`` the file does not say its settings, but what it holds does not fit."""
    file = tmp_path / "training.pt"
    stopped_at(7, file)
    expected, other = make(epochs=3, **change), make(epochs=3, **change)
    with pytest.warns(UserWarning, match=r"training\.pt is damaged or of another version"):
        found = quiet(*other, checkpoint=file)
    assert contents(found, other[0]) == contents(quiet(*expected), expected[0])


def test_a_checkpoint_with_code_inside_is_not_executed(tmp_path):
    """A pickle may call anything when it is read."""
    file, witness = tmp_path / "training.pt", tmp_path / "executed"

    class Malice:
        def __reduce__(self):
            return os.mkdir, (str(witness),)

    buffer = io.BytesIO()
    torch.save({"of": "", "state": Malice()}, buffer)
    file.write_bytes(sealed(buffer.getvalue()))
    learner, stream = make("sgd", epochs=1)
    with pytest.warns(UserWarning, match="damaged"):
        quiet(learner, stream, checkpoint=file)
    assert not witness.exists()


# --- a full disk ----------------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 256 KB; `fill` takes what is left of it."""
    place = tmp_path / "disk"
    place.mkdir()
    try:
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)], capture_output=True, text=True
        )
    except OSError as error:
        pytest.skip(f"there is no mount here: {error}")
    if done.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {done.stderr.strip()}")
    yield place
    # Lazily: an exception that pytest keeps may hold a file of it open.
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(place):
    filler = place / "filler"
    with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(512))
    return filler


def test_training_goes_on_when_the_disk_is_full(small_disk):
    """The disk is full from step 5 to 9 and free again later: five warnings, and no harm."""
    file = small_disk / "training.pt"
    learner, stream = make(epochs=3)
    seen = []

    def act(step, x, y):
        if step == 5:
            fill(small_disk)
        if 5 < step <= 10:  # after the saves of the steps 5 to 9 failed
            seen.append(saved(file)["learner"]["steps"])
            assert parts_in(small_disk) == []
        if step == 10:
            (small_disk / "filler").unlink()
        if step == 12:
            seen.append(saved(file)["learner"]["steps"])

    on_step(learner, act)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        records = quiet(learner, stream, checkpoint=file, checkpoint_seconds=0)
    messages = [str(warning.message) for warning in caught]
    assert len(messages) == 5
    assert all("no checkpoint was saved" in message and str(file) in message for message in messages)
    assert seen == [5, 5, 5, 5, 5, 12]  # the old one stays whole, then new ones come again
    assert contents(records, learner) == uninterrupted("ta_agem")
    assert list(small_disk.iterdir()) == []


def test_a_full_disk_without_a_full_disk(monkeypatch, tmp_path):
    """The same where nothing can be mounted: what was written does not reach the disk."""
    file, fsync, saves = tmp_path / "training.pt", os.fsync, count()

    def failing(handle):
        if next(saves) >= 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(handle)

    monkeypatch.setattr(os, "fsync", failing)
    learner, stream = make(epochs=1)
    on_step(learner, lambda step, x, y: saved(file) and None)  # always a whole file
    with pytest.warns(UserWarning, match="the disk is full") as caught:
        quiet(learner, stream, checkpoint=file, checkpoint_seconds=0)
    assert len(caught) == 1 + stream.steps - 3
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_diverges_on_a_full_disk_does_not_take_the_others_along(small_disk):
    """Setting the last good checkpoint aside needs space, too."""
    learner, stream = make("sgd", epochs=2)

    def act(step, x, y):
        if step == 4:
            fill(small_disk)
            learner.network.weights[0][1] = torch.nan

    on_step(learner, act)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        records = quiet(learner, stream, checkpoint=small_disk / "training.pt", checkpoint_seconds=1e9)
    assert [record.diverged_at for record in records] == [None, 4, None]
    assert not np.isnan(records[0].accuracy[-1]).any()
    assert [path.name for path in small_disk.iterdir() if "good" in path.name] == []  # no part of a file


# --- runs that blow up ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [float("nan"), 1e30])
@pytest.mark.parametrize("name", SMALL)
def test_a_diverged_run_leaves_the_others_alone(name, value, tmp_path):
    """From step 12 on (epoch 2) the weights of the second run are ruined."""
    healthy, stream = make(name)
    expected = contents(quiet(healthy, stream), healthy)
    learner, stream = make(name)

    def act(step, x, y):
        if step == 12:  # the bare layers: whoever looks at the network's weights has it pay what it owes
            for weight in learner.network._layers.weights:
                weight[1] = value

    on_step(learner, act)
    with pytest.warns(UserWarning, match="not finite") as caught:
        records = quiet(learner, stream, checkpoint=tmp_path / "training.pt", checkpoint_seconds=1e9)
    found = contents(records, learner)
    assert found[0] == expected[0]
    assert found[2] == expected[2]

    bad = records[1]
    assert len(caught) == 1
    assert "seed 8 " in str(caught[0].message)
    assert f"step {bad.diverged_at}:" in str(caught[0].message)
    assert 12 <= bad.diverged_at <= 14
    assert not np.isnan(bad.accuracy[:2, 0]).any()
    assert np.isnan(bad.accuracy[2:]).all()  # nothing is claimed of a ruined run
    assert bad.epochs["loss"].isna().tolist() == [False, False] + [True] * 8

    good = tmp_path / "training.seed8-last-good.pt"
    assert str(good) in str(caught[0].message)
    state = saved(good)
    fresh, _ = make(name)
    fresh.load_state(state["learner"])
    assert torch.isfinite(fresh.network.flat).all()


def test_the_last_good_checkpoint_is_good(tmp_path):
    """A step may ruin the weights though its own loss is finite; a state saved just then is not a good one."""
    learner, stream = make("sgd")
    original, numbers = learner.step, count()

    def step(x, y):
        said = original(x, y)
        if next(numbers) == 12:
            learner.network.weights[0][1] = torch.nan
        return said

    learner.step = step
    with pytest.warns(UserWarning, match="not finite"):
        records = quiet(learner, stream, checkpoint=tmp_path / "training.pt", checkpoint_seconds=0)
    assert records[1].diverged_at in (12, 13)
    state = saved(tmp_path / "training.seed8-last-good.pt")
    assert torch.isfinite(state["learner"]["network"]["weights"]).all()


def test_divergence_is_remembered_by_a_checkpoint(tmp_path):
    """Stopped after one run was lost, and resumed: the same record, and no second warning."""

    def ruin(step, x, y):
        if step == 12:
            learner.network.weights[0][1] = torch.nan

    learner, stream = make(epochs=3)
    on_step(learner, ruin)
    with pytest.warns(UserWarning, match="seed 8 "):
        expected = contents(quiet(learner, stream), learner)
    learner, stream = make(epochs=3)
    on_step(learner, ruin)
    send_before(learner, 20)
    with pytest.warns(UserWarning, match="seed 8 "), pytest.raises(SystemExit):
        quiet(learner, stream, checkpoint=tmp_path / "training.pt")
    learner, stream = make(epochs=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert contents(quiet(learner, stream, checkpoint=tmp_path / "training.pt"), learner) == expected


@pytest.mark.parametrize("name", SMALL)
def test_all_runs_diverged_ends_early(name):
    learner, stream = make(name)
    learner.network.flat.fill_(torch.nan)
    said = watch(learner)
    with pytest.warns(UserWarning, match="No checkpoint was kept") as caught:
        records = quiet(learner, stream)
    assert len(caught) == 3
    assert len(said) == stream.epochs[0].steps
    for record in records:
        assert record.diverged_at == 0
        assert np.isnan(record.accuracy).all()


def test_a_rate_that_is_too_large_diverges_by_itself():
    learner, stream = make("sgd", rate=1e30)
    with pytest.warns(UserWarning, match="smaller learning rate"):
        records = quiet(learner, stream)
    assert all(0 < record.diverged_at < stream.steps for record in records)


# --- bad input of train ---------------------------------------------------------------------------------------


def test_bad_input():
    learner, stream = make()
    with pytest.raises(TaclError, match="choose one of: seen, all") as caught:
        quiet(learner, stream, tested="some")
    one_sentence(caught)
    with pytest.raises(TaclError, match="seeds"):
        quiet(make_learner("sgd", Mlp((0, 1), (16, 2))), stream)
    with pytest.raises(TaclError, match="features"):
        quiet(make_learner("sgd", Mlp(SEEDS, (17, 2))), stream)
    with pytest.raises(TaclError, match="classes"):
        quiet(make_learner("sgd", Mlp(SEEDS, (16, 10))), stream)


# --- records in files -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ta_agem", "sgd", "agem"])
def test_a_record_survives_its_file(name, tmp_path):
    records = quiet(*make(name), info={"settings": {"hidden": [6], "rate": 0.1, "note": "Größe ×"}})
    for record in records:
        path = tmp_path / "deep" / f"{record.seed}.parquet"
        record.write(path)
        back = read_record(path)
        assert contents([back]) == contents([record])
        assert back.info == record.info
        pd.testing.assert_frame_equal(back.epochs, record.epochs)
        assert (back.events is None) == (record.events is None)
        if record.events is not None:
            assert back.events.geometry == record.events.geometry
    assert len(list(tmp_path.rglob("*"))) == 1 + 3 * (2 if name == "ta_agem" else 1)


def test_a_diverged_record_survives_its_file(tmp_path):
    learner, stream = make()
    learner.network.flat.fill_(torch.nan)
    with pytest.warns(UserWarning, match="not finite"):
        record = quiet(learner, stream)[0]
    record.write(tmp_path / "record.parquet")
    assert contents([read_record(tmp_path / "record.parquet")]) == contents([record])


def test_an_empty_log_survives_its_file(tmp_path):
    """A small sampling rate may store nothing at all."""
    record = quiet(*make("ta_agem", epochs=1, sampling_rate=0.001))[0]
    assert len(record.events) == 0
    record.write(tmp_path / "record.parquet")
    assert contents([read_record(tmp_path / "record.parquet")]) == contents([record])


@pytest.fixture(scope="module")
def record() -> Record:
    return quiet(*make("ta_agem", epochs=1))[0]


@pytest.mark.parametrize("which", ["record.parquet", "record.events.parquet"])
@pytest.mark.parametrize(
    "damage",
    [lambda good: good[:-20], lambda good: good[: len(good) // 2], lambda good: b"", lambda good: b"no parquet " * 99],
    ids=["end missing", "half", "empty", "garbage"],
)
def test_a_damaged_result_file_is_named(which, damage, record, tmp_path):
    record.write(tmp_path / "record.parquet")
    (tmp_path / which).write_bytes(damage((tmp_path / which).read_bytes()))
    with pytest.raises(TaclError, match="damaged") as caught:
        read_record(tmp_path / "record.parquet")
    assert str(tmp_path / "record.parquet") in one_sentence(caught)


def test_any_flipped_bit_is_read_or_reported(record, tmp_path):
    """Whatever a bad disk does to the description of the columns: never an exception that nobody expects."""
    path = tmp_path / "record.parquet"
    replace(record, info={}).write(path)  # without wall time and commit, the file is the same every time
    good, rng, escaped = path.read_bytes(), random.Random(0), set()
    footer = int.from_bytes(good[-8:-4], "little")
    for _ in range(120):
        bad, at = bytearray(good), len(good) - 1 - rng.randrange(footer + 8)
        bad[at] ^= 1 << rng.randrange(8)
        path.write_bytes(bad)
        try:
            read_record(path)
        except TaclError:
            pass
        except Exception as error:
            escaped.add(repr(error))
    assert escaped == set()


@pytest.mark.parametrize("which", ["record.parquet", "record.events.parquet"])
def test_a_missing_result_file_is_named(which, record, tmp_path):
    record.write(tmp_path / "record.parquet")
    (tmp_path / which).unlink()
    with pytest.raises(TaclError, match="no result file") as caught:
        read_record(tmp_path / "record.parquet")
    assert which in one_sentence(caught)


def test_a_table_of_something_else_is_not_a_record(tmp_path):
    pd.DataFrame({"a": [1, 2]}).to_parquet(tmp_path / "other.parquet")
    with pytest.raises(TaclError, match="damaged") as caught:
        read_record(tmp_path / "other.parquet")
    one_sentence(caught)


def test_an_unwritable_place_is_named_and_nothing_is_left(record, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(TaclError, match="could not be written") as caught:
        record.write(tmp_path / "file" / "record.parquet")
    one_sentence(caught)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_full_disk_keeps_the_old_record(record, small_disk):
    path = small_disk / "record.parquet"
    record.write(path)
    before = {p.name: p.read_bytes() for p in small_disk.iterdir()}
    filler = fill(small_disk)
    with pytest.raises(TaclError, match="disk is full") as caught:
        record.write(path)
    one_sentence(caught)
    filler.unlink()
    assert {p.name: p.read_bytes() for p in small_disk.iterdir()} == before


@pytest.mark.parametrize("error", [ValueError("a bug"), KeyboardInterrupt()])
def test_write_whole_keeps_the_old_file(error, tmp_path):
    """Also when the writer fails for a reason that is not the disk's; that reason is not hidden."""
    path = tmp_path / "file"
    write_whole(path, lambda part: part.write_text("old"))

    def writer(part):
        part.write_text("half")
        raise error

    with pytest.raises(type(error)):
        write_whole(path, writer)
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("file", "old")]
    write_whole(path, lambda part: part.write_text("new"))
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("file", "new")]


# --- experiments and command line -----------------------------------------------------------------------------

TINY = {"dataset": "digits", "epochs": 1, "hidden": (8,), "train_limit": 30, "test_limit": 20}


@pytest.mark.parametrize(
    ("learner", "experiment", "split"), [("ta_agem", "continuous", "class"), ("agem", "disjoint", "rotation")]
)
def test_an_experiment_on_digits(learner, experiment, split):
    spec = RunSpec(**TINY | {"learner": learner, "experiment": experiment, "split": split, "epochs": 2})
    records = run(spec, (0, 4), device="cpu", progress=False)
    tasks = 5 if split == "class" else 10
    assert [record.seed for record in records] == [0, 4]
    for record in records:
        assert record.accuracy.shape == (tasks * 2, tasks)
        assert record.info["spec"]["learner"] == learner
        assert record.info["data"]["source"]
    assert contents(records) == contents(run(spec, (0, 4), device="cpu", progress=False))


def test_an_experiment_resumes_from_its_checkpoint(tmp_path, monkeypatch):
    spec = RunSpec(**TINY | {"learner": "ta_agem"})
    expected = contents(run(spec, (0,), device="cpu", progress=False))
    original, numbers = LEARNERS["ta_agem"].step, count()

    def step(self, x, y):
        if next(numbers) == 7:
            signal.raise_signal(signal.SIGTERM)
        return original(self, x, y)

    monkeypatch.setattr(LEARNERS["ta_agem"], "step", step)
    with pytest.raises(SystemExit):
        run(spec, (0,), device="cpu", progress=False, checkpoint=tmp_path / "checkpoint")
    found = run(spec, (0,), device="cpu", progress=False, checkpoint=tmp_path / "checkpoint")
    assert contents(found) == expected
    assert next(numbers) == 15  # 5 tasks of 3 steps, none of them twice


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"learner": "sdg"}, ["sdg", "ta_agem", "sgd"]),
        ({"dataset": "mnits"}, ["mnits", "digits"]),
        ({"split": "colour"}, ["colour", "rotation"]),
        ({"initialisation": "zeros"}, ["zeros", "glorot"]),
        ({"learner_settings": {"cluster": 3}}, ["cluster", "clusters", "ta_agem"]),
    ],
    ids=str,
)
def test_unknown_names_in_a_spec(change, words):
    with pytest.raises(TaclError) as caught:
        run(RunSpec(**TINY | change), (0,), progress=False)
    message = one_sentence(caught)
    assert all(word in message for word in words)


COMMAND = ["--hidden", "(8,)", "--epochs", "1", "--train-limit", "30", "--test-limit", "20", "--seeds", "0", "2"]


def test_command_line_prints_the_summary_and_writes_records(tmp_path, capsys):
    main([*COMMAND, "--learner", "ta_agem", "--set", "clusters=3", "rate=0.05", "--out", str(tmp_path)])
    printed = capsys.readouterr().out
    for name in ("average_accuracy", "first_task_accuracy", "forgetting", "2 runs"):
        assert name in printed
    files = [path for path in tmp_path.rglob("*.parquet") if not path.name.endswith(".events.parquet")]
    records = sorted((read_record(path) for path in files), key=lambda record: record.seed)
    assert [record.seed for record in records] == [0, 2]
    assert records[0].info["spec"]["learner_settings"]["clusters"] == 3
    assert records[0].events.geometry.clusters == 3
    spec = RunSpec(**TINY | {"learner": "ta_agem", "learner_settings": {"clusters": 3, "rate": 0.05}})
    assert contents(records) == contents(run(spec, (0, 2), progress=False))
    assert parts_in(tmp_path) == []


@pytest.mark.parametrize(
    "options",
    [
        ["--learner", "sdg"],
        ["--dataset", "mnits"],
        ["--split", "colour"],
        ["--epochs", "0"],
        ["--seeds", "1", "1"],
        ["--set", "clusters"],
        ["--set", "cluster=3"],
        ["--set", "rate=0"],
        ["--train-limit", "0"],
        ["--experiment", "continuous", "--learner", "agem", "--epochs", "2"],
        ["--epochs", "many"],
        ["--batch-size", "2.5"],
        ["--set", "rate=fast"],
        ["--hidden", "wide"],
    ],
    ids=" ".join,
)
def test_command_line_answers_a_bad_option_with_a_sentence(options):
    """`sys.exit` of a text prints it and ends with code 1."""
    with pytest.raises(SystemExit) as caught:
        main([*COMMAND, *options])
    message = caught.value.code
    assert isinstance(message, str)
    assert message.startswith("tacl: ")
    assert "\n" not in message


def test_command_line_takes_a_single_hidden_layer_as_a_number(capsys):
    """What a user types first."""
    main([*COMMAND, "--hidden", "8", "--learner", "sgd"])
    assert "average_accuracy" in capsys.readouterr().out

"""What happens when a training is stopped, killed, damaged or blown up."""

import contextlib
import errno
import io
import multiprocessing
import os
import pickle
import random
import signal
import sys
import time
import warnings
from itertools import count
from pathlib import Path

import numpy as np
import pytest
import torch
from sentences import one_sentence
from small_learners import SMALL
from small_training import STOPPED, contents, fill, make, on_step, parts_in, quiet, saved, send_before, watch

from tacl_lib.errors import TaclError
from tacl_lib.training.checkpoint import Checkpoint, sealed, unsealed

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
    """Else every kill would leave a hidden file as large as a checkpoint, forever."""
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
    "a log without its steps": lambda state: state["recorder"].update(steps=[]),
    "a log of other types": lambda state: state["recorder"].update(
        events=[e.short() for e in state["recorder"]["events"]]
    ),
    "half a log": lambda state: state["recorder"].update(events=[e[1:] for e in state["recorder"]["events"]]),
    "a memory of another size in the log": lambda state: state["recorder"].update(content=[torch.zeros(1, 1).long()]),
    "no steps of the learner": lambda state: state["learner"].update(steps=None),
    "weights of another type": lambda state: state["learner"]["network"].update(
        weights=state["learner"]["network"]["weights"].half()
    ),
    "one number for all counts": lambda state: state["learner"]["memory"].update(
        added=state["learner"]["memory"]["added"].flatten()[:1]
    ),
    "an accuracy above 1": lambda state: state["accuracy"][:, 0].fill_(1.5),
    "a memory of less than nothing": lambda state: state["memory"].fill_(-1),
    "divergence after the end": lambda state: state["diverged_at"].fill_(10**9),
    "more projections than steps": lambda state: state["projected_steps"].fill_(10**9),
}


@pytest.mark.parametrize("change", ODD_STATES.values(), ids=ODD_STATES.keys())
def test_a_checkpoint_that_does_not_fit_is_set_aside_and_the_run_begins_anew(change, tmp_path):
    """Also what had been loaded before the odd value was met leaves no trace."""
    file = tmp_path / "training.pt"
    stopped_at(7, file)
    rewritten(file, change)
    learner, stream = make(epochs=3)
    with pytest.warns(
        UserWarning, match=r"training\.pt is damaged or from another version \(.*from the beginning"
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
    for options in ({"info": {"degrees": 45}}, {"info": {"degrees": 20}, "test_on": "all"}, {}):
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


@pytest.mark.parametrize("change", [{"space": "features"}, {"clusters": 5}], ids=str)
def test_a_checkpoint_of_other_settings_is_set_aside(change, tmp_path):
    """Without ``info`` the file does not say its settings, but what it holds does not fit."""
    file = tmp_path / "training.pt"
    stopped_at(7, file)
    expected, other = make(epochs=3, **change), make(epochs=3, **change)
    with pytest.warns(UserWarning, match=r"training\.pt is damaged or from another version"):
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

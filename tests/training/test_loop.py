"""Training end to end: what is recorded, who is told what, and that it is the same again."""

import signal

import numpy as np
import pandas as pd
import pytest
import torch
from sentences import one_sentence
from small_learners import OF_THE_KIT, SMALL
from small_training import AGNOSTIC, AWARE, SEEDS, contents, make, quiet, send_before, watch

from tacl_lib.core.learners import Learner, Step, TaskAwareLearner, make_learner
from tacl_lib.engine.mlp import Mlp
from tacl_lib.errors import TaclError


def test_every_learner_is_tested_here():
    """A new learner must join the tests below."""
    assert set(OF_THE_KIT) == set(SMALL)


# --- what is recorded -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("experiment", "tested"), [("disjoint", "seen"), ("disjoint", "all"), ("continuous", "seen")])
@pytest.mark.parametrize("name", ["ta_agem", "sgd_lr_adapt", "ta_ogd"])
def test_record_tells_what_happened(name, experiment, tested):
    """Every column against what a spy saw, and accuracy recomputed from the weights that were tested."""
    learner, stream = make(name, experiment=experiment)
    said, at_tests, original = watch(learner), [], learner.network.accuracy
    tasks, plan = stream.tasks, stream.epochs

    def accuracy(x, y):
        at_tests.append([learner.network.vector(run).double().numpy() for run in range(3)])
        return original(x, y)

    learner.network.accuracy = accuracy
    records = quiet(learner, stream, test_on=tested, info={"mine": 1})
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
        assert torch.equal(learner.memory.members.x[place, filled], images)


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


#: every learner, and those whose settings make them keep more tensors
MORE_STATE = [(name, {}) for name in SMALL] + [("sgd", {"momentum": 0.5}), ("sgd_lr_adapt", {"smoothing": 0.5})]


@pytest.mark.parametrize(("name", "changes"), MORE_STATE)
def test_a_trained_learner_can_be_used_outside_of_the_loop(name, changes):
    learner, stream = make(name, **changes)
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


# --- bad input of train ---------------------------------------------------------------------------------------


def test_bad_input():
    learner, stream = make()
    with pytest.raises(TaclError, match="choose one of: seen, all") as caught:
        quiet(learner, stream, test_on="some")
    one_sentence(caught)
    with pytest.raises(TaclError, match="seeds"):
        quiet(make_learner("sgd", Mlp((0, 1), (16, 2))), stream)
    with pytest.raises(TaclError, match="features"):
        quiet(make_learner("sgd", Mlp(SEEDS, (17, 2))), stream)
    with pytest.raises(TaclError, match="classes"):
        quiet(make_learner("sgd", Mlp(SEEDS, (16, 10))), stream)

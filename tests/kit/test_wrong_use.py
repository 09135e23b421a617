"""Wrong use gets one sentence, at once, and leaves learner and memory as they were. Each case was tried by a user."""

import numpy as np
import pytest
import torch
from sentences import message_of
from torch import nn

from tacl_lib import (
    ClusterMemory,
    Mlp,
    ModuleNetwork,
    RunSpec,
    Store,
    Stream,
    load,
    make_learner,
    make_tasks,
    register_learner,
    register_policy,
    run,
    train,
)
from tacl_lib.core.learners import LEARNERS, Learner, Step
from tacl_lib.core.memory import POLICIES, Geometry, Placement, sample_memory
from tacl_lib.data import Dataset, register_dataset

DIGITS = load("digits")
TASKS = make_tasks(DIGITS, "class", (0, 1), train_limit=20, test_limit=10)
NAN, INFINITE = float("nan"), float("inf")


def network():
    return Mlp((0, 1), (64, 8, 2))


def linear():
    return nn.Linear(64, 2)


def small(labels):
    images = np.zeros((len(labels), 8, 8, 1), np.uint8)
    return Dataset("mine", images, np.array(labels), images, np.array(labels))


def taken(memory, x=(2, 64), pool=(0, 0)):
    return memory.add((torch.rand(x), torch.zeros(x[0]).long()), torch.tensor(pool), torch.zeros(len(pool)))


def some_memory(geometry=(2, 3, 2)):
    return sample_memory(2, 64, Geometry(*geometry), "clustering")


class Halved(Learner):
    name = "halved"

    def step(self, x, y):
        return 0.5


class Summed(Learner):
    name = "summed"

    def step(self, x, y):
        return Step(torch.zeros(3))


CASES = {
    "seeds that are a number": (lambda: run(RunSpec(), 3), "seeds must be distinct whole numbers"),
    "seeds that are a fraction": (lambda: make_tasks(DIGITS, "class", (1.5,)), "seeds must be"),
    "seeds that are a word": (lambda: make_tasks(DIGITS, "class", "01"), "seeds must be"),
    "a network's seeds": (lambda: Mlp(0, (64, 8, 2)), "seeds must be"),
    "a network's fraction": (lambda: Mlp((1.5,), (64, 8, 2)), "seeds must be"),
    "a module's seeds": (lambda: ModuleNetwork(0, linear, (), 2, features=64), "seeds must be"),
    "sizes that are a number": (lambda: Mlp((0,), 64), "sizes must be two or more"),
    "sizes that are no whole numbers": (lambda: Mlp((0,), (64, 8.0, 2)), "sizes must be two or more"),
    "a device of another machine": (lambda: Mlp((0,), (64, 8, 2), device="gpu"), "the device 'gpu' is not available"),
    "a module's device": (lambda: ModuleNetwork((0,), linear, (), 2, "gpu", 64), "the device 'gpu'"),
    "tasks on a device": (lambda: TASKS.to("gpu"), "the device 'gpu'"),
    "a run on a device": (lambda: run(RunSpec(), (0,), device="gpu"), "the device 'gpu'"),
    "a memory on a device": (lambda: ClusterMemory(device="gpu"), "the device 'gpu'"),
    "a module for its maker": (lambda: ModuleNetwork((0,), linear(), (), 2, features=64), "build must be a function"),
    "a module for a network": (lambda: make_learner("ta_agem", linear()), "needs a network", "ModuleNetwork(seeds"),
    "a class for a network": (lambda: make_learner("sgd", nn.Module), "needs a network", "Module"),
    "nothing for a network": (lambda: make_learner("sgd", None), "needs a network", "NoneType"),
    "a list for a name": (lambda: make_learner(["sgd"], network()), "unknown learner ['sgd']"),
    "an infinite rate": (lambda: make_learner("sgd", network(), rate=INFINITE), "must be a finite number", "inf"),
    "a rate that is a word": (lambda: LEARNERS["sgd"](network(), rate="1"), "must be a finite number", "'1'"),
    "an infinite η": (lambda: make_learner("bgd", network(), eta=INFINITE), "finite number", "inf"),
    "an infinite σ": (lambda: make_learner("bgd", network(), std_init=INFINITE), "finite number", "std_init"),
    "degrees that are no number": (
        lambda: make_tasks(DIGITS, "rotation", degrees_per_task=NAN),
        "degrees_per_task",
        "nan",
    ),
    "degrees without end": (lambda: make_tasks(DIGITS, "rotation", degrees_per_task=INFINITE), "degrees_per_task"),
    "degrees that are a word": (lambda: make_tasks(DIGITS, "rotation", degrees_per_task="20"), "degrees_per_task"),
    "half a task": (lambda: make_tasks(DIGITS, "rotation", task_count=1.5), "task_count must be a whole number"),
    "half a sample": (lambda: make_tasks(DIGITS, "rotation", train_limit=1.5), "train_limit must be a whole number"),
    "one class": (lambda: make_tasks(small([0] * 40), "rotation"), "only one class"),
    "a gap in the labels": (lambda: make_tasks(small([0, 2] * 20), "rotation"), "no training images with the labels 1"),
    "a name for a dataset": (lambda: make_tasks("digits", "class"), "takes a Dataset", "not str"),
    "a list for a split": (lambda: make_tasks(DIGITS, ["class"]), "unknown split"),
    "images without channels": (
        lambda: make_tasks(Dataset("mine", *[np.zeros((4, 8, 8), np.uint8), np.arange(4)] * 2), "rotation"),
        "train_images must be uint8 [N, H, W, 1 or 3]",
    ),
    "tasks for a stream": (lambda: train(make_learner("sgd", network()), TASKS), "Stream(tasks)", "Sgd and Tasks"),
    "stream and learner exchanged": (lambda: train(Stream(TASKS), make_learner("sgd", network())), "Stream and Sgd"),
    "a dataset for tasks": (lambda: Stream(DIGITS), "a stream needs tasks", "not Dataset"),
    "half an epoch": (lambda: Stream(TASKS, epochs=1.5), "epochs must be a whole number", "1.5"),
    "half a batch": (lambda: Stream(TASKS, batch_size=2.5), "batch_size must be a whole number"),
    "a dict for a spec": (lambda: run({"dataset": "digits"}, (0,)), "takes a RunSpec", "dict"),
    "an unknown split": (lambda: RunSpec(split="clas"), "unknown split 'clas'"),
    "an unknown learner": (lambda: RunSpec(learner="ta_agme"), "unknown learner 'ta_agme'"),
    "an unknown experiment": (lambda: RunSpec(experiment="both"), "unknown experiment"),
    "an unknown scaling": (lambda: RunSpec(scaling="none"), "unknown scaling"),
    "a step that returns a number": (
        lambda: train(Halved(network()), Stream(TASKS, epochs=1), progress=False),
        "step of halved must return a Step",
        "not 0.5",
    ),
    "a loss of another shape": (
        lambda: train(Summed(network()), Stream(TASKS, epochs=1), progress=False),
        "one number for each run",
    ),
    "a checkpoint that is a number": (
        lambda: train(make_learner("sgd", network()), Stream(TASKS, epochs=1), checkpoint=3),
        "checkpoint must be the path of a file",
    ),
    "a dataset for its loader": (
        lambda: register_dataset("mine", DIGITS),
        "give register_dataset a name",
    ),
    "a number for a name": (lambda: register_dataset(3, lambda: DIGITS), "give register_dataset a name"),
    "a number for a policy": (lambda: register_policy("mine")(3), "a memory policy must be a function", "not 3"),
    "a learner for its class": (
        lambda: register_learner(make_learner("sgd", network())),
        "must be a subclass of Learner",
    ),
    "a list for a dataset's name": (lambda: load(["digits"]), "unknown dataset ['digits']"),
    "no folder for a store": (lambda: Store(None), "a store is a folder"),
    "a sample of another width": (lambda: taken(some_memory(), (2, 5)), "x of a sample", "[2, 64], not [2, 5]"),
    "a sample for one run": (lambda: taken(some_memory(), (1, 64), (0,)), "x of a sample", "[2, 64], not [1, 64]"),
    "a pool that is not there": (lambda: taken(some_memory(), pool=(0, 7)), "pools are 0 to 1, not [0, 7]"),
    "half a cluster": (lambda: some_memory((2, 3.5, 2)), "a memory's clusters must be a whole number", "3.5"),
    "half a cluster, alone": (lambda: ClusterMemory(clusters=2.5), "clusters must be a whole number"),
    "a negative seed": (lambda: ClusterMemory(seed=-1), "seed must be a whole number from 0 on"),
    "a word for a sample": (lambda: ClusterMemory().add("word", 0), "must be tensors"),
    "no label": (lambda: ClusterMemory().add(torch.rand(3), None), "must be tensors"),
    "another state": (lambda: ClusterMemory().load_state_dict({}), "not the state of a ClusterMemory"),
}


@pytest.mark.parametrize("case", CASES)
def test_wrong_use_gets_one_sentence(case):
    call, *words = CASES[case]
    message_of(call, *words)


def test_lists_may_stand_for_tuples():
    assert RunSpec(hidden=[200, 200]) == RunSpec(hidden=(200, 200))
    assert Mlp([0, 1], [64, 8, 2]).sizes == (64, 8, 2)


def test_files_where_folders_should_be(tmp_path):
    (tmp_path / "file").write_text("x")
    message_of(lambda: Store(tmp_path / "file"), "is a file", "a store is a folder")
    learner = make_learner("sgd", network())
    below = tmp_path / "file" / "checkpoint"
    message_of(lambda: train(learner, Stream(TASKS, epochs=1), checkpoint=below), "would lie inside a file")


X, Y = torch.rand(2, 5, 64), torch.zeros(2, 5, dtype=torch.int64)
BATCHES = {
    "an array of NumPy": (X.numpy(), Y, "samples must be a torch tensor, not ndarray"),
    "a list": (X.tolist(), Y, "samples must be a torch tensor, not list"),
    "labels of NumPy": (X, Y.numpy(), "labels must be a torch tensor, not ndarray"),
    "float64": (X.double(), Y, "give x.float()"),
    "int32 labels": (X, Y.int(), "labels must be int64 in 0 to 1; these are torch.int32: give y.long()"),
    "labels that are no numbers of classes": (X, Y + 7, "labels must be int64 in 0 to 1"),
    "no samples": (X[:, :0], Y[:, :0], "at least one sample"),
    "NaN": (X * NAN, Y, "samples must be finite"),
    "one infinite pixel": (torch.where(X[0, 0, 0] == X, INFINITE, X), Y, "samples must be finite"),
    "another number of features": (X[:, :, :5], Y, "samples must have the shape [2 runs, n, 64 features]"),
    "one run of two": (X[:1], Y[:1], "samples must have the shape [2 runs, n, 64 features]"),
}


def snapshot(learner):
    def copied(value):
        if isinstance(value, torch.Tensor):
            return value.clone().tolist()
        return {name: copied(each) for name, each in value.items()} if isinstance(value, dict) else value

    return copied(learner.state())


@pytest.mark.parametrize("name", ["sgd", "bgd", "ta_agem", "ta_ogd"])
@pytest.mark.parametrize("case", BATCHES)
def test_a_batch_that_is_refused_changes_nothing(case, name):
    x, y, words = BATCHES[case]
    learner = make_learner(name, network())
    learner.step(X, Y)  # so that there is something in the memory
    before = snapshot(learner)
    message_of(lambda: learner.step(x, y), words)
    assert snapshot(learner) == before


@pytest.mark.parametrize("case", BATCHES)
def test_a_module_refuses_the_same_batches(case):
    x, y, words = BATCHES[case]
    learner = make_learner("ta_agem", ModuleNetwork((0, 1), linear, (), 2, features=64))
    before = snapshot(learner)
    message_of(lambda: learner.step(x, y), words)
    assert snapshot(learner) == before


ANSWERS = {
    "a cluster that is not there": (
        lambda a: Placement(a.pool + 99, a.pool * 0, None),
        "must choose a cluster from 0 to 5, not [",
    ),
    "a slot that is not there": (
        lambda a: Placement(a.pool * 0, a.pool - 1, None),
        "must choose a slot from 0 to 1, not [",
    ),
    "fractions": (
        lambda a: Placement(a.pool * 0.5, a.pool * 0, None),
        "cluster in the Placement of the policy <lambda> must be an int64 tensor [2], not torch.float32 [2]",
    ),
    "another shape": (lambda a: Placement(torch.zeros(7).long(), a.pool, None), "must be an int64 tensor [2]"),
    "nothing": (lambda a: None, "must return a Placement", "NoneType"),
}


@pytest.mark.parametrize("case", ANSWERS)
def test_a_policy_that_answers_nonsense_leaves_the_memory_as_it_was(case, monkeypatch):
    policy, *words = ANSWERS[case]
    monkeypatch.setitem(POLICIES, "nonsense", policy)
    memory = sample_memory(2, 64, Geometry(2, 3, 2), "nonsense")
    message_of(lambda: taken(memory), *words)
    assert not memory.filled.any()
    assert not memory.members.x.any()

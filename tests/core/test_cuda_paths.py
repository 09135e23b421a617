"""The paths of a GPU, without one: every learner on fake CUDA tensors, which have a device but no numbers.

A line that mixes devices, or that waits for the device by asking for a number (`.item()`, `if tensor:`),
raises here as nowhere on a CPU. What is not seen: wrong numbers, and the kernels themselves.
"""

import pytest
import torch
from small_learners import OF_THE_KIT
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensor, FakeTensorMode

from tacl_lib.core.learners import Learner, Step, TaskAwareLearner, make_learner
from tacl_lib.core.memory import POLICIES
from tacl_lib.engine.mlp import Mlp
from tacl_lib.training.events import EventRecorder

SIZES, RUNS, BATCH = (12, 8, 7, 4), 2, 5
#: memories that are full, and replace members, within the steps below
SMALL = {"ta_agem": {"clusters": 2, "cluster_size": 1}, "ta_ogd": {"clusters": 2, "cluster_size": 1}}
SMALL |= {"bgd": {"passes": 2}}

if torch.cuda.is_available():  # with a real device the numbers themselves can be tested, elsewhere
    pytest.skip("fake tensors stand in for a GPU only where there is none", allow_module_level=True)


class CpuGenerator(torch.Generator):
    """Stands in for the generators that BGD makes on its device: without a GPU torch can make none there."""

    def __new__(cls, device=None):
        return super().__new__(cls, "cpu")


@pytest.fixture
def fake(monkeypatch):
    monkeypatch.setattr(torch, "Generator", CpuGenerator)
    with FakeTensorMode():
        yield


def batch():
    x = torch.empty(RUNS, BATCH, SIZES[0], device="cuda")
    return x, torch.zeros(RUNS, BATCH, dtype=torch.int64, device="cuda")


def network():
    return Mlp(range(RUNS), SIZES, device="cuda")


def tensors(value):
    """Every tensor in nested tuples, lists and dicts."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [t for part in value for t in tensors(part)] if isinstance(value, tuple | list) else []


def check(learner, *steps):
    """Weights, what the steps say, and the state are fake tensors on the fake GPU."""
    found = tensors([learner.network.flat, learner.network.weights, list(steps), learner.state()])
    assert len(found) > len(steps)
    for tensor in found:
        assert isinstance(tensor, FakeTensor)
        assert tensor.device.type == "cuda"


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize("name", OF_THE_KIT)
def test_every_learner_stays_on_the_device(name):
    learner = make_learner(name, network(), **SMALL.get(name, {}))
    x, y = batch()
    steps = [learner.step(x, y) for _ in range(4)]
    if isinstance(learner, TaskAwareLearner):
        for _ in range(2):
            learner.end_task(x, y)
            steps.append(learner.step(x, y))
    check(learner, *steps)
    assert learner.network.accuracy(x[:1], y[:1], chunk=2).device.type == "cuda"
    other = make_learner(name, network(), **SMALL.get(name, {}))
    other.load_state(learner.state())
    check(other, other.step(x, y))


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize("policy", sorted(POLICIES))
@pytest.mark.parametrize("name", ["ta_agem", "ta_ogd"])
def test_every_policy_stays_on_the_device(name, policy):
    other_pools = {"pool_per_class": name == "ta_ogd"}  # not the default, which the test above takes
    settings = SMALL[name] | {"cluster_size": 8}  # enough samples for a pool
    learner = make_learner(name, network(), policy=policy, **other_pools, **settings)
    assert learner.network._pool is not None  # of samples or of gradients
    x, y = batch()
    recorder = EventRecorder(learner.geometry, RUNS)
    for number in range(3):
        step = learner.step(x, y)
        recorder.note(number, step.stored.placement, step.stored.chosen, y, y)
    check(learner, step)
    assert all(t.device.type == "cuda" for t in recorder._fresh)  # nothing is copied before a flush


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize("setting", [{"reference_batch": None}, {"reference_batch": 50}])
@pytest.mark.parametrize("name", ["agem", "ta_agem"])
def test_the_whole_memory_as_reference_stays_on_the_device(name, setting):
    learner = make_learner(name, network(), **setting)
    x, y = batch()
    if name == "agem":
        learner.end_task(x, y)
    check(learner, learner.step(x, y))


# ---- the method has teeth


class Plain(Learner):
    """A good learner, to which each bad one adds one bad line."""

    def step(self, x, y):
        losses, gradient = self.network.loss_gradient(x, y)
        self.network.add(gradient, self.factor(losses.sum(1)))
        return Step(losses.sum(1))

    def factor(self, loss):
        return -0.1 * torch.ones_like(loss)


class AsksForANumber(Plain):
    def factor(self, loss):
        return -0.1 * loss[0].item()


class BranchesOnATensor(Plain):
    def factor(self, loss):
        return -0.1 if (loss < 1).any() else -0.2


class MixesInTheCpu(Plain):
    def factor(self, loss):
        return -0.1 * torch.ones(RUNS)


@pytest.mark.usefixtures("fake")
def test_a_good_learner_passes():
    learner = Plain(network())
    check(learner, learner.step(*batch()))


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize(
    ("bad", "error", "message"),
    [
        (AsksForANumber, DataDependentOutputException, "_local_scalar_dense"),
        (BranchesOnATensor, DataDependentOutputException, "_local_scalar_dense"),
        (MixesInTheCpu, RuntimeError, "devices"),
    ],
)
def test_a_bad_learner_is_caught(bad, error, message):
    with pytest.raises(error, match=message):
        bad(network()).step(*batch())

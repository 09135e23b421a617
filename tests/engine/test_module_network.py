"""Any module as a network: around a perceptron it is the fast engine, whoever learns."""

import copy
from itertools import pairwise

import numpy as np
import pytest
import torch
from oracles import models
from oracles import walks as oracle
from small_learners import OF_THE_KIT, SMALL
from torch import nn

from tacl_lib.core.learners import TaskAwareLearner, make_learner
from tacl_lib.core.randomness import generator
from tacl_lib.core.streams import Stream
from tacl_lib.core.tasks import make_tasks
from tacl_lib.data import load
from tacl_lib.engine.mlp import Mlp
from tacl_lib.engine.module_network import ModuleNetwork
from tacl_lib.errors import TaclError
from tacl_lib.training import train

SIZES, SEEDS, BATCH, STEPS = (12, 8, 7, 4), (3, 14), 5, 50


def perceptron():
    layers = [nn.Linear(a, b) for a, b in pairwise(SIZES)]
    return nn.Sequential(layers[0], nn.ReLU(), layers[1], nn.ReLU(), layers[2])


def as_module(mlp):
    """The same networks as modules: torch keeps weights as [out, in], layer by layer."""
    network = ModuleNetwork(mlp.seeds, perceptron, (), SIZES[-1], features=SIZES[0])
    for run in range(mlp.runs):
        parts = [
            t for w, b in zip(mlp.weights, mlp.biases, strict=True) for t in (w[run].T.flatten(), b[run].flatten())
        ]
        network.flat.view(mlp.runs, -1)[run] = torch.cat(parts)
    return network


def stream(seeds=SEEDS):
    rng = np.random.default_rng(0)
    rules = rng.standard_normal((len(SEEDS), SIZES[0], SIZES[-1]))
    for step in range(STEPS):
        x = rng.standard_normal((len(SEEDS), BATCH, SIZES[0])).astype(np.float32)
        y = (np.einsum("rnf,rfc->rnc", x, rules).argmax(2) + step // 17) % SIZES[-1]
        rows = [SEEDS.index(seed) for seed in seeds]
        yield torch.from_numpy(x[rows]), torch.from_numpy(y[rows])


def drive(learner, seeds=SEEDS, steps=range(STEPS)):
    said = []
    for number, (x, y) in enumerate(stream(seeds)):
        if number in steps:
            said.append(learner.step(x, y))
            if isinstance(learner, TaskAwareLearner) and number % 17 == 16:
                learner.end_task(x[:, : BATCH - 1], y[:, : BATCH - 1])
    return said


def test_every_learner_of_the_kit_is_tried_here():
    assert set(OF_THE_KIT) == set(SMALL)


@pytest.mark.parametrize("name", [name for name in SMALL if name != "bgd"])
def test_around_a_perceptron_it_is_the_engine(name):
    """Same weights and batches for 50 steps: what differs is rounding in float32."""
    fast = make_learner(name, Mlp(SEEDS, SIZES), **SMALL[name])
    slow = make_learner(name, as_module(fast.network), **SMALL[name])
    for one, other in zip(drive(fast), drive(slow), strict=True):
        torch.testing.assert_close(one.loss, other.loss, rtol=2e-4, atol=2e-6)
        assert (one.projected is None) == (other.projected is None)
        if one.projected is not None:
            assert torch.equal(one.projected, other.projected)
        if one.stored is not None:
            assert torch.equal(one.stored.placement.cluster, other.stored.placement.cluster)
            assert torch.equal(one.stored.chosen, other.stored.chosen)
    expected = as_module(fast.network).flat
    assert (slow.network.flat - expected).abs().max() < 1e-5 * expected.abs().max()
    first = as_module(Mlp(SEEDS, SIZES)).flat
    assert (expected - first).abs().max() > 0.05  # it has learned something


def test_bgd_is_the_transcription_with_the_same_noise():
    mlp = Mlp(SEEDS, SIZES)
    learner = make_learner("bgd", as_module(mlp), **SMALL["bgd"])
    start = [models.flat_parameters(models.build(*lists(mlp, run))).numpy() for run in range(2)]
    drive(learner, steps=range(12))
    for run, seed in enumerate(SEEDS):
        batches, noises = [], []
        for step, (x, y) in enumerate(stream()):
            if step < 12:
                source = torch.Generator().manual_seed(int(generator(seed, "noise", step).integers(2**63)))
                draws = [torch.randn(len(start[run]), generator=source).double() for _ in range(3)]
                noises.append([models.lists_from_flat(draw, *lists(mlp, run)) for draw in draws])
                batches.append((x[run].numpy(), y[run].numpy()))
        deviations = models.lists_from_flat(torch.full((len(start[run]),), 0.1).double(), *lists(mlp, run))
        found = oracle.bgd(lists(mlp, run), deviations, batches, noises, 1.0, "sum")
        mean, std = learner.network.vector(run), learner.std.view(2, -1)[run]
        np.testing.assert_allclose(mean, found.path[-1], atol=2e-5)
        np.testing.assert_allclose(std, found.std_path[-1], atol=2e-6)
        assert np.abs(found.path[-1] - start[run]).max() > 0.05
        assert np.abs(found.std_path[-1] - 0.1).max() > 0.005


def lists(mlp, run):
    weights = [weight[run].double().numpy() for weight in mlp.weights]
    return weights, [bias[run, 0].double().numpy() for bias in mlp.biases]


@pytest.mark.parametrize("name", SMALL)
def test_a_stack_is_each_run_alone(name):
    stack = make_learner(name, ModuleNetwork(SEEDS, perceptron, (), 4, features=12), **SMALL[name])
    drive(stack)
    for run, seed in enumerate(SEEDS):
        alone = make_learner(name, ModuleNetwork([seed], perceptron, (), 4, features=12), **SMALL[name])
        drive(alone, [seed])
        torch.testing.assert_close(alone.network.vector(0), stack.network.vector(run), rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("name", SMALL)
def test_a_resumed_learner_goes_on_bit_for_bit(name):
    def made():
        return make_learner(name, ModuleNetwork(SEEDS, perceptron, (), 4, features=12), **SMALL[name])

    whole, first, second = made(), made(), made()
    drive(whole)
    drive(first, steps=range(23))
    second.network.flat.zero_()
    second.load_state(copy.deepcopy(first.state()))
    drive(second, steps=range(23, STEPS))
    assert torch.equal(whole.network.flat, second.network.flat)


def convolutional():
    """Groups instead of batches in its norm; images in, 2 logits out."""
    body = [nn.Conv2d(1, 4, 3, padding=1), nn.GroupNorm(2, 4), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten()]
    return nn.Sequential(*body, nn.Linear(16, 2))


@pytest.mark.parametrize("name", ["ta_agem", "ogd"])
def test_a_convolutional_network_is_trained_by_the_kit_s_own_loop(name):
    tasks = make_tasks(load("digits"), "class", SEEDS, train_limit=60, test_limit=40)
    network = ModuleNetwork(SEEDS, convolutional, (8, 8, 1), tasks.classes)
    learner = make_learner(name, network, rate=0.1)
    records = train(learner, Stream(tasks, epochs=2), progress=False)
    assert [record.seed for record in records] == list(SEEDS)
    for record in records:
        assert record.epochs["loss"].iloc[1] < record.epochs["loss"].iloc[0]
        assert record.accuracy[1, 0] > 0.6  # of two classes


def test_samples_reach_the_module_as_the_image_that_they_were():
    image = torch.arange(2 * 3 * 2.0).view(2, 3, 2)  # height, width, channels
    seen = []

    class Spy(nn.Linear):
        def forward(self, x):
            seen.append(x)
            return super().forward(x.flatten(1))

    network = ModuleNetwork([0], lambda: Spy(12, 2), (2, 3, 2), 2)
    network._logits(network._flat[0], image.flatten().unsqueeze(0))
    assert torch.equal(seen[-1][0], image.permute(2, 0, 1))


@pytest.mark.parametrize(
    ("build", "shape", "words"),
    [
        (
            lambda: nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2)),
            (8, 8, 1),
            "BatchNorm2d keeps",
        ),
        (lambda: nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Linear(64, 2)), (8, 8, 1), "Dropout draws random"),
        (
            lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, 3)),
            (8, 8, 1),
            r"must give 2 logits .* \(3,\)",
        ),
        (lambda: nn.Linear(64, 2), (8, 8, 3), r"cannot take samples of the shape \(3, 8, 8\)"),
        (lambda: nn.Flatten(), (8, 8, 1), "no parameters to train"),
        (lambda: 5, (8, 8, 1), "must make a torch.nn.Module, not int"),
        (lambda: nn.Linear(64, 2), (64,), r"image_shape must be \(height, width, channels\)"),
    ],
)
def test_a_module_that_does_not_fit_is_refused_in_words(build, shape, words):
    with pytest.raises(TaclError, match=words):
        ModuleNetwork([0], build, shape, 2)


def test_bad_batches_are_refused_and_change_nothing():
    network = ModuleNetwork(SEEDS, perceptron, (), 4, features=12)
    learner, before = make_learner("sgd", network, rate=0.1), network.flat.clone()
    x, y = next(stream())
    for bad in ((x[:, :, :3], y), (x.double(), y), (x, y[:, :2]), (x, y + 9), (x[:1], y[:1])):
        with pytest.raises(TaclError, match=r"samples|labels"):
            learner.step(*bad)
    assert torch.equal(network.flat, before)

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
def test_all_runs_in_one_call_are_the_runs_one_after_another(name):
    """As on a GPU; here on a CPU, where numbers can be compared."""
    apart = make_learner(name, ModuleNetwork(SEEDS, perceptron, (), 4, features=12), **SMALL[name])
    at_once = make_learner(name, ModuleNetwork(SEEDS, perceptron, (), 4, features=12), **SMALL[name])
    assert not apart.network._in_one_call
    at_once.network._in_one_call = True
    drive(apart)
    drive(at_once)
    torch.testing.assert_close(apart.network.flat, at_once.network.flat, rtol=1e-4, atol=2e-5)


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
    network.forward(image.flatten().view(1, 1, -1))
    assert torch.equal(seen[-1][0], image.permute(2, 0, 1))


class Tokens(nn.Module):
    """Rows of an image as tokens, an attention layer with its norm, and the mean of what comes out."""

    def __init__(self, batch_first=True, dropout=0.0, trained=True):
        super().__init__()
        kinds = {"dim_feedforward": 16, "dropout": dropout, "batch_first": batch_first}
        self.place = nn.Parameter(torch.randn(8, 8) / 8, requires_grad=trained)
        self.attention = nn.TransformerEncoderLayer(8, 2, **kinds)
        self.last = nn.Linear(8, 2)

    def forward(self, x):  # [n, 1, 8, 8]
        return self.last(self.attention(x.squeeze(1) + self.place).mean(1))


class Fixed(nn.Module):
    """Random features that nobody trains, a different draw for each seed: a buffer, or a frozen layer."""

    def __init__(self, buffer):
        super().__init__()
        self.body, self.last = nn.Linear(64, 20).requires_grad_(False), nn.Linear(20, 2)
        if buffer:
            self.register_buffer("scale", torch.rand(20))
        self.buffer = buffer

    def forward(self, x):
        x = torch.relu(self.body(x.flatten(1)))
        return self.last(x * self.scale if self.buffer else x)


def image_batch(seeds=SEEDS, step=0):
    parts = [torch.Generator().manual_seed(100 * seed + step) for seed in seeds]
    x = torch.stack([torch.rand(6, 64, generator=part) for part in parts])
    return x, (x[:, :, :32].sum(2) > x[:, :, 32:].sum(2)).long()


BUILDS = {
    "attention": Tokens,
    "a convolution": lambda: convolutional(),
    "a frozen layer": lambda: Fixed(buffer=False),
    "a buffer": lambda: Fixed(buffer=True),
    "a frozen norm": lambda: nn.Sequential(
        nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.Flatten(), nn.Linear(108, 2)
    ).eval(),
}


@pytest.mark.parametrize("kind", BUILDS)
def test_what_researchers_bring_is_trained_as_torch_trains_it(kind):
    """Against torch's own optimiser on copies of the modules, each with its own frozen parts."""
    network = ModuleNetwork(SEEDS, BUILDS[kind], (8, 8, 1), 2)
    learner = make_learner("sgd", network, rate=0.1)
    models = []
    for seed in SEEDS:
        torch.manual_seed(int(generator(seed, "weights").integers(2**63)))
        models.append(BUILDS[kind]())
    before = network.flat.clone()
    for step in range(6):
        x, y = image_batch(step=step)
        learner.step(x, y)
        for model, images, labels in zip(models, x, y, strict=True):
            optimiser = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
            optimiser.zero_grad()
            nn.functional.cross_entropy(model(images.view(-1, 1, 8, 8)), labels).backward()
            optimiser.step()
    assert (network.flat - before).abs().max() > 1e-3
    for run, model in enumerate(models):
        expected = {name: p.detach() for name, p in model.named_parameters() if p.requires_grad}
        torch.testing.assert_close(network.parameters(run), expected, rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(network.forward(x)[run], model(x[run].view(-1, 1, 8, 8)), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", BUILDS)
@pytest.mark.parametrize("name", SMALL)
def test_every_method_trains_what_researchers_bring_alone_and_stacked(name, kind):
    stack = make_learner(name, ModuleNetwork(SEEDS, BUILDS[kind], (8, 8, 1), 2), **SMALL[name])
    alone = make_learner(name, ModuleNetwork(SEEDS[1:], BUILDS[kind], (8, 8, 1), 2), **SMALL[name])
    for learner, seeds in ((stack, SEEDS), (alone, SEEDS[1:])):
        before = learner.network.flat.clone()
        for step in range(8):
            x, y = image_batch(seeds, step)
            learner.step(x, y)
            if isinstance(learner, TaskAwareLearner) and step % 4 == 3:
                learner.end_task(x[:, :4], y[:, :4])
        assert (learner.network.flat - before).abs().max() > 1e-3
    torch.testing.assert_close(stack.network.vector(1), alone.network.vector(0), rtol=1e-4, atol=2e-5)


def test_what_build_returns_stays_as_it_is_and_copies_go_their_own_ways():
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 2))
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    network = ModuleNetwork(SEEDS, lambda: model, (8, 8, 1), 2)
    assert torch.equal(network.vector(0), network.vector(1))
    other = copy.deepcopy(network)
    make_learner("sgd", network, rate=0.1).step(*image_batch())
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    assert not torch.equal(other.flat, network.flat)
    make_learner("sgd", other, rate=0.1).step(*image_batch())
    assert torch.equal(other.flat, network.flat)
    assert torch.equal(other.forward(image_batch()[0]), network.forward(image_batch()[0]))


class Odd(nn.Module):
    """A linear layer that answers in a way of its own."""

    def __init__(self, answer, size=64):
        super().__init__()
        self.layer, self.answer = nn.Linear(size, 2), answer
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        return self.answer(self, x.flatten(1))


def counted(module, x):
    module.calls += 1
    return module.layer(x)


@pytest.mark.parametrize(
    ("build", "shape", "words"),
    [
        (lambda: nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2)), (8, 8, 1), "BatchNorm2d mixes .* nn.GroupNorm"),
        (
            lambda: nn.Sequential(nn.Flatten(), nn.BatchNorm1d(64, track_running_stats=False), nn.Linear(64, 2)),
            (8, 8, 1),
            "BatchNorm1d mixes",
        ),
        (
            lambda: nn.Sequential(nn.InstanceNorm2d(1, track_running_stats=True), nn.Flatten(), nn.Linear(64, 2)),
            (8, 8, 1),
            "changes its buffer '0.running_mean'",
        ),
        (lambda: nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Linear(64, 2)), (8, 8, 1), "draws random numbers"),
        (lambda: Tokens(dropout=0.1), (8, 8, 1), "draws random numbers"),
        (lambda: Tokens(batch_first=False), (8, 8, 1), "mixes the samples"),
        (lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, 3)), (8, 8, 1), r"must give logits \[1, 2\].* not \[1, 3\]"),
        (lambda: Odd(lambda self, x: (self.layer(x), x)), (8, 8, 1), "one tensor, not tuple"),
        (lambda: Odd(lambda self, x: self.layer(x).squeeze()), (8, 8, 1), r"not \[2\]"),
        (lambda: Odd(lambda self, x: self.layer(x).detach()), (8, 8, 1), "do not depend on any parameter"),
        (lambda: Odd(lambda self, x: self.missing(x)), (8, 8, 1), "no attribute 'missing'"),
        (lambda: Odd(counted), (8, 8, 1), "changes its buffer 'calls'"),
        (lambda: nn.Linear(64, 2), (8, 8, 3), r"cannot take samples of the shape \(3, 8, 8\)"),
        (lambda: nn.Flatten(), (8, 8, 1), "no parameters to train"),
        (lambda: nn.Linear(64, 2).double(), (), "weight of the module is torch.float64"),
        (lambda: nn.Linear(64, 2).requires_grad_(False), (), "no parameters to train"),
        (lambda: nn.LazyLinear(2), (), "lazy layers"),
        (lambda: 5, (8, 8, 1), "must make a torch.nn.Module, not int"),
        (lambda: nn.Linear(64, 2), (64,), r"image_shape must be \(height, width, channels\)"),
        (lambda: nn.Linear(64, 2), 64, r"image_shape must be \(height, width, channels\)"),
        (lambda: nn.Linear(64, 2), None, r"image_shape must be \(height, width, channels\)"),
    ],
)
def test_a_module_that_does_not_fit_is_refused_in_words(build, shape, words):
    random = torch.get_rng_state()
    with pytest.raises(TaclError, match=words):
        ModuleNetwork([0], build, shape, 2, features=64)
    assert torch.equal(random, torch.get_rng_state())


def test_inference_mode_is_refused_in_words_and_no_grad_is_no_matter():
    def build():
        return nn.Linear(64, 2)

    learner = make_learner("ta_ogd", ModuleNetwork(SEEDS, build, (), 2, features=64), rate=0.1)
    before = learner.network.flat.clone()
    with torch.inference_mode():
        for refused in (lambda: learner.step(*image_batch()), lambda: ModuleNetwork(SEEDS, build, (), 2, features=64)):
            with pytest.raises(TaclError, match=r"rules out"):
                refused()
    assert torch.equal(learner.network.flat, before)
    with torch.no_grad():
        learner.step(*image_batch())
    assert not torch.equal(learner.network.flat, before)


def test_modules_of_different_sizes_are_refused():
    sizes = iter((3, 4))

    def build():
        size = next(sizes)
        return nn.Sequential(nn.Flatten(), nn.Linear(64, size), nn.Linear(size, 2))

    with pytest.raises(TaclError, match="the same parameters each time"):
        ModuleNetwork(SEEDS, build, (8, 8, 1), 2)


def test_bad_batches_are_refused_and_change_nothing():
    network = ModuleNetwork(SEEDS, perceptron, (), 4, features=12)
    learner, before = make_learner("sgd", network, rate=0.1), network.flat.clone()
    x, y = next(stream())
    for bad in ((x[:, :, :3], y), (x.double(), y), (x, y[:, :2]), (x, y + 9), (x[:1], y[:1])):
        with pytest.raises(TaclError, match=r"samples|labels"):
            learner.step(*bad)
    assert torch.equal(network.flat, before)

"""Others' code as oracles:  make peers  (installs Avalanche into an environment of its own, once).

Beside each deviation stands a control: how far the same equations in float32 lie from themselves in float64. A
deviation that is not larger says nothing against either side.
"""

import subprocess
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from bench.avalanche_env import VERSION
from bench.environments import prepared
from oracles import models
from oracles import walks as oracle
from torch import nn

from tacl_lib.core.learners import make_learner
from tacl_lib.core.memory.samples import Reference
from tacl_lib.core.randomness import generator
from tacl_lib.engine.mlp import Mlp
from tacl_lib.engine.module_network import ModuleNetwork
from tacl_lib.errors import TaclError

pytestmark = [pytest.mark.slow, pytest.mark.network]

ROOT = Path(__file__).parents[2]
SIZES, BATCH, STEPS, RATE, SEED = (30, 20, 16, 5), 6, 60, 0.05, 3


@pytest.fixture(scope="module")
def avalanche():
    """The Python of an environment that has Avalanche."""
    try:
        return prepared(ROOT / "build" / "avalanche-venv", f"avalanche-lib=={VERSION}")
    except TaclError as error:
        pytest.skip(str(error))


def stream():
    """Two tasks: the second turns the rules of the first round, so that gradients conflict."""
    rng = np.random.default_rng(0)
    rule = rng.standard_normal((SIZES[0], SIZES[-1]))
    tasks = []
    for turn, count in ((0, 10 * BATCH), (2, STEPS * BATCH)):
        x = rng.standard_normal((count, SIZES[0])).astype(np.float32)
        tasks.append((x, ((x @ rule).argmax(1) + turn) % SIZES[-1]))
    return tasks


def batches(x, y):
    cuts = range(0, len(y), BATCH)
    return [(x[at : at + BATCH], y[at : at + BATCH]) for at in cuts]


def lists(network):
    weights = [weight[0].numpy().copy() for weight in network.weights]
    return weights, [bias[0, 0].numpy().copy() for bias in network.biases]


def as_module(mlp):
    """The same network as a module."""

    def perceptron():
        layers = [part for a, b in pairwise(SIZES) for part in (nn.Linear(a, b), nn.ReLU())]
        return nn.Sequential(*layers[:-1])

    network = ModuleNetwork(mlp.seeds, perceptron, (), SIZES[-1], features=SIZES[0])
    network.flat.copy_(in_module_order(*lists(mlp)))
    return network


def in_module_order(weights, biases):
    parts = [np.concatenate([np.ravel(w.T), b]) for w, b in zip(weights, biases, strict=True)]
    return torch.from_numpy(np.concatenate(parts))


def far(found, expected):
    """The largest distance over all steps, relative to the largest weight."""
    found, expected = np.asarray(found, np.float64), np.asarray(expected, np.float64)
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def walk(learner, tasks, order):
    """The parameters after each step, flat in the order of the oracles."""
    path = []
    for x, y in tasks:
        learner.step(torch.from_numpy(x).unsqueeze(0), torch.from_numpy(y).unsqueeze(0))
        path.append(order(learner.network).numpy().copy())
    return path


def order_of(network):
    """All parameters in the order of a module's, which is that of the oracles."""
    return in_module_order(*lists(network)) if isinstance(network, Mlp) else network.vector(0)


@pytest.mark.parametrize("kind", ["engine", "module"])
def test_agem_is_avalanche_s(avalanche, tmp_path, kind):
    (first_x, first_y), (x, y) = stream()
    mlp = Mlp((SEED,), SIZES)
    weights, biases = lists(mlp)
    given = {f"w{n}": w for n, w in enumerate(weights)} | {f"b{n}": b for n, b in enumerate(biases)}
    given |= {"first_x": first_x, "first_y": first_y, "second_x": x, "second_y": y}
    given |= {"layers": len(weights), "batch": BATCH, "rate": RATE}
    np.savez(tmp_path / "given.npz", **given)
    script = ROOT / "tests" / "helpers" / "avalanche_agem.py"
    command = [avalanche, "-P", script, tmp_path / "given.npz", tmp_path / "found.npz"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    theirs = np.load(tmp_path / "found.npz")["path"]

    network = mlp if kind == "engine" else as_module(mlp)
    learner = make_learner("agem", network, rate=RATE, samples_per_task=len(first_y), reference_batch=None)
    ours = walk(learner, batches(first_x, first_y), order_of)
    learner.end_task(torch.from_numpy(first_x).unsqueeze(0), torch.from_numpy(first_y).unsqueeze(0))
    assert isinstance(learner.draw_reference(), Reference)
    ours += walk(learner, batches(x, y), order_of)

    tasks = [batches(first_x, first_y), batches(x, y)]
    picks = [list(range(len(first_y)))] * (len(tasks[0]) + len(tasks[1]))
    exact = oracle.agem(weights, biases, tasks, RATE, [list(zip(first_x, first_y, strict=True)), []], picks)
    assert sum(exact.projected) > 5
    deviation, control = far(ours, theirs), far(theirs, exact.path)
    print(f"\nA-GEM, {kind}, {len(ours)} steps: ours from Avalanche's {deviation:.1e}; Avalanche's in float32 from the "
          f"same equations in float64 {control:.1e}; ours from them {far(ours, exact.path):.1e}")  # fmt: skip
    assert len(ours) == len(theirs)
    assert deviation < 1e-5
    assert deviation < 10 * max(control, 1e-7)


@pytest.mark.parametrize("kind", ["engine", "module"])
def test_ogd_is_its_paper_s_in_float64(kind):
    (first_x, first_y), (x, y) = stream()
    mlp = Mlp((SEED,), SIZES)
    weights, biases = lists(mlp)
    network = mlp if kind == "engine" else as_module(mlp)
    learner = make_learner("ogd", network, rate=RATE, adapt_rate=False, ridge=1e-9)
    path = walk(learner, batches(first_x, first_y), order_of)
    kept = 20
    learner.end_task(torch.from_numpy(first_x[:kept]).unsqueeze(0), torch.from_numpy(first_y[:kept]).unsqueeze(0))
    path += walk(learner, batches(x, y), order_of)
    tasks = [batches(first_x, first_y), batches(x, y)]
    stored = [list(zip(first_x[:kept], first_y[:kept], strict=True)), []]
    exact = oracle.ogd(weights, biases, tasks, RATE, stored)
    plain = make_learner("sgd", Mlp((SEED,), SIZES), rate=RATE)
    unlike = oracle.sgd(weights, biases, tasks[0] + tasks[1], RATE).path
    control = far(walk(plain, tasks[0] + tasks[1], order_of), unlike)
    print(f"\nOGD, {kind}: from float64 {far(path, exact.path):.1e}; SGD in float32 from float64 {control:.1e}")
    assert far(path, exact.path) < 2e-5
    assert far(path, unlike) > 1e-2  # the projection matters here


def test_bgd_is_its_paper_s_in_float64():
    _, (x, y) = stream()
    mlp = Mlp((SEED,), SIZES)
    weights, biases = lists(mlp)
    learner = make_learner("bgd", as_module(mlp), passes=3, std_init=0.1)
    steps = batches(x, y)[:30]
    path = walk(learner, steps, order_of)
    count, noises = len(path[0]), []
    for step in range(len(steps)):
        source = torch.Generator().manual_seed(int(generator(SEED, "noise", step).integers(2**63)))
        draws = [torch.randn(count, generator=source).double() for _ in range(3)]
        noises.append([models.lists_from_flat(draw, weights, biases) for draw in draws])
    deviations = models.lists_from_flat(torch.full((count,), 0.1).double(), weights, biases)
    exact = oracle.bgd((weights, biases), deviations, steps, noises, 1.0, "sum")
    sgd = walk(make_learner("sgd", Mlp((SEED,), SIZES), rate=RATE), steps, order_of)
    control = far(sgd, oracle.sgd(weights, biases, steps, RATE).path)
    print(f"\nBGD: μ from float64 {far(path, exact.path):.1e}; SGD in float32 from float64 {control:.1e}")
    assert far(path, exact.path) < 1e-4
    assert far(path[-1], path[0]) > 0.05

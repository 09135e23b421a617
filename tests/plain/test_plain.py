"""The plain room against numbers worked out by hand, a second network (`models`) and its own definitions."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import torch
from oracles import models
from oracles import walks as learners

from tacl_lib.plain import network as plain_network
from tacl_lib.plain.agem import Agem, project
from tacl_lib.plain.bgd import Bgd
from tacl_lib.plain.memory import ClusterMemory, Fifo, PooledClusterMemory, RandomClusterMemory, Reservoir
from tacl_lib.plain.metrics import average_accuracy, forgetting
from tacl_lib.plain.network import Network, accuracy, loss_gradient, model_gradient, stable_loss
from tacl_lib.plain.ogd import Ogd, add_to_basis, project_off_span, project_out
from tacl_lib.plain.scheduler import LearningRateScheduler
from tacl_lib.plain.sgd import Sgd
from tacl_lib.plain.sgd_lr_adapt import SgdLrAdapt
from tacl_lib.plain.streams import continuous_change
from tacl_lib.plain.ta_agem import TaAgem
from tacl_lib.plain.ta_ogd import TaOgd
from tacl_lib.plain.training import Task, seen, train

SIZES = [6, 5, 4, 3]


@pytest.fixture
def rng():
    return np.random.default_rng(2309)


def make_parameters(rng, scale=0.7):
    shapes = list(pairwise(SIZES))
    return [scale * rng.standard_normal(s) for s in shapes], [scale * rng.standard_normal(s[1]) for s in shapes]


def make_batches(rng, count, size=4):
    return [(rng.standard_normal((size, SIZES[0])), rng.integers(0, SIZES[-1], size)) for _ in range(count)]


def steps(weights, biases, run):
    """(w before, w after - w before) of every step."""
    path = [models.flat_from_lists(weights, biases).numpy(), *run.path]
    return [(before, after - before) for before, after in pairwise(path)]


def at(weights, biases, vector):
    """The model at a flat parameter vector."""
    return models.build(*models.lists_from_flat(vector, weights, biases))


def cosine(a, b):
    return abs(np.dot(a, b)) / (np.linalg.norm(a) * np.linalg.norm(b))


# ---- the network, by hand and beside a second one


def line(w):
    """One input, one hidden unit, two outputs, with these weights: p = 1 + 2 + 1 + 2."""
    network = Network([1, 1, 2])
    network.w = torch.tensor(w, dtype=torch.float64)
    return network


def test_network_by_hand():
    network = line([2.0, 1.0, -1.0, 1.0, 0.5, 0.0])  # h = relu(2 x + 1), f = (h + 0.5, -h)
    assert network.f(torch.tensor([[1.0], [-3.0]])).tolist() == [[3.5, -3.0], [0.5, 0.0]]
    assert float(plain_network.loss(torch.tensor([[0.0, math.log(3.0)]]), torch.tensor([1]))) == pytest.approx(
        math.log(4 / 3)
    )
    # ∂f_0 = ∂h: by the first weight x, by its bias 1, by the second weight h, by its bias 1; logit 1 is not involved.
    assert model_gradient(network, torch.tensor([2.0]), 0).tolist() == [2.0, 5.0, 0.0, 1.0, 1.0, 0.0]
    # Two logits that are equal: softmax is (1/2, 1/2), so ∇L = (½ - 1) ∇f_0 + ½ ∇f_1 for label 0.
    even = line([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    gradient = loss_gradient(even, torch.tensor([[3.0]]), torch.tensor([0]))
    assert gradient.tolist() == [0.0, -1.5, 1.5, 0.0, -0.5, 0.5]
    assert accuracy(network, torch.tensor([[1.0], [1.0]]), torch.tensor([0, 1])) == 0.5


def test_loss_is_that_of_pytorch_where_it_does_not_overflow(rng):
    logits, y = torch.from_numpy(rng.standard_normal((9, 4))), torch.from_numpy(rng.integers(0, 4, 9))
    torch.testing.assert_close(plain_network.loss(logits, y), stable_loss(logits, y))
    assert math.isfinite(stable_loss(1e4 * logits, y))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_network_is_that_of_nn_linear(rng, dtype):
    weights, biases = make_parameters(rng)
    network, peer = learners.build(weights, biases), models.build(weights, biases)
    network.w = network.w.to(dtype)
    x, y = make_batches(rng, 1)[0]
    near = {"rtol": 1e-12, "atol": 1e-13} if dtype == torch.float64 else {"rtol": 1e-4, "atol": 1e-5}
    torch.testing.assert_close(network.f(x).double(), peer(models.inputs(x)).detach(), **near)
    for ours, theirs in (
        (loss_gradient(network, x, y), models.loss_gradient(peer, x, y)),
        (model_gradient(network, torch.from_numpy(x[1]), 2), models.model_gradient(peer, x[1], 2)),
    ):
        assert ours.dtype == dtype
        torch.testing.assert_close(torch.from_numpy(learners.flat(network, ours)), theirs, **near)


def test_a_new_network_starts_as_those_of_pytorch_do():
    w = Network([100, 50, 3], seed=1).w
    first, second = w[:5000], w[5000:5150]
    assert w.shape == (5000 + 150 + 50 + 3,)
    assert 0.099 < first.abs().max() <= 0.1  # ±1/√100
    assert 0.13 < second.abs().max() <= 50**-0.5
    assert abs(first.mean()) < 0.005
    assert torch.equal(w, Network([100, 50, 3], seed=1).w)
    assert not torch.equal(w, Network([100, 50, 3], seed=2).w)


# ---- projections, by hand


def vector(*entries):
    return torch.tensor(entries, dtype=torch.float64)


def test_projections_by_hand():
    assert project(vector(1, 2), vector(2, -1)).tolist() == [1, 2]  # perpendicular: nothing to do
    assert project(vector(1, 2), vector(1, 1)).tolist() == [1, 2]
    assert project(vector(1, 2), vector(0, -4)).tolist() == [1, 0]
    assert project_out(vector(1, 2, 3), [vector(0, 2, 0), vector(0, 0, 5)]).tolist() == [1, 0, 0]
    S = add_to_basis([vector(2, 0, 0)], [vector(1, 1, 0), vector(3, 3, 0), vector(1, 1, 1)])
    assert [v.tolist() for v in S] == [[2, 0, 0], [0, 1, 0], [0, 0, 1]]  # the second was nothing new
    overlapping = [vector(1, 0, 0), vector(1, 1, 0), vector(2, 2, 0)]
    torch.testing.assert_close(project_off_span(vector(5, 7, 9), overlapping), vector(0, 0, 9))


# ---- learners that draw for themselves


@pytest.fixture
def tasks(rng):
    """Three tasks of which each has a rule of its own, so that they conflict."""
    made = []
    for _ in range(3):
        x, rule = torch.from_numpy(rng.standard_normal((60, SIZES[0]))), rng.standard_normal((SIZES[0], SIZES[-1]))
        y = (x @ torch.from_numpy(rule)).argmax(1)
        made.append(Task(x[:40], y[:40], x[40:], y[40:]))
    return made


@pytest.mark.parametrize(
    ("kind", "own"),
    [
        (Sgd, {}),
        (SgdLrAdapt, {}),
        (Agem, {"samples_per_task": 5}),
        (Ogd, {"samples_per_task": 5}),
        (TaAgem, {"classes": 3, "Q": 4, "P": 2}),
        (TaOgd, {"Q": 4, "P": 2}),
    ],
)
def test_every_learner_trains_and_repeats_itself(tasks, kind, own):
    def walk():
        learner = kind(Network(SIZES), lr=0.1, **own)
        return learner, train(learner, tasks, epochs=3)

    (learner, A), (_, again) = walk(), walk()
    np.testing.assert_array_equal(A, again)
    assert A.shape == (9, 3)
    alone = kind(Network(SIZES), lr=0.1, **own)
    before = stable_loss(alone.network.f(tasks[0].x), tasks[0].y)
    train(alone, tasks[:1], epochs=3)
    assert stable_loss(alone.network.f(tasks[0].x), tasks[0].y) < before - 0.02
    sizes = {"Agem": lambda: len(learner.M), "Ogd": lambda: len(learner.S), "TaOgd": lambda: len(learner.memory.tags())}
    expected = {"Agem": 15, "Ogd": 15, "TaOgd": 8}
    if kind.__name__ in sizes:
        assert sizes[kind.__name__]() == expected[kind.__name__]
    if kind is TaAgem:
        assert 8 < len(learner.memory.tags()) <= 24


def test_bgd_trains_and_becomes_surer(tasks):
    learner = Bgd(Network(SIZES), std_init=0.1, passes=3)
    before = stable_loss(learner.network.f(tasks[0].x), tasks[0].y)
    train(learner, tasks[:1], epochs=5)
    assert stable_loss(learner.network.f(tasks[0].x), tasks[0].y) < before - 0.02
    assert learner.sigma.mean() < 0.1
    assert torch.equal(learner.network.w, learner.mu)


def test_agem_without_a_memory_is_sgd_and_then_it_is_not(tasks):
    agem, sgd = Agem(Network(SIZES), lr=0.1), Sgd(Network(SIZES), lr=0.1)
    a, b = train(agem, tasks, epochs=3), train(sgd, tasks, epochs=3)
    np.testing.assert_array_equal(a[:3], b[:3])
    assert not torch.equal(agem.network.w, sgd.network.w)


def test_metrics_by_hand():
    A = np.array([[0.5, 0.1], [0.9, 0.2], [0.7, 0.8], [0.8, 0.6]])
    assert seen([None, None], epochs=2).tolist() == [[True, False], [True, False], [True, True], [True, True]]
    np.testing.assert_allclose(average_accuracy(A, seen([None, None], 2)), [0.5, 0.9, 0.75, 0.7])
    np.testing.assert_allclose(forgetting(A[:, 0]), [0, 0, 0.2, 0.1])


# ---- models


def test_network_is_the_matrix_formula_and_lists_round_trip(rng):
    weights, biases = make_parameters(rng)
    x = rng.standard_normal((7, SIZES[0]))
    hidden = x
    for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
        hidden = np.maximum(hidden @ weight + bias, 0)
    logits = hidden @ weights[-1] + biases[-1]
    model = models.build(weights, biases)
    np.testing.assert_allclose(model(models.inputs(x)).detach().numpy(), logits, rtol=1e-13, atol=1e-13)
    y = rng.integers(0, SIZES[-1], 7)
    cross_entropy = np.mean(np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(7), y])
    np.testing.assert_allclose(models.loss(model, x, y).item(), cross_entropy, rtol=1e-13)
    flat = models.flat_parameters(model)
    back = models.lists_from_flat(flat, weights, biases)
    for ours, theirs in zip(back[0] + back[1], weights + biases, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_gradients_agree_with_finite_differences(rng):
    weights, biases = make_parameters(rng)
    x, y = make_batches(rng, 1)[0]
    model = models.build(weights, biases)
    flat, h = models.flat_parameters(model), 1e-6
    for value, gradient in (
        (lambda m: models.loss(m, x, y), models.loss_gradient(model, x, y)),
        (lambda m: m(models.inputs(x))[1, y[1]], models.model_gradient(model, x[1], y[1])),
    ):
        for i in range(len(flat)):
            e = torch.zeros_like(flat)
            e[i] = h
            up, down = value(at(weights, biases, flat + e)), value(at(weights, biases, flat - e))
            assert gradient[i].item() == pytest.approx((up - down).item() / (2 * h), abs=1e-7)


# ---- memories


def test_cluster_memory_by_hand():
    memory = ClusterMemory(Q=2, P=2)
    assert memory.add([0.0], "a") == (0, None)
    assert memory.add([10.0], "b") == (1, None)
    assert memory.add([1.0], "c") == (0, None)  # mean 0.5
    assert memory.add([2.0], "d") == (0, "a")  # a leaves, mean 1.5
    assert memory.add([6.0], "e") == (1, None)  # 4.5 from 1.5, 4 from 10; mean 8
    assert [abs(4.75 - float(mean[0])) for mean in memory.means] == [3.25, 3.25]
    assert memory.add([4.75], "f") == (0, "c")  # a tie: the first cluster wins
    assert memory.contents() == [["d", "f"], ["b", "e"]]
    assert [float(mean[0]) for mean in memory.means] == [3.375, 8.0]


def test_equal_first_samples_still_open_clusters():
    memory = ClusterMemory(Q=3, P=1)
    for tag in range(3):
        memory.add([1.0, 1.0], tag)
    assert memory.add([1.0, 1.0], 3) == (0, 0)
    assert memory.contents() == [[3], [1], [2]]


def test_pools_are_independent_of_each_other():
    memory = PooledClusterMemory(pools=2, Q=1, P=2)
    for tag, label in enumerate([0, 1, 0, 0, 1]):
        assert memory.add([float(tag)], label, tag)[0] == label
    assert memory.contents() == [[[2, 3]], [[1, 4]]]


def test_controls_by_hand():
    random = RandomClusterMemory(Q=2, P=1)
    random.add([0.0], 0)
    random.add([9.0], 1)
    assert random.add([9.0], 2, cluster=0) == (0, 0)  # the nearest would be 1
    assert random.contents() == [[2], [1]]
    reservoir = Reservoir(2)
    assert [reservoir.add(t, j) for t, j in enumerate([None, None, 2, 0, 1])] == [0, 1, None, 0, 1]
    assert reservoir.contents() == [3, 4]
    fifo = Fifo(2)
    assert [fifo.add(t) for t in range(4)] == [None, None, 0, 1]
    assert fifo.contents() == [2, 3]


# ---- scheduler


def feed(scheduler, losses, lr):
    rates = []
    for loss in losses:
        lr = scheduler.step(loss, lr)
        rates.append(lr)
    return rates


def test_scheduler_decays_at_the_sixth_stagnant_step_and_not_below_the_minimum():
    scheduler = LearningRateScheduler(factor=0.5, min_lr=3e-4)
    rates = feed(scheduler, [1.0] + 18 * [0.99995], 1e-3)  # 0.99995 is not below 1 * (1 - 1e-4)
    assert rates == 6 * [1e-3] + 6 * [5e-4] + 7 * [3e-4]
    assert scheduler.best == 1.0


def test_scheduler_resets_after_six_spikes_and_the_same_step_may_decay():
    scheduler = LearningRateScheduler(factor=0.5, lr_init=1e-3, min_lr=1e-5)
    assert feed(scheduler, [1.0] + 5 * [2.5], 1e-4) == 6 * [1e-4]
    assert scheduler.step(2.5, 1e-4) == 0.5e-3  # LR init, then N_Stagnant = 6 halves it at once
    assert (scheduler.best, scheduler.n_spike, scheduler.n_stagnant) == (2.5, 0, 0)
    assert scheduler.step(3.4, 0.5e-3) == 0.5e-3
    assert scheduler.n_spike == 0  # 3.4 is no spike above the new best


def test_scheduler_reset_alone_leaves_the_stagnation_counter():
    scheduler = LearningRateScheduler(factor=0.5, lr_init=1e-3, min_lr=1e-5)
    rates = feed(scheduler, 4 * [1.0] + 6 * [2.5], 1e-4)
    assert rates == 6 * [1e-4] + 3 * [5e-5] + [1e-3]
    assert scheduler.n_stagnant == 3


def test_scheduler_interrupted_spike_does_not_reset():
    scheduler = LearningRateScheduler(factor=1.0)
    assert set(feed(scheduler, [1.0] + 5 * [2.5] + [1.9] + 5 * [2.5], 1e-4)) == {1e-4}


# ---- learners


def test_sgd_one_step_and_scheduler_order(rng):
    weights, biases = make_parameters(rng)
    batches = make_batches(rng, 3)
    run = learners.sgd(weights, biases, batches, 0.1)
    w = models.flat_from_lists(weights, biases).numpy()
    for (x, y), after in zip(batches, run.path, strict=True):
        w = w - 0.1 * models.loss_gradient(at(weights, biases, w), x, y).numpy()
        np.testing.assert_allclose(after, w, rtol=1e-13, atol=1e-15)
    assert run.projected == [False] * 3

    def scheduler():  # patience -1: both ifs fire at every step
        return LearningRateScheduler(factor=0.5, patience=-1, lr_init=0.1, min_lr=0.0)

    first = learners.sgd_lr_adapt(weights, biases, batches, 0.1, scheduler())
    later = learners.sgd_lr_adapt(weights, biases, batches, 0.1, scheduler(), schedule_first=False)
    assert first.lrs == [0.05] * 3  # each step: LR init, halved
    assert later.lrs == [0.1, 0.05, 0.05]


def test_agem_projects_on_negative_products_only(rng):
    weights, biases = make_parameters(rng)
    old, new = make_batches(rng, 3), make_batches(rng, 12)
    memory = [(x[i], y[i]) for x, y in old for i in range(4)]
    picks = [rng.integers(0, len(memory), 3).tolist() for _ in range(15)]
    run = learners.agem(weights, biases, [old, new], 0.2, [memory, []], picks)
    assert run.projected[:3] == [False] * 3
    assert len(set(run.projected[3:])) == 2  # both branches are reached
    all_batches = old + new
    for t, (before, delta) in enumerate(steps(weights, biases, run)):
        model = at(weights, biases, before)
        g = models.loss_gradient(model, *all_batches[t]).numpy()
        if t < 3:
            np.testing.assert_allclose(delta, -0.2 * g, atol=1e-14)
            continue
        x_ref = np.stack([memory[i][0] for i in picks[t]])
        g_ref = models.loss_gradient(model, x_ref, [memory[i][1] for i in picks[t]]).numpy()
        assert run.projected[t] == (g @ g_ref < 0)
        if run.projected[t]:
            assert cosine(delta, g_ref) < 1e-12
            assert np.linalg.matrix_rank(np.stack([delta, g, g_ref]), tol=1e-10) == 2
        else:
            np.testing.assert_allclose(delta, -0.2 * g, atol=1e-14)


def test_ta_agem_without_reference_is_sgd_and_keeps_the_pools(rng):
    weights, biases = make_parameters(rng)
    batches = make_batches(rng, 20)
    rows = [None if t == 5 else int(rng.integers(4)) for t in range(20)]
    none = learners.ta_agem(weights, biases, batches, 0.1, 3, 2, 2, rows, 20 * [[]])
    plain = learners.sgd(weights, biases, batches, 0.1)
    np.testing.assert_array_equal(none.path, plain.path)
    memory = PooledClusterMemory(3, 2, 2)
    picks = []
    for t, (x, y) in enumerate(batches):
        picks.append(memory.tags()[:4])  # what is stored BEFORE step t's own sample
        if rows[t] is not None:
            memory.add(x[rows[t]], y[rows[t]], tag=t)
    run = learners.ta_agem(weights, biases, batches, 0.1, 3, 2, 2, rows, picks)
    assert run.memory.contents() == none.memory.contents() == memory.contents()
    assert any(run.projected)
    for t, (before, delta) in enumerate(steps(weights, biases, run)):
        if run.projected[t]:
            x_ref = np.stack([batches[tag][0][rows[tag]] for tag in picks[t]])
            y_ref = [batches[tag][1][rows[tag]] for tag in picks[t]]
            g_ref = models.loss_gradient(at(weights, biases, before), x_ref, y_ref).numpy()
            assert cosine(delta, g_ref) < 1e-12
    with pytest.raises(KeyError):
        learners.ta_agem(weights, biases, batches, 0.1, 3, 2, 2, rows, [[0], *(19 * [[]])])


def test_ogd_moves_orthogonally_to_every_stored_gradient(rng):
    weights, biases = make_parameters(rng)
    tasks = [make_batches(rng, 4) for _ in range(3)]
    samples = [[(x[0], y[0]) for x, y in task] for task in tasks]
    samples[0].append(samples[0][0])  # a repeated sample adds nothing to the span
    run = learners.ogd(weights, biases, tasks, 0.1, samples)
    assert run.projected == [False] * 4 + [True] * 8
    assert len(run.memory) == 12
    stored = []
    for t, (before, delta) in enumerate(steps(weights, biases, run)):
        if t in (4, 8):
            model = at(weights, biases, before)
            stored += [models.model_gradient(model, x, y).numpy() for x, y in samples[t // 4 - 1]]
        assert all(cosine(delta, f) < 1e-10 for f in stored)
        if stored:  # and it is the NEAREST such step: what was taken away lies in the span
            x, y = tasks[t // 4][t % 4]
            g = models.loss_gradient(at(weights, biases, before), x, y).numpy()
            taken = g + delta / 0.1
            fit = np.linalg.lstsq(np.stack(stored, axis=1), taken, rcond=1e-10)[0]
            np.testing.assert_allclose(np.stack(stored, axis=1) @ fit, taken, atol=1e-9)


def test_ta_ogd_moves_orthogonally_to_what_the_memory_holds_now(rng):
    weights, biases = make_parameters(rng)
    batches = make_batches(rng, 14)
    rows = [None if t == 3 else int(rng.integers(4)) for t in range(14)]
    run = learners.ta_ogd(weights, biases, batches, 0.1, 3, 2, rows)
    assert run.projected == [False] + [True] * 13
    for t, (before, delta) in enumerate(steps(weights, biases, run)):
        earlier = learners.ta_ogd(weights, biases, batches[:t], 0.1, 3, 2, rows)
        stored = earlier.memory.vectors()
        assert len(stored) <= 6
        assert all(cosine(delta, z) < 1e-10 for z in stored)
        for tag, z in zip(earlier.memory.tags(), stored, strict=True):  # taken at the UPDATED weights
            x, y = batches[tag]
            model = at(weights, biases, run.path[tag])
            np.testing.assert_allclose(z, models.model_gradient(model, x[rows[tag]], y[rows[tag]]), atol=1e-12)
        g = models.loss_gradient(at(weights, biases, before), *batches[t]).numpy()
        assert (g + delta / 0.1) @ delta == pytest.approx(0, abs=1e-12)


def test_ogd_and_ta_ogd_agree_where_they_must(rng):
    """One batch = one task, and a TA-OGD memory large enough to keep everything: the same learner."""
    weights, biases = make_parameters(rng)
    batches = make_batches(rng, 6)
    tasks, samples = [[batch] for batch in batches], [[(x[1], y[1])] for x, y in batches]
    ogd = learners.ogd(weights, biases, tasks, 0.1, samples, LearningRateScheduler())
    ta_ogd = learners.ta_ogd(weights, biases, batches, 0.1, 6, 1, 6 * [1], LearningRateScheduler())
    np.testing.assert_allclose(ogd.path, ta_ogd.path, rtol=1e-10, atol=1e-12)
    assert ogd.lrs == ta_ogd.lrs


def test_bgd_with_vanishing_sigma_is_sgd(rng):
    weights, biases = make_parameters(rng)
    batches = make_batches(rng, 1)
    noises = [[make_parameters(rng, 1.0) for _ in range(3)]]
    sigma = 1e-5
    stds = [np.full_like(w, sigma) for w in weights], [np.full_like(b, sigma) for b in biases]
    run = learners.bgd((weights, biases), stds, batches, noises, eta=0.1 / sigma**2)
    plain = learners.sgd(weights, biases, batches, 0.1)
    np.testing.assert_allclose(run.path[0], plain.path[0], atol=1e-4)
    silent = [[([0 * w for w in weights], [0 * b for b in biases])]]
    run = learners.bgd((weights, biases), stds, batches, silent, eta=0.1 / sigma**2)
    np.testing.assert_allclose(run.path[0], plain.path[0], rtol=1e-12)
    np.testing.assert_array_equal(run.std_path[0], sigma)


@pytest.mark.parametrize("batch_loss", ["mean", "sum"])
def test_bgd_sigma_rule_in_its_other_form(rng, batch_loss):
    """sqrt(1 + a²) - a = exp(-asinh a), a = ½ σ E[g ε]."""
    weights, biases = make_parameters(rng)
    stds = [0.1 + rng.random(w.shape) for w in weights], [0.1 + rng.random(b.shape) for b in biases]
    batches = make_batches(rng, 1)
    draws = [make_parameters(rng, 1.0) for _ in range(4)]
    run = learners.bgd((weights, biases), stds, batches, [draws], eta=2.0, batch_loss=batch_loss)
    mu, sigma = (models.flat_from_lists(*pair).numpy() for pair in ((weights, biases), stds))
    eps = np.stack([models.flat_from_lists(*draw).numpy() for draw in draws])
    g = np.stack([models.loss_gradient(at(weights, biases, mu + e * sigma), *batches[0]) for e in eps])
    g = g * (4 if batch_loss == "sum" else 1)
    np.testing.assert_allclose(run.path[0], mu - 2.0 * sigma**2 * g.mean(axis=0), rtol=1e-12)
    a = sigma * (g * eps).mean(axis=0) / 2
    np.testing.assert_allclose(run.std_path[0], sigma * np.exp(-np.arcsinh(a)), rtol=1e-12)
    assert (run.std_path[0] > 0).all()


# ---- streams


def test_stream_proportions(rng):
    size_a, size_b, z, pure, mixed = 23, 17, 5, 2, 3
    shuffles_a = [rng.permutation(size_a).tolist() for _ in range(pure + mixed)]
    shuffles_b = [None] * pure + [(100 + rng.permutation(size_b)).tolist() for _ in range(mixed)]
    batches = list(continuous_change(shuffles_a, shuffles_b, z, pure, mixed))
    assert [len(a) for a, b in batches[:10]] == 2 * [5, 5, 5, 5, 3]
    assert [i for a, b in batches[:5] for i in a] == shuffles_a[0]
    assert all(b == [] for a, b in batches[:10])
    tail = batches[10:]
    sizes = 3 * [5, 5, 5, 2]  # four batches of B an epoch; A has 5 left at the fourth, B 2
    assert [len(a) + len(b) for a, b in tail] == sizes
    assert tail[0] == (shuffles_a[2][:5], [])
    assert tail[-1] == ([], shuffles_b[4][15:17])
    for i, (a, b) in enumerate(tail):
        q, start, epoch = Fraction(11 - i, 11), 5 * (i % 4), pure + i // 4
        assert len(a) == math.floor(q * sizes[i])
        assert a == shuffles_a[epoch][start : start + len(a)]
        assert b == shuffles_b[epoch][start : start + sizes[i]][sizes[i] - len(b) :]


def test_stream_defaults_are_the_papers_twenty_epochs():
    shuffles = [list(range(20)) for _ in range(20)]
    batches = list(continuous_change(shuffles, shuffles, 10))
    assert len(batches) == 40
    assert [len(a) for a, b in batches[:21]] == 21 * [10]
    assert len(batches[21][0]) == 9  # q = 18/19: floor(9.47)
    assert (len(batches[-1][0]), len(batches[-1][1])) == (0, 10)

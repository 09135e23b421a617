"""Every learner against its transcription from the paper, in a stack and alone, saved and resumed."""

import io
import math
from copy import deepcopy

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracles import models
from oracles import walks as oracle
from sentences import message_of
from small_learners import OF_THE_KIT, SMALL

from tacl_lib.core.learners import (
    LEARNERS,
    Learner,
    Scheduler,
    TaskAwareLearner,
    make_learner,
    register_learner,
    settings_of,
)
from tacl_lib.core.memory import POLICIES, ArrivalSampler
from tacl_lib.core.memory.samples import draw_reference
from tacl_lib.core.randomness import generator
from tacl_lib.engine import mlp, sample_pool
from tacl_lib.engine.gradients import dense
from tacl_lib.engine.mlp import Mlp
from tacl_lib.engine.noisy_weights import NoisyWeights
from tacl_lib.errors import TaclError
from tacl_lib.plain.scheduler import LearningRateScheduler

SIZES = (12, 8, 7, 4)
SEEDS = (3, 14, 15)
RUNS, BATCH, STEPS = len(SEEDS), 5, 60

#: every learner, and once more those that keep a pool of samples where the reference batch is large enough for it
VARIANTS = [*((name, {}) for name in SMALL), *((name, {"reference_batch": 6}) for name in ("agem", "ta_agem"))]


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Tensors this small gain nothing from threads, and lose much where cores are shared."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(autouse=True)
def pools_of_few_samples(monkeypatch):
    """The variants with 6 reference samples have a pool, those with 4 have none."""
    monkeypatch.setattr(sample_pool, "FEWEST", 6)


def network(seeds=SEEDS, sizes=SIZES):
    return Mlp(seeds, sizes, "torch")


def make(name, seeds=SEEDS, **changes):
    return make_learner(name, network(seeds), **(SMALL[name] | changes))


def stream(count=STEPS, seed=0, tasks=3):
    """Batches ``[R, batch, features]``; labels follow a rule that changes with the task, so tasks conflict."""
    rng = np.random.default_rng(seed)
    rules = rng.standard_normal((RUNS, SIZES[0], SIZES[-1]))
    batches = []
    for step in range(count):
        x = rng.standard_normal((RUNS, BATCH, SIZES[0])).astype(np.float32)
        y = (np.einsum("rnf,rfc->rnc", x, rules).argmax(2) + step * tasks // count) % SIZES[-1]
        batches.append((torch.from_numpy(x), torch.from_numpy(y)))
    return batches


def task_of(step, count=STEPS, tasks=3):
    return step * tasks // count


def ends_task(step, count=STEPS, tasks=3):
    return step + 1 < count and task_of(step + 1, count, tasks) != task_of(step, count, tasks)


def lists(net, run, flat=None):
    """Parameters of one run (or of a buffer laid out like them) in the convention of the oracles, float64."""
    views = net.views(net.flat if flat is None else flat)
    layers = len(net.weights)
    arrays = [view[run].double().numpy() for view in views]
    return arrays[:layers], [bias[0] for bias in arrays[layers:]]


def vector(net, run, flat=None):
    """One run as the oracle's p-vector."""
    return models.flat_from_lists(*lists(net, run, flat)).numpy()


def of_run(batches, run):
    return [(x[run].numpy(), y[run].numpy()) for x, y in batches]


def close(found, expected, tolerance=1e-4):
    """Paths of weights agree, relative to the scale of the weights, and the weights have moved."""
    found, expected = np.array(found), np.array(expected)
    assert np.abs(found - expected).max() < tolerance * np.abs(expected).max()
    assert np.abs(expected[-1] - expected[0]).max() > 20 * tolerance * np.abs(expected).max()


def settled(learner):
    """The true weights of every run, without changing the learner."""
    before = deepcopy(learner.state())
    found = [vector(learner.network, run) for run in range(learner.network.runs)]
    learner.load_state(before)
    return found


def train(learner, batches, before=None):
    """Weights of every run after every step ``[step][run]``, and the steps. before: called before each one."""
    path, steps = [], []
    for number, (x, y) in enumerate(batches):
        if before:
            before(number)
        steps.append(learner.step(x, y))
        path.append(settled(learner))
    return path, steps


def check(path, steps, runs):
    """A library training against one oracle run for each run."""
    for run, expected in enumerate(runs):
        close([weights[run] for weights in path], expected.path)
        np.testing.assert_allclose([step.loss[run].item() for step in steps], expected.losses, rtol=2e-3, atol=1e-4)
        rates = [float(step.rate if isinstance(step.rate, float) else step.rate[run]) for step in steps]
        np.testing.assert_allclose(rates, expected.lrs, rtol=1e-7)  # OGD reports a fixed rate as float32


def test_every_learner_of_the_kit_is_tested_here():
    assert set(OF_THE_KIT) == set(SMALL)


# ---- against the oracles


def test_sgd_is_the_oracle():
    batches, learner = stream(), make("sgd")
    start = [lists(learner.network, run) for run in range(RUNS)]
    path, steps = train(learner, batches)
    check(path, steps, [oracle.sgd(*start[run], of_run(batches, run), 0.1) for run in range(RUNS)])


def test_momentum_is_that_of_torch_and_survives_a_checkpoint():
    batches, learner = stream(), make("sgd", momentum=0.9, rate=0.02)
    start = [lists(learner.network, run) for run in range(RUNS)]
    train(learner, batches[: STEPS // 2])
    resumed = make("sgd", momentum=0.9, rate=0.02)
    resumed.load_state(deepcopy(learner.state()))
    train(resumed, batches[STEPS // 2 :])
    for run in range(RUNS):
        model = models.build(*start[run])
        optimiser = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
        for x, y in of_run(batches, run):
            optimiser.zero_grad()
            models.loss(model, x, y).backward()
            optimiser.step()
        expected = models.flat_parameters(model).detach().numpy()
        assert np.abs(vector(resumed.network, run) - expected).max() < 1e-5


@pytest.mark.parametrize("momentum", [-0.1, 1.0, float("nan")])
def test_an_impossible_momentum_is_refused(momentum):
    with pytest.raises(TaclError, match="momentum must be at least 0 and less than 1"):
        make("sgd", momentum=momentum)


def spiky_stream():
    """A third calm, a third of large inputs with labels of no rule (losses far above the best), a third calm."""
    rng = np.random.default_rng(1)
    batches = []
    for step, (x, y) in enumerate(stream(tasks=1)):
        if STEPS // 3 <= step < 2 * STEPS // 3:
            x, y = x * 100, torch.from_numpy(rng.integers(0, SIZES[-1], y.shape))
        batches.append((x, y))
    return batches


@pytest.mark.parametrize("factor", [0.9999, 0.5])
def test_sgd_lr_adapt_is_the_oracle(factor, monkeypatch):
    """The update uses the rate before the scheduler takes this batch's loss (schedule_first=False).

    With the paper's factor this hardly shows in the weights; with one half it does.
    """
    monkeypatch.setattr(Scheduler, "FACTOR", factor)
    batches, learner = spiky_stream(), make("sgd_lr_adapt", rate=1e-4)
    start = [lists(learner.network, run) for run in range(RUNS)]
    path, steps = train(learner, batches)
    runs = [
        oracle.sgd_lr_adapt(
            *start[run], of_run(batches, run), 1e-4, LearningRateScheduler(factor, lr_init=1e-4), schedule_first=False
        )
        for run in range(RUNS)
    ]
    check(path, steps, runs)
    for run in runs:  # the rate fell, and at some step it was set back
        assert min(run.lrs) < 1e-4
        assert (np.diff(run.lrs) > 0).any()


class OnRunningLoss:
    """A scheduler that sees v ← s v + (1 - s) L."""

    def __init__(self, scheduler, smoothing):
        self.scheduler, self.smoothing, self.running = scheduler, smoothing, None

    def step(self, loss, lr):
        before = float(loss) if self.running is None else self.running
        self.running = self.smoothing * before + (1 - self.smoothing) * float(loss)
        return self.scheduler.step(self.running, lr)


def test_a_running_loss_for_the_scheduler_is_the_oracle_and_survives_a_checkpoint(monkeypatch):
    monkeypatch.setattr(Scheduler, "FACTOR", 0.5)
    batches, learner = spiky_stream(), make("sgd_lr_adapt", rate=1e-4, smoothing=0.9)
    start = [lists(learner.network, run) for run in range(RUNS)]
    first, before = train(learner, batches[: STEPS // 2])
    resumed = make("sgd_lr_adapt", rate=1e-4, smoothing=0.9)
    resumed.load_state(deepcopy(learner.state()))
    second, after = train(resumed, batches[STEPS // 2 :])
    runs = []
    for run in range(RUNS):
        scheduler = OnRunningLoss(LearningRateScheduler(0.5, lr_init=1e-4), 0.9)
        runs.append(oracle.sgd_lr_adapt(*start[run], of_run(batches, run), 1e-4, scheduler, schedule_first=False))
    check([*first, *second], [*before, *after], runs)
    assert all(min(run.lrs) < 1e-4 for run in runs)


@pytest.mark.parametrize("smoothing", [-0.1, 1.0, float("nan")])
def test_an_impossible_smoothing_is_refused(smoothing):
    with pytest.raises(TaclError, match="smoothing must be at least 0 and less than 1"):
        make("sgd_lr_adapt", smoothing=smoothing)


@pytest.fixture(params=["pairs", "pool", "renewed pool"])
def way(request, monkeypatch):
    """All ways to an A-GEM step, by pairs of samples and with a pool of samples, whatever is cheaper."""
    monkeypatch.setattr(mlp, "pool_pays", lambda layers, drawn, stored: request.param != "pairs" and drawn > 0)
    monkeypatch.setattr(sample_pool, "RENEWAL", 7 if request.param == "renewed pool" else 10**6)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("reference_batch", [1, 4, 12, 100, None])
def test_agem_is_the_oracle(reference_batch):
    """reference_batch: a part of M, all of it, more than it has, and None for all."""
    batches, learner = stream(), make("agem", reference_batch=reference_batch)
    start = [lists(learner.network, run) for run in range(RUNS)]
    extra = stream(3, seed=5)
    tasks = [[[] for _ in range(3)] for _ in range(RUNS)]
    memory = [[[] for _ in range(3)] for _ in range(RUNS)]
    picks = [[] for _ in range(RUNS)]
    path, steps = [], []
    for number, (x, y) in enumerate(batches):
        count = learner.samples.capacity
        if count:
            _, places, weight = drawn = learner.draw_reference()
            size = min(reference_batch or count, count)
            assert places.shape == (RUNS, size)
            torch.testing.assert_close(weight, torch.full((RUNS, size), 1 / size))
        for run in range(RUNS):
            tasks[run][task_of(number)].append((x[run].numpy(), y[run].numpy()))
            picks[run].append(places[run].tolist() if count else [])
            if count:
                assert len(set(picks[run][-1])) == size  # without replacement
                assert torch.equal(drawn.x[run], learner.samples.x[run, places[run]])
                assert torch.equal(drawn.y[run], learner.samples.y[run, places[run]])
        steps.append(learner.step(x, y))
        path.append(settled(learner))
        if ends_task(number):
            kept_x, kept_y = (torch.cat([part, part[:, :1]], dim=1) for part in extra[task_of(number)])
            learner.end_task(kept_x, kept_y)
            for run in range(RUNS):
                memory[run][task_of(number)] = list(zip(kept_x[run].numpy(), kept_y[run].numpy(), strict=True))
    runs = [oracle.agem(*start[run], tasks[run], 0.1, memory[run], picks[run]) for run in range(RUNS)]
    check(path, steps, runs)
    for run, expected in enumerate(runs):
        found = [step.projected is not None and bool(step.projected[run]) for step in steps]
        assert found == expected.projected
        assert 0 < sum(found[20:]) < 40  # both cases occur


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    ("reference_batch", "sampling_rate", "pool_per_class"), [(4, 1.0, True), (None, 0.5, True), (4, 1.0, False)]
)
def test_ta_agem_is_the_oracle(reference_batch, sampling_rate, pool_per_class):
    batches = stream()
    learner = make(
        "ta_agem", reference_batch=reference_batch, sampling_rate=sampling_rate, pool_per_class=pool_per_class
    )
    start = [lists(learner.network, run) for run in range(RUNS)]
    tags = [{} for _ in range(RUNS)]  # place → the step at which its sample came
    picks, rows = [[] for _ in range(RUNS)], [[] for _ in range(RUNS)]
    path, steps = [], []
    for number, (x, y) in enumerate(batches):
        _, places, weight = learner.draw_reference()
        for run in range(RUNS):
            there = places[run][weight[run] > 0].tolist()
            assert len(there) == min(len(tags[run]), reference_batch or 10**9)
            picks[run].append([tags[run][place] for place in there])
        step = learner.step(x, y)
        steps.append(step)
        path.append(settled(learner))
        for run in range(RUNS):
            rows[run].append(None if step.stored is None else int(step.stored.chosen[run]))
            if step.stored is not None:
                placement = step.stored.placement
                tags[run][int(placement.cluster[run]) * 2 + int(placement.slot[run])] = number
    runs = []
    for run in range(RUNS):
        if pool_per_class:
            found = oracle.ta_agem(*start[run], of_run(batches, run), 0.1, 4, 3, 2, rows[run], picks[run])
            assert sorted(found.memory.tags()) == sorted(tags[run].values())
        else:
            # One pool: the oracle pools by label, so its memory cannot be asked. Its steps still can be.
            samples = {
                t: (x[run, r].numpy(), int(y[run, r]))
                for t, ((x, y), r) in enumerate(zip(batches, rows[run], strict=True))
            }
            found, model = oracle.Run(), oracle.build(*start[run])
            for t, (x, y) in enumerate(of_run(batches, run)):
                oracle.agem_walk(model, found, x, y, 0.1, [samples[tag] for tag in picks[run][t]])
            assert len(tags[run]) == 6
        runs.append(found)
    check(path, steps, runs)
    for run, expected in enumerate(runs):
        assert [bool(step.projected[run]) for step in steps] == expected.projected
        assert 0 < sum(expected.projected) < STEPS
        assert len({row for row in rows[run] if row is not None}) == BATCH  # every position gets chosen


def test_without_a_hidden_layer_ta_agem_is_the_oracle():
    batches, learner = stream(), make_learner("ta_agem", network(sizes=(SIZES[0], SIZES[-1])), rate=0.1, clusters=3)
    found = [(oracle.Run(), oracle.build(*lists(learner.network, run))) for run in range(RUNS)]
    for x, y in batches:
        store, filled = learner.memory.store, learner.memory.filled
        for run, (said, model) in enumerate(found):
            there = filled[run].nonzero().flatten().tolist()
            samples = [(store.members.x[run, place].numpy(), int(store.members.y[run, place])) for place in there]
            oracle.agem_walk(model, said, x[run].numpy(), y[run].numpy(), 0.1, samples)
        learner.step(x, y)
    for run, (said, model) in enumerate(found):
        expected = oracle.flat(model)
        assert np.abs(settled(learner)[run] - expected).max() < 1e-4 * np.abs(expected).max()
        assert 0 < sum(said.projected) < STEPS


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("name", ["agem", "ta_agem"])
def test_a_reference_batch_that_is_learnt_too_well_leaves_the_gradient_as_it_is(name):
    """Its gradient is some 1e-26, and the square of it 0 in float32; the quotient must not be infinite."""
    x, y = stream(1)[0]
    learner, plain = make(name), make("sgd")
    sure, other = torch.zeros_like(y), torch.ones_like(y)
    if name == "agem":
        learner.end_task(x, sure)
    else:
        for _ in range(8):
            learner.step(x, sure)
    for one in (learner, plain):
        one.network.flat.copy_(network().flat)
        one.network.biases[-1][:, :, 0] = 60.0
    step = learner.step(x, other)
    plain.step(x, other)
    assert step.projected.all()  # the two gradients do conflict
    np.testing.assert_allclose(settled(learner), settled(plain), atol=1e-6)


@pytest.mark.parametrize(("adapt_rate", "ridge"), [(False, 1e-6), (True, 1e-6), (True, 1e-9)])
def test_ogd_is_the_oracle(adapt_rate, ridge, monkeypatch):
    monkeypatch.setattr(Scheduler, "FACTOR", 0.5)  # so that the rate of each step shows in the weights
    batches, learner = stream(), make("ogd", adapt_rate=adapt_rate, ridge=ridge)
    start = [lists(learner.network, run) for run in range(RUNS)]
    extra = stream(3, seed=5)
    tasks = [[[] for _ in range(3)] for _ in range(RUNS)]
    kept = [[[] for _ in range(3)] for _ in range(RUNS)]
    path, steps = [], []
    for number, (x, y) in enumerate(batches):
        for run in range(RUNS):
            tasks[run][task_of(number)].append((x[run].numpy(), y[run].numpy()))
        steps.append(learner.step(x, y))
        path.append(settled(learner))
        if ends_task(number):
            kept_x, kept_y = (part[:, :4] for part in extra[task_of(number)])
            learner.end_task(kept_x, kept_y)
            for run in range(RUNS):
                kept[run][task_of(number)] = list(zip(kept_x[run].numpy(), kept_y[run].numpy(), strict=True))
    assert learner.stored.capacity == 8
    runs = []
    for run in range(RUNS):
        scheduler = LearningRateScheduler(0.5, lr_init=0.1) if adapt_rate else None
        runs.append(oracle.ogd(*start[run], tasks[run], 0.1, kept[run], scheduler, schedule_first=False))
        assert [bool(step.projected[run]) for step in steps] == runs[-1].projected
    check(path, steps, runs)


@pytest.mark.parametrize(("adapt_rate", "sampling_rate", "size"), [(False, 1.0, 3), (True, 0.5, 3), (True, 1.0, 1)])
def test_ta_ogd_is_the_oracle(adapt_rate, sampling_rate, size, monkeypatch):
    monkeypatch.setattr(Scheduler, "FACTOR", 0.5)  # so that the rate of each step shows in the weights
    batches = stream()
    learner = make("ta_ogd", adapt_rate=adapt_rate, sampling_rate=sampling_rate, cluster_size=size)
    start = [lists(learner.network, run) for run in range(RUNS)]
    path, steps = train(learner, batches)
    runs = []
    for run in range(RUNS):
        rows = [None if step.stored is None else int(step.stored.chosen[run]) for step in steps]
        scheduler = LearningRateScheduler(0.5, lr_init=0.1) if adapt_rate else None
        runs.append(
            oracle.ta_ogd(*start[run], of_run(batches, run), 0.1, 4, size, rows, scheduler, schedule_first=False)
        )
        tags = {}
        for number, step in enumerate(steps):
            if step.stored is not None:
                placement = step.stored.placement
                tags[int(placement.cluster[run]), int(placement.slot[run])] = number
        assert sorted(tags.values()) == sorted(runs[-1].memory.tags())
        assert [bool(step.projected[run]) for step in steps] == runs[-1].projected
    check(path, steps, runs)


def library_noise(net, run, step, passes):
    """ε of every pass of one step, as `NoisyWeights` draws it: numbers of the run's own."""
    random = torch.Generator().manual_seed(int(generator(net.seeds[run], "noise", step).integers(2**63)))
    layers = len(net.weights)
    drawn = [torch.empty(passes, *v.shape[1:]).normal_(generator=random).numpy() for v in (*net.weights, *net.biases)]
    return [([w[number] for w in drawn[:layers]], [b[number, 0] for b in drawn[layers:]]) for number in range(passes)]


@pytest.mark.parametrize("black", [False, True])
@pytest.mark.parametrize(("batch_loss", "std_init", "eta"), [("sum", 0.1, 1.0), ("mean", 0.3, 1.0), ("sum", 0.1, 2.0)])
def test_bgd_is_the_oracle(batch_loss, std_init, eta, black):
    """black: a third of all inputs are 0 in a whole batch, others in each run and step."""
    batches = stream(50)
    if black:
        rng = np.random.default_rng(4)
        batches = [(x * torch.from_numpy(rng.random((RUNS, 1, SIZES[0])) > 0.3), y) for x, y in batches]
    learner = make("bgd", batch_loss=batch_loss, std_init=std_init, eta=eta)
    net, learner.noise = learner.network, NoisyWeights(SEEDS)
    start = [lists(net, run) for run in range(RUNS)]
    deviations = [lists(net, run, learner.std) for run in range(RUNS)]
    path, std_path, steps = [], [], []
    for x, y in batches:
        steps.append(learner.step(x, y))
        path.append(settled(learner))
        std_path.append([vector(net, run, learner.std) for run in range(RUNS)])
    runs = []
    for run in range(RUNS):
        noises = [library_noise(net, run, step, 3) for step in range(50)]
        runs.append(oracle.bgd(start[run], deviations[run], of_run(batches, run), noises, eta, batch_loss))
        close([std[run] for std in std_path], runs[-1].std_path)
    check(path, steps, runs)


# ---- the scheduler, line by line

losses_of_a_run = st.lists(
    st.one_of(
        st.floats(0, 10, width=32),
        st.sampled_from([0.0, 0.5, 0.49995, 0.4999, 1.0, 1.5, 1.5001, 2.0, 2.5, 50.0, math.inf, math.nan]),
    ),
    max_size=60,
)


@settings(deadline=None, max_examples=100)
@given(losses_of_a_run, losses_of_a_run, st.sampled_from([1e-3, 0.1, 1.00005e-5, 1e-5]))
@example([1.0] * 40, [1.0] + [5.0] * 39, 1e-3)  # stagnation alone; spikes that never end
@example([0.5] + [9.0] * 6 + [0.5] * 6, [3.0 - 0.05 * i for i in range(13)], 1e-5)  # a reset, then a new best
@example(([0.5] + [1.5] * 7) * 3, ([0.5] + [1.5 + 1e-9] * 7) * 3, 1e-3)  # just not, and just above the threshold
@example([1.0] * 5 + [9.0] * 5 + [1.0] + [9.0] * 6, [1.0] + [9.0, 9.0, 1.0] * 6, 1e-3)  # spikes are interrupted
def test_scheduler_is_the_box(first, second, rate):
    """Two runs at once on different curves (the shorter one is filled up) give the numbers of the box exactly."""
    length = max(len(first), len(second))
    curves = [curve + [1.0] * (length - len(curve)) for curve in (first, second)]
    scheduler = Scheduler(2, rate)
    boxes, rates = [LearningRateScheduler(lr_init=rate) for _ in range(2)], [rate, rate]
    for losses in zip(*curves, strict=True):
        scheduler.step(torch.tensor(losses, dtype=torch.float64))
        for run, (box, loss) in enumerate(zip(boxes, losses, strict=True)):
            rates[run] = box.step(loss, rates[run])
            assert scheduler.rate[run].item() == rates[run]
            assert scheduler.best[run].item() == box.best or math.isnan(box.best)
            assert scheduler.stagnant[run].item() == box.n_stagnant
            assert scheduler.spikes[run].item() == box.n_spike


def test_scheduler_of_the_paper_has_its_constants():
    """A box with the paper's constants written out, so that nobody changes both."""
    constants = Scheduler.FACTOR, Scheduler.MIN_RATE, Scheduler.PATIENCE, Scheduler.THRESHOLD, Scheduler.RESET_THRESHOLD
    assert constants == (0.9999, 1e-5, 5, 1e-4, 1.0)


# ---- BGD without noise


def small_bgd(passes, std, **settings):
    """One run of a tiny network."""
    return make_learner("bgd", network([5], (4, 3, 3)), passes=passes, std_init=std, **settings)


def small_batch():
    rng = np.random.default_rng(8)
    x = torch.from_numpy(rng.standard_normal((1, 4, 4)).astype(np.float32))
    return x, torch.from_numpy(rng.integers(0, 3, (1, 4)))


@pytest.mark.parametrize("batch_loss", ["sum", "mean"])
def test_without_noise_bgd_has_the_plain_gradient(batch_loss):
    learner = small_bgd(4, std=1e-6, eta=1e12, batch_loss=batch_loss)
    x, y = small_batch()
    losses, gradient = learner.network.loss_gradient(x, y, 1.0)
    before = learner.network.flat.clone()
    step = learner.step(x, y)
    expected = dense(gradient)[0] / (1 if batch_loss == "sum" else 4)
    torch.testing.assert_close(before - learner.network.flat, expected, rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(step.loss, losses.sum(1) / 4, rtol=1e-4, atol=0)


# ---- what A-GEM promises


def test_agem_projects_only_where_the_product_is_negative():
    """Run 0 and 2: the memory holds the batch with other labels (a conflict). Run 1: the batch itself."""
    x, y = stream(1)[0]
    learner = make("agem", samples_per_task=BATCH, reference_batch=None)
    other = y.clone()
    other[0], other[2] = (y[0] + 1) % 4, (y[2] + 2) % 4
    learner.end_task(x, other)
    net = learner.network
    _, g = net.loss_gradient(x, y)
    _, reference = net.loss_gradient(x, other)
    products = g.dot(reference)
    assert (products < 0).tolist() == [True, False, True]
    before = [vector(net, run) for run in range(RUNS)]
    plain, against = dense(g).double().numpy(), dense(reference).double().numpy()
    flat_before = torch.stack([net.vector(run) for run in range(RUNS)]).double().numpy()
    step = learner.step(x, y)
    assert step.projected.tolist() == [True, False, True]
    update = torch.stack([net.vector(run) for run in range(RUNS)]).double().numpy() - flat_before
    for run in range(RUNS):
        lengths = np.linalg.norm(update[run]) * np.linalg.norm(against[run])
        if run == 1:
            np.testing.assert_allclose(update[run], -0.1 * plain[run], atol=1e-7)
            assert update[run] @ against[run] < -0.9 * lengths  # the reference loss falls
        else:
            assert abs(update[run] @ against[run]) < 1e-5 * 0.1 * np.linalg.norm(plain[run]) * np.linalg.norm(
                against[run]
            )
            assert np.abs(update[run] + 0.1 * plain[run]).max() > 1e-3
        model = models.build(*models.lists_from_flat(before[run], *lists(net, run)))
        wanted, projected = oracle.agem_direction(
            models.loss_gradient(model, x[run], y[run]), models.loss_gradient(model, x[run], other[run])
        )
        assert projected == bool(step.projected[run])
        np.testing.assert_allclose(vector(net, run) - before[run], -0.1 * wanted.numpy(), atol=1e-6)


def test_an_empty_memory_is_plain_gradient_descent():
    """The first step of TA-A-GEM: nothing stored, so no projection and nothing that is not a number."""
    (x, y), plain, learner = stream(1)[0], make("sgd"), make("ta_agem")
    plain.step(x, y)
    step = learner.step(x, y)
    torch.testing.assert_close(learner.network.flat, plain.network.flat, atol=1e-7, rtol=1e-6)
    assert not step.projected.any()


def test_the_reference_batch_is_a_fair_draw_without_replacement():
    """Each filled place comes about equally often, an empty one never; weights are those of a mean."""
    filled = torch.tensor([[True, True, False, True, True], [False, False, False, False, False]])
    uniform = torch.from_numpy(np.random.default_rng(0).random((4000, 2, 5), dtype=np.float32))
    counts = torch.zeros(5)
    for keys in uniform:
        _, places, weight = draw_reference(None, filled, 2, keys)
        assert weight.tolist() == [[0.5, 0.5], [0.0, 0.0]]
        assert places[0, 0] != places[0, 1]
        counts[places[0]] += 1
    assert counts[2] == 0
    assert ((counts[filled[0]] - 2000).abs() < 4 * (4000 * 0.25) ** 0.5).all()
    _, places, weight = draw_reference(None, filled, None, uniform[0])
    assert sorted(places[0][weight[0] > 0].tolist()) == [0, 1, 3, 4]
    assert weight[0].sum() == pytest.approx(1)


# ---- sampling and policies


@pytest.mark.parametrize(("rate", "every"), [(1.0, 1), (0.5, 2), (0.1, 10), (0.01, 100), (0.001, 1000)])
def test_sampling_stores_exactly_every_nth_batch(rate, every):
    sampling = ArrivalSampler((0,), rate, pool_per_class=True)
    due = [step for step in range(5000) if sampling.due(step)]
    assert len(due) == 5000 // every
    assert set(np.diff(due)) == {every}


@pytest.mark.parametrize("name", ["ta_agem", "ta_ogd"])
def test_learners_store_at_the_sampling_rate(name):
    learner = make(name, sampling_rate=0.1)
    stored = [learner.step(x, y).stored is not None for x, y in stream(30)]
    assert sum(stored) == 3
    assert set(np.diff(np.flatnonzero(stored))) == {10}
    assert learner.memory.added.sum(1).tolist() == [3, 3, 3]
    assert learner.memory.filled.sum(1).tolist() == [3, 3, 3]


@pytest.mark.parametrize("policy", sorted(POLICIES))
@pytest.mark.parametrize("name", ["ta_agem", "ta_ogd"])
def test_policies_by_name(name, policy):
    """All rules work for samples and gradients; what is stored is a sample of the batch, where it is said to be."""
    learner = make(name, policy=policy, clusters=2, cluster_size=2, pool_per_class=True)
    assert learner.geometry == (4, 2, 2)
    turned_away = 0
    for x, y in stream(40):
        stored = learner.step(x, y).stored
        for run in range(RUNS):
            chosen, cluster = int(stored.chosen[run]), int(stored.placement.cluster[run])
            assert cluster // 2 == y[run, chosen]  # the pool of its class
            place = 2 * cluster + int(stored.placement.slot[run])
            if stored.placement.kept is not None and not stored.placement.kept[run]:
                turned_away += 1
            else:
                held = learner.memory.members.x if name == "ta_agem" else learner.stored.members.inputs[0]
                assert torch.equal(held[run, place], x[run, chosen])
    assert learner.memory.added.sum(1).tolist() == [40] * 3
    if policy in ("fifo", "reservoir"):  # these fill every place; a cluster may stay alone
        assert learner.memory.filled.all()
    assert (turned_away > 0) == (policy == "reservoir")
    assert torch.isfinite(learner.network.flat).all()


def test_ta_agem_default_memory_is_that_of_the_paper():
    """100 clusters in all: 10 × 10 for ten classes, 2 × 50 for two; P = 3."""
    assert make_learner("ta_agem", Mlp([0], (3, 10))).geometry == (10, 10, 3)
    assert make_learner("ta_agem", Mlp([0], (3, 2))).geometry == (2, 50, 3)
    assert make_learner("ta_agem", Mlp([0], (3, 10)), pool_per_class=False).geometry == (1, 100, 3)
    assert make_learner("ta_ogd", Mlp([0], (3, 10))).geometry == (1, 99, 3)


# ---- stacks, and going on from a file


def drive(learner, batches, runs=slice(None), start=0):
    """Train with an end of task after every seventh step, for learners that want to know."""
    steps = []
    for number, (x, y) in enumerate(batches, start):
        steps.append(learner.step(x[runs], y[runs]))
        if isinstance(learner, TaskAwareLearner) and number % 7 == 6:
            learner.end_task(x[runs, : BATCH - 1], y[runs, : BATCH - 1])
    return steps


@pytest.mark.parametrize(("name", "changes"), VARIANTS)
def test_a_stack_is_each_run_alone(name, changes):
    batches = stream(20)
    stack = make(name, **changes)
    steps = drive(stack, batches)
    weights = settled(stack)
    for run, seed in enumerate(SEEDS):
        alone = make(name, [seed], **changes)
        alone_steps = drive(alone, batches, slice(run, run + 1))
        scale = np.abs(weights[run]).max()
        assert np.abs(settled(alone)[0] - weights[run]).max() < 1e-5 * scale
        for step, alone_step in zip(steps, alone_steps, strict=True):
            assert step.loss[run].item() == pytest.approx(alone_step.loss[0].item(), rel=1e-3, abs=1e-5)
            if step.projected is not None:
                assert step.projected[run] == alone_step.projected[0]
            if step.stored is not None:
                assert step.stored.chosen[run] == alone_step.stored.chosen[0]
                assert step.stored.placement.cluster[run] == alone_step.stored.placement.cluster[0]
                assert step.stored.placement.slot[run] == alone_step.stored.placement.slot[0]
    # runs are different, or all this says nothing
    assert np.abs(weights[0] - weights[1]).max() > 1e-2


def through_a_file(state):
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    return torch.load(file, weights_only=True)


def tensors(state):
    """Every tensor and number in a nested state, by its path."""
    if isinstance(state, dict):
        return {(key, *rest): v for key, value in state.items() for rest, v in tensors(value).items()}
    if isinstance(state, list):
        return tensors(dict(enumerate(state)))
    return {(): state}


@pytest.mark.parametrize(("name", "changes"), VARIANTS)
@pytest.mark.parametrize("cut", [1, 15])
def test_a_resumed_learner_goes_on_bit_for_bit(name, changes, cut, monkeypatch):
    """Through a file to a fresh learner of other first weights; 15: after two ends of tasks, with sums owed."""
    monkeypatch.setattr(sample_pool, "RENEWAL", 9)  # so that a count which is not resumed shows
    batches = stream(30)
    learner = make(name, **changes)
    drive(learner, batches[:cut])
    if (name in ("ogd", "ta_ogd") or changes) and cut == 15:
        assert learner.network._pool.owed.any()
    fresh = make(name, **changes)
    fresh.network.flat.normal_(generator=torch.Generator().manual_seed(0))
    fresh.load_state(through_a_file(learner.state()))
    one, two = drive(learner, batches[cut:], start=cut), drive(fresh, batches[cut:], start=cut)
    for step, other in zip(one, two, strict=True):
        assert torch.equal(step.loss, other.loss)
    left, right = tensors(learner.state()), tensors(fresh.state())
    assert left.keys() == right.keys()
    for key, value in left.items():
        assert torch.equal(torch.as_tensor(value), torch.as_tensor(right[key])), key
    assert torch.equal(learner.network.flat, fresh.network.flat)


@pytest.mark.parametrize("name", ["agem", "ta_agem"])
def test_a_state_with_a_pool_is_refused_without_one(name):
    """What the pool owes to the weights would be lost."""
    pooled, plain = make(name, reference_batch=6), make(name)
    for learner in (pooled, plain):
        drive(learner, stream(15))
    assert pooled.network._pool is not None
    assert plain.network._pool is None
    message_of(lambda: plain.load_state(pooled.state()), "another reference batch", "start from the beginning")
    message_of(lambda: make(name, reference_batch=6).load_state(plain.state()), "another reference batch")


@pytest.mark.parametrize(("name", "changes"), VARIANTS)
def test_two_learners_with_one_state_do_not_share_it(name, changes):
    batches = stream(30)
    learner, other = make(name, **changes), make(name, **changes)
    drive(learner, batches[:15])
    other.load_state(learner.state())
    before = deepcopy(tensors(learner.state()))
    drive(other, batches[15:], start=15)
    for key, value in tensors(learner.state()).items():
        assert torch.equal(torch.as_tensor(value), torch.as_tensor(before[key])), key


@pytest.mark.parametrize("name", ["ta_ogd", "ta_agem", "agem"])
def test_a_resumed_learner_keeps_its_random_numbers_past_a_block(name):
    """`Uniforms` makes them in blocks of 256: a run resumed at step 250 goes over the border like the other."""
    batches = stream(12)
    learner, fresh = make(name), make(name)
    if name == "agem":
        learner.end_task(*batches[0])
    learner.steps = 250
    fresh.load_state(through_a_file(learner.state()))
    assert fresh.steps == 250
    drive(learner, batches)
    drive(fresh, batches)
    assert torch.equal(learner.network.flat, fresh.network.flat)


# ---- bad input


def test_an_unknown_learner_lists_the_known_ones():
    message_of(lambda: make_learner("adam", network()), "unknown learner 'adam'", *SMALL)


@pytest.mark.parametrize("name", SMALL)
def test_an_unknown_setting_lists_the_known_ones(name):
    message_of(lambda: make(name, learning_speed=1.0), f"setting of {name}", "'learning_speed'", *settings_of(name))
    assert set(SMALL[name]) <= set(settings_of(name))


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("value", [0, -0.1, math.nan])
def test_a_rate_must_be_positive(name, value):
    setting = "eta" if name.startswith("bgd") else "rate"
    message_of(lambda: make(name, **{setting: value}), "greater than 0", value)


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("ta_agem", {"sampling_rate": 0}, ["sampling rate", 0]),
        ("ta_ogd", {"sampling_rate": 2}, ["sampling rate", 2]),
        ("ta_agem", {"sampling_rate": -0.5}, ["sampling rate", -0.5]),
        ("ta_agem", {"sampling_rate": 1e-9}, ["sampling rate"]),  # would never store anything
        ("ta_agem", {"clusters": 0}, ["clusters", 0]),
        ("ta_ogd", {"clusters": 0}, ["clusters", 0]),
        ("ta_agem", {"cluster_size": 0}, ["size", 0]),
        ("ta_ogd", {"cluster_size": -1}, ["size", -1]),
        ("ta_agem", {"reference_batch": 0}, ["reference_batch", 0]),
        ("agem", {"reference_batch": 0}, ["reference_batch", 0]),
        ("agem", {"samples_per_task": 0}, ["samples_per_task", 0]),
        ("ogd", {"samples_per_task": 0}, ["samples_per_task", 0]),
        ("ogd", {"ridge": 0.0}, ["ridge must lie between 0 and 1", 0.0]),
        ("ta_agem", {"policy": "lifo"}, ["memory policy", "'lifo'", *sorted(POLICIES)]),
        ("ta_ogd", {"policy": "lifo"}, ["memory policy", "'lifo'", *sorted(POLICIES)]),
        ("bgd", {"passes": 0}, ["passes", 0]),
        ("bgd", {"std_init": 0}, ["std_init", 0]),
        ("bgd", {"std_init": -1}, ["std_init", -1]),
        ("bgd", {"batch_loss": "median"}, ["batch_loss", "'median'", "sum", "mean"]),
        ("agem", {"samples_per_task": None}, ["samples_per_task of agem must be a whole number, not None"]),
        ("agem", {"reference_batch": 2.5}, ["reference_batch of agem must be a whole number or None, not 2.5"]),
        ("bgd", {"passes": None}, ["passes of bgd must be a whole number, not None"]),
        ("bgd", {"passes": 2.5}, ["passes", "a whole number, not 2.5"]),
        ("sgd", {"rate": None}, ["rate of sgd must be a number, not None"]),
        ("sgd", {"rate": "fast"}, ["rate of sgd must be a number, not 'fast'"]),
        ("ta_ogd", {"clusters": "ten"}, ["clusters of ta_ogd must be a whole number, not 'ten'"]),
        ("ta_agem", {"clusters": 2.5}, ["clusters", "a whole number or None, not 2.5"]),
        ("ta_agem", {"cluster_size": True}, ["cluster_size", "a whole number, not True"]),
        ("ta_agem", {"sampling_rate": None}, ["sampling_rate", "a number, not None"]),
        ("ta_agem", {"pool_per_class": 1}, ["pool_per_class", "True or False, not 1"]),
        ("ta_agem", {"policy": None}, ["policy", "a word, not None"]),
    ],
    ids=lambda value: str(value) if isinstance(value, dict | str) else "",
)
def test_silly_settings_are_refused(name, settings, words):
    message_of(lambda: make(name, **settings), *words)


def test_agem_has_no_reference_before_a_task_has_ended():
    message_of(lambda: make("agem").draw_reference(), "end_task")


def prepared(name):
    """A learner with something in its memory, so that bad input meets every path."""
    learner = make(name)
    drive(learner, stream(8))
    return learner


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("shape", [(RUNS, BATCH, 11), (RUNS, BATCH), (2, BATCH, 12)], ids=str)
def test_samples_of_a_wrong_shape_are_refused(name, shape):
    message_of(lambda: prepared(name).step(torch.zeros(shape), torch.zeros(RUNS, BATCH, dtype=torch.int64)), "samples")


@pytest.mark.parametrize(("name", "changes"), VARIANTS)
def test_samples_of_another_type_are_refused(name, changes):
    x, y = stream(1)[0]
    learner = make(name, **changes)
    drive(learner, stream(8))
    message_of(lambda: learner.step(x.double(), y), "samples must be torch.float32", "torch.float64", "x.float()")


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("shape", [(RUNS, BATCH - 1), (1, BATCH), (BATCH,)], ids=str)
def test_labels_of_a_wrong_shape_are_refused(name, shape):
    x, _ = stream(1)[0]
    message_of(lambda: prepared(name).step(x, torch.zeros(shape, dtype=torch.int64)), "labels")


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("label", [-1, 4])
def test_labels_out_of_range_are_refused(name, label):
    x, y = stream(1)[0]
    y = y.clone()
    y[1, 3] = label
    message_of(lambda: prepared(name).step(x, y), "labels", "0 to 3", label)


@pytest.mark.parametrize("name", ["agem", "ogd"])
def test_the_end_of_a_task_refuses_bad_samples_at_once(name):
    """Not at the next step, when nobody knows any more where they came from."""
    x, y = stream(1)[0]
    message_of(lambda: prepared(name).end_task(x[:, :, :11], y), "samples")
    message_of(lambda: prepared(name).end_task(x, y[:, :2]), "labels")
    message_of(lambda: prepared(name).end_task(x, y + 4), "labels")


def test_a_learner_without_step_or_name_says_so():
    class Idle(TaskAwareLearner):
        pass

    learner = Idle(network())
    message_of(lambda: learner.step(None, None), "Idle", "step(x, y)")
    message_of(lambda: learner.end_task(None, None), "Idle", "end_task(x, y)")
    message_of(lambda: register_learner(Idle), "Idle", "name")


def test_a_learner_of_the_user_is_found_by_name(monkeypatch):
    monkeypatch.setattr("tacl_lib.core.learners.base.LEARNERS", dict(LEARNERS))

    @register_learner
    class Still(Learner):
        name = "still"

        def __init__(self, network, *, rate=1.0, calm=3):
            super().__init__(network, rate=rate)
            self.calm = calm

    with pytest.raises(TaclError, match="the learner 'sgd' is already registered; choose another name"):
        register_learner(type("Other", (Still,), {"name": "sgd"}))
    assert make_learner("still", network(), calm=4).calm == 4
    assert settings_of("still") == {"rate": 1.0, "calm": 3}

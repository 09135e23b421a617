"""Noise on weights: numbers that are normal, that depend on nothing they should not, and what BGD learns with them."""

import math

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracles import noise as oracle
from scipy import stats

from tacl_lib import runs
from tacl_lib.core.randomness import generator
from tacl_lib.engine import noise_kernels as kernels
from tacl_lib.engine.compiled_noise import CompiledNoise
from tacl_lib.engine.layers import Layers
from tacl_lib.engine.noisy_weights import NoisyWeights, noise_for

words32 = st.integers(0, 2**32 - 1)
KINDS = pytest.mark.parametrize("kind", [NoisyWeights, CompiledNoise])


# ---- the numbers


def filled(turns, key=5, step=0, call=0):
    """``[turns, 2, LANES]``."""
    state, out = np.zeros((4, kernels.LANES), np.uint32), np.full((turns, 2, kernels.LANES), np.nan, np.float32)
    kernels.seed(state, np.uint64(key), step, call)
    kernels.fill(out.reshape(-1), state)
    return out


def test_the_oracle_gives_the_published_words():
    """Of the reference programs of xoshiro128++ and SplitMix64."""
    state, found = (1, 2, 3, 4), []
    for _ in range(6):
        word, state = oracle.advance(state)
        found.append(word)
    assert found == [641, 1573767, 3222811527, 3517856514, 836907274, 4247214768]
    z = 1477776061723855037
    assert [oracle.mixed((z + n * oracle.GOLDEN) & oracle.MASK64) for n in (1, 2)] == [
        1985237415132408290,
        2979275885539914483,
    ]


@settings(deadline=None, max_examples=200)
@given(st.tuples(words32, words32, words32, words32))
@example((2**32 - 1,) * 4)
def test_words_are_those_of_xoshiro(state):
    word, *after = kernels.advance(*map(np.uint32, state))
    assert (int(word), tuple(map(int, after))) == oracle.advance(state)


@settings(deadline=None, max_examples=300)
@given(words32, words32)
@example(0, 0)  # the largest number there is
@example(2**32 - 1, 2**31)  # u next to 1
@example(2**31, 2**30)
@example(1, 2**32 - 1)
def test_a_pair_is_the_formula_of_box_and_muller(first, second):
    found = np.array(kernels.normal_pair(np.uint32(first), np.uint32(second)), float)
    expected = np.array(oracle.pair(first, second))
    # Two parts: along the radius, whose square is near to 1e-6, and across it.
    radius = np.hypot(*expected)
    assert np.hypot(*found) ** 2 == pytest.approx(radius**2, abs=2e-6, rel=4e-6)
    assert found / max(np.hypot(*found), 1e-9) == pytest.approx(expected / radius, abs=4e-6 if radius > 2e-3 else 3)


@settings(deadline=None, max_examples=10)
@given(st.integers(0, 2**64 - 1), st.integers(0, 2**40), st.integers(0, 100))
def test_numbers_are_those_of_the_oracle(key, step, call):
    normals = oracle.Normals(key, step, call)
    expected = np.array([normals.turn() for _ in range(3)]).reshape(3, 2, -1)
    np.testing.assert_allclose(filled(3, key, step, call), expected, atol=1e-4)


def test_numbers_are_normal():
    """Moments to the eighth, the distribution, and the tails."""
    numbers = filled(25_000).astype(float).ravel()  # 4 million
    for power, expected in enumerate((0, 1, 0, 3, 0, 15, 0, 105), start=1):
        powers = numbers**power
        assert abs(powers.mean() - expected) < 4 * powers.std() / math.sqrt(len(numbers))
    assert stats.kstest(numbers, "norm").pvalue > 1e-3
    for edge in (1, 2, 3, 4, 4.5, 5):
        for side in (numbers > edge, numbers < -edge):
            assert stats.binomtest(int(side.sum()), len(numbers), stats.norm.sf(edge)).pvalue > 1e-4


def test_numbers_know_nothing_of_each_other():
    """Neighbours, partners, later turns, other calls, steps and keys: neither numbers nor squares are correlated."""
    numbers = filled(20_000)
    first = numbers[:-2, 0]
    others = [np.roll(first, 1, axis=1), numbers[:-2, 1], numbers[1:-1, 0], numbers[1:-1, 1], numbers[2:, 0]]
    changes = ({"call": 1}, {"step": 1}, {"step": 2**32}, {"key": 6}, {"key": 5 + 2**32}, {"key": 4, "step": 1})
    others += [filled(20_000, **change)[:-2, 0] for change in changes]
    standard = [(power - power.mean()) / power.std() for power in (first, first**2)]
    for other in others:
        for power in (other, other**2):
            theirs = (power - power.mean()) / power.std()
            for mine in standard:
                assert abs((mine * theirs).mean()) < 4.5 / math.sqrt(first.size)


def test_streams_do_not_know_of_each_other():
    """All 160 numbers of a turn: the largest of 12,720 correlations is as large as chance makes it."""
    numbers = filled(20_000).reshape(20_000, -1).astype(float)
    for values in (numbers, numbers**2):
        found = np.corrcoef(values.T)[np.triu_indices(160, 1)]
        assert np.abs(found).max() * math.sqrt(len(values)) < 5.2
        assert stats.kstest(found * math.sqrt(len(values)), "norm").pvalue > 1e-3


# ---- a step of BGD

SIZES = (20, 13, 9, 4)


def batch(runs, count=12, seed=0, sizes=SIZES):
    rng = np.random.default_rng(seed)
    x = torch.from_numpy(rng.standard_normal((runs, count, sizes[0])).astype(np.float32))
    return x, torch.from_numpy(rng.integers(0, sizes[-1], (runs, count)))


def with_still_inputs(x, seed):
    """Some inputs are 0 in a whole batch, some have another value; which, depends on the run."""
    rng = np.random.default_rng(seed)
    for run in range(len(x)):
        kind = rng.integers(0, 4, x.shape[2])
        x[run][:, kind == 0] = 0
        x[run][:, kind == 1] = torch.from_numpy(rng.standard_normal((kind == 1).sum()).astype(np.float32))
    return x


def pieces(layers, flat, run):
    return [view[run].double().numpy() for view in layers.views(flat)]


@pytest.mark.parametrize("passes", [1, 3, 10, 12])
def test_the_compiled_steps_are_those_of_the_oracle_in_float64(passes):
    """μ and σ over 200 steps with the same noise, for batches that do and do not fill a block."""
    seeds, steps, weight, rate = (3, 14), 200 if passes == 3 else 20, 0.4 / passes, 1.5
    layers = Layers(seeds, SIZES)
    std = torch.full_like(layers.flat, 0.3)
    noise, keys = CompiledNoise(seeds), [int(generator(s, "noise").integers(2**64, dtype=np.uint64)) for s in seeds]
    first = layers.flat.clone()
    expected = [[pieces(layers, flat, run) for flat in (layers.flat, std)] for run in range(2)]
    for step in range(steps):
        x, y = batch(2, (10, 1, 7, 12)[step % 4], step)
        x = with_still_inputs(x, step) if step % 3 else x
        noise.begin(step)
        losses = noise.learn(layers, std, x, y, weight, passes, rate)
        for run in range(2):
            *expected[run], loss = oracle.bgd_step(
                *expected[run], x[run].double().numpy(), y[run].numpy(), keys[run], step, passes, weight, rate
            )
            assert losses[run].item() == pytest.approx(loss, rel=1e-3, abs=1e-4)
    for run in range(2):
        for flat, theirs in zip((layers.flat, std), expected[run], strict=True):
            for mine, other in zip(pieces(layers, flat, run), theirs, strict=True):
                np.testing.assert_allclose(mine, other, rtol=2e-4, atol=2e-5)
    assert (layers.flat - first).abs().mean() > 2e-3  # a hundred times the tolerance
    assert (std - 0.3).abs().mean() > 2e-3


def learned(kind, seeds=(3, 14), step=9, passes=3, given=None, sizes=SIZES, first=None, std=0.3, rate=1.0):
    """Losses ``[R]``, and the sums of g and g ε, found from how a step moved μ and σ: as views ``[R, …]``."""
    layers = Layers(seeds, sizes) if first is None else first
    std = torch.full_like(layers.flat, std) if isinstance(std, float) else std
    before = layers.flat.double(), std.double()
    noise = kind(seeds)
    noise.begin(step)
    loss = noise.learn(layers, std, *(batch(len(seeds)) if given is None else given), 0.5, passes, rate)
    ratio = std.double() / before[1]
    g = (before[0] - layers.flat.double()) / (rate * before[1] ** 2)
    return loss, layers.views(g), layers.views((1 - ratio**2) / ratio / before[1])


@KINDS
@pytest.mark.parametrize("count", [1, 3, 10, 12, 21])
def test_with_hardly_any_noise_the_sum_is_passes_times_the_gradient(kind, count):
    layers, (x, y) = Layers((3, 14), SIZES), batch(2, count)
    weights = [w.detach().clone().requires_grad_() for w in (*layers.weights, *layers.biases)]
    out = torch.relu(x @ weights[0] + weights[3])
    logits = torch.relu(out @ weights[1] + weights[4]) @ weights[2] + weights[5]
    losses = torch.nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="none").view(2, -1)
    loss, g, _ = learned(kind, passes=4, given=(x, y), std=1e-6, rate=1e12)
    torch.testing.assert_close(loss, 4 * 0.5 * losses.sum(1), rtol=1e-4, atol=1e-5)
    for found, expected in zip(g, torch.autograd.grad(losses.sum(), weights), strict=True):
        torch.testing.assert_close(found.float(), 4 * 0.5 * expected, rtol=1e-3, atol=1e-4)


@KINDS
def test_noise_is_that_of_the_run_alone(kind):
    """Whatever stands beside it, and whichever inputs its neighbours use; a new step brings new noise."""
    x, y = batch(3)
    x[1, :, 7:] = 0
    x[1, :, 3:7] = 1.5
    x[2, :, :5] = -0.5
    stack = learned(kind, (3, 14, 15), given=(x, y))
    alone, later = (learned(kind, (14,), step=step, given=(x[1:2], y[1:2])) for step in (9, 10))
    for mine, theirs, other in zip(alone[1] + alone[2], stack[1] + stack[2], later[1] + later[2], strict=True):
        torch.testing.assert_close(mine[0], theirs[1], rtol=1e-4, atol=1e-4)
        assert not torch.allclose(mine, other, rtol=1e-2)


@KINDS
def test_weights_behind_black_inputs_do_not_learn(kind):
    x, y = batch(2)
    x[0, :, 7:] = 0
    _, g, g_noise = learned(kind, given=(x, y))
    for sums in (g, g_noise):
        assert (sums[0][0, 7:] == 0).all()
        assert (sums[0][0, :7] != 0).any(1).all()
        assert (sums[0][1] != 0).any(1).all()


@KINDS
def test_what_is_not_a_number_is_not_hidden(kind):
    layers = Layers((3, 14), SIZES)
    layers.weights[0][0, 0, 0] = math.nan
    loss, *_ = learned(kind, first=layers)
    assert loss.isnan().tolist() == [True, False]
    assert not layers.flat.view(-1).isnan().all()


SMALL = (5, 2, 2)


def samples(kind, x, y, count=10_000, passes=2):
    """Losses, sums of g and of g ε of many equal networks, each with noise of its own: ``[count, 1 + 2p]``."""
    first = Layers((1,), SMALL)
    views = first.views(first.flat)
    stacked = Layers.over(torch.cat([v.repeat(count, 1, 1).flatten() for v in views]), range(count), SMALL)
    std = torch.cat([torch.linspace(0.4, 0.9, v.numel()).repeat(count) for v in views])
    given = x.repeat(count, 1, 1), y.repeat(count, 1)
    loss, *sums = learned(kind, range(count), 0, passes, given, SMALL, stacked, std)
    parts = [view.flatten(1) for views in sums for view in views]
    return torch.cat([loss.unsqueeze(1).double(), *parts], dim=1).numpy()


@pytest.mark.parametrize("still", [{}, {0: 0.0, 1: -0.8, 3: 1.3}, {0: 0.7, 1: -0.8, 2: 1, 3: 1.3, 4: 0.2}])
def test_both_kinds_learn_the_same_in_distribution(still):
    """Means, variances and covariances of all sums, with and without inputs that are the same in the batch."""
    rng = np.random.default_rng(2)
    x, y = torch.from_numpy(rng.standard_normal((1, 3, SMALL[0])).astype(np.float32)), torch.tensor([[0, 1, 1]])
    for column, value in still.items():
        x[:, :, column] = value
    plain, ours = (samples(kind, x, y) for kind in (NoisyWeights, CompiledNoise))
    scale = plain.std(0)
    acting = scale > 0
    assert acting.sum() == len(scale) - 2 * SMALL[1] * (still.get(0) == 0.0)
    assert (ours[:, ~acting] == 0).all()
    plain, ours = (((v - plain.mean(0)) / np.where(acting, scale, 1))[:, acting] for v in (plain, ours))
    for moment in (lambda v: v, lambda v: (v[:, :, None] * v[:, None]).reshape(len(v), -1), lambda v: v**3):
        a, b = moment(plain), moment(ours)
        error = np.sqrt((a.var(0) + b.var(0)) / len(a))
        assert (np.abs(a.mean(0) - b.mean(0)) < 5 * error).all()


def test_a_cpu_has_compiled_noise():
    assert type(noise_for(Layers((1,), (4, 3)))) is CompiledNoise


@pytest.mark.parametrize(("learner", "noise"), [("bgd", CompiledNoise.name), ("sgd", None)])
def test_records_name_the_generator(learner, noise):
    spec = runs.RunSpec(dataset="digits", split="class", learner=learner, epochs=1, hidden=(8,))
    (record,) = runs.run(spec, seeds=(0,))
    assert record.info.get("noise") == noise

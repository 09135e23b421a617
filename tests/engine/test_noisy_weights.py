"""Noise on weights: numbers that are normal, that depend on nothing they should not, and the sums made with them."""

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracles import noise as oracle
from scipy import stats

from tacl_lib.core.randomness import generator
from tacl_lib.engine import philox
from tacl_lib.engine.compiled_noise import CompiledNoise
from tacl_lib.engine.layers import Layers
from tacl_lib.engine.mlp import Mlp
from tacl_lib.engine.noisy_weights import NoisyWeights, noise_for

words32 = st.integers(0, 2**32 - 1)
KINDS = pytest.mark.parametrize("kind", [NoisyWeights, CompiledNoise])


def filled(count, key=(5, 7), step=0, call=0):
    out = np.full(count, np.nan, np.float32)
    philox.fill(out, np.array(key, np.uint32), step, call)
    return out


def words(counter, key):
    return [int(word) for word in philox.words(*map(np.uint32, (*counter, *key)))]


@settings(deadline=None, max_examples=200)
@given(st.tuples(words32, words32, words32, words32), st.tuples(words32, words32))
@example((0, 0, 0, 0), (0, 0))
@example((2**32 - 1,) * 4, (2**32 - 1,) * 2)
def test_words_are_those_of_philox(counter, key):
    assert words(counter, key) == oracle.philox(counter, key)


def test_the_oracle_and_the_library_give_the_published_words():
    answers = {
        ((0,) * 4, (0,) * 2): [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8],
        ((2**32 - 1,) * 4, (2**32 - 1,) * 2): [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD],
    }
    for (counter, key), expected in answers.items():
        assert oracle.philox(counter, key) == expected
        assert words(counter, key) == expected


@settings(deadline=None, max_examples=300)
@given(words32, words32)
@example(0, 0)  # the largest number there is
@example(2**32 - 1, 2**31)  # u next to 1
@example(2**31, 2**30)
@example(1, 2**32 - 1)
def test_a_pair_is_the_formula_of_box_and_muller(first, second):
    found = philox.normal_pair(np.uint32(first), np.uint32(second))
    assert found == pytest.approx(oracle.pair(first, second), abs=3e-4 if first >= 2**31 else 3e-6)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 41), words32, words32, st.integers(0, 2**40), st.integers(0, 100))
def test_numbers_are_those_of_the_oracle(count, k0, k1, step, call):
    expected = np.array(oracle.normal(count, (k0, k1), step, call))
    np.testing.assert_allclose(filled(count, (k0, k1), step, call), expected, atol=3e-4)


def test_numbers_are_normal_and_independent():
    numbers = filled(4_000_003).astype(float)
    assert stats.kstest(numbers, "norm").pvalue > 1e-3
    for power, expected in enumerate((0, 1, 0, 3, 0, 15), start=1):
        spread = np.sqrt(np.var(numbers**power) / len(numbers))
        assert abs((numbers**power).mean() - expected) < 4 * spread
    quarter = len(numbers) // 4
    first = numbers[:quarter]
    # Neighbours, the other numbers of the same words, another call, step and key: none knows of the first.
    others = [numbers[1 : quarter + 1], *(numbers[n * quarter :][:quarter] for n in (1, 2, 3))]
    others += [filled(4 * quarter, **change)[:quarter] for change in ({"call": 1}, {"step": 1}, {"key": (6, 7)})]
    for other in others:
        for mine in (first, first**2):
            for theirs in (other, other**2):
                assert abs(stats.pearsonr(mine, theirs).statistic) < 4.5 / np.sqrt(quarter)


SIZES = (20, 9, 4)


def batch(runs, count=12, seed=0):
    rng = np.random.default_rng(seed)
    x = torch.from_numpy(rng.standard_normal((runs, count, SIZES[0])).astype(np.float32))
    return x, torch.from_numpy(rng.integers(0, SIZES[-1], (runs, count)))


def expectations(kind, seeds=(3, 14), step=9, passes=3, given=None):
    """The three sums for networks with these seeds: losses ``[R]``, and the others as views ``[R, …]``."""
    network = Mlp(seeds, SIZES, "torch")
    noise = kind(seeds)
    noise.begin(step)
    x, y = batch(len(seeds)) if given is None else given
    loss, g, g_noise = noise.expectations(network, torch.full_like(network.flat, 0.3), x, y, 0.5, passes)
    return loss, network.views(g.clone()), network.views(g_noise.clone())


@KINDS
@pytest.mark.parametrize("count", [1, 3, 10, 12, 21])
def test_without_spread_the_sums_are_passes_times_the_gradient(kind, count):
    network = Mlp((3, 14), SIZES, "torch")
    std, noise, (x, y) = torch.zeros_like(network.flat), kind((3, 14)), batch(2, count)
    loss, g, _ = noise.expectations(network, std, x, y, 0.5, 4)
    weights = [w.detach().clone().requires_grad_() for w in (*network.weights, *network.biases)]
    logits = torch.relu(x @ weights[0] + weights[2]) @ weights[1] + weights[3]
    losses = torch.nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="none").view(2, -1)
    torch.testing.assert_close(loss, 4 * 0.5 * losses.sum(1), rtol=1e-4, atol=1e-5)
    for found, expected in zip(network.views(g), torch.autograd.grad(losses.sum(), weights), strict=True):
        torch.testing.assert_close(found, 4 * 0.5 * expected, rtol=1e-4, atol=1e-5)


@KINDS
def test_noise_is_that_of_the_run_alone(kind):
    """Whatever stands beside it, and whichever inputs its neighbours use; a new step brings new noise."""
    x, y = batch(3)
    x[1, :, 7:] = 0
    x[1, :, 3:7] = 1.5
    x[2, :, :5] = -0.5
    stack = expectations(kind, (3, 14, 15), given=(x, y))
    alone, later = (expectations(kind, (14,), step=step, given=(x[1:2], y[1:2])) for step in (9, 10))
    for mine, theirs, other in zip(alone[1] + alone[2], stack[1] + stack[2], later[1] + later[2], strict=True):
        torch.testing.assert_close(mine[0], theirs[1], rtol=1e-4, atol=1e-5)
        assert not torch.allclose(mine, other, rtol=1e-2)


@KINDS
def test_weights_behind_black_inputs_do_not_learn(kind):
    x, y = batch(2)
    x[0, :, 7:] = 0
    _, g, g_noise = expectations(kind, given=(x, y))
    for sums in (g, g_noise):
        assert (sums[0][0, 7:] == 0).all()
        assert (sums[0][0, :7] != 0).any(1).all()
        assert (sums[0][1] != 0).any(1).all()


SMALL = (5, 2, 2)


def samples(kind, x, y, runs=10_000, passes=2):
    """Losses, sums of g and of g ε of many equal networks, each with noise of its own: ``[runs, 1 + 2p]``."""
    first = Mlp((1,), SMALL, "torch")
    network = Layers.over(
        torch.cat([v.repeat(runs, 1, 1).flatten() for v in first.views(first.flat)]), range(runs), SMALL
    )
    spreads = [torch.linspace(0.4, 0.9, v.numel()).repeat(runs) for v in first.views(first.flat)]
    loss, *sums = kind(range(runs)).expectations(
        network, torch.cat(spreads), x.repeat(runs, 1, 1), y.repeat(runs, 1), 1.0, passes
    )
    parts = [view.flatten(1) for flat in sums for view in network.views(flat)]
    return torch.cat([loss.unsqueeze(1), *parts], dim=1).double().numpy()


@pytest.mark.parametrize("still", [{}, {0: 0.0, 1: -0.8, 3: 1.3}, {0: 0.7, 1: -0.8, 2: 1, 3: 1.3, 4: 0.2}])
def test_inputs_that_stay_the_same_need_less_noise_for_the_same_distribution(still):
    """Means, variances and covariances of all sums, against noise for every weight and pass."""
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
    assert type(noise_for(Mlp((1,), (4, 3)))) is CompiledNoise


def test_keys_of_runs_differ():
    keys = CompiledNoise((0, 1, 2))._sources
    assert len({tuple(key) for key in keys}) == 3
    assert np.array_equal(keys[1], generator(1, "noise").integers(2**32, size=2, dtype=np.uint32))

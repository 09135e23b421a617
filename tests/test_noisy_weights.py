"""Noise on weights: numbers that are normal, that depend on nothing they should not, and the sums made with them."""

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracles import noise as oracle
from scipy import stats

from tacl_lib import philox
from tacl_lib.compiled_noise import CompiledNoise
from tacl_lib.network import Network
from tacl_lib.noisy_weights import NoisyWeights, noise_for
from tacl_lib.randomness import generator

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


def around(kind, seeds=(3, 14), counts=None, step=9):
    network = Network(seeds, (6, 5, 4), "torch")
    std = torch.linspace(0.1, 1, len(network.flat))
    noise = kind(seeds)
    noise.begin(step)
    noise.around(network, std, counts)
    return network, std, noise


@KINDS
def test_drawn_weights_are_the_mean_and_noise_times_deviation(kind):
    network, std, noise = around(kind)
    seen = []
    for _ in range(2):
        drawn = noise.draw()
        torch.testing.assert_close(drawn.flat, network.flat + noise.noise * std)
        seen.append(noise.noise.clone())
    assert (seen[0] != seen[1]).all()


@KINDS
def test_noise_is_that_of_the_run_alone(kind):
    """Whatever stands beside it, and however many inputs its neighbours use; a new step brings new noise."""
    network, _, stack = around(kind, (3, 14, 15), counts=[6, 2, 4])
    stack.draw()
    alone_network, _, alone = around(kind, (14,), counts=[2])
    alone.draw()
    for mine, views in zip(alone_network.views(alone.noise), network.views(stack.noise), strict=True):
        rows = 2 if mine.shape[1] == 6 else None
        assert torch.equal(mine[0, :rows], views[1, :rows])
    _, _, later = around(kind, (14,), counts=[2], step=10)
    later.draw()
    assert (later.noise != alone.noise)[-9:].all()


@KINDS
def test_nothing_is_drawn_behind_unused_inputs(kind):
    network, _, noise = around(kind, counts=[2, 6])
    noise.draw()
    first = network.views(noise.noise)[0]
    assert (first[0, 2:] == 0).all()
    assert (first[0, :2] != 0).all()
    assert (first[1] != 0).all()


@KINDS
def test_sums_are_those_of_dense_gradients(kind):
    network, _, noise = around(kind)
    rng = np.random.default_rng(0)
    x = torch.from_numpy(rng.standard_normal((2, 3, 6)).astype(np.float32))
    y = torch.from_numpy(rng.integers(0, 4, (2, 3)))
    g, g_noise = torch.zeros_like(network.flat), torch.zeros_like(network.flat)
    for _ in range(4):
        drawn = noise.draw()
        weights = [w.detach().clone().requires_grad_() for w in (*drawn.weights, *drawn.biases)]
        hidden = torch.relu(x @ weights[0] + weights[2])
        loss = torch.nn.functional.cross_entropy((hidden @ weights[1] + weights[3]).flatten(0, 1), y.flatten())
        loss = loss * 6  # a sum
        dense = torch.cat([part.flatten() for part in torch.autograd.grad(loss, weights)])
        g += dense
        g_noise += dense * noise.noise
        noise.add(drawn.loss_gradient(x, y, 1.0)[1])
    sums = noise.sums()
    torch.testing.assert_close(sums[0], g, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(sums[1], g_noise, rtol=1e-4, atol=1e-5)


def test_a_cpu_has_compiled_noise():
    assert type(noise_for(Network((1,), (4, 3)))) is CompiledNoise


def test_keys_of_runs_differ():
    keys = CompiledNoise((0, 1, 2))._generators
    assert len({tuple(key) for key in keys}) == 3
    assert np.array_equal(keys[1], generator(1, "noise").integers(2**32, size=2, dtype=np.uint32))

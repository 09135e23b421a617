"""Noise on weights: numbers that are normal, that depend on nothing they should not, and what BGD learns with them."""

import ctypes
import math
import tempfile
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import noise as oracle
from scipy import stats

from tacl_lib import runs
from tacl_lib.core.randomness import generator
from tacl_lib.engine import compiled
from tacl_lib.engine.layers import Layers
from tacl_lib.engine.noisy_weights import CompiledNoise, NoisyWeights, noise_for

KINDS = pytest.mark.parametrize("kind", [NoisyWeights, CompiledNoise])
needs_compiler = pytest.mark.skipif(compiled.library() is None, reason="no C compiler here")
pytestmark = needs_compiler


# ---- the numbers


def filled(turns, key=5, step=0, call=0):
    """``[turns, 32]``: of 32 streams."""
    out = np.full((turns, 32), np.nan, np.float32)
    numbers = map(ctypes.c_uint64, (key, step, call))
    compiled.library().normals(compiled.pointer(out), ctypes.c_long(2 * turns), *numbers)
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


def test_a_word_gives_the_number_that_is_as_probable():
    """Words everywhere, and all of the smallest and of the largest; a float64 inverse says what is right."""
    edges = [0, 1, 2**31 - 1, 2**31, 2**31 + 1, 2**32 - 1]
    powers = [side + (1 << bit) + near for side in (0, 2**31) for bit in range(31) for near in (-1, 0, 1)]
    words = np.random.default_rng(0).integers(2**32, size=2**16, dtype=np.uint32)
    words[: len(edges) + len(powers)] = [word % 2**32 for word in edges + powers]
    words[1000:2000], words[2000:3000] = np.arange(1000), np.arange(2**31 + 1, 2**31 + 1001)
    found = np.full(len(words), np.nan, np.float32)
    compiled.library().normals_of(compiled.pointer(words), compiled.pointer(found), ctypes.c_long(len(words) // 16))
    np.testing.assert_allclose(found, oracle.normal(words), atol=8e-6)


@settings(deadline=None, max_examples=10)
@given(st.integers(0, 2**64 - 1), st.integers(0, 2**40), st.integers(0, 100))
def test_numbers_are_those_of_the_oracle(key, step, call):
    expected = oracle.Normals(key, step, call).rows(3, 32)
    np.testing.assert_allclose(filled(3, key, step, call), expected, atol=8e-6)


def test_numbers_are_normal():
    """Moments to the eighth, the distribution, and the tails."""
    numbers = filled(125_000).astype(float).ravel()  # 4 million
    for power, expected in enumerate((0, 1, 0, 3, 0, 15, 0, 105), start=1):
        powers = numbers**power
        assert abs(powers.mean() - expected) < 4 * powers.std() / math.sqrt(len(numbers))
    assert stats.kstest(numbers, "norm").pvalue > 1e-3
    for edge in (1, 2, 3, 4, 4.5, 5):
        for side in (numbers > edge, numbers < -edge):
            assert stats.binomtest(int(side.sum()), len(numbers), stats.norm.sf(edge)).pvalue > 1e-4


def test_numbers_know_nothing_of_each_other():
    """Neighbours, later turns, other calls, steps and keys: neither numbers nor squares are correlated."""
    numbers = filled(100_000)
    first = numbers[:-33]
    others = [np.roll(first, 1, axis=1), *(numbers[lag : lag - 33] for lag in (1, 2, 3, 32))]
    changes = [{"call": 1}, {"call": 1 << 32}, {"call": 1 << 48}, {"step": 1}, {"step": 2**32}]
    changes += [{"key": 6}, {"key": 5 + 2**32}, {"key": 4, "step": 1}]
    others += [filled(100_000, **change)[:-33] for change in changes]
    standard = [(power - power.mean()) / power.std() for power in (first, first**2)]
    for other in others:
        for power in (other, other**2):
            theirs = (power - power.mean()) / power.std()
            for mine in standard:
                assert abs((mine * theirs).mean()) < 4.5 / math.sqrt(first.size)


def test_streams_do_not_know_of_each_other():
    """All numbers of five turns: the largest of 12,720 correlations is as large as chance makes it."""
    numbers = filled(100_000).reshape(20_000, -1).astype(float)
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


@pytest.mark.parametrize(
    ("passes", "steps", "sizes"),
    [(1, 20, SIZES), (3, 200, SIZES), (10, 20, SIZES), (12, 20, SIZES), (2, 12, (150, 53, 70, 4)), (2, 8, (9, 3))],
)
def test_the_compiled_steps_are_those_of_the_oracle_in_float64(passes, steps, sizes):
    """μ and σ with the same noise, for batches and layers that do and do not fill a tile, a vector and a ten."""
    seeds, weight, rate = (3, 14), 0.4 / passes, 1.5
    layers = Layers(seeds, sizes)
    small = sizes[0] < 100
    std = torch.full_like(layers.flat, 0.3 if small else 0.1)
    noise, keys = CompiledNoise(seeds), [int(generator(s, "noise").integers(2**64, dtype=np.uint64)) for s in seeds]
    first, first_std = layers.flat.clone(), std.clone()
    expected = [[pieces(layers, flat, run) for flat in (layers.flat, std)] for run in range(2)]
    for step in range(steps):
        x, y = batch(2, (10, 1, 7, 12)[step % 4], step, sizes)
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
    assert (layers.flat - first).abs().mean() > 1e-3  # many times the tolerance
    assert (std - first_std).abs().mean() > (2e-3 if small else 5e-4)


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


@pytest.fixture
def forgotten():
    """The compiled loops are looked for anew, and once more after the test."""
    compiled.library.cache_clear()
    yield
    compiled.library.cache_clear()


@pytest.mark.usefixtures("forgotten")
def test_without_a_compiler_it_is_said_once_and_torch_does_the_work(monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.warns(UserWarning, match="no C compiler that works"):
        assert type(noise_for(Layers((1,), (4, 3)))) is NoisyWeights
    with warnings.catch_warnings(action="error"):  # once is enough
        assert type(noise_for(Layers((1,), (4, 3)))) is NoisyWeights
    rows, others = torch.rand(2, 3, 40), torch.rand(2, 5, 40)
    found = compiled.exact_product(rows, others.mT)
    torch.testing.assert_close(found, rows.double() @ others.double().mT)


@pytest.mark.usefixtures("forgotten")
def test_loops_are_compiled_once_and_again_where_the_cache_cannot_be_written(monkeypatch, tmp_path):
    monkeypatch.setenv("TACL_CACHE", str(tmp_path / "cache"))
    assert compiled.library() is not None
    (made,) = (tmp_path / "cache" / "compiled").iterdir()
    changed = made.stat().st_mtime_ns
    compiled.library.cache_clear()
    assert compiled.library() is not None
    assert made.stat().st_mtime_ns == changed


@pytest.mark.usefixtures("forgotten")
def test_where_the_cache_cannot_be_written_the_loops_work_and_nothing_is_left_behind(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TACL_CACHE", str(tmp_path / "file"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    assert compiled.library() is not None
    assert not any((tmp_path / "temporary").iterdir())
    left, right = torch.rand(2, 3, 40), torch.rand(2, 40, 5)  # the loops are still there
    torch.testing.assert_close(compiled.product(left, right), left @ right)


@pytest.mark.parametrize(("learner", "noise"), [("bgd", CompiledNoise.name), ("sgd", None)])
def test_records_name_the_generator(learner, noise):
    spec = runs.RunSpec(dataset="digits", split="class", learner=learner, epochs=1, hidden=(8,))
    (record,) = runs.run(spec, seeds=(0,))
    assert record.info.get("noise") == noise

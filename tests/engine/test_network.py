"""The stacked network against torch.autograd in float64, run by run."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from oracles import models
from scipy.stats import ks_2samp, kstest
from sentences import message_of
from torch import nn

from tacl_lib.engine.gradients import Gradient
from tacl_lib.engine.layers import INITIALISATIONS
from tacl_lib.engine.mlp import Mlp

SEEDS = (3, 14, 15)
SHAPES = [(6, 3), (6, 5, 3), (12, 8, 7, 4), (5, 4, 4, 4, 2)]  # no, one, two (the paper's), three hidden layers


def lists(network, run):
    """Weights [in, out] and biases [out] of one run, float64, in the convention of the oracles."""
    weights = [weight[run].double().numpy() for weight in network.weights]
    return weights, [bias[run, 0].double().numpy() for bias in network.biases]


def oracle_model(network, run):
    return models.build(*lists(network, run))


def flat_gradient(gradient, run, terms=slice(None)):
    """Some terms of a library gradient, summed, as the oracle's p-vector."""
    given = [tensor[run, terms].double() for tensor in gradient.inputs]
    delta = [tensor[run, terms].double() for tensor in gradient.deltas]
    weights = [(a.T @ d).numpy() for a, d in zip(given, delta, strict=True)]
    return models.flat_from_lists(weights, [d.sum(0).numpy() for d in delta]).numpy()


def batch(sizes, count=7, runs=3, seed=0):
    rng = np.random.default_rng(seed)
    x = torch.from_numpy(rng.standard_normal((runs, count, sizes[0])).astype(np.float32))
    return x, torch.from_numpy(rng.integers(0, sizes[-1], (runs, count)))


def network_with_bias(sizes, seeds=SEEDS):
    """The "torch" initialisation: biases are not zero, so that a test sees them."""
    return Mlp(seeds, sizes, "torch")


# ---- forward and gradients


@pytest.mark.parametrize("sizes", SHAPES)
def test_forward_is_the_sequential_of_each_run(sizes):
    network = network_with_bias(sizes)
    x, _ = batch(sizes)
    inputs, logits = network.forward(x)
    assert len(inputs) == len(sizes) - 1
    for run in range(network.runs):
        hidden = models.inputs(x[run])
        layers = [module for module in oracle_model(network, run) if isinstance(module, nn.Linear)]
        for layer, given in zip(layers, inputs, strict=True):
            np.testing.assert_allclose(given[run], hidden.detach(), rtol=1e-5, atol=1e-6)
            hidden = layer(hidden).relu()
        expected = oracle_model(network, run)(models.inputs(x[run])).detach()
        np.testing.assert_allclose(logits[run], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("sizes", SHAPES)
def test_loss_and_its_gradient_are_those_of_autograd(sizes):
    network = network_with_bias(sizes)
    x, y = batch(sizes)
    losses, gradient = network.loss_gradient(x, y)
    assert losses.shape == y.shape
    for run in range(network.runs):
        model = oracle_model(network, run)
        assert losses[run].sum().item() == pytest.approx(models.loss(model, x[run], y[run]).item(), rel=1e-5)
        expected = models.loss_gradient(model, x[run], y[run]).numpy()
        np.testing.assert_allclose(flat_gradient(gradient, run), expected, atol=1e-6)
        assert np.abs(expected).max() > 0.01  # the comparison above means something


def test_sample_weights_give_the_weighted_sum():
    sizes = (6, 5, 3)
    network = network_with_bias(sizes)
    x, y = batch(sizes)
    weight = torch.rand(y.shape, generator=torch.Generator().manual_seed(1))
    weight[:, 2] = 0.0  # a place that holds nothing
    losses, gradient = network.loss_gradient(x, y, weight)
    summed, sum_gradient = network.loss_gradient(x, y, 1.0)
    for run in range(network.runs):
        model = oracle_model(network, run)
        each = [models.loss(model, x[run, i : i + 1], y[run, i : i + 1]) for i in range(y.shape[1])]
        np.testing.assert_allclose(
            losses[run], [w * e.item() for w, e in zip(weight[run], each, strict=True)], rtol=1e-5
        )
        total = sum(float(w) * e for w, e in zip(weight[run], each, strict=True))
        np.testing.assert_allclose(flat_gradient(gradient, run), models.flat_grad(total, model), atol=1e-5)
        expected = y.shape[1] * models.loss_gradient(model, x[run], y[run])
        np.testing.assert_allclose(flat_gradient(sum_gradient, run), expected, atol=1e-5)
        assert summed[run].sum().item() == pytest.approx(sum(e.item() for e in each), rel=1e-5)


def test_loss_stays_finite_and_right_for_huge_logits():
    """log-softmax, not the log of a softmax: a certain and wrong answer costs its logit gap, not infinity."""
    network = network_with_bias((4, 3))
    x = torch.full((3, 1, 4), 1e4)
    y = network.forward(x)[1].argmin(2)
    losses, gradient = network.loss_gradient(x, y)
    for run in range(3):
        expected = models.loss(oracle_model(network, run), x[run], y[run]).item()
        assert losses[run].item() == pytest.approx(expected, rel=1e-5)
        assert expected > 200
    assert all(torch.isfinite(delta).all() for delta in gradient.deltas)


@pytest.mark.parametrize("sizes", SHAPES)
def test_model_gradient_keeps_samples_apart(sizes):
    network = network_with_bias(sizes)
    x, y = batch(sizes, count=4)
    gradient = network.model_gradient(x, y)
    for run in range(network.runs):
        model = oracle_model(network, run)
        for i in range(4):
            expected = models.model_gradient(model, x[run, i], y[run, i]).numpy()
            np.testing.assert_allclose(flat_gradient(gradient, run, slice(i, i + 1)), expected, atol=1e-5)


def test_each_run_of_a_stack_is_that_run_alone():
    sizes = (12, 8, 7, 4)
    stack = network_with_bias(sizes)
    x, y = batch(sizes)
    losses, gradient = stack.loss_gradient(x, y)
    for run, seed in enumerate(SEEDS):
        alone = network_with_bias(sizes, [seed])
        assert torch.equal(alone.vector(0), stack.vector(run))
        of_one, gradient_of_one = alone.loss_gradient(x[run : run + 1], y[run : run + 1])
        np.testing.assert_allclose(losses[run], of_one[0], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(flat_gradient(gradient, run), flat_gradient(gradient_of_one, 0), atol=1e-6)


# ---- parameters


@pytest.mark.parametrize("initialisation", INITIALISATIONS)
def test_first_weights_have_the_distribution_of_torch(initialisation):
    """Against torch's own initialisers, by a Kolmogorov-Smirnov test on 20,000 weights."""
    width_in, width_out = 200, 100
    network = Mlp([5], (width_in, width_out), initialisation)
    weight, bias = network.weights[0][0], network.biases[0][0, 0]
    torch.manual_seed(0)
    linear = nn.Linear(width_in, width_out)
    if initialisation == "glorot":
        nn.init.xavier_uniform_(linear.weight)
        bound = math.sqrt(6 / (width_in + width_out))
    elif initialisation == "he":
        nn.init.kaiming_normal_(linear.weight, nonlinearity="relu")
        bound = math.inf
        assert kstest(weight.flatten(), "norm", args=(0, math.sqrt(2 / width_in))).pvalue > 0.01
    else:
        bound = 1 / math.sqrt(width_in)
    assert ks_2samp(weight.flatten(), linear.weight.detach().flatten()).pvalue > 0.01
    assert weight.abs().max() <= bound
    if bound < math.inf:
        assert weight.abs().max() > 0.999 * bound
        assert weight.min() < 0 < weight.max()
    if initialisation == "torch":
        assert ks_2samp(bias, linear.bias.detach()).pvalue > 0.01
        assert 0.9 * bound < bias.abs().max() <= bound
    else:
        assert not bias.any()


def test_first_weights_depend_on_seed_and_layer_only():
    stack = Mlp([1, 2, 1], (4, 4, 4))
    assert torch.equal(stack.vector(0), stack.vector(2))
    assert not torch.equal(stack.weights[0][0], stack.weights[0][1])
    assert not torch.equal(stack.weights[0][0], stack.weights[1][0])  # same shape, another layer


def test_flat_memory_views_and_vector():
    sizes = (5, 4, 3)
    network = network_with_bias(sizes)
    assert network.parameter_count == 5 * 4 + 4 + 4 * 3 + 3
    assert network.flat.shape == (3 * network.parameter_count,)
    assert [tuple(w.shape) for w in network.weights] == [(3, a, b) for a, b in pairwise(sizes)]
    assert [tuple(b.shape) for b in network.biases] == [(3, 1, 4), (3, 1, 3)]
    for run in range(3):
        weights, biases = lists(network, run)
        expected = np.concatenate([part.ravel() for part in (*weights, *biases)])
        np.testing.assert_array_equal(network.vector(run), expected)
    # The layers are windows on the flat memory, in both directions.
    network.flat.copy_(torch.arange(len(network.flat)))
    seen = torch.cat([part.flatten() for part in (*network.weights, *network.biases)])
    assert torch.equal(seen, torch.arange(len(network.flat)).float())
    network.biases[1][2, 0, 1] = -7.0
    assert (network.flat == -7).sum() == 1
    other = torch.zeros_like(network.flat)
    network.views(other)[0][1] = 2.0
    assert other.sum() == 2 * 5 * 4


@pytest.mark.parametrize("factor", [-0.25, torch.tensor([0.5, 0.0, -2.0])], ids=["number", "tensor"])
def test_add_moves_each_run_by_its_factor(factor):
    sizes = (6, 5, 3)
    network = network_with_bias(sizes)
    _, gradient = network.loss_gradient(*batch(sizes))
    before = [models.flat_from_lists(*lists(network, run)).numpy() for run in range(3)]
    copies = [tensor.clone() for part in gradient for tensor in part]
    network.add(gradient, factor)
    for run in range(3):
        moved = models.flat_from_lists(*lists(network, run)).numpy() - before[run]
        times = float(factor if isinstance(factor, float) else factor[run])
        np.testing.assert_allclose(moved, times * flat_gradient(gradient, run), atol=3e-7)
    # and the gradient itself is left alone
    for old, new in zip(copies, (tensor for part in gradient for tensor in part), strict=True):
        assert torch.equal(old, new)


@pytest.mark.parametrize("chunk", [1, 4, 10, 1000])
@pytest.mark.parametrize("shared", [True, False])
def test_accuracy_counts_right_answers(chunk, shared):
    sizes = (6, 5, 3)
    network = network_with_bias(sizes)
    x, y = batch(sizes, count=10, runs=1 if shared else 3)
    measured = network.accuracy(x, y, chunk)
    expected = []
    for run in range(3):
        images, labels = (x[0], y[0]) if shared else (x[run], y[run])
        answers = oracle_model(network, run)(models.inputs(images)).argmax(1)
        expected.append((answers == labels).double().mean().item())
    assert measured.dtype == torch.float64
    np.testing.assert_allclose(measured, expected, rtol=1e-12)
    assert len(set(expected)) > 1  # a stack that mixed its runs up would be seen


def test_accuracy_is_one_on_its_own_answers():
    network = network_with_bias((6, 5, 3))
    x, _ = batch((6, 5, 3), count=9)
    answers = network.forward(x)[1].argmax(2)
    assert network.accuracy(x, answers, 4).tolist() == [1.0, 1.0, 1.0]
    assert network.accuracy(x, (answers + 1) % 3, 4).tolist() == [0.0, 0.0, 0.0]


# ---- bad input


@pytest.mark.parametrize("shape", [(3, 7), (3, 7, 5), (2, 7, 6), (1, 7, 6), (3, 7, 6, 1)])
def test_samples_of_a_wrong_shape_are_refused(shape):
    network = Mlp(SEEDS, (6, 3))
    y = torch.zeros(3, 7, dtype=torch.int64)
    message = message_of(lambda: network.forward(torch.zeros(shape)), "samples", "3 runs", "6 features")
    assert str(list(shape)) in message
    message_of(lambda: network.loss_gradient(torch.zeros(shape), y), "samples")
    message_of(lambda: network.model_gradient(torch.zeros(shape), y), "samples")


@pytest.mark.parametrize("gradient", ["loss_gradient", "model_gradient"])
@pytest.mark.parametrize("label", [-1, 3, 100])
def test_labels_out_of_range_are_refused(gradient, label):
    network = Mlp(SEEDS, (6, 3))
    x, y = batch((6, 3))
    y[1, 2] = label
    message_of(lambda: getattr(network, gradient)(x, y), "labels", "0 to 2", label)


@pytest.mark.parametrize("gradient", ["loss_gradient", "model_gradient"])
@pytest.mark.parametrize("shape", [(3, 6), (3, 8), (1, 7), (4, 7), (7,), (3, 7, 1)], ids=str)
def test_labels_of_a_wrong_shape_are_refused(gradient, shape):
    """Fewer labels than samples would be silently wrong: the gather of torch takes a smaller index."""
    network = Mlp(SEEDS, (6, 3))
    x, _ = batch((6, 3))
    message_of(lambda: getattr(network, gradient)(x, torch.zeros(shape, dtype=torch.int64)), "labels", "shape")


def test_labels_that_are_not_integers_are_refused():
    network = Mlp(SEEDS, (6, 3))
    x, y = batch((6, 3))
    message_of(lambda: network.loss_gradient(x, y.float()), "labels")


def test_accuracy_refuses_shapes_that_do_not_fit():
    network = Mlp(SEEDS, (6, 3))
    x, y = batch((6, 3))
    message_of(lambda: network.accuracy(x[:, :, :5], y), "samples")
    message_of(lambda: network.accuracy(x[:2], y[:2]), "samples")
    message_of(lambda: network.accuracy(x, y[:, :3], chunk=3), "labels")
    message_of(lambda: network.accuracy(x, y[:, :1]), "labels")  # one label must not serve all samples


def test_unknown_initialisation_lists_the_known_ones():
    message_of(lambda: Mlp([0], (4, 3), "xavier"), "initialisation", "'xavier'", *INITIALISATIONS)


@pytest.mark.parametrize("sizes", [(), (4,), (4, 0), (0, 3), (4, -2, 3)], ids=str)
def test_silly_sizes_are_refused(sizes):
    message_of(lambda: Mlp([0], sizes), "sizes", sizes)


def test_a_stack_of_no_runs_is_refused():
    message_of(lambda: Mlp([], (4, 3)), "seed")


def test_gradient_is_a_pair_of_lists():
    """Everything that takes a gradient unpacks it as (inputs, deltas)."""
    network = network_with_bias((6, 5, 3))
    inputs, deltas = network.model_gradient(*batch((6, 5, 3)))
    assert Gradient._fields == ("inputs", "deltas")
    assert [tuple(t.shape) for t in inputs] == [(3, 7, 6), (3, 7, 5)]
    assert [tuple(t.shape) for t in deltas] == [(3, 7, 5), (3, 7, 3)]

"""A pool of samples: whatever happens to it, it knows what the first layer makes of them."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tacl_lib.core.memory import Samples
from tacl_lib.engine import sample_pool
from tacl_lib.engine.gradients import Gradient
from tacl_lib.engine.layers import Layers
from tacl_lib.engine.sample_pool import SamplePool, pool_pays

SEEDS, SIZES, CAPACITY = (2, 5), (6, 4, 3), 5
RUNS = len(SEEDS)


def tensor(rng, *shape):
    return torch.from_numpy(rng.standard_normal(shape).astype(np.float32))


def first_layer(weight, bias, x):
    """In float64, from weights to which nothing is owed."""
    return x.double() @ weight + bias


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from(["batch", "stored", "replace", "settle"]), max_size=25), st.integers(0, 10**6))
def test_it_follows_all_changes(events, seed):
    """Steps along batches, steps along stored samples that are only owed, replacements: against float64 weights."""
    rng = np.random.default_rng(seed)
    network, x = Layers(SEEDS, SIZES), tensor(rng, RUNS, CAPACITY, SIZES[0])
    weight, bias = network.weights[0].double(), network.biases[0].double()
    pool = SamplePool(network, Samples(x, torch.zeros(RUNS, CAPACITY, dtype=torch.int64)))
    for event in events:
        if event == "batch":
            z, delta = tensor(rng, RUNS, 3, SIZES[0]), tensor(rng, RUNS, 3, SIZES[1])
            along = pool.along(z)
            others = torch.zeros(RUNS, 3, SIZES[1]), torch.zeros(RUNS, 3, SIZES[2])
            network.add(Gradient([z, others[0]], [delta, others[1]]), -0.2)
            pool.follow(along, delta, -0.2)
            weight = weight - 0.2 * z.double().mT @ delta.double()
            bias = bias - 0.2 * delta.double().sum(1, keepdim=True)
        elif event == "stored":
            runs = torch.from_numpy(np.flatnonzero(rng.random(RUNS) < 0.7))
            delta, factor = tensor(rng, len(runs), CAPACITY, SIZES[1]), tensor(rng, len(runs))
            pool.owe(runs, delta, pool.gram[runs] @ delta, factor)
            scaled = delta.double() * factor.double().view(-1, 1, 1)
            weight[runs] += x[runs].double().mT @ scaled
            bias[runs] += scaled.sum(1, keepdim=True)
        elif event == "replace":
            place = torch.from_numpy(rng.integers(0, CAPACITY, RUNS))
            pool.before_replacing(place)
            x[torch.arange(RUNS), place] = tensor(rng, RUNS, SIZES[0])
            pool.after_replacing(place)
        else:
            pool.settle()
            assert (pool.owed == 0).all()
            torch.testing.assert_close(network.weights[0].double(), weight, atol=1e-4, rtol=1e-4)
            torch.testing.assert_close(network.biases[0].double(), bias, atol=1e-4, rtol=1e-4)
        close = {"atol": 2e-4, "rtol": 1e-4}
        torch.testing.assert_close(pool.gram, x @ x.mT + 1, **close)
        torch.testing.assert_close(pool.out.double(), first_layer(weight, bias, x), **close)
        other = tensor(rng, RUNS, 2, SIZES[0])
        torch.testing.assert_close(
            pool.first_layer(other, pool.along(other)).double(), first_layer(weight, bias, other), **close
        )


def test_rounding_is_swept_out_now_and_then(monkeypatch):
    monkeypatch.setattr(sample_pool, "RENEWAL", 4)
    rng = np.random.default_rng(0)
    network, x = Layers(SEEDS, SIZES), tensor(rng, RUNS, CAPACITY, SIZES[0])
    pool = SamplePool(network, Samples(x, torch.zeros(RUNS, CAPACITY, dtype=torch.int64)))
    exact = pool.out.clone()
    pool.out += 1.0  # stands for what rounding would do in the long run
    nothing = torch.zeros(RUNS, 1, CAPACITY), torch.zeros(RUNS, 1, SIZES[1])
    for _ in range(3):
        pool.follow(*nothing, -1.0)
    torch.testing.assert_close(pool.out, exact + 1.0)
    pool.follow(*nothing, -1.0)
    torch.testing.assert_close(pool.out, exact)


@pytest.mark.parametrize(
    ("drawn", "stored", "pays"),
    [(0, 0, False), (10, 300, False), (15, 15, False), (16, 16, True), (24, 300, False), (25, 300, True)],
)
def test_a_pool_pays_where_many_of_the_stored_samples_are_drawn(drawn, stored, pays):
    assert pool_pays(Layers((0,), (784, 200, 200, 10)), drawn, stored) is pays
    assert not pool_pays(Layers((0,), (784, 10)), drawn, stored)

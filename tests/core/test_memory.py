"""The memory against Algorithm 3 as Python lists."""

import io
from itertools import chain

import numpy as np
import pytest
import torch
from candidates import candidate_of
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_streams import FEATURES, entry, replay, streams

from tacl_lib.core.memory import (
    POLICIES,
    Arrival,
    Geometry,
    Placement,
    Reference,
    Sample,
    gradient_memory,
    policies,
    policy_named,
    register_policy,
    sample_memory,
)
from tacl_lib.engine.gradient_pool import GradientPool
from tacl_lib.engine.gradients import Gradient
from tacl_lib.engine.mlp import Mlp
from tacl_lib.errors import TaclError
from tacl_lib.plain.memory import Fifo, PooledClusterMemory, RandomClusterMemory, Reservoir


def distances(oracle, z):
    """‖z - μ_q‖² of every cluster: how near was a tie?"""
    return [float(((z - mean.numpy()) ** 2).sum()) for mean in oracle.means]


class Places:
    """Who stands where, from placements alone, in the same terms as an oracle."""

    def __init__(self, geometry):
        self.geometry, self.at, self.arrival = geometry, {}, {}

    def note(self, cluster, slot, tag):
        """Returns the tag that left, or None."""
        removed = self.at.get((cluster, slot))
        self.at[cluster, slot], self.arrival[tag] = tag, tag
        return removed

    def contents(self, pool):
        """Per opened cluster of a pool the tags, oldest first (tags are steps)."""
        clusters = range(pool * self.geometry.clusters, (pool + 1) * self.geometry.clusters)
        found = [sorted(tag for (c, _), tag in self.at.items() if c == cluster) for cluster in clusters]
        return [tags for tags in found if tags]


def check_store(memory, places, z, pools):
    """The store holds just what the placements say, and the means are those of the members."""
    geometry, store = memory.geometry, memory.store
    for run, of_run in enumerate(places):
        for place in range(geometry.capacity):
            tag = of_run.at.get(divmod(place, geometry.size))
            assert bool(memory.filled[run, place]) == (tag is not None)
            if tag is not None:
                assert store.members.x[run, place].tolist() == z[tag, run].tolist()
                assert store.members.y[run, place] == pools[tag, run]
        for cluster in range(geometry.pools * geometry.clusters):
            members = [z[tag, run] for (c, _), tag in of_run.at.items() if c == cluster]
            if members:
                assert store.means[run, cluster].tolist() == np.mean(members, axis=0).tolist()


# ---- Algorithm 3 on samples


@settings(deadline=None, max_examples=60)
@given(streams())
def test_clusters_of_samples_are_those_of_algorithm_3(stream):
    geometry, z, labels, uniforms = stream
    runs = z.shape[1]
    memory = sample_memory(runs, FEATURES, geometry, "clustering")
    oracles = [PooledClusterMemory(*geometry) for _ in range(runs)]
    places = [Places(geometry) for _ in range(runs)]
    for step, placement in replay(memory, z, labels, uniforms):
        for run in range(runs):
            cluster, slot, kept = entry(placement, run)
            pool, nearest, removed = oracles[run].add(z[step, run], labels[step, run], step)
            assert kept
            assert cluster == pool * geometry.clusters + nearest
            assert places[run].note(cluster, slot, step) == removed
    for run in range(runs):
        for pool in range(geometry.pools):
            oracle = oracles[run].pools[pool]
            assert places[run].contents(pool) == oracle.contents()
            first = pool * geometry.clusters
            for q, mean in enumerate(oracle.means):
                assert memory.store.means[run, first + q].tolist() == mean.tolist()
    check_store(memory, places, z, labels)


def test_of_equal_distances_the_first_cluster_wins():
    memory = sample_memory(1, 1, Geometry(1, 3, 2), "clustering")
    pool, chance = torch.zeros(1, dtype=torch.int64), torch.zeros(1)
    found = []
    for value in (10.0, -10.0, 10.0, 0.0, 0.0):  # ±10 are as far from 0; the third cluster doubles the first
        found.append(memory.add((torch.tensor([[value]]), pool), pool, chance).cluster.item())
    assert found == [0, 1, 2, 0, 0]  # the second 0 finds the means 5, -10 and 10


def test_a_far_cluster_of_another_pool_is_never_chosen():
    """Distances are to the clusters of one's own pool only, even when another pool holds an equal point."""
    memory = sample_memory(1, 1, Geometry(2, 1, 3), "clustering")
    for value, pool in ((0.0, 0), (100.0, 1), (100.0, 0), (0.0, 1)):
        label = torch.tensor([pool])
        placement = memory.add((torch.tensor([[value]]), label), label, torch.zeros(1))
        assert placement.cluster.item() == pool


# ---- Algorithm 3 on gradients


@settings(deadline=None, max_examples=25)
@given(
    st.tuples(st.integers(1, 3), st.integers(1, 4), st.integers(1, 3)),
    st.integers(1, 3),
    st.integers(0, 2**32 - 1),
)
def test_clusters_of_gradients_are_those_of_dense_vectors(shape, runs, seed):
    """Distances from inner products alone against p-vectors in float64; a near-tie ends the comparison."""
    geometry, sizes = Geometry(*shape), (5, 4, 3)
    rng = np.random.default_rng(seed)
    network = Mlp([seed % 1000 + run for run in range(runs)], sizes, "torch")
    pool = GradientPool(network, geometry.capacity)
    memory = gradient_memory(pool, geometry, "clustering")
    oracles = [PooledClusterMemory(*geometry) for _ in range(runs)]
    places = [Places(geometry) for _ in range(runs)]
    for step in range(20):
        x = torch.from_numpy(rng.standard_normal((runs, 1, sizes[0])).astype(np.float32))
        y = torch.from_numpy(rng.integers(0, sizes[-1], (runs, 1)))
        to = torch.from_numpy(rng.integers(0, geometry.pools, runs))
        gradient = network.model_gradient(x, y)
        dense = dense_vectors(gradient)
        near_tie = False
        for run in range(runs):
            oracle = oracles[run].pools[to[run]]
            if len(oracle.clusters) == geometry.clusters > 1:
                first, second = sorted(distances(oracle, dense[run]))[:2]
                near_tie |= second - first < 1e-9 * (dense[run] @ dense[run])
        if near_tie:
            return
        placement = memory.add(candidate_of(pool, gradient), to, torch.zeros(runs))
        for run in range(runs):
            cluster, slot, kept = entry(placement, run)
            in_pool, nearest, removed = oracles[run].add(dense[run], int(to[run]), step)
            assert kept
            assert cluster == in_pool * geometry.clusters + nearest
            assert places[run].note(cluster, slot, step) == removed
            place = cluster * geometry.size + slot
            stored = Gradient(*([t[run : run + 1, place : place + 1] for t in part] for part in pool.members))
            assert np.array_equal(dense_vectors(stored)[0], dense[run])
        network.flat.add_(0.05)  # gradients of a network that moves on


def dense_vectors(gradient):
    """The only term of each run as a float64 vector ``[R, p]``."""
    parts = [torch.einsum("rni,rno->rio", a.double(), d.double()).flatten(1) for a, d in zip(*gradient, strict=True)]
    return torch.cat(parts + [d.double()[:, 0] for d in gradient.deltas], dim=1).numpy()


def test_gradient_distances_are_those_to_the_means():
    rng = np.random.default_rng(0)
    geometry, network = Geometry(2, 2, 3), Mlp([1, 2], (5, 4, 3), "torch")
    pool = GradientPool(network, geometry.capacity)
    memory = gradient_memory(pool, geometry, "clustering")
    oracles = [PooledClusterMemory(*geometry) for _ in range(2)]
    for step in range(15):
        x = torch.from_numpy(rng.standard_normal((2, 1, 5)).astype(np.float32))
        gradient = network.model_gradient(x, torch.from_numpy(rng.integers(0, 3, (2, 1))))
        to = torch.from_numpy(rng.integers(0, 2, 2))
        candidate, dense = candidate_of(pool, gradient), dense_vectors(gradient)
        found = memory.store.distances(candidate, to, memory.filled)
        for run in range(2):
            expected = distances(oracles[run].pools[to[run]], dense[run])
            np.testing.assert_allclose(found[run, : len(expected)], expected, rtol=1e-10, atol=1e-10)
            oracles[run].add(dense[run], int(to[run]), step)
        memory.add(candidate, to, torch.zeros(2))


# ---- the rules that it is compared with


@settings(deadline=None, max_examples=40)
@given(streams())
def test_random_clusters_follow_the_given_numbers(stream):
    geometry, z, labels, uniforms = stream
    runs = z.shape[1]
    memory = sample_memory(runs, FEATURES, geometry, "random")
    oracles = [PooledClusterMemory(*geometry, kind=RandomClusterMemory) for _ in range(runs)]
    places = [Places(geometry) for _ in range(runs)]
    for step, placement in replay(memory, z, labels, uniforms):
        for run in range(runs):
            any_cluster = min(
                int(np.float32(uniforms[step, run]) * np.float32(geometry.clusters)), geometry.clusters - 1
            )
            pool, chosen, removed = oracles[run].add(z[step, run], labels[step, run], step, cluster=any_cluster)
            cluster, slot, kept = entry(placement, run)
            assert kept
            assert cluster == pool * geometry.clusters + chosen
            assert places[run].note(cluster, slot, step) == removed
    check_store(memory, places, z, labels)


@settings(deadline=None, max_examples=40)
@given(streams())
def test_reservoir_follows_the_given_numbers(stream):
    geometry, z, labels, uniforms = stream
    runs, room = z.shape[1], geometry.clusters * geometry.size
    memory = sample_memory(runs, FEATURES, geometry, "reservoir")
    oracles = [[Reservoir(room) for _ in range(geometry.pools)] for _ in range(runs)]
    places = [Places(geometry) for _ in range(runs)]
    for step, placement in replay(memory, z, labels, uniforms):
        for run in range(runs):
            pool = labels[step, run]
            oracle = oracles[run][pool]
            taken = oracle.add(step, int(float(np.float32(uniforms[step, run])) * (oracle.seen + 1)))
            cluster, slot, kept = entry(placement, run)
            assert kept == (taken is not None)
            assert 0 <= slot < geometry.size
            assert cluster // geometry.clusters == pool
            if kept:
                assert (cluster % geometry.clusters) * geometry.size + slot == taken
                places[run].note(cluster, slot, step)
    for run in range(runs):
        for pool in range(geometry.pools):
            assert sorted(chain(*places[run].contents(pool))) == sorted(oracles[run][pool].contents())
    check_store(memory, places, z, labels)


@settings(deadline=None, max_examples=30)
@given(streams())
def test_fifo_keeps_the_newest(stream):
    geometry, z, labels, uniforms = stream
    runs, room = z.shape[1], geometry.clusters * geometry.size
    memory = sample_memory(runs, FEATURES, geometry, "fifo")
    oracles = [[Fifo(room) for _ in range(geometry.pools)] for _ in range(runs)]
    places = [Places(geometry) for _ in range(runs)]
    for step, placement in replay(memory, z, labels, uniforms):
        for run in range(runs):
            cluster, slot, kept = entry(placement, run)
            assert kept
            assert cluster // geometry.clusters == labels[step, run]
            assert places[run].note(cluster, slot, step) == oracles[run][labels[step, run]].add(step)
    for run in range(runs):
        for pool in range(geometry.pools):
            assert sorted(chain(*places[run].contents(pool))) == oracles[run][pool].contents()
    check_store(memory, places, z, labels)


def test_reservoir_and_random_are_uniform():
    """Chance itself: after 40 arrivals each has been kept about equally often; each cluster is as likely."""
    runs, length = 4000, 40
    rng = np.random.default_rng(0)
    memory = sample_memory(runs, 1, Geometry(1, 2, 5), "reservoir")
    zero = torch.zeros(runs, dtype=torch.int64)
    for step in range(length):
        x = torch.full((runs, 1), float(step))
        memory.add((x, zero), zero, torch.from_numpy(rng.random(runs, dtype=np.float32)))
    counts = torch.bincount(memory.members.x.long().flatten(), minlength=length).double()
    expected, deviation = runs * 10 / length, (runs * 0.25 * 0.75) ** 0.5
    assert ((counts - expected).abs() < 4 * deviation).all()
    uniform = torch.from_numpy(rng.random(runs, dtype=np.float32))
    chosen = POLICIES["random"](
        Arrival(Geometry(1, 4, 2), torch.ones(runs, 4, dtype=torch.int64), zero, uniform)
    ).cluster
    assert ((torch.bincount(chosen, minlength=4) - runs / 4).abs() < 4 * (runs * 0.25 * 0.75) ** 0.5).all()
    # the largest number below 1 is still a cluster
    last = torch.full((1,), 1 - 2**-24)
    for clusters in range(1, 60):
        added = torch.ones(1, clusters, dtype=torch.int64)
        placement = POLICIES["random"](Arrival(Geometry(1, clusters, 2), added, zero[:1], last))
        assert placement.cluster.item() == clusters - 1


# ---- bad input and state


@pytest.mark.parametrize("name", ["pools", "clusters", "size"])
@pytest.mark.parametrize("value", [0, -1])
def test_a_geometry_below_one_is_refused(name, value):
    geometry = Geometry(2, 3, 4)._replace(**{name: value})
    with pytest.raises(TaclError, match=rf"^a memory's {name} must be at least 1, not {value}\.$"):
        geometry.checked()
    with pytest.raises(TaclError, match=f"{name} must be at least 1"):
        sample_memory(1, 2, geometry, "clustering")
    network = Mlp([0], (3, 2))
    with pytest.raises(TaclError, match=f"{name} must be at least 1"):
        gradient_memory(network.stored_gradients(1), geometry, "clustering")


def test_an_unknown_policy_lists_the_known_ones():
    for call in (lambda: policy_named("lifo"), lambda: sample_memory(1, 2, Geometry(1, 1, 1), "lifo")):
        with pytest.raises(TaclError, match="'lifo'") as caught:
            call()
        assert all(name in str(caught.value) for name in POLICIES)
    assert policy_named("fifo") is POLICIES["fifo"]


def test_a_policy_of_the_user_is_found_by_name(monkeypatch):
    """The register is open: a rule that always takes the first place."""
    monkeypatch.setattr(policies, "POLICIES", dict(POLICIES))

    @register_policy("first")
    def first(arrival):
        return Placement(arrival.pool * arrival.geometry.clusters, torch.zeros_like(arrival.pool), None)

    memory = sample_memory(2, 1, Geometry(1, 2, 2), "first")
    zero = torch.zeros(2, dtype=torch.int64)
    for value in (1.0, 2.0):
        memory.add((torch.full((2, 1), value), zero), zero, torch.zeros(2))
    assert memory.members.x[:, 0].tolist() == [[2.0], [2.0]]


def test_a_policy_sees_the_newcomer_the_members_and_their_labels(monkeypatch):
    """Herding- and GSS-like rules need them: here a newcomer takes the place of the member that is most unlike it."""
    monkeypatch.setattr(policies, "POLICIES", dict(POLICIES))
    seen = []

    @register_policy("unlike")
    def unlike(arrival):
        far = (arrival.members.x - arrival.item.x.unsqueeze(1)).square().sum(2)
        seen.append((arrival.item.y.tolist(), arrival.members.y.tolist(), arrival.filled.tolist()))
        return arrival.into_pool(torch.where(arrival.filled.all(1), far.argmax(1), arrival.before()))

    memory, zero = sample_memory(1, 1, Geometry(1, 3, 1), "unlike"), torch.zeros(1, dtype=torch.int64)
    for value, label in ((1.0, 4), (9.0, 5), (2.0, 6), (3.0, 7)):
        memory.add((torch.tensor([[value]]), torch.tensor([label])), zero, torch.zeros(1))
    assert memory.members.x.flatten().tolist() == [1.0, 3.0, 2.0]
    assert seen[-1] == ([7], [[4, 5, 6]], [[True, True, True]])


def test_a_name_of_a_policy_means_one_thing(monkeypatch):
    monkeypatch.setattr(policies, "POLICIES", dict(POLICIES))
    with pytest.raises(TaclError, match=r"the memory policy 'fifo' is already registered; choose another name\."):
        register_policy("fifo")(lambda arrival: None)
    assert register_policy("fifo")(POLICIES["fifo"]) is POLICIES["fifo"]  # a cell that is run again


def test_what_else_is_stored_with_a_sample_comes_back_with_it():
    """Logits beside x and y, as DER++ wants them; a newcomer that is turned away leaves all three alone."""
    rng = np.random.default_rng(0)
    memory = sample_memory(2, 1, Geometry(1, 1, 2), "reservoir", logits=(3,))
    zero = torch.zeros(2, dtype=torch.int64)
    for step in range(12):
        x, logits = torch.full((2, 1), float(step)), torch.full((2, 3), 10.0 * step)
        memory.add(Sample(x, zero + step, {"logits": logits}), zero, torch.from_numpy(rng.random(2)).float())
    samples = memory.members
    assert torch.equal(samples.fields["logits"], 10 * samples.x.expand(-1, -1, 3))
    assert torch.equal(samples.y, samples.x.squeeze(2).long())
    reference = Reference(samples, torch.tensor([[1], [0]]), torch.ones(2, 1))
    assert torch.equal(reference.field("logits")[:, 0], 10 * reference.x[:, 0].expand(-1, 3))
    with pytest.raises(TaclError, match="a stored sample has x, y, logits; given were x, y"):
        memory.add((x, zero), zero, torch.zeros(2))


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_memory_state_round_trip(policy):
    rng = np.random.default_rng(0)
    geometry = Geometry(2, 2, 2)
    z, labels, uniforms = rng.standard_normal((30, 3, 2)), rng.integers(0, 2, (30, 3)), rng.random((30, 3))
    one, two = (sample_memory(3, 2, geometry, policy) for _ in range(2))
    list(replay(one, z[:15], labels[:15], uniforms[:15]))
    file = io.BytesIO()
    torch.save(one.state(), file)
    file.seek(0)
    two.load_state(torch.load(file, weights_only=True))
    rest = [(z[15:], labels[15:], uniforms[15:])] * 2
    for (_, a), (_, b) in zip(replay(one, *rest[0]), replay(two, *rest[1]), strict=True):
        assert torch.equal(a.cluster, b.cluster)
        assert torch.equal(a.slot, b.slot)
    assert torch.equal(one.members.x, two.members.x)
    assert torch.equal(one.store.means, two.store.means)

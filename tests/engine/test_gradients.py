"""Gradients as outer products, and the pool of stored gradients, against dense vectors in float64."""

import copy

import numpy as np
import pytest
import torch
from candidates import candidate_of
from hypothesis import given, settings
from hypothesis import strategies as st

from tacl_lib.engine import gradients
from tacl_lib.engine.compiled import add_product, affine, exact_product, product
from tacl_lib.engine.gradient_pool import RIDGE, GradientPool
from tacl_lib.engine.gradients import Gradient
from tacl_lib.engine.layers import Layers

SIZES = (9, 6, 5, 4)
SEEDS = (3, 14)


def dense_terms(gradient):
    """Every term as a dense float64 vector, layer by layer, weights then biases: ``[R, n, p]``."""
    weights = [torch.einsum("rni,rno->rnio", a.double(), d.double()).flatten(2) for a, d in zip(*gradient, strict=True)]
    return torch.cat(weights + [d.double() for d in gradient.deltas], dim=2)


def vectors(network):
    """The weights of every run, float64 ``[R, p]``."""
    return torch.stack([network.vector(run) for run in range(network.runs)]).double()


def make_gradient(rng, runs, sizes, terms):
    def draw(width):
        return torch.from_numpy(rng.standard_normal((runs, terms, width)).astype(np.float32))

    return Gradient([draw(width) for width in sizes[:-1]], [draw(width) for width in sizes[1:]])


def make_batch(rng, count, runs=2, sizes=SIZES):
    x = torch.from_numpy(rng.standard_normal((runs, count, sizes[0])).astype(np.float32))
    return x, torch.from_numpy(rng.integers(0, sizes[-1], (runs, count)))


def make_pool(rng, members, capacity=None):
    """A pool with model gradients of random samples at the first places."""
    network = Layers(SEEDS, SIZES, "torch")
    pool = GradientPool(network, 0 if capacity is None else capacity)
    found = network.model_gradient(*make_batch(rng, members))
    if capacity is None:
        pool.extend(found)
        return pool
    for place in range(members):
        one = Gradient(*([t[:, place : place + 1] for t in part] for part in found))
        pool.put(torch.full((len(SEEDS),), place), candidate_of(pool, one))
    return pool


def effective(pool):
    """The true weights: what `settle` leaves, on a copy."""
    other = copy.deepcopy(pool)
    other.settle()
    assert not other.owed.any()
    return vectors(other.layers)


# ---- the algebra

shapes = st.tuples(
    st.integers(1, 3),  # runs
    st.lists(st.integers(1, 6), min_size=2, max_size=4),  # sizes
    st.integers(1, 5),  # terms
    st.integers(1, 5),
    st.integers(0, 2**32 - 1),
)


@settings(deadline=None, max_examples=25)
@given(shapes)
def test_products_dot_scaled_split_and_dense_are_those_of_vectors(shape):
    runs, sizes, n, m, seed = shape
    rng = np.random.default_rng(seed)
    left, right = make_gradient(rng, runs, sizes, n), make_gradient(rng, runs, sizes, m)
    u, v = dense_terms(left), dense_terms(right)
    scale = u.norm(dim=2).max() * v.norm(dim=2).max()

    expected = u @ v.mT
    found = gradients.products(left, right)
    assert found.dtype == torch.float32
    assert found.shape == (runs, n, m)
    torch.testing.assert_close(found.double() / scale, expected / scale, atol=1e-6, rtol=0)
    exact = gradients.products(left, right, torch.float64)
    torch.testing.assert_close(exact / scale, expected / scale, atol=1e-14, rtol=0)

    torch.testing.assert_close(left.dot(right).double() / scale, expected.sum((1, 2)) / scale, atol=1e-5, rtol=0)
    torch.testing.assert_close(gradients.dense(left).double(), u.sum(1), atol=1e-4, rtol=1e-5)
    some = torch.arange(runs - 1, -1, -2)
    torch.testing.assert_close(gradients.dense(gradients.of_runs(left, some)), gradients.dense(left)[some])

    for factor in (torch.from_numpy(rng.standard_normal((runs, n))).float(), torch.full((runs, 1), -1.5)):
        torch.testing.assert_close(
            dense_terms(gradients.scaled(left, factor)), u * factor.double().unsqueeze(2), atol=1e-5, rtol=1e-5
        )
    assert torch.equal(dense_terms(left), u)  # scaled() made something new

    for factor in (-0.5, torch.from_numpy(rng.standard_normal(runs)).float()):
        expected = u.sum(1) - torch.as_tensor(factor).double().reshape(-1, 1) * v.sum(1)
        found = gradients.dense(left - factor * right).double()
        torch.testing.assert_close(found / scale, expected / scale, atol=1e-5, rtol=0)
    torch.testing.assert_close(
        gradients.dense(left + right).double() / scale, (u.sum(1) + v.sum(1)) / scale, atol=1e-5, rtol=0
    )

    for count in range(n + 1):
        first, others = gradients.terms(left, 0, count), gradients.terms(left, count)
        assert torch.equal(dense_terms(first), u[:, :count])
        assert torch.equal(dense_terms(others), u[:, count:])


def test_dense_has_the_order_of_network_vector():
    rng = np.random.default_rng(0)
    network = Layers(SEEDS, SIZES, "torch")
    _, gradient = network.loss_gradient(*make_batch(rng, 5))
    before = vectors(network)
    network.add(gradient, -1.0)
    torch.testing.assert_close(before - vectors(network), gradients.dense(gradient).double(), atol=1e-6, rtol=0)


# ---- the projection


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("capacity", [None, 12], ids=["grown", "with empty places"])
def test_coefficients_are_least_squares(seed, capacity):
    rng = np.random.default_rng(seed)
    pool = make_pool(rng, 8, capacity)
    _, (gradient, overlap) = pool.loss_gradient(*make_batch(rng, 6))
    coefficients = pool.coefficients(overlap)
    assert coefficients.shape == (2, capacity or 8)
    assert not coefficients[:, 8:].any()  # empty places take no part
    for run in range(2):
        g = dense_terms(gradient)[run].sum(0)
        members = dense_terms(pool.members)[run, :8]
        assert torch.linalg.cond(members) < 1e3
        best = torch.linalg.lstsq(members.T, g.unsqueeze(1)).solution[:, 0]
        torch.testing.assert_close(coefficients[run, :8].double(), best, rtol=1e-3, atol=1e-4 * best.abs().max())
        projected = g - members.T @ coefficients[run, :8].double()
        assert (projected - (g - members.T @ best)).norm() < 1e-5 * g.norm()
        assert (members.T @ best).norm() > 0.05 * g.norm()  # there was something to take away


def worst_overlap(pool, rng):
    """Of one OGD step: the largest |⟨update, u⟩| / (|u||g|) over the members u of the pool."""
    before = effective(pool)
    x, y = make_batch(rng, 6)
    _, found = pool.loss_gradient(x, y)
    g = dense_terms(found.gradient).sum(1)
    pool.project(found).add_to(pool.layers, torch.full((2,), -1.0))
    update = effective(pool) - before
    members = dense_terms(pool.members)
    lengths = (members.norm(dim=2) * g.norm(dim=1, keepdim=True)).clamp(min=1e-30)  # empty places hold zeros
    assert (update.norm(dim=1) < 1.001 * g.norm(dim=1)).all()
    assert (update.norm(dim=1) > 0.01 * g.norm(dim=1)).all()  # a step is still taken
    assert ((members @ g.unsqueeze(2)).squeeze(2).abs() / lengths).max() > 0.05  # and g had to be changed
    return ((members @ update.unsqueeze(2)).squeeze(2).abs() / lengths).max().item()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("capacity", [None, 12], ids=["grown", "with empty places"])
def test_the_update_is_orthogonal_to_every_member(seed, capacity):
    rng = np.random.default_rng(seed)
    assert worst_overlap(make_pool(rng, 10, capacity), rng) < 1e-5


@pytest.mark.parametrize("seed", range(3))
def test_also_with_duplicated_members(seed):
    """The same gradient three times: K is singular, and its ridge must give the projection all the same."""
    rng = np.random.default_rng(seed)
    pool = make_pool(rng, 6)
    first = gradients.terms(pool.members, 0, 3)
    pool.extend(first)
    pool.extend(first)
    assert worst_overlap(pool, rng) < 1e-5


def pool_of_twins(rng, apart):
    """Every member has a twin that differs from it by one part in 1 / apart."""
    pool = make_pool(rng, 6)
    noise = make_gradient(rng, 2, SIZES, 6)
    parts = zip(pool.members, noise, strict=True)
    pool.extend(Gradient(*([a + apart * b for a, b in zip(*part, strict=True)] for part in parts)))
    return pool


APART = [1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("apart", [0.0, 1e-7, 1e-6, 1e-2, 1e-1])
def test_also_with_dependent_members(seed, apart):
    """Exact copies and members that are clearly different; what lies between keeps to the bound of the next test."""
    rng = np.random.default_rng(seed)
    assert worst_overlap(pool_of_twins(rng, apart), rng) < 1e-5


@pytest.mark.parametrize("apart", APART)
def test_nearly_dependent_members_keep_to_the_bound_of_the_ridge(apart):
    """`RIDGE` promises √RIDGE / 2 of |u||g| for exact numbers; rounding of float32 may add as much."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        assert worst_overlap(pool_of_twins(rng, apart), rng) < RIDGE**0.5


def replace_by_near_copies(pool, rng, apart, times):
    """Members are replaced one by one by copies of others that differ by one part in 1 / apart."""
    for _ in range(times):
        source, place = rng.integers(0, pool.capacity, 2)
        noise = make_gradient(rng, 2, SIZES, 1)
        near = [
            [a[:, source : source + 1] + apart * b for a, b in zip(*part, strict=True)]
            for part in zip(pool.members, noise, strict=True)
        ]
        pool.put(torch.tensor([place, place]), candidate_of(pool, Gradient(*near)))


@pytest.mark.parametrize("apart", [0.0, *APART])
def test_replaced_members_may_depend_on_each_other(apart):
    """What is kept of K between replacements must bear dependence as well as a K that is taken in one piece.

    A projection never makes a gradient longer; and it is that of a fresh pool with the same members.
    """
    for seed in (2, 14, 23):
        rng = np.random.default_rng(seed)
        pool = make_pool(rng, 12)
        replace_by_near_copies(pool, rng, apart, 60)
        fresh = GradientPool(pool.layers, 0)
        fresh.extend(pool.members)
        _, (gradient, overlap) = pool.loss_gradient(*make_batch(rng, 6))
        g, members = dense_terms(gradient).sum(1), dense_terms(pool.members)
        left, expected = (g - (p.coefficients(overlap).double().unsqueeze(2) * members).sum(1) for p in (pool, fresh))
        assert (left.norm(dim=1) < 1.001 * g.norm(dim=1)).all()
        assert ((left - expected).norm(dim=1) < 0.05 * g.norm(dim=1)).all()  # they may differ in doubtful directions


def test_also_for_members_of_very_different_length():
    """The ridge is relative to each member: short ones must be protected as well as long ones."""
    rng = np.random.default_rng(5)
    pool = make_pool(rng, 6)
    for factor in (1e-3, 1e3):
        pool.extend(gradients.scaled(make_pool(rng, 3).members, torch.full((2, 1), factor)))
    assert worst_overlap(pool, rng) < 1e-5


# ---- what is owed


def test_owed_weights_behave_like_settled_ones():
    rng = np.random.default_rng(0)
    pool = make_pool(rng, 6)
    pool.owe(torch.from_numpy(0.1 * rng.standard_normal((2, 6))).float())
    settled = copy.deepcopy(pool)
    settled.settle()
    assert (vectors(settled.layers) - vectors(pool.layers)).abs().max() > 0.01  # something was owed
    x, y = make_batch(rng, 5)
    losses, (gradient, overlap) = pool.loss_gradient(x, y)
    plain_losses, plain = settled.layers.loss_gradient(x, y)
    torch.testing.assert_close(losses, plain_losses, rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(dense_terms(gradient), dense_terms(plain), rtol=1e-4, atol=1e-5)
    expected = gradients.products(plain, pool.members).sum(1)
    torch.testing.assert_close(overlap, expected, rtol=1e-4, atol=1e-5)
    candidate = pool.candidate(x[:, :1], y[:, :1])
    plain = settled.layers.model_gradient(x[:, :1], y[:, :1])
    torch.testing.assert_close(dense_terms(candidate.gradient), dense_terms(plain), rtol=1e-4, atol=1e-5)
    expected = gradients.products(plain, pool.members, torch.float64).squeeze(1)
    torch.testing.assert_close(candidate.along, expected, rtol=1e-4, atol=1e-5)


actions = st.lists(
    st.tuples(
        st.sampled_from(["put", "put", "maybe", "owe", "settle", "extend"]),
        st.integers(0, 3),
        st.integers(0, 3),
        st.booleans(),
        st.booleans(),
    ),
    max_size=12,
)


@settings(deadline=None, max_examples=30)
@given(actions, st.integers(0, 2**32 - 1))
def test_the_books_are_right_after_any_sequence(sequence, seed):
    """Dense bookkeeping: weights change when something is owed, and by nothing else that a pool does."""
    rng = np.random.default_rng(seed)
    pool = make_pool(rng, 2, capacity=4)
    true = vectors(pool.layers)
    members = dense_terms(pool.members)
    for action, place_a, place_b, kept_a, kept_b in sequence:
        if action == "owe":
            amount = torch.from_numpy(0.1 * rng.standard_normal((2, pool.capacity))).float()
            pool.owe(amount)
            true = true + (amount.double().unsqueeze(2) * members).sum(1)
        elif action == "settle":
            pool.settle()
        elif action == "extend":
            new = make_gradient(rng, 2, SIZES, 2)
            pool.extend(new)
            members = torch.cat([members, dense_terms(new)], dim=1)
        else:
            new = make_gradient(rng, 2, SIZES, 1)
            kept = torch.tensor([kept_a, kept_b]) if action == "maybe" else None
            pool.put(torch.tensor([place_a, place_b]), candidate_of(pool, new), kept)
            for run, place in enumerate((place_a, place_b)):
                if kept is None or kept[run]:
                    members[run, place] = dense_terms(new)[run, 0]
        assert torch.equal(dense_terms(pool.members), members)
        torch.testing.assert_close(effective(pool), true, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(pool.gram, members @ members.mT, atol=1e-10, rtol=1e-12)


def test_a_member_that_was_turned_away_changes_nothing():
    rng = np.random.default_rng(1)
    pool = make_pool(rng, 4)
    pool.owe(torch.from_numpy(rng.standard_normal((2, 4))).float())
    before, members, gram = effective(pool), dense_terms(pool.members), pool.gram.clone()
    pool.put(torch.tensor([1, 3]), candidate_of(pool, make_gradient(rng, 2, SIZES, 1)), torch.tensor([False, False]))
    assert torch.equal(dense_terms(pool.members), members)
    assert torch.equal(pool.gram, gram)
    torch.testing.assert_close(effective(pool), before, atol=1e-6, rtol=0)


def test_put_pays_only_the_place_that_is_taken():
    rng = np.random.default_rng(2)
    pool = make_pool(rng, 4)
    pool.owe(torch.ones(2, 4))
    pool.put(torch.tensor([1, 3]), candidate_of(pool, make_gradient(rng, 2, SIZES, 1)))
    assert pool.owed.tolist() == [[1, 0, 1, 1], [1, 1, 1, 0]]


def test_gram_matrix_and_its_factor_stay_right_through_many_puts():
    """A hundred puts, each of one row: the kept matrix is the recomputed one, and the factor follows it."""
    rng = np.random.default_rng(3)
    pool = make_pool(rng, 5, capacity=6)
    overlap = torch.from_numpy(rng.standard_normal((2, 6))).float()
    for _ in range(100):
        pool.coefficients(overlap)  # makes the factor that the next put must drop
        pool.put(torch.from_numpy(rng.integers(0, 6, 2)), candidate_of(pool, make_gradient(rng, 2, SIZES, 1)))
    expected = gradients.products(pool.members, pool.members, torch.float64)
    torch.testing.assert_close(pool.gram, expected, rtol=1e-13, atol=0)
    fresh = GradientPool(pool.layers, 0)
    fresh.extend(pool.members)
    torch.testing.assert_close(pool.coefficients(overlap), fresh.coefficients(overlap), rtol=1e-6, atol=0)


def test_state_round_trip_keeps_the_books():
    rng = np.random.default_rng(4)
    pool = make_pool(rng, 4)
    pool.owe(torch.from_numpy(rng.standard_normal((2, 4))).float())
    other = GradientPool(copy.deepcopy(pool.layers), 0)
    other.load_state(copy.deepcopy(pool.state()))
    assert other.capacity == 4
    x, y = make_batch(rng, 5)
    for one, two in zip(pool.loss_gradient(x, y)[::2], other.loss_gradient(x, y)[::2], strict=True):
        assert torch.equal(one, two)
    assert torch.equal(effective(pool), effective(other))


@pytest.mark.parametrize("width", [1, 7, 784, 3072])
def test_exact_products_are_float64_sums_of_float32_numbers(width):
    """With numbers whose float32 sum would lose most digits."""
    random = torch.Generator().manual_seed(0)
    rows, others = torch.randn(2, 3, width, generator=random), torch.randn(2, 5, width, generator=random)
    rows[..., -1], others[..., -1] = 1e4, 1e4
    expected = torch.einsum("rnw,rmw->rnm", rows.double(), others.double())
    found = exact_product(rows, others.mT)
    assert found.dtype == torch.float64
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-6 * 1e-3)


def laid_out(matrix, how):
    """The same numbers, in one of the ways in which matrices lie in memory."""
    if how == "columns":
        return matrix.mT.contiguous().mT
    if how == "part":
        wider = torch.full((*matrix.shape[:2], matrix.shape[2] + 3), torch.nan)
        wider[..., 1:-2] = matrix
        return wider[..., 1:-2]
    return matrix.repeat_interleave(2, 2)[..., ::2] if how == "gaps" else matrix


@pytest.mark.parametrize("how", [("rows", "rows"), ("columns", "rows"), ("rows", "columns"), ("part", "gaps")])
@pytest.mark.parametrize("count", [1, 7, 10, 33, 256])
@pytest.mark.parametrize(("width", "others"), [(784, 200), (200, 10), (65, 337), (5, 3), (297, 33)])
def test_products_are_those_of_float64(count, width, others, how):
    random = torch.Generator().manual_seed(0)

    def made(*shape):
        return torch.randn(3, *shape, generator=random)

    left, right = (laid_out(m, h) for m, h in zip((made(count, width), made(width, others)), how, strict=True))
    exact, out = left.double() @ right.double(), made(count, others)
    # float32 sums of ``width`` numbers of size 1
    near = {"rtol": 0, "atol": 1e-5 * width**0.5, "check_dtype": False}
    torch.testing.assert_close(product(left, right), exact, **near)
    expected = out.double() - 0.5 * exact
    assert add_product(out, left, right, -0.5) is out
    torch.testing.assert_close(out, expected, **near)
    bias = made(1, others)
    torch.testing.assert_close(affine(bias, left, right), bias.double() + exact, **near)
    alone = product(left[1:2], right[1:2])
    assert torch.equal(alone, product(left, right)[1:2])
    # What autograd has to see goes through torch.
    assert affine(bias, left, right.detach().requires_grad_()).requires_grad

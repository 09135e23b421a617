"""Set 2, exercise 4: OGD's projection from inputs and deltas, without a vector of all parameters."""

from collections.abc import Callable, Iterator

import numpy as np

from tacl_lib.teaching.checks.check import Check, Mistake
from tacl_lib.teaching.checks.twist import Twist


def gram_projection(inputs, deltas, batch_inputs, batch_deltas, ridge):
    """With the vectors of all parameters that the exercise avoids, one for each gradient."""
    stored = np.array([_vector(inputs, deltas, number) for number in range(len(inputs[0]))])
    gradient = sum(_vector(batch_inputs, batch_deltas, number) for number in range(len(batch_inputs[0])))
    values, vectors = np.linalg.eigh(stored @ stored.T)
    coefficients = vectors @ ((vectors.T @ (stored @ gradient)) / (values + ridge))
    projected, parts = gradient - coefficients @ stored, []
    for given, delta in zip(inputs, deltas, strict=True):
        shape = given.shape[1] + 1, delta.shape[1]
        part, projected = np.split(projected, [shape[0] * shape[1]])
        parts.append(part.reshape(shape))
    return {"gram": stored @ stored.T, "overlap": stored @ gradient, "projected": parts}


def _vector(inputs, deltas, number) -> np.ndarray:
    """The gradient of one sample by all weights and biases, layer after layer."""
    rows = []
    for given, delta in zip(inputs, deltas, strict=True):
        rows += [value * delta[number] for value in given[number]] + [delta[number]]
    return np.concatenate(rows)


def _cases(rng: np.random.Generator) -> Iterator[tuple]:
    yield _case(rng, (1, 2), stored=1, batch=1)
    for sizes in ((1, 2, 2), (2, 2), (2, 1, 3), (2, 3, 2), (2, 1, 2, 2)):
        yield _case(rng, sizes, stored=2, batch=2)
    for _ in range(25):
        sizes = rng.integers(2, 4, int(rng.integers(2, 5))).tolist()
        yield _case(rng, sizes, stored=int(rng.integers(2, 5)), batch=int(rng.integers(2, 4)))


def _case(rng: np.random.Generator, sizes: tuple[int, ...], stored: int, batch: int) -> tuple:
    def numbers(rows: int, widths) -> list[np.ndarray]:
        # Quarters, but never zero: whatever is left out makes a difference.
        return [(rng.integers(1, 9, (rows, width)) * rng.choice([-1, 1], (rows, width))) / 4 for width in widths]

    while True:
        pool = numbers(stored, sizes[:-1]), numbers(stored, sizes[1:])
        gram = gram_projection(*pool, *pool, 1.0)["gram"]
        if np.linalg.cond(gram) < 1e4:  # so that even without a ridge, rounding plays no part
            return *pool, numbers(batch, sizes[:-1]), numbers(batch, sizes[1:]), float(rng.choice([0.5, 1.0, 2.0]))


def _products(inputs, deltas, others, other_deltas) -> np.ndarray:
    return sum((d @ e.T) * (a @ b.T + 1) for a, d, b, e in zip(inputs, deltas, others, other_deltas, strict=True))


def _from_layers(of_layers: Callable) -> Callable:
    """Products with a mistake: ``of_layers([a·a' of each layer], [δ·δ' of each layer])``."""

    def products(inputs, deltas, others, other_deltas):
        return of_layers(
            [a @ b.T for a, b in zip(inputs, others, strict=True)],
            [d @ e.T for d, e in zip(deltas, other_deltas, strict=True)],
        )

    return products


def _variant(
    products: Callable = _products,
    summed: Callable = lambda products: products.sum(axis=1),
    solved: Callable = lambda gram, overlap, ridge: np.linalg.solve(gram + ridge * np.eye(len(gram)), overlap),
    sign: float = -1.0,
    batch: float = 1.0,
    stored_bias: bool = True,
):
    """The way of the solution, with a mistake in one of its steps."""

    def answer(inputs, deltas, batch_inputs, batch_deltas, ridge):
        gram = products(inputs, deltas, inputs, deltas)
        overlap = summed(products(inputs, deltas, batch_inputs, batch_deltas))
        coefficients = solved(gram, overlap, ridge)
        parts = []
        for given, delta, batch_given, batch_delta in zip(inputs, deltas, batch_inputs, batch_deltas, strict=True):
            virtual = sign * coefficients[:, None] * delta
            weights = batch * batch_given.T @ batch_delta + given.T @ virtual
            bias = batch * batch_delta.sum(axis=0) + stored_bias * virtual.sum(axis=0)
            parts.append(np.vstack([weights, bias]))
        return {"gram": gram, "overlap": overlap, "projected": parts}

    return answer


def _scaled(given, factor):
    """A variant's number: what deltas were multiplied with, as half precision needs it."""
    inputs, deltas, batch_inputs, batch_deltas, ridge = given
    return inputs, [factor * d for d in deltas], batch_inputs, [factor * d for d in batch_deltas], ridge


check_gram_projection = Check(
    gram_projection,
    _cases,
    twist=Twist(
        tuple(2**power for power in range(1, 13)),
        inner=lambda scale, *given: tuple(_scaled(given, 1 / scale)),
        outer=lambda scale, *given: tuple(_scaled(given, scale)),
    ),
    mistakes=(
        Mistake(
            "you forgot the bias in the products: it is an input that is always 1, so a · a' becomes a · a' + 1",
            _variant(_from_layers(lambda a, d: sum(x * y for x, y in zip(a, d, strict=True)))),
        ),
        Mistake(
            "the 1 of the bias belongs to a · a' of each layer, inside the brackets; you added it to the whole product",
            _variant(_from_layers(lambda a, d: sum(x * y + 1 for x, y in zip(a, d, strict=True)))),
        ),
        Mistake(
            "you added the layers before you multiplied; multiply δ · δ' and a · a' + 1 within each layer, then add",
            _variant(_from_layers(lambda a, d: sum(d) * (sum(a) + len(a)))),
        ),
        Mistake(
            "you added δ · δ' and a · a' + 1; they must be multiplied",
            _variant(_from_layers(lambda a, d: sum(x + 1 + y for x, y in zip(a, d, strict=True)))),
        ),
        Mistake(
            "you left out the deltas: a layer's product is (δ · δ')(a · a' + 1)",
            _variant(_from_layers(lambda a, d: sum(x + 1 for x in a))),
        ),
        Mistake(
            "you took the last layer only; add up all layers", _variant(_from_layers(lambda a, d: (a[-1] + 1) * d[-1]))
        ),
        Mistake(
            "you took the first layer only; add up all layers", _variant(_from_layers(lambda a, d: (a[0] + 1) * d[0]))
        ),
        Mistake(
            "you took the mean over the batch; the batch's gradient is the sum of its terms",
            _variant(summed=lambda products: products.mean(axis=1)),
        ),
        Mistake(
            "you left out the ridge: solve with K + ridge · I",
            _variant(solved=lambda gram, overlap, ridge: np.linalg.solve(gram, overlap)),
        ),
        Mistake(
            "you added the ridge to every entry of K; it belongs on the diagonal only",
            _variant(solved=lambda gram, overlap, ridge: np.linalg.solve(gram + ridge, overlap)),
        ),
        Mistake(
            "you projected off each stored gradient on its own; they are not orthogonal: solve with the whole matrix",
            _variant(solved=lambda gram, overlap, ridge: overlap / (gram.diagonal() + ridge)),
        ),
        Mistake(
            "you multiplied by the Gram matrix; solve with it, (K + ridge · I) c = b",
            _variant(solved=lambda gram, overlap, ridge: (gram + ridge * np.eye(len(gram))) @ overlap),
        ),
        Mistake(
            "you took the overlaps for the coefficients; solve (K + ridge · I) c = b",
            _variant(solved=lambda gram, overlap, ridge: overlap),
        ),
        Mistake("the sign is wrong: Σ c u must be taken away from the batch's gradient", _variant(sign=1.0)),
        Mistake(
            "you returned Σ c u, the part in the span; it must be taken away from the batch's gradient",
            _variant(sign=1.0, batch=0.0),
        ),
        Mistake("you did not project: Σ c u must be taken away from the batch's gradient", _variant(sign=0.0)),
        Mistake(
            "the last row is wrong: the bias is projected like the weights, with Σ c δ", _variant(stored_bias=False)
        ),
    ),
)

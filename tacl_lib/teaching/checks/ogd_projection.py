"""Set 2, exercise 2: model gradients, OGD's orthonormal basis, and the gradient without its part in their span."""

from collections.abc import Callable, Iterator

import numpy as np

from tacl_lib.teaching.checks.check import Check, Mistake
from tacl_lib.teaching.checks.twist import Twist


def ogd_projection(x, y, classes, gradient, tolerance):
    """By least squares: the distance of each gradient to the span of those that were kept before it."""
    features = np.shape(x)[1]
    gradients, kept, basis = [], [], []
    for sample, label in zip(x, y, strict=True):
        vector = np.zeros((features + 1) * classes)
        for i, value in enumerate([*sample, 1.0]):
            vector[i * classes + label] = value
        gradients.append(vector)
        rest = _rest(kept, vector)
        if np.linalg.norm(rest) > tolerance * np.linalg.norm(vector):
            kept.append(vector)
            basis.append(rest / np.linalg.norm(rest))
    return {"model_gradients": np.array(gradients), "basis": np.array(basis), "projected": _rest(kept, gradient)}


def _rest(known: list[np.ndarray], vector: np.ndarray) -> np.ndarray:
    """What no combination of the known vectors can make of a vector."""
    if not known:
        return vector
    columns = np.stack(known, axis=1)
    return vector - columns @ np.linalg.lstsq(columns, vector, rcond=None)[0]


def _cases(rng: np.random.Generator) -> Iterator[tuple]:
    yield _case(rng, 1, 1, 2, copies=0)
    for samples in (2, 2, 2, 2, 3, 3):
        yield _case(rng, samples, 2, 2, copies=0)
    for turn, samples in enumerate(np.sort(rng.integers(2, 6, 20)).tolist()):
        features, classes = rng.integers(2, 4, 2).tolist()
        yield _case(rng, samples, features, classes, copies=samples // 2, scale=(1.0, 100.0)[turn % 2])


def _case(rng: np.random.Generator, samples: int, features: int, classes: int, copies: int, scale=1.0) -> tuple:
    """Samples of which the last few nearly repeat earlier ones; drawn again until it is clear who depends on whom."""
    tolerance = 0.05
    while True:
        x = rng.integers(-9, 10, (samples, features)) / 4 * scale
        y = rng.integers(0, classes, samples)
        if copies:
            x[-copies:] = x[:copies] + rng.integers(-3, 4, (copies, features)) / 100 * scale
            y[-copies:] = y[:copies]
        vectors = ogd_projection(x, y, classes, np.zeros((features + 1) * classes), tolerance)["model_gradients"]
        if _clear(vectors, tolerance) and (samples < 2 or _overlapping(vectors)):
            return x, y, classes, rng.integers(-9, 10, vectors.shape[1]) / 2 + 0.25, tolerance


def _clear(vectors: np.ndarray, tolerance: float) -> bool:
    """No vector is near the tolerance, and none so near the others that rounding decides which way its rest points."""
    kept: list[np.ndarray] = []
    for number, vector in enumerate(vectors):
        length = np.linalg.norm(vector)
        share = np.linalg.norm(_rest(kept, vector)) / length
        if tolerance / 2 < share < 2 * tolerance or np.linalg.norm(_rest(list(vectors[:number]), vector)) < 1e-3:
            return False
        if share > tolerance:
            kept.append(vector)
    return True


def _overlapping(vectors: np.ndarray) -> bool:
    """At least two are of the same class and not at a right angle by chance."""
    products = vectors @ vectors.T
    return bool(np.abs(products - np.diag(products.diagonal())).max() > 0.5)


def _span(gradient: np.ndarray, basis: list[np.ndarray]) -> np.ndarray:
    """The part of a gradient in the span of an orthogonal basis, whatever the lengths."""
    return sum(((gradient @ v) / (v @ v) * v for v in basis), np.zeros_like(gradient))


def _variant(
    at_label: float = 1.0,
    bias: Callable = lambda one_hot: one_hot,
    class_by_class: bool = False,
    unit: bool = True,
    divide: bool = True,
    against: Callable = lambda basis: basis,
    keep: Callable = lambda rest, vector, tolerance: np.linalg.norm(rest) > tolerance * np.linalg.norm(vector),
    project: Callable = lambda gradient, basis, vectors: gradient - _span(gradient, basis),
):
    """Gram and Schmidt's way, with a mistake in one of its steps. against: what a gradient is made orthogonal to."""

    def answer(x, y, classes, gradient, tolerance):
        one_hot = at_label * np.eye(classes)[y]
        outer = x[:, :, None] * one_hot[:, None, :]
        if class_by_class:
            outer = outer.transpose(0, 2, 1)
        vectors = np.concatenate([outer.reshape(len(x), -1), bias(one_hot)], axis=1)
        basis: list[np.ndarray] = []
        for vector in vectors:
            known = against(basis)
            rest = vector - (_span(vector, known) if divide else sum((vector @ v * v for v in known), 0 * vector))
            if keep(rest, vector, tolerance):
                basis.append(rest / np.linalg.norm(rest) if unit else rest)
        return {"model_gradients": vectors, "basis": basis, "projected": project(gradient, basis, vectors)}

    return answer


# A variant's number: the largest value of a pixel, by which images are divided.

check_ogd_projection = Check(
    ogd_projection,
    _cases,
    twist=Twist(
        tuple(range(2, 17)),
        inner=lambda largest, x, *others: (x / largest, *others),
        outer=lambda largest, x, *others: (x * largest, *others),
    ),
    mistakes=(
        Mistake(
            "you forgot the bias: the derivative of a logit by its own bias is 1",
            _variant(bias=lambda one_hot: 0 * one_hot),
        ),
        Mistake("a logit depends on its own bias only: 1 at the label, 0 elsewhere", _variant(bias=np.ones_like)),
        Mistake(
            "the sign is wrong: a model gradient is that of the logit itself, not of the loss", _variant(at_label=-1.0)
        ),
        Mistake(
            "the order of the entries is wrong: weights row by row, [d, c], so that x[i] stands at i * classes + label",
            _variant(class_by_class=True),
        ),
        Mistake("the basis must have vectors of length 1: divide what is left by its length", _variant(unit=False)),
        Mistake(
            "⟨g, v⟩ v is the part of g along v only if v has length 1; else divide by ⟨v, v⟩",
            _variant(
                unit=False,
                divide=False,
                project=lambda gradient, basis, vectors: gradient - sum(gradient @ v * v for v in basis),
            ),
        ),
        Mistake(
            "you projected off the model gradients one by one; they are not orthogonal, so use the basis",
            _variant(project=lambda gradient, basis, vectors: gradient - _span(gradient, list(vectors))),
        ),
        Mistake(
            "your basis is not orthogonal: from each gradient, first take away its part along those before it",
            _variant(against=lambda basis: []),
        ),
        Mistake(
            "you made each gradient orthogonal to the one before only; it must be to the whole basis",
            _variant(against=lambda basis: basis[-1:]),
        ),
        Mistake(
            "you kept a gradient that nearly depends on those before it: leave it out if what is left is no longer "
            "than the tolerance times its length",
            _variant(keep=lambda rest, vector, tolerance: np.linalg.norm(rest) > 0),
        ),
        Mistake(
            "the tolerance is relative: compare what is left with the tolerance times the gradient's own length",
            _variant(keep=lambda rest, vector, tolerance: np.linalg.norm(rest) > tolerance),
        ),
        Mistake(
            "OGD takes away the part along the basis whatever its sign; you did so only where the product is negative",
            _variant(
                project=lambda gradient, basis, vectors: (
                    gradient - _span(gradient, [v for v in basis if gradient @ v < 0])
                )
            ),
        ),
        Mistake(
            "you returned the part of the gradient in the span; it must be taken away from the gradient",
            _variant(project=lambda gradient, basis, vectors: _span(gradient, basis)),
        ),
        Mistake(
            "the sign of the projection is wrong: you added the part along the basis instead of taking it away",
            _variant(project=lambda gradient, basis, vectors: gradient + _span(gradient, basis)),
        ),
        Mistake(
            "you took away only the part along the last basis vector",
            _variant(project=lambda gradient, basis, vectors: gradient - _span(gradient, basis[-1:])),
        ),
    ),
)

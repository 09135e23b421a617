"""Answers to exercise 4 of set 2."""

import numpy as np

from coursework_answers import right, wrong


def _gram(inputs, deltas):
    return sum((d @ d.T) * (a @ a.T + 1) for a, d in zip(inputs, deltas, strict=True))


def _overlap(inputs, deltas, batch_inputs, batch_deltas):
    total = 0
    for a, d, b, e in zip(inputs, deltas, batch_inputs, batch_deltas, strict=True):
        total = total + np.sum((d @ e.T) * (a @ b.T + 1), axis=1)
    return total


def _coefficients(gram, overlap, ridge):
    return np.linalg.inv(gram + ridge * np.identity(len(gram))) @ overlap


def _result(inputs, deltas, batch_inputs, batch_deltas, c):
    parts = []
    for a, d, b, e in zip(inputs, deltas, batch_inputs, batch_deltas, strict=True):
        weights = b.T @ e - a.T @ (c[:, None] * d)
        parts.append(np.vstack([weights, e.sum(axis=0) - c @ d]))
    return parts


def _from_products(products, stored, batch, ridge):
    """Everything, with an own product: ``products(a, d, b, e)`` for all layers at once."""
    gram, overlap = products(*stored, *stored), products(*stored, *batch).sum(axis=1)
    c = _coefficients(gram, overlap, ridge)
    return {"gram": gram, "overlap": overlap, "projected": _result(*stored, *batch, c)}


def _from_coefficients(coefficients, stored, batch, ridge):
    """Everything, with own coefficients: ``coefficients(gram, overlap)``."""
    gram, overlap = _gram(*stored), _overlap(*stored, *batch)
    return {"gram": gram, "overlap": overlap, "projected": _result(*stored, *batch, coefficients(gram, overlap))}


@right
def layer_by_layer(inputs, deltas, batch_inputs, batch_deltas, ridge):
    return _from_coefficients(
        lambda gram, overlap: _coefficients(gram, overlap, ridge), (inputs, deltas), (batch_inputs, batch_deltas), ridge
    )


@right
def entry_by_entry(inputs, deltas, batch_inputs, batch_deltas, ridge):
    def product(left, i, right, j):
        return sum(
            (d[i] @ e[j]) * (a[i] @ b[j] + 1) for a, d, b, e in zip(left[0], left[1], right[0], right[1], strict=True)
        )

    pool, batch = (inputs, deltas), (batch_inputs, batch_deltas)
    n, m = len(inputs[0]), len(batch_inputs[0])
    gram = [[product(pool, i, pool, j) for j in range(n)] for i in range(n)]
    overlap = [sum(product(pool, i, batch, j) for j in range(m)) for i in range(n)]
    c = np.linalg.lstsq(np.array(gram) + np.diag(np.full(n, ridge)), overlap, rcond=None)[0]
    projected = []
    for a, d, b, e in zip(inputs, deltas, batch_inputs, batch_deltas, strict=True):
        whole = sum(np.outer(np.append(b[j], 1), e[j]) for j in range(m))
        projected.append(whole - sum(c[i] * np.outer(np.append(a[i], 1), d[i]) for i in range(n)))
    return {"gram": gram, "overlap": overlap, "projected": projected}


@right
def with_dense_vectors(inputs, deltas, batch_inputs, batch_deltas, ridge):
    """What the exercise wants to avoid is slow, but not wrong."""

    def rows(given, delta):
        layers = [np.einsum("ni,nj->nij", np.c_[a, np.ones(len(a))], d) for a, d in zip(given, delta, strict=True)]
        return np.hstack([layer.reshape(len(layer), -1) for layer in layers]), [layer.shape[1:] for layer in layers]

    stored, shapes = rows(inputs, deltas)
    gradient = rows(batch_inputs, batch_deltas)[0].sum(axis=0)
    gram = stored @ stored.T
    c = np.linalg.solve(gram + ridge * np.eye(len(gram)), stored @ gradient)
    left = gradient - c @ stored
    ends = np.cumsum([h * w for h, w in shapes])[:-1]
    parts = [part.reshape(shape) for part, shape in zip(np.split(left, ends), shapes, strict=True)]
    return {"gram": gram, "overlap": stored @ gradient, "projected": tuple(parts)}


@wrong("you forgot the bias in the products")
def forgets_the_bias(inputs, deltas, batch_inputs, batch_deltas, ridge):
    def products(a, d, b, e):
        return sum((a[i] @ b[i].T) * (d[i] @ e[i].T) for i in range(len(a)))

    return _from_products(products, (inputs, deltas), (batch_inputs, batch_deltas), ridge)


@wrong("inside the brackets")
def one_outside_the_brackets(inputs, deltas, batch_inputs, batch_deltas, ridge):
    def products(a, d, b, e):
        return sum((d[i] @ e[i].T) * (a[i] @ b[i].T) + 1 for i in range(len(a)))

    return _from_products(products, (inputs, deltas), (batch_inputs, batch_deltas), ridge)


@wrong("you added the layers before you multiplied")
def adds_before_it_multiplies(inputs, deltas, batch_inputs, batch_deltas, ridge):
    def products(a, d, b, e):
        layers = range(len(a))
        return sum(d[i] @ e[i].T for i in layers) * sum(a[i] @ b[i].T + 1 for i in layers)

    return _from_products(products, (inputs, deltas), (batch_inputs, batch_deltas), ridge)


@wrong("they must be multiplied")
def adds_the_two(inputs, deltas, batch_inputs, batch_deltas, ridge):
    def products(a, d, b, e):
        return sum(d[i] @ e[i].T + (a[i] @ b[i].T + 1) for i in range(len(a)))

    return _from_products(products, (inputs, deltas), (batch_inputs, batch_deltas), ridge)


@wrong("you left out the deltas")
def without_deltas(inputs, deltas, batch_inputs, batch_deltas, ridge):
    def products(a, d, b, e):
        return sum(a[i] @ b[i].T + 1 for i in range(len(a)))

    return _from_products(products, (inputs, deltas), (batch_inputs, batch_deltas), ridge)


@wrong("you took the last layer only")
def last_layer(inputs, deltas, batch_inputs, batch_deltas, ridge):
    def products(a, d, b, e):
        for i in range(len(a)):
            result = (d[i] @ e[i].T) * (a[i] @ b[i].T + 1)
        return result

    return _from_products(products, (inputs, deltas), (batch_inputs, batch_deltas), ridge)


@wrong("you took the first layer only")
def first_layer(inputs, deltas, batch_inputs, batch_deltas, ridge):
    def products(a, d, b, e):
        for i in range(len(a)):
            return (d[i] @ e[i].T) * (a[i] @ b[i].T + 1)

    return _from_products(products, (inputs, deltas), (batch_inputs, batch_deltas), ridge)


@wrong("you took the mean over the batch")
def mean_over_the_batch(inputs, deltas, batch_inputs, batch_deltas, ridge):
    gram = _gram(inputs, deltas)
    overlap = _overlap(inputs, deltas, batch_inputs, batch_deltas) / len(batch_inputs[0])
    c = _coefficients(gram, overlap, ridge)
    return {"gram": gram, "overlap": overlap, "projected": _result(inputs, deltas, batch_inputs, batch_deltas, c)}


@wrong("you left out the ridge")
def without_ridge(inputs, deltas, batch_inputs, batch_deltas, ridge):
    stored, batch = (inputs, deltas), (batch_inputs, batch_deltas)
    return _from_coefficients(lambda gram, overlap: np.linalg.inv(gram) @ overlap, stored, batch, ridge)


@wrong("it belongs on the diagonal only")
def ridge_everywhere(inputs, deltas, batch_inputs, batch_deltas, ridge):
    stored, batch = (inputs, deltas), (batch_inputs, batch_deltas)
    return _from_coefficients(lambda gram, overlap: np.linalg.solve(gram + ridge, overlap), stored, batch, ridge)


@wrong("you projected off each stored gradient on its own")
def one_by_one(inputs, deltas, batch_inputs, batch_deltas, ridge):
    stored, batch = (inputs, deltas), (batch_inputs, batch_deltas)
    return _from_coefficients(lambda gram, overlap: overlap / (np.diag(gram) + ridge), stored, batch, ridge)


@wrong("you multiplied by the Gram matrix")
def multiplies(inputs, deltas, batch_inputs, batch_deltas, ridge):
    stored, batch = (inputs, deltas), (batch_inputs, batch_deltas)
    return _from_coefficients(lambda gram, overlap: gram @ overlap + ridge * overlap, stored, batch, ridge)


@wrong("you took the overlaps for the coefficients")
def overlaps_for_coefficients(inputs, deltas, batch_inputs, batch_deltas, ridge):
    return _from_coefficients(lambda gram, overlap: overlap, (inputs, deltas), (batch_inputs, batch_deltas), ridge)


@wrong("the sign is wrong")
def wrong_sign(inputs, deltas, batch_inputs, batch_deltas, ridge):
    stored, batch = (inputs, deltas), (batch_inputs, batch_deltas)
    return _from_coefficients(lambda gram, overlap: -_coefficients(gram, overlap, ridge), stored, batch, ridge)


@wrong("you returned Σ c u, the part in the span")
def returns_the_part(inputs, deltas, batch_inputs, batch_deltas, ridge):
    gram, overlap = _gram(inputs, deltas), _overlap(inputs, deltas, batch_inputs, batch_deltas)
    c = _coefficients(gram, overlap, ridge)[:, None]
    span = [np.vstack([a.T @ (c * d), (c * d).sum(axis=0)]) for a, d in zip(inputs, deltas, strict=True)]
    return {"gram": gram, "overlap": overlap, "projected": span}


@wrong("you did not project")
def never(inputs, deltas, batch_inputs, batch_deltas, ridge):
    plain = [np.vstack([b.T @ e, e.sum(axis=0)]) for b, e in zip(batch_inputs, batch_deltas, strict=True)]
    overlap = _overlap(inputs, deltas, batch_inputs, batch_deltas)
    return {"gram": _gram(inputs, deltas), "overlap": overlap, "projected": plain}


@wrong("the bias is projected like the weights")
def bias_not_projected(inputs, deltas, batch_inputs, batch_deltas, ridge):
    found = layer_by_layer(inputs, deltas, batch_inputs, batch_deltas, ridge)
    for part, e in zip(found["projected"], batch_deltas, strict=True):
        part[-1] = e.sum(axis=0)
    return found


@wrong("'projected' is wrong")
def without_a_bias_row(inputs, deltas, batch_inputs, batch_deltas, ridge):
    found = layer_by_layer(inputs, deltas, batch_inputs, batch_deltas, ridge)
    return found | {"projected": [part[:-1] for part in found["projected"]]}


@right
def in_torch(inputs, deltas, batch_inputs, batch_deltas, ridge):
    import torch

    def rows(given, delta):
        return [
            torch.einsum("ni,nj->nij", torch.tensor(np.c_[a, np.ones(len(a))]), torch.tensor(d))
            for a, d in zip(given, delta, strict=True)
        ]

    stored, batch = rows(inputs, deltas), rows(batch_inputs, batch_deltas)
    gram = sum(torch.einsum("nij,mij->nm", part, part) for part in stored)
    overlap = sum(torch.einsum("nij,mij->n", a, b) for a, b in zip(stored, batch, strict=True))
    c = torch.linalg.solve(gram + ridge * torch.eye(len(gram), dtype=torch.float64), overlap)
    projected = [b.sum(0) - torch.einsum("n,nij->ij", c, a) for a, b in zip(stored, batch, strict=True)]
    return {"gram": gram.numpy(), "overlap": overlap.numpy(), "projected": [part.numpy() for part in projected]}


@wrong("✗")
def knows_two_layers(inputs, deltas, batch_inputs, batch_deltas, ridge):
    return layer_by_layer(inputs[:2], deltas[:2], batch_inputs[:2], batch_deltas[:2], ridge)


@wrong("✗")
def with_its_own_ridge(inputs, deltas, batch_inputs, batch_deltas, ridge):
    return layer_by_layer(inputs, deltas, batch_inputs, batch_deltas, 1e-9)

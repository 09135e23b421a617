"""Answers to exercise 2 of set 2."""

import numpy as np

from coursework_answers import right, wrong


def _model_gradients(x, y, classes):
    rows = []
    for sample, label in zip(x, y, strict=True):
        one_hot = np.zeros(classes)
        one_hot[label] = 1
        rows.append(np.concatenate([np.outer(sample, one_hot).ravel(), one_hot]))
    return np.array(rows)


def _without(vector, basis):
    for v in basis:
        vector = vector - (vector @ v) * v
    return vector


def _basis(vectors, tolerance):
    basis = []
    for u in vectors:
        rest = _without(u, basis)
        if np.linalg.norm(rest) > tolerance * np.linalg.norm(u):
            basis.append(rest / np.linalg.norm(rest))
    return basis


def _answer(vectors, gradient, tolerance):
    basis = _basis(vectors, tolerance)
    return {"model_gradients": vectors, "basis": basis, "projected": _without(gradient, basis)}


def _projected_as(x, y, classes, gradient, tolerance, projected):
    """Right up to the projection: ``projected(basis)``."""
    right_ones = _answer(_model_gradients(x, y, classes), gradient, tolerance)
    return right_ones | {"projected": projected(right_ones["basis"])}


@right
def modified_gram_schmidt(x, y, classes, gradient, tolerance):
    return _answer(_model_gradients(x, y, classes), gradient, tolerance)


@right
def with_a_projection_matrix(x, y, classes, gradient, tolerance):
    extended = np.column_stack([x, np.ones(len(x))])
    vectors = np.array([np.kron(row, np.eye(classes)[label]) for row, label in zip(extended, y, strict=True)])
    away, basis = np.eye(len(gradient)), []
    for u in vectors:
        rest = away @ u
        if np.sqrt(rest @ rest) > tolerance * np.sqrt(u @ u):
            basis.append(rest / np.sqrt(rest @ rest))
            away -= np.outer(basis[-1], basis[-1])
    return {"model_gradients": vectors, "basis": np.array(basis), "projected": away @ gradient}


@right
def by_indices_and_with_a_warning(x, y, classes, gradient, tolerance):
    """Rests are divided by their length before it is looked at: 0 / 0 must not cost marks."""
    n, d = x.shape
    vectors = np.zeros((n, d * classes + classes))
    for i in range(d):
        vectors[np.arange(n), i * classes + y] = x[:, i]
    vectors[np.arange(n), d * classes + y] = 1
    basis = np.zeros((0, vectors.shape[1]))
    for u in vectors:
        rest = u - (basis * (basis @ u)[:, None]).sum(axis=0)
        unit = rest / np.linalg.norm(rest)
        if np.linalg.norm(rest) / np.linalg.norm(u) > tolerance:
            basis = np.concatenate([basis, [unit]])
    return {"model_gradients": vectors, "basis": basis, "projected": gradient - gradient @ basis.T @ basis}


@wrong("you forgot the bias")
def forgets_the_bias(x, y, classes, gradient, tolerance):
    vectors = _model_gradients(x, y, classes)
    vectors[:, -classes:] = 0
    return _answer(vectors, gradient, tolerance)


@wrong("a logit depends on its own bias only")
def all_biases(x, y, classes, gradient, tolerance):
    vectors = _model_gradients(x, y, classes)
    vectors[:, -classes:] = 1
    return _answer(vectors, gradient, tolerance)


@wrong("not of the loss")
def minus_one_at_the_label(x, y, classes, gradient, tolerance):
    return _answer(-_model_gradients(x, y, classes), gradient, tolerance)


@wrong("weights row by row")
def class_by_class(x, y, classes, gradient, tolerance):
    eye = np.eye(classes)
    vectors = [np.append(np.outer(eye[label], sample), eye[label]) for sample, label in zip(x, y, strict=True)]
    return _answer(np.array(vectors), gradient, tolerance)


@wrong("the basis must have vectors of length 1")
def not_of_length_one(x, y, classes, gradient, tolerance):
    basis = []
    for u in _model_gradients(x, y, classes):
        rest = u - sum(u @ v / (v @ v) * v for v in basis)
        if np.linalg.norm(rest) > tolerance * np.linalg.norm(u):
            basis.append(rest)
    return {
        "model_gradients": _model_gradients(x, y, classes),
        "basis": basis,
        "projected": gradient - sum(gradient @ v / (v @ v) * v for v in basis),
    }


@wrong("only if v has length 1")
def neither_scaled_nor_divided(x, y, classes, gradient, tolerance):
    basis = []
    for u in _model_gradients(x, y, classes):
        rest = u - sum(np.dot(u, v) * v for v in basis)
        if np.linalg.norm(rest) > tolerance * np.linalg.norm(u):
            basis.append(rest)
    projected = gradient - sum(np.dot(gradient, v) * v for v in basis)
    return {"model_gradients": _model_gradients(x, y, classes), "basis": basis, "projected": projected}


@wrong("your basis is not orthogonal")
def only_scaled(x, y, classes, gradient, tolerance):
    vectors = _model_gradients(x, y, classes)
    basis = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return {"model_gradients": vectors, "basis": basis, "projected": gradient - basis.T @ (basis @ gradient)}


@wrong("orthogonal to the one before only")
def orthogonal_to_the_last(x, y, classes, gradient, tolerance):
    vectors, basis = _model_gradients(x, y, classes), []
    for u in vectors:
        rest = u - (u @ basis[-1]) * basis[-1] if basis else u
        if np.linalg.norm(rest) > tolerance * np.linalg.norm(u):
            basis.append(rest / np.linalg.norm(rest))
    rows = np.array(basis)
    return {"model_gradients": vectors, "basis": basis, "projected": gradient - (rows @ gradient) @ rows}


@wrong("you kept a gradient that nearly depends")
def without_a_tolerance(x, y, classes, gradient, tolerance):
    return _answer(_model_gradients(x, y, classes), gradient, 0)


@wrong("the tolerance is relative")
def absolute_tolerance(x, y, classes, gradient, tolerance):
    vectors, basis = _model_gradients(x, y, classes), []
    for u in vectors:
        rest = _without(u, basis)
        if np.linalg.norm(rest) > tolerance:
            basis.append(rest / np.linalg.norm(rest))
    return {"model_gradients": vectors, "basis": basis, "projected": _without(gradient, basis)}


@wrong("you projected off the model gradients one by one")
def projects_off_the_gradients(x, y, classes, gradient, tolerance):
    vectors = _model_gradients(x, y, classes)
    parts = [(gradient @ u) / (u @ u) * u for u in vectors]
    return _projected_as(x, y, classes, gradient, tolerance, lambda basis: gradient - np.sum(parts, axis=0))


@wrong("whatever its sign")
def only_where_negative(x, y, classes, gradient, tolerance):
    def projected(basis):
        left = gradient.copy()
        for v in basis:
            left -= min(gradient @ v, 0) * v
        return left

    return _projected_as(x, y, classes, gradient, tolerance, projected)


@wrong("you returned the part of the gradient in the span")
def returns_the_part(x, y, classes, gradient, tolerance):
    return _projected_as(
        x, y, classes, gradient, tolerance, lambda basis: np.array(basis).T @ (np.array(basis) @ gradient)
    )


@wrong("the sign of the projection is wrong")
def wrong_sign(x, y, classes, gradient, tolerance):
    return _projected_as(
        x, y, classes, gradient, tolerance, lambda basis: gradient + np.array(basis).T @ (np.array(basis) @ gradient)
    )


@wrong("only the part along the last basis vector")
def last_vector_only(x, y, classes, gradient, tolerance):
    def projected(basis):
        for v in basis:
            result = gradient - (gradient @ v) * v
        return result

    return _projected_as(x, y, classes, gradient, tolerance, projected)


@wrong("it changes its input `gradient` in place")
def in_place(x, y, classes, gradient, tolerance):
    vectors = _model_gradients(x, y, classes)
    basis = _basis(vectors, tolerance)
    for v in basis:
        gradient -= (gradient @ v) * v
    return {"model_gradients": vectors, "basis": basis, "projected": gradient}


@wrong("the keys must be")
def misspelt_key(x, y, classes, gradient, tolerance):
    found = modified_gram_schmidt(x, y, classes, gradient, tolerance)
    return {"gradients": found["model_gradients"], "vectors": found["basis"], "result": found["projected"]}


@right
def in_torch(x, y, classes, gradient, tolerance):
    import torch

    one_hot = torch.nn.functional.one_hot(torch.tensor(y), classes).double()
    extended = torch.cat([torch.tensor(x), torch.ones(len(x), 1, dtype=torch.float64)], dim=1)
    vectors = torch.einsum("ni,nc->nic", extended, one_hot).flatten(1)
    basis = torch.zeros(0, vectors.shape[1], dtype=torch.float64)
    for u in vectors:
        rest = u - basis.T @ (basis @ u)
        if rest.norm() > tolerance * u.norm():
            basis = torch.cat([basis, rest[None] / rest.norm()])
    g = torch.tensor(gradient)
    found = {"model_gradients": vectors, "basis": basis, "projected": g - basis.T @ (basis @ g)}
    return {name: tensor.numpy() for name, tensor in found.items()}


@wrong("'model_gradients' is wrong")
def spoils_what_it_stored(x, y, classes, gradient, tolerance):
    """``u`` is a row of the table, and ``-=`` changes the table."""
    vectors = _model_gradients(x, y, classes)
    basis = []
    for u in vectors:
        length = np.linalg.norm(u)
        for v in basis:
            u -= (u @ v) * v
        if np.linalg.norm(u) > tolerance * length:
            basis.append(u / np.linalg.norm(u))
    rest = gradient - sum(((gradient @ v) * v for v in basis), 0 * gradient)
    return {"model_gradients": vectors, "basis": basis, "projected": rest}


@wrong("✗")
def knows_two_classes(x, y, classes, gradient, tolerance):
    return modified_gram_schmidt(x, y, 2, gradient, tolerance)

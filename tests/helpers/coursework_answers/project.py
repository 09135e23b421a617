"""Answers to exercise 2 of set 1."""

import math

import numpy as np

from coursework_answers import right, wrong


@right
def with_a_clipped_factor(gradient, reference):
    square = np.dot(reference, reference)
    return gradient - min(np.dot(gradient, reference), 0.0) * reference / (square if square > 0 else 1.0)


@right
def by_unit_vectors(gradient, reference):
    length = np.linalg.norm(reference)
    if length == 0:
        return gradient.copy()
    unit = reference / length
    return np.where(gradient @ unit < 0, gradient - unit * (unit @ gradient), gradient)


@right
def as_a_list(gradient, reference):
    overlap = sum(g * r for g, r in zip(gradient, reference, strict=True))
    if overlap < 0:
        square = sum(r**2 for r in reference)
        return [g - overlap * r / square for g, r in zip(gradient, reference, strict=True)]
    return list(gradient)


@right
def with_a_division_that_warns(gradient, reference):
    """0 / 0 is computed and thrown away: the warning must not cost marks."""
    overlap = gradient @ reference
    factor = np.divide(overlap, reference @ reference)
    return gradient if overlap >= 0 else gradient - factor * reference


@wrong("you projected although the product is positive")
def projects_always(gradient, reference):
    return gradient - np.dot(gradient, reference) / np.dot(reference, reference) * reference


@wrong("you projected although the product is positive")
def projects_always_but_minds_zero(gradient, reference):
    """Not the same as the known mistake where the reference is zero; it is named all the same."""
    square = reference @ reference
    return gradient if square == 0 else gradient - (gradient @ reference) / square * reference


@wrong("the condition is turned round")
def turned_round(gradient, reference):
    overlap = gradient.dot(reference)
    if overlap <= 0:
        return gradient
    return gradient - overlap / reference.dot(reference) * reference


@wrong("an empty memory gives a reference of zeros")
def divides_by_zero(gradient, reference):
    overlap = gradient.dot(reference)
    return gradient if overlap > 0 else gradient - overlap / reference.dot(reference) * reference


@wrong("you never projected")
def never(gradient, reference):
    return gradient * 1.0


@wrong("the sign is wrong")
def wrong_sign(gradient, reference):
    overlap = gradient @ reference
    if overlap < 0:
        return gradient + overlap * reference / np.sum(reference**2)
    return gradient


@wrong("divide by its square")
def divides_by_the_length(gradient, reference):
    overlap = gradient @ reference
    if overlap < 0:
        return gradient - overlap / math.sqrt(sum(reference**2)) * reference
    return gradient


@wrong("you did not divide")
def does_not_divide(gradient, reference):
    overlap = gradient @ reference
    return gradient - overlap * reference if overlap < 0 else gradient


@wrong("divide by the reference's")
def divides_by_the_wrong_square(gradient, reference):
    overlap = gradient @ reference
    return gradient - overlap / (gradient @ gradient) * reference if overlap < 0 else gradient


@wrong("you returned the part along the reference")
def returns_the_part(gradient, reference):
    overlap = gradient @ reference
    return overlap / np.linalg.norm(reference) ** 2 * reference if overlap < 0 else gradient


@wrong("the gradient is projected, not the reference")
def exchanged(gradient, reference):
    overlap = gradient @ reference
    return reference - overlap / (gradient @ gradient) * gradient if overlap < 0 else gradient


@wrong("you dropped the whole gradient")
def drops_everything(gradient, reference):
    return np.zeros(len(gradient)) if gradient @ reference < 0 else gradient


@wrong("it changes its input `gradient` in place")
def in_place(gradient, reference):
    overlap = gradient @ reference
    if overlap < 0:
        gradient -= overlap / (reference @ reference) * reference
    return gradient


@wrong("it returns nothing")
def without_return(gradient, reference):
    overlap = gradient @ reference
    if overlap < 0:
        return gradient - overlap / (reference @ reference) * reference


@wrong("it gives the shape []")
def returns_a_number(gradient, reference):
    return gradient @ reference


@wrong("it stopped with NameError")
def misspelt(gradient, reference):
    return gradient - overlap * reference  # noqa: F821


@right
def in_torch(gradient, reference):
    import torch

    g, r = torch.tensor(gradient), torch.tensor(reference)
    overlap = torch.dot(g, r)
    return (g - overlap / torch.dot(r, r) * r if overlap < 0 else g).numpy()


@wrong("the value differs")
def with_a_small_number_below(gradient, reference):
    """So that nothing is divided by zero; but a short reference is hardly taken away."""
    overlap = gradient @ reference
    return gradient - min(overlap, 0) / (reference @ reference + 1e-6) * reference


@wrong("it gives the shape [2]")
def in_the_plane_only(gradient, reference):
    """The size of the example, written into the code."""
    overlap = gradient[0] * reference[0] + gradient[1] * reference[1]
    factor = overlap / (reference[0] ** 2 + reference[1] ** 2) if overlap < 0 else 0.0
    return [gradient[0] - factor * reference[0], gradient[1] - factor * reference[1]]


@wrong("the value differs")
def in_single_precision(gradient, reference):
    overlap = np.float16(gradient) @ np.float16(reference)
    return gradient - min(float(overlap), 0) / (reference @ reference or 1) * reference

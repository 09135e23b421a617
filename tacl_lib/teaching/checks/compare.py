"""Comparing two answers, and showing one in a line."""

import numpy as np


def same(left: object, right: object, tolerance: float) -> bool:
    """Whether two answers agree: numbers and arrays up to rounding, dicts key by key, anything else exactly.

    Lists, tuples and arrays that hold the same numbers are the same answer.
    """
    if isinstance(left, dict) or isinstance(right, dict):
        return (
            isinstance(left, dict)
            and isinstance(right, dict)
            and left.keys() == right.keys()
            and all(same(left[key], right[key], tolerance) for key in left)
        )
    a, b = as_numbers(left), as_numbers(right)
    if a is not None and b is not None:
        if a.shape != b.shape:
            return False
        with np.errstate(invalid="ignore"):  # inf - inf
            close = np.isfinite(b) & (np.abs(a - b) <= tolerance * (1 + np.abs(b)))
        return bool(np.all(close | (a == b) | (np.isnan(a) & np.isnan(b))))
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):  # e.g. rows of different lengths
        return len(left) == len(right) and all(same(a, b, tolerance) for a, b in zip(left, right, strict=True))
    return type(left) is type(right) and bool(np.all(left == right))


def as_numbers(value: object) -> np.ndarray | None:
    """The value as an array of numbers, or None if it is something else."""
    try:
        array = np.asarray(value)
    except (ValueError, TypeError):  # rows of different lengths
        return None
    return array.astype(float) if array.dtype.kind in "biuf" else None


def shown(value: object, limit: int = 200, digits: int = 4) -> str:
    """A value in one line, shortened where it is long."""
    if isinstance(value, dict):
        text = "{" + ", ".join(f"{key!r}: {shown(entry, limit, digits)}" for key, entry in value.items()) + "}"
    elif isinstance(value, str) or as_numbers(value) is None:
        text = " ".join(repr(value).split())
    else:
        formats = {"all": lambda number: f"{number:.{digits}g}" if isinstance(number, float) else str(number)}
        text = " ".join(np.array2string(np.asarray(value), separator=", ", threshold=60, formatter=formats).split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def shown_apart(left: object, right: object) -> tuple[str, str]:
    """Two different values, each in one line, with as many digits as it takes to see that they differ."""
    for digits in (4, 8, 12, 17):
        texts = shown(left, digits=digits), shown(right, digits=digits)
        if texts[0] != texts[1]:
            return texts
    place = _first_difference(left, right)
    if place is None:  # of different kinds, such as a number and a text
        return tuple(f"{text} ({type(value).__name__})" for text, value in zip(texts, (left, right), strict=True))
    where, *entries = place
    return tuple(f"{shown(entry, digits=17)} at {where}" for entry in entries)


def _first_difference(left: object, right: object, where: str = "") -> tuple[str, object, object] | None:
    """Where two values of the same shape first differ, and what stands there."""
    a, b = as_numbers(left), as_numbers(right)
    if a is not None and b is not None and a.shape == b.shape and a.ndim:
        unequal = np.argwhere((a != b) & ~(np.isnan(a) & np.isnan(b)))
        if not len(unequal):
            return None
        index = tuple(unequal[0].tolist())
        return f"{where}[{', '.join(map(str, index))}]", float(a[index]), float(b[index])
    if isinstance(left, dict) and isinstance(right, dict):
        pairs = [(f"{where}[{key!r}]", left[key], right[key]) for key in left if key in right]
    elif isinstance(left, list | tuple) and isinstance(right, list | tuple):
        pairs = [(f"{where}[{number}]", *pair) for number, pair in enumerate(zip(left, right, strict=False))]
    else:
        return (where, left, right) if where and not same(left, right, 0.0) else None
    found = (_first_difference(a, b, place) for place, a, b in pairs)
    return next((place for place in found if place), None)

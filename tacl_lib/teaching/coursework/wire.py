"""Values as text between the marker and a submission's process. Nothing that is read can run code, as a pickle could.

Standard library and NumPy only: the other end has no kit.
"""

import base64
import math
from collections.abc import Callable

import numpy as np

#: kinds of NumPy arrays that may pass: numbers and text, no objects
KINDS = "biufcSU"
DEEPEST = 40
MOST = 10**8  #: entries of an array, and rows where there are none


class Foreign:
    """Something that is neither a number, a text nor a collection of them: known by its type and its looks."""

    def __init__(self, looks: str) -> None:
        self.looks = looks

    def __repr__(self) -> str:
        return self.looks


def encoded(value: object, depth: int = 0) -> object:
    """The value as JSON; functions that came over the wire go back by their key."""
    if depth > DEEPEST:
        raise ValueError("too many brackets inside each other")
    if value is None or type(value) in (bool, int, float, str):
        return value
    if hasattr(value, "wire_key"):
        return {"function": value.wire_key}
    if isinstance(value, list | tuple | set | frozenset):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [encoded(entry, depth + 1) for entry in value]}
    if isinstance(value, dict):
        return {"dict": [[encoded(key, depth + 1), encoded(entry, depth + 1)] for key, entry in value.items()]}
    if hasattr(value, "__array__"):  # also tensors and tables
        array = np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)
        if array.dtype.kind in KINDS:
            data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
            return {"array": [array.dtype.str, list(array.shape), data, isinstance(value, np.generic)]}
        if array.dtype.kind == "O" and array.ndim:
            return encoded(array.tolist(), depth + 1)
    return {"foreign": [type(value).__name__, repr(value)[:300]]}


def decoded(value: object, callables: Callable[[str], Callable] | None = None) -> object:
    """The value again, arrays as copies that may be changed."""
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind in ("list", "tuple"):
        entries = [decoded(entry, callables) for entry in content]
        return entries if kind == "list" else tuple(entries)
    if kind == "dict":
        return {decoded(key, callables): decoded(entry, callables) for key, entry in content}
    if kind == "array":
        dtype, shape, data, single = content
        if np.dtype(dtype).kind not in KINDS:
            raise ValueError(f"arrays of {dtype} do not pass")
        if math.prod(max(size, 1) for size in shape) > MOST:  # a billion rows of nothing come in a short line
            raise ValueError("arrays of this size do not pass")
        array = np.frombuffer(base64.b64decode(data), dtype=dtype).reshape(shape).copy()
        return array[()] if single else array
    if kind == "function" and callables is not None:
        return callables(content)
    name, looks = content if kind == "foreign" else ("function", "<function>")
    return type(str(name), (Foreign,), {})(str(looks))

"""Argument checks: each raises a one-sentence error before any state changes."""

import math
from collections.abc import Iterable, Sequence
from numbers import Integral, Real

import torch

from tacl_lib.errors import TaclError


def checked_device(wanted: torch.device | str) -> torch.device:
    """The device, if it is available."""
    try:
        device = torch.device(wanted)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, TypeError, NotImplementedError) as error:
        raise TaclError(f"the device {wanted!r} is not available here; use 'cpu' or leave it out.") from error
    return device


def checked_seeds(seeds: Sequence[int], distinct: bool = True) -> tuple[int, ...]:
    """Random seeds of a stack: whole numbers from 0. distinct: each seed is a run of its own."""
    given = tuple(seeds) if isinstance(seeds, Iterable) and not isinstance(seeds, (str, bytes)) else ()
    whole = all(is_whole(seed, 0) and seed < 2**31 for seed in given)
    if not given or not whole or (distinct and len(set(given)) < len(given)):
        raise TaclError(f"seeds must be distinct whole numbers from 0 on, at least one, as in (0, 1); got {seeds!r}.")
    return tuple(int(seed) for seed in given)


def is_whole(value: object, least: float = 1) -> bool:
    """Whether the value is a whole number, at least ``least``."""
    return isinstance(value, Integral) and not isinstance(value, bool) and value >= least


def check_whole(least: int = 1, *, or_none: bool = False, **values: object) -> None:
    """Values must be whole numbers, at least ``least``. or_none: None is allowed too."""
    for name, value in values.items():
        if or_none and value is None:
            continue
        if not is_whole(value, -math.inf):
            raise TaclError(f"{name} must be a whole number, not {value!r}.")
        if value < least:
            raise TaclError(f"{name} must be at least {least}, not {value}.")


def is_finite(value: object) -> bool:
    """Whether the value is a number, neither infinite nor NaN."""
    return isinstance(value, Real) and not isinstance(value, bool) and abs(value) < float("inf")


def check_shape(name: str, value: object, shape: Sequence[int], whole: bool = False) -> None:
    """The value must be a tensor of this shape. whole: of whole numbers (int64)."""
    right = isinstance(value, torch.Tensor) and value.shape == tuple(shape)
    if not right or (whole and value.dtype != torch.int64):
        found = type(value).__name__
        if isinstance(value, torch.Tensor):
            found = f"{value.dtype} {list(value.shape)}" if whole else list(value.shape)
        raise TaclError(f"{name} must be {'an int64' if whole else 'a'} tensor {list(shape)}, not {found}.")


def check_range(what: str, numbers: torch.Tensor, count: int) -> None:
    """Numbers ``[R]`` must lie in 0 … count - 1. Checked only on a CPU: elsewhere this would wait for the device."""
    if numbers.device.type == "cpu" and not all(0 <= number < count for number in numbers.tolist()):
        raise TaclError(f"{what} 0 to {count - 1}, not {numbers.tolist()}.")


def check_samples(x: object, runs: int, features: int, dtype: torch.dtype) -> None:
    """Samples must be ``[R, n, features]``, of the same type as the weights."""
    if not isinstance(x, torch.Tensor):
        raise TaclError(f"samples must be a torch tensor, not {type(x).__name__}: give torch.as_tensor(x).float().")
    if x.dim() != 3 or x.shape[0] != runs or x.shape[2] != features:
        raise TaclError(f"samples must have the shape [{runs} runs, n, {features} features], not {list(x.shape)}.")
    if x.dtype != dtype:
        raise TaclError(f"samples must be {dtype} like the weights, not {x.dtype}: give x.float().")


def check_batch(x: object, y: object, runs: int, features: int, classes: int, dtype: torch.dtype) -> None:
    """A training batch must be well formed. Values are read only on a CPU: elsewhere this would wait for the device.

    The range of labels is checked where they are used, still before the weights change.
    """
    check_samples(x, runs, features, dtype)
    if not isinstance(y, torch.Tensor):
        raise TaclError(f"labels must be a torch tensor, not {type(y).__name__}: give torch.as_tensor(y).")
    if y.shape != x.shape[:2]:
        raise TaclError(f"labels must have the shape {list(x.shape[:2])} like the samples, not {list(y.shape)}.")
    if not y.shape[1]:
        raise TaclError("a batch needs at least one sample; this one is empty.")
    if y.dtype != torch.int64:
        raise TaclError(f"labels must be int64 in 0 to {classes - 1}; these are {y.dtype}: give y.long().")
    # A sum costs a tenth of checking every number; look at them only if it is not finite.
    if x.device.type == "cpu" and not is_finite(x.sum().item()) and not bool(torch.isfinite(x).all()):
        raise TaclError("samples must be finite; these hold NaN or infinity.")

"""Is this a device, a count, a batch? One sentence where it is not, and before anything has changed."""

import math
from collections.abc import Iterable, Sequence
from numbers import Integral, Real

import torch

from tacl_lib.errors import TaclError


def checked_device(wanted: torch.device | str) -> torch.device:
    """A device that is there."""
    try:
        device = torch.device(wanted)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, TypeError, NotImplementedError) as error:
        raise TaclError(f"the device {wanted!r} is not available here; use 'cpu' or leave it out.") from error
    return device


def checked_seeds(seeds: Sequence[int], distinct: bool = True) -> tuple[int, ...]:
    """Seeds of a stack: whole numbers from 0 on, distinct where each is a run of its own."""
    given = tuple(seeds) if isinstance(seeds, Iterable) and not isinstance(seeds, (str, bytes)) else ()
    whole = all(isinstance(seed, Integral) and not isinstance(seed, bool) and 0 <= seed < 2**31 for seed in given)
    if not given or not whole or (distinct and len(set(given)) < len(given)):
        raise TaclError(f"seeds must be distinct whole numbers from 0 on, at least one, as in (0, 1); got {seeds!r}.")
    return tuple(int(seed) for seed in given)


def is_whole(value: object, least: float = 1) -> bool:
    """Whether it is a whole number from ``least`` on."""
    return isinstance(value, Integral) and not isinstance(value, bool) and value >= least


def check_whole(least: int = 1, **values: object) -> None:
    """Settings that count something."""
    for name, value in values.items():
        if not is_whole(value, -math.inf):
            raise TaclError(f"{name} must be a whole number, not {value!r}.")
        if value < least:
            raise TaclError(f"{name} must be at least {least}, not {value}.")


def is_finite(value: object) -> bool:
    """Whether it is a number, and neither infinite nor NaN."""
    return isinstance(value, Real) and not isinstance(value, bool) and abs(value) < float("inf")


def check_samples(x: object, runs: int, features: int, dtype: torch.dtype) -> None:
    """Samples must be ``[R, n, features]`` of the weights' type."""
    if not isinstance(x, torch.Tensor):
        raise TaclError(f"samples must be a torch tensor, not {type(x).__name__}: give torch.as_tensor(x).float().")
    if x.dim() != 3 or x.shape[0] != runs or x.shape[2] != features:
        raise TaclError(f"samples must have the shape [{runs} runs, n, {features} features], not {list(x.shape)}.")
    if x.dtype != dtype:
        raise TaclError(f"samples must be {dtype} like the weights, not {x.dtype}: give x.float().")


def check_batch(x: object, y: object, runs: int, features: int, classes: int, dtype: torch.dtype) -> None:
    """A batch that can be learned from. Values are looked at on a CPU only: elsewhere that waits for the device.

    That labels lie in range is checked where they are used, still before the weights change.
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
    # A sum is a tenth of the work of looking at each number; only where it is odd they are looked at.
    if x.device.type == "cpu" and not is_finite(x.sum().item()) and not bool(torch.isfinite(x).all()):
        raise TaclError("samples must be finite; these hold NaN or infinity.")

"""Races: contenders in turn, many times, so that whatever else the machine does hits all of them.

A ratio is taken within each round, of two blocks measured right after each other; the median of the rounds
is reported, with the quartiles as its spread.
"""

import datetime
import os
import platform
import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

THREADS = (1, 2)


class Effort(NamedTuple):
    """How much to measure."""

    rounds: int  #: blocks of each contender
    seconds: float  #: length of a block
    stored: tuple[int, ...]  #: numbers of stored gradients
    fill: int  #: steps that fill a memory before it is measured


FULL = Effort(rounds=9, seconds=0.5, stored=(100, 300, 1000, 3000), fill=600)
QUICK = Effort(rounds=3, seconds=0.05, stored=(100, 300), fill=600)


@dataclass(frozen=True)
class Contender:
    """Something that makes steps."""

    name: str
    block: Callable[[int], float]  #: makes so many steps and says how many seconds they took
    runs: int = 1  #: how many runs one step serves


def stepper(
    name: str, step: Callable[..., object], batches: Sequence[tuple], runs: int = 1, inference: bool = False
) -> Contender:
    """A contender that calls ``step(*batch)`` with the batches in turn. inference: in torch's inference mode."""
    position = 0

    def block(count: int) -> float:
        nonlocal position
        with torch.inference_mode(inference):
            start = time.perf_counter()
            for number in range(position, position + count):
                step(*batches[number % len(batches)])
            seconds = time.perf_counter() - start
        position += count
        return seconds

    return Contender(name, block, runs)


def race(contenders: Sequence[Contender], effort: Effort) -> dict[str, list[float]]:
    """Seconds of one run's step, one number per round, of each contender."""
    counts = {}
    for contender in contenders:
        contender.block(3)  # buffers, code paths and caches are warm after this
        trial = contender.block(3) / 3
        counts[contender.name] = max(1, round(effort.seconds / trial))
    times = {contender.name: [] for contender in contenders}
    for number in range(effort.rounds):
        # Every other round goes backwards: none is always the one after a slow neighbour.
        for contender in contenders[:: 1 if number % 2 == 0 else -1]:
            count = counts[contender.name]
            times[contender.name].append(contender.block(count) / (count * contender.runs))
    return times


def spread(values: Sequence[float]) -> dict[str, float]:
    """Median and quartiles."""
    low, median, high = np.quantile(np.asarray(values, float), [0.25, 0.5, 0.75])
    return {"median": float(median), "low": float(low), "high": float(high)}


def compared(ours: Sequence[float], theirs: Sequence[float]) -> dict:
    """One cell of the table, from seconds a step: how many times our speed is theirs, and both speeds."""
    return {
        "ratio": spread(np.asarray(theirs) / np.asarray(ours)),
        "ours": 1 / float(np.median(ours)),
        "theirs": 1 / float(np.median(theirs)),
        "raw_seconds": {"ours": list(ours), "theirs": list(theirs)},
    }


@contextmanager
def threads(count: int):
    """So many threads for torch inside the block, and as many as before after it."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def fitted_exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """k of the power law cost = a · size^k, by least squares on logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])


def circumstances() -> dict:
    """The machine, the versions and the day: what a number depends on, and no name or path of anyone's."""
    packages = ("torch", "numpy", "tacl-lib")
    return {
        "cpu": _processor(),
        "cores": os.cpu_count(),
        "memory_gb": _memory_gb(),
        "system": f"{platform.system()} {platform.machine()}",
        # Load before the run: what other programs were doing, which blurs every number.
        "load_before": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "versions": {"python": platform.python_version()} | {name: metadata.version(name) for name in packages},
        "date": datetime.date.today().isoformat(),
    }


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass  # not Linux
    return platform.processor() or platform.machine()


def _memory_gb() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)
    except (AttributeError, ValueError, OSError):
        return None

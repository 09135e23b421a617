"""The digits as tasks of the plain room, and whether two methods differ."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from scipy import stats

from tacl_lib.core.tasks import Tasks, make_tasks
from tacl_lib.data import load
from tacl_lib.plain.training import Task


@dataclass(frozen=True)
class World:
    """Tasks to learn from, and what is needed to show them."""

    tasks: list[Task]
    names: tuple[str, ...]  #: of each task, e.g. "0, 1"
    image_shape: tuple[int, int]
    features: int
    classes: int
    kit: Tasks  #: the same tasks as the library has them

    def image(self, x: torch.Tensor) -> np.ndarray:
        """A sample as an image."""
        offset, divisor = self.kit.scaling.offset, self.kit.scaling.divisor
        return (x.float() * divisor + offset).reshape(self.image_shape).numpy()


@cache
def digits(split: str = "class", seed: int = 0, count: int = 5, degrees: float = 20.0, whole: bool = False) -> World:
    """scikit-learn's digits as a sequence of tasks; whole: every task is tested with all test images."""
    kit = make_tasks(
        load("digits"),
        split,
        (seed,),
        task_count=count,
        degrees_per_task=degrees,
        validation="whole" if whole else "parts",
    )
    tasks = []
    for task in range(kit.count):
        parts = [(kit.inputs(part, task)[0].double(), kit.targets(part, task)[0]) for part in (kit.train, kit.test)]
        tasks.append(Task(*parts[0], *parts[1]))
    return World(tasks, kit.names, kit.image_shape[:2], kit.features, kit.classes, kit)


def five_seeds(run: Callable[[int], np.ndarray], seeds: Sequence[int] = range(5)) -> np.ndarray:
    """What ``run(seed)`` gives for each seed, stacked: [seeds, …]."""
    return np.stack([run(seed) for seed in seeds])


def paired(a: Sequence[float], b: Sequence[float]) -> tuple[float, float]:
    """The mean difference of two methods that were run with the same seeds, and the p-value of a paired t-test.

    p: how often would differences as large as these arise by luck if there were none?
    """
    difference = np.asarray(a) - np.asarray(b)
    if np.allclose(difference, difference[0]):
        return float(difference[0]), 1.0 if difference[0] == 0 else 0.0
    return float(difference.mean()), float(stats.ttest_rel(a, b).pvalue)


def verdict(name: str, a: Sequence[float], other: str, b: Sequence[float]) -> str:
    """The same in a sentence."""
    apart, p = paired(a, b)
    clear = "clear" if p < 0.01 else f"not clear with {len(a)} seeds"
    return f"{name} minus {other}: {apart:+.3f} ({clear}; paired t-test, p = {p:.2g})"

"""Accuracy, average accuracy and forgetting as the paper defines them, and its test of significance.

A_l is the accuracy of a task after epoch l, a row of ``Record.accuracy``; NaN means not tested.
"""

import warnings
from collections.abc import Sequence

import numpy as np
from scipy import stats

CONFIDENCE = 0.99  #: of the paper's test of significance


def average_accuracy(accuracy: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """After each epoch, the mean accuracy over the tasks trained on so far: ``[E, T]`` twice to ``[E]``."""
    known = np.where(seen, accuracy, 0.0)
    return known.sum(axis=-1) / seen.sum(axis=-1)


def first_task_accuracy(accuracy: np.ndarray) -> np.ndarray:
    """After each epoch, the accuracy of the first task: ``[E, T]`` to ``[E]``."""
    return accuracy[..., 0]


def forgetting(accuracy_of_task: np.ndarray) -> np.ndarray:
    """F_l = max{A_i : i ≤ l} - A_l of one task: ``[..., E]`` to the same."""
    return np.maximum.accumulate(accuracy_of_task, axis=-1) - accuracy_of_task


def summary(accuracy: np.ndarray, seen: np.ndarray) -> dict[str, float]:
    """A run's three numbers in the paper's tables, each the mean over all epochs."""
    first = first_task_accuracy(accuracy)
    return {
        "average_accuracy": float(average_accuracy(accuracy, seen).mean()),
        "first_task_accuracy": float(first.mean()),
        "forgetting": float(forgetting(first).mean()),
    }


def not_worse(
    values: Sequence[Sequence[float]], higher_is_better: bool = True, confidence: float = CONFIDENCE
) -> list[bool]:
    """Which methods the paper's tables print bold: the best one, and those not significantly different from it.

    values: for each method its results over runs. Two methods differ if Welch's t-test rejects equal means
    at the given confidence. Where neither has any spread, any difference counts; a single run decides nothing.
    """
    means = np.array([np.mean(runs) for runs in values])
    if np.isnan(means).all():
        return [False] * len(means)
    best = int(np.nanargmax(means if higher_is_better else -means))
    return [
        not np.isnan(means[index])
        and (index == best or means[index] == means[best] or not _differ(runs, values[best], confidence))
        for index, runs in enumerate(values)
    ]


def _differ(left: Sequence[float], right: Sequence[float], confidence: float) -> bool:
    if min(len(left), len(right)) < 2:
        return False  # one run says nothing about spread
    if np.ptp(left) == 0 and np.ptp(right) == 0:
        return bool(left[0] != right[0])
    with warnings.catch_warnings():  # scipy warns where one of the two has no spread; Welch's test allows that
        warnings.simplefilter("ignore", RuntimeWarning)
        return bool(stats.ttest_ind(left, right, equal_var=False).pvalue < 1 - confidence)

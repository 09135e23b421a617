"""Accuracy, average accuracy and forgetting as the paper defines them.

A_l is the accuracy on a task after epoch l, from ``Record.accuracy [epochs, tasks]``; NaN means not tested.
"""

import numpy as np


def average_accuracy(accuracy: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """After each epoch, the mean accuracy over the tasks trained on so far: two ``[E, T]`` to ``[E]``."""
    known = np.where(seen, accuracy, 0.0)
    return known.sum(axis=-1) / seen.sum(axis=-1)


def first_task_accuracy(accuracy: np.ndarray) -> np.ndarray:
    """After each epoch, the accuracy on the first task: ``[E, T]`` to ``[E]``."""
    return accuracy[..., 0]


def forgetting(accuracy_of_task: np.ndarray) -> np.ndarray:
    """F_l = max{A_i : i ≤ l} - A_l of one task: ``[..., E]`` to ``[..., E]``."""
    return np.maximum.accumulate(accuracy_of_task, axis=-1) - accuracy_of_task


def summary(accuracy: np.ndarray, seen: np.ndarray) -> dict[str, float]:
    """A run's three numbers in the paper's tables, each the mean over all epochs.

    accuracy, seen: as in a record, ``[epochs, tasks]``, and which tasks had been seen by then.
    """
    first = first_task_accuracy(accuracy)
    return {
        "average_accuracy": float(average_accuracy(accuracy, seen).mean()),
        "first_task_accuracy": float(first.mean()),
        "forgetting": float(forgetting(first).mean()),
    }

"""The paper's numbers, from the accuracy on every task after every epoch, A [epochs, tasks]."""

import numpy as np


def average_accuracy(A: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Ā_l: after each epoch, the mean over the tasks trained on so far. seen [epochs, tasks] is true for those."""
    return np.array([accuracies[known].mean() for accuracies, known in zip(A, seen, strict=True)])


def forgetting(accuracies: np.ndarray) -> np.ndarray:
    """F_l, equation 14: after each epoch, how far one task is below the best it has ever been."""
    best = [max(accuracies[: epoch + 1]) for epoch in range(len(accuracies))]
    return np.array(best) - np.array(accuracies)

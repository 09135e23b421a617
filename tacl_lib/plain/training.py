"""Trains on one task after another, and measures accuracy on all of them."""

from typing import NamedTuple

import numpy as np
import torch

from tacl_lib.plain.network import accuracy

EPOCHS = 20  # per task
BATCH_SIZE = 10


class Task(NamedTuple):
    x: torch.Tensor  # [n, d], for training
    y: torch.Tensor  # [n]
    test_x: torch.Tensor  # [m, d], for testing
    test_y: torch.Tensor  # [m]


def train(learner, tasks, epochs=EPOCHS, batch_size=BATCH_SIZE, seed=0):
    """Train on task after task. Returns A [epochs, tasks], the accuracy on every task after each epoch."""
    random, A = torch.Generator().manual_seed(seed), []
    for task in tasks:
        for _ in range(epochs):
            for rows in torch.randperm(len(task.y), generator=random).split(batch_size):
                learner.step(task.x[rows], task.y[rows])
            A.append([accuracy(learner.network, other.test_x, other.test_y) for other in tasks])
        if hasattr(learner, "end_task"):  # a task-agnostic learner is never told
            learner.end_task(task.x, task.y)
    return np.array(A)


def seen(tasks, epochs=EPOCHS):
    """[epochs, tasks]: whether a task has been trained on by the end of an epoch."""
    return np.tril(np.ones((len(tasks), len(tasks)), bool)).repeat(epochs, axis=0)

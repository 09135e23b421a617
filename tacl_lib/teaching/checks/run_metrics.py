"""Set 1, exercise 1: average accuracy, accuracy of the first task, and forgetting of a run."""

from collections.abc import Iterator

import numpy as np

from tacl_lib.teaching.checks.check import Check, Mistake
from tacl_lib.teaching.checks.twist import Twist


def run_metrics(accuracy, epochs_per_task):
    """By the definitions, with loops over epochs: F_l = max{A_i : i ≤ l} - A_l."""
    averages, firsts, forgotten = [], [], []
    for epoch, row in enumerate(accuracy):
        trained = epoch // epochs_per_task + 1
        averages.append(sum(row[:trained]) / trained)
        firsts.append(row[0])
        forgotten.append(max(firsts) - row[0])
    return _means(averages, firsts, forgotten)


def _means(averages, firsts, forgotten) -> dict[str, float]:
    lists = {"average_accuracy": averages, "first_task_accuracy": firsts, "forgetting": forgotten}
    return {name: sum(values) / len(values) for name, values in lists.items()}


def _cases(rng: np.random.Generator) -> Iterator[tuple]:
    for tasks, epochs_per_task in [(1, 2), (2, 1), (2, 2), (3, 1), *rng.integers(2, 5, (36, 2)).tolist()]:
        yield rng.integers(0, 101, (tasks * epochs_per_task, tasks)) / 100, epochs_per_task


def _average(of_epoch):
    """The reference with another average accuracy: ``of_epoch(row, epoch, epochs_per_task)``."""

    def answer(accuracy, epochs_per_task):
        averages = [of_epoch(row, epoch, epochs_per_task) for epoch, row in enumerate(accuracy)]
        return run_metrics(accuracy, epochs_per_task) | {"average_accuracy": np.mean(averages)}

    return answer


def _forgetting(of_first_task):
    """The reference with another forgetting: ``of_first_task(accuracy of the first task)``."""

    def answer(accuracy, epochs_per_task):
        return run_metrics(accuracy, epochs_per_task) | {"forgetting": of_first_task(accuracy[:, 0])}

    return answer


def _pooled(accuracy, epochs_per_task):
    shown = [row[: epoch // epochs_per_task + 1] for epoch, row in enumerate(accuracy)]
    return run_metrics(accuracy, epochs_per_task) | {"average_accuracy": np.concatenate(shown).mean()}


def _last_epoch(accuracy, epochs_per_task):
    first = accuracy[:, 0]
    return {
        "average_accuracy": accuracy[-1].mean(),
        "first_task_accuracy": first[-1],
        "forgetting": first.max() - first[-1],
    }


def _row_for_column(accuracy, epochs_per_task):
    first = accuracy[0]
    forgotten = (np.maximum.accumulate(first) - first).mean()
    right = run_metrics(accuracy, epochs_per_task)
    return right | {"first_task_accuracy": first.mean(), "forgetting": forgotten}


def _sum_over_epochs(accuracy, epochs_per_task):
    return {name: value * len(accuracy) for name, value in run_metrics(accuracy, epochs_per_task).items()}


def _above_chance(classes, accuracy, epochs_per_task):
    """A variant's number: of classes, among which guessing is right once in so many times."""
    return (accuracy - 1 / classes) / (1 - 1 / classes), epochs_per_task


def _with_chance(classes, accuracy, epochs_per_task):
    return accuracy * (1 - 1 / classes) + 1 / classes, epochs_per_task


check_run_metrics = Check(
    run_metrics,
    _cases,
    twist=Twist(tuple(range(3, 21)), inner=_above_chance, outer=_with_chance),
    mistakes=(
        Mistake(
            "you averaged over all tasks, also over those that were not trained on yet",
            _average(lambda row, epoch, per_task: row.mean()),
        ),
        Mistake(
            "you divided by the number of all tasks; divide by the number of tasks trained on so far",
            _average(lambda row, epoch, per_task: row[: epoch // per_task + 1].sum() / len(row)),
        ),
        Mistake(
            "off by one: the last epoch of a task does not belong to the next task (epochs count from 0)",
            _average(lambda row, epoch, per_task: row[: (epoch + 1) // per_task + 1].mean()),
        ),
        Mistake(
            "off by one: the task that is being trained belongs to the tasks trained on so far",
            _average(lambda row, epoch, per_task: row[: max(epoch // per_task, 1)].mean()),
        ),
        Mistake(
            "you averaged all numbers at once, so that late epochs count more; first average over tasks, then over "
            "epochs",
            _pooled,
        ),
        Mistake("you took the last epoch only; the paper's tables average over all epochs", _last_epoch),
        Mistake("you took a row, which is an epoch; the first task is the first column", _row_for_column),
        Mistake("you added up the epochs; divide by their number", _sum_over_epochs),
        Mistake(
            "the sign of forgetting is wrong: it is the best accuracy so far minus the present one",
            _forgetting(lambda first: (first - np.maximum.accumulate(first)).mean()),
        ),
        Mistake(
            "you compared with the first epoch; forgetting compares with the best accuracy so far",
            _forgetting(lambda first: (first[0] - first).mean()),
        ),
        Mistake(
            "you compared with the best of all epochs; an epoch knows only those up to itself",
            _forgetting(lambda first: (first.max() - first).mean()),
        ),
        Mistake(
            "you compared with the best of the earlier epochs only; the present one belongs to them (i ≤ l)",
            _forgetting(lambda first: sum(max(first[: max(n, 1)]) - a for n, a in enumerate(first)) / len(first)),
        ),
        Mistake(
            "you compared with the epoch before; forgetting compares with the best accuracy so far",
            _forgetting(lambda first: -np.diff(first).sum() / len(first)),
        ),
    ),
)

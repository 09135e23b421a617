"""Answers to exercise 1 of set 1."""

import numpy as np

from coursework_answers import right, wrong


def _first(accuracy):
    """First task and forgetting, for answers whose mistake is the average."""
    first = accuracy[:, 0]
    return {
        "first_task_accuracy": first.mean(),
        "forgetting": np.mean([first[: n + 1].max() - first[n] for n in range(len(first))]),
    }


def _average(accuracy, epochs_per_task):
    return np.mean([row[: n // epochs_per_task + 1].mean() for n, row in enumerate(accuracy)])


@right
def with_loops(accuracy, epochs_per_task):
    best, sums = 0.0, [0.0, 0.0, 0.0]
    for epoch in range(len(accuracy)):
        known = accuracy[epoch][0 : 1 + epoch // epochs_per_task]
        best = max(best, accuracy[epoch][0])
        for place, value in enumerate((sum(known) / len(known), accuracy[epoch][0], best - accuracy[epoch][0])):
            sums[place] += value / len(accuracy)
    return dict(zip(("average_accuracy", "first_task_accuracy", "forgetting"), sums, strict=True))


@right
def with_masked_arrays(accuracy, epochs_per_task):
    later = np.arange(accuracy.shape[1])[None] > (np.arange(len(accuracy)) // epochs_per_task)[:, None]
    mean = np.nanmean(np.where(later, np.nan, accuracy), axis=1)
    return {"average_accuracy": mean.mean()} | _first(accuracy)


@right
def with_more_entries_and_warnings(accuracy, epochs_per_task):
    """A division by zero that is not used writes to stderr, which must not cost marks."""
    np.array([1.0]) / np.array([0.0])
    return with_loops(accuracy, epochs_per_task) | {"note": "mine"}


@wrong("also over those that were not trained on yet")
def all_tasks(accuracy, epochs_per_task):
    return {"average_accuracy": np.mean(accuracy)} | _first(accuracy)


@wrong("divide by the number of tasks trained on so far")
def divides_by_all_tasks(accuracy, epochs_per_task):
    total = 0
    for epoch, row in enumerate(accuracy):
        total += row[: epoch // epochs_per_task + 1].sum() / accuracy.shape[1]
    return {"average_accuracy": total / len(accuracy)} | _first(accuracy)


@wrong("the last epoch of a task does not belong to the next task")
def next_task_too_early(accuracy, epochs_per_task):
    means = [accuracy[n - 1, : n // epochs_per_task + 1].mean() for n in range(1, len(accuracy) + 1)]
    return {"average_accuracy": np.mean(means)} | _first(accuracy)


@wrong("the task that is being trained belongs to the tasks trained on so far")
def present_task_left_out(accuracy, epochs_per_task):
    means = []
    for epoch in range(len(accuracy)):
        done = epoch // epochs_per_task
        means.append(accuracy[epoch, : done if done > 0 else 1].mean())
    return {"average_accuracy": sum(means) / len(means)} | _first(accuracy)


@wrong("first average over tasks, then over epochs")
def one_mean_over_everything(accuracy, epochs_per_task):
    numbers = []
    for epoch, row in enumerate(accuracy):
        numbers.extend(row[: epoch // epochs_per_task + 1])
    return {"average_accuracy": np.mean(numbers)} | _first(accuracy)


@wrong("you took the last epoch only")
def final_epoch(accuracy, epochs_per_task):
    last = accuracy[len(accuracy) - 1]
    return {
        "average_accuracy": sum(last) / len(last),
        "first_task_accuracy": last[0],
        "forgetting": max(accuracy[:, 0]) - last[0],
    }


@wrong("the first task is the first column")
def row_instead_of_column(accuracy, epochs_per_task):
    first = accuracy[0]
    drops = [max(first[: n + 1]) - first[n] for n in range(len(first))]
    return {
        "average_accuracy": _average(accuracy, epochs_per_task),
        "first_task_accuracy": np.mean(first),
        "forgetting": np.mean(drops),
    }


@wrong("divide by their number")
def sums_instead_of_means(accuracy, epochs_per_task):
    return {name: value * len(accuracy) for name, value in with_loops(accuracy, epochs_per_task).items()}


@wrong("the sign of forgetting is wrong")
def wrong_sign(accuracy, epochs_per_task):
    entries = _first(accuracy)
    return {"average_accuracy": _average(accuracy, epochs_per_task)} | entries | {"forgetting": -entries["forgetting"]}


@wrong("compared with the first epoch")
def compared_with_the_first(accuracy, epochs_per_task):
    first = accuracy[:, 0]
    drop = np.mean(first[0] - first)
    return {"average_accuracy": _average(accuracy, epochs_per_task)} | _first(accuracy) | {"forgetting": drop}


@wrong("an epoch knows only those up to itself")
def compared_with_the_future(accuracy, epochs_per_task):
    first = accuracy[:, 0]
    drop = np.max(first) - np.mean(first)
    return {"average_accuracy": _average(accuracy, epochs_per_task)} | _first(accuracy) | {"forgetting": drop}


@wrong("the present one belongs to them")
def strictly_before(accuracy, epochs_per_task):
    first = accuracy[:, 0]
    drops = [first[: n or 1].max() - first[n] for n in range(len(first))]
    return {"average_accuracy": _average(accuracy, epochs_per_task)} | _first(accuracy) | {"forgetting": np.mean(drops)}


@wrong("compared with the epoch before")
def compared_with_the_epoch_before(accuracy, epochs_per_task):
    first = accuracy[:, 0]
    drops = [0.0] + [first[n - 1] - first[n] for n in range(1, len(first))]
    return {"average_accuracy": _average(accuracy, epochs_per_task)} | _first(accuracy) | {"forgetting": np.mean(drops)}


@wrong("an epoch knows only those up to itself")
def two_mistakes_at_once(accuracy, epochs_per_task):
    first = accuracy[:, 0]
    return {
        "average_accuracy": accuracy.mean(),
        "first_task_accuracy": first.mean(),
        "forgetting": (first.max() - first).mean(),
    }


@right
def with_triangles(accuracy, epochs_per_task):
    """Vectorised: a block triangle of weights, and the best so far as a column of a table of maxima."""
    epochs, tasks = accuracy.shape
    weights = np.kron(np.tril(np.ones((tasks, tasks))), np.ones((epochs_per_task, 1)))[:epochs]
    first = accuracy[:, 0]
    best = np.where(np.tri(epochs, dtype=bool), first, -np.inf).max(axis=1)
    averages = (
        np.average(accuracy, axis=1, weights=None) if tasks == 1 else (accuracy * weights).sum(1) / weights.sum(1)
    )
    return {
        "average_accuracy": averages.mean(),
        "first_task_accuracy": first.mean(),
        "forgetting": (best - first).mean(),
    }


@wrong("'average_accuracy' is wrong")
def knows_two_tasks(accuracy, epochs_per_task):
    """The size of the example, written into the code."""
    early, late = accuracy[:epochs_per_task, 0], accuracy[epochs_per_task:, :2].mean(axis=1)
    return {"average_accuracy": np.concatenate([early, late]).mean()} | _first(accuracy)


@wrong("'forgetting' is wrong")
def rounds_to_percent(accuracy, epochs_per_task):
    answer = with_loops(accuracy, epochs_per_task)
    return answer | {"forgetting": round(answer["forgetting"], 2)}

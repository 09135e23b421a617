"""What several figures share: moments of a stream, mean and spread of runs, lines, empty panels, legends."""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from tacl_lib.core import metrics
from tacl_lib.errors import TaclError
from tacl_lib.report.figures import style
from tacl_lib.report.figures.style import Look
from tacl_lib.training.record import Record

Metric = Callable[[Record], np.ndarray]

#: What is drawn over epochs: an axis label, and the values ``[E]`` of a record.
METRICS: dict[str, tuple[str, Metric]] = {
    "average_accuracy": ("Average accuracy", lambda record: metrics.average_accuracy(record.accuracy, record.seen)),
    "first_task_accuracy": ("Accuracy of first task", lambda record: metrics.first_task_accuracy(record.accuracy)),
    "forgetting": (
        "Forgetting of first task",
        lambda record: metrics.forgetting(metrics.first_task_accuracy(record.accuracy)),
    ),
}


def task_changes(epochs: pd.DataFrame) -> list[int]:
    """After how many epochs another task begins, from ``Record.epochs``; of a continuous stream: none."""
    if mixing_spans(epochs):
        return []
    task = epochs["task"].to_numpy()
    return (np.flatnonzero(task[1:] != task[:-1]) + 1).tolist()


def mixing_spans(epochs: pd.DataFrame) -> list[tuple[int, int]]:
    """From and after how many epochs two tasks are mixed, from ``Record.epochs``; of a disjoint stream: none."""
    following = np.concatenate([[-1], epochs["next_task"].to_numpy(), [-1]])
    edges = np.flatnonzero(following[1:] != following[:-1])
    return [(int(a), int(b)) for a, b in pairwise(edges) if following[a + 1] >= 0]


def mean_and_spread(records: Sequence[Record], metric: str) -> tuple[np.ndarray, np.ndarray]:
    """Mean and sample standard deviation of a metric over runs, each ``[E]``; the deviation of one run is 0.

    NaN from where on a run had diverged: a mean over the others would flatter the method.
    """
    runs = [METRICS[metric][1](record) for record in records]
    if len({len(values) for values in runs}) > 1:
        raise TaclError(f"the runs have {sorted(len(v) for v in runs)} epochs; a mean needs runs of the same spec.")
    values = np.stack(runs)
    return values.mean(0), values.std(0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1])


def draw_runs(ax: Axes, records: Sequence[Record], metric: str, look: Look, turn: int = 0) -> Line2D:
    """The mean over runs as a line, ±1 standard deviation as a band; a × where a run diverged.

    The value after the first epoch stands at 1. turn: shifts the markers, so that lines do not hide each other's.
    """
    mean, deviation = mean_and_spread(records, metric)
    x = np.arange(1, len(mean) + 1)
    every = max(len(mean) // 8, 1)
    (line,) = ax.plot(x, mean, label=look.label, markevery=((turn * 3) % every, every), **look.line())
    if len(records) > 1:
        shade = 0.1 if look.aware else 0.16
        ax.fill_between(x, mean - deviation, mean + deviation, color=look.colour, alpha=shade, lw=0, label=look.label)
    finite = np.flatnonzero(np.isfinite(mean))
    if len(finite) < len(mean) and len(finite):
        ax.plot(x[finite[-1]], mean[finite[-1]], "x", color=look.colour, ms=8, mew=2, zorder=5, label="_diverged")
    return line


def mark_tasks(ax: Axes, epochs: pd.DataFrame) -> None:
    """Thin lines where the task changes; grey where two tasks are mixed."""
    for x in task_changes(epochs):
        ax.axvline(x, color=style.FAINT, linewidth=0.7, zorder=1, label="_change")
    for begin, end in mixing_spans(epochs):
        ax.axvspan(begin, end, color=style.GROUND, alpha=0.75, lw=0, zorder=0, label="_mixing")


def tidy(ax: Axes, epochs: int) -> None:
    """A quiet frame, whole epochs on the x axis, and no room for what cannot be: all that is drawn lies in [0, 1]."""
    ax.set_xlim(0, epochs * 1.015)  # a little more, so that the last markers are whole
    ax.margins(y=0.06)
    low, high = ax.get_ylim()
    ax.set_ylim(max(low, -0.03), min(high, 1.03))  # a band of few runs may reach beyond
    ax.grid(axis="y")
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True, steps=[1, 2, 5, 10]))
    ax.yaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 5, 10]))


def not_run(ax: Axes, reason: str) -> None:
    """Say in an empty panel why it is empty."""
    ax.set_facecolor("#f6f6f6")
    ax.set_xticks([])
    ax.set_yticks([])
    for spine in ax.spines.values():
        spine.set(color=style.FAINT, linestyle=(0, (3, 3)))
    ax.text(
        0.5,
        0.5,
        f"not run\n{reason}",
        ha="center",
        va="center",
        transform=ax.transAxes,
        color="#555555",
        wrap=True,
        size=8.5,
    )


def key_of(looks: Iterable[Look]) -> list[Line2D]:
    """Legend entries, long enough to show the dash, with one marker in the middle."""
    return [Line2D([], [], label=look.label, **look.line()) for look in looks]


def ends(records: Sequence[Record], metric: str) -> str:
    """The last mean of a metric in words, for an alternative text."""
    mean, _ = mean_and_spread(records, metric)
    return f"{mean[-1]:.2f}" if np.isfinite(mean[-1]) else "diverged"

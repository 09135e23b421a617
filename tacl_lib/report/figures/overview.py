"""The idea at a glance, from real runs: the first task is forgotten, or not, and where it survives."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import FigureBase

from tacl_lib.errors import TaclError
from tacl_lib.report.figures import style
from tacl_lib.report.figures.parts import draw_runs, ends, key_of, mark_tasks, tidy
from tacl_lib.report.figures.picture import Picture, finished, new_picture
from tacl_lib.report.figures.timeline import draw_timeline, oldest_counts, task_key
from tacl_lib.training.record import Record

METRIC, MEMORY_OF = "first_task_accuracy", "ta_agem"


def overview_figure(runs: Mapping[str, Sequence[Record]], *, title: str = "") -> Picture:
    """Left: accuracy of the first task while others are learned. Right: what the clusters of one run hold.

    runs: records by method; those of TA-A-GEM need an event log, and the first of them is drawn.
    """
    looks = _looks(runs)
    with style.applied():
        picture = new_picture(12, 4.6, title=title)
        left, right = picture.subfigures(1, 2, width_ratios=(1, 1.05), wspace=0.03)
        _draw_accuracy(left, runs, looks)
        _draw_memory(right, runs, looks)
    known, held = _alts(runs, looks)
    return finished(picture, f"{title + ': ' if title else ''}two charts over epochs. Left: {known} Right: {held}")


def overview_halves(runs: Mapping[str, Sequence[Record]]) -> tuple[Picture, Picture]:
    """The same as two figures, for pages that put them below each other where there is little room."""
    looks, halves = _looks(runs), []
    for draw, alt in zip((_draw_accuracy, _draw_memory), _alts(runs, looks), strict=True):
        with style.applied():
            picture = new_picture(6, 4.6)
            draw(picture, runs, looks)
        halves.append(finished(picture, f"A chart over epochs: {alt}"))
    return tuple(halves)


def _looks(runs: Mapping[str, Sequence[Record]]) -> dict[str, style.Look]:
    if not runs.get(MEMORY_OF):
        raise TaclError(f"the overview needs a run of {MEMORY_OF}; run it first.")
    return style.looks(method for method, records in runs.items() if records)


def _draw_accuracy(part: FigureBase, runs, looks: Mapping[str, style.Look]) -> None:
    ax = part.subplots()
    epochs = runs[MEMORY_OF][0].epochs
    mark_tasks(ax, epochs)
    for turn, method in enumerate(looks):
        draw_runs(ax, runs[method], METRIC, looks[method], turn)
    tidy(ax, len(epochs))
    ax.set_title("Is the first task still known?")
    ax.set_xlabel("Epochs trained")
    ax.set_ylabel("Accuracy of first task")
    part.legend(
        handles=key_of(looks.values()),
        loc="outside lower center",
        ncols=len(looks),
        frameon=False,
        handlelength=2.9,
        columnspacing=1.1,
        handletextpad=0.5,
    )


def _draw_memory(part: FigureBase, runs, looks: Mapping[str, style.Look]) -> None:
    ax, shown = part.subplots(), runs[MEMORY_OF][0]
    draw_timeline(ax, shown)
    ax.set_title(f"What the memory of {looks[MEMORY_OF].label} holds: oldest task in each cluster")
    tasks = shown.accuracy.shape[1]
    part.legend(
        handles=task_key(tasks),
        loc="outside lower center",
        ncols=tasks + 1,
        frameon=False,
        handlelength=1.4,
        handleheight=1.1,
        columnspacing=1.2,
    )


def _alts(runs, looks: Mapping[str, style.Look]) -> tuple[str, str]:
    """Both halves in words."""
    finals = "; ".join(f"{looks[method].label} {ends(runs[method], METRIC)}" for method in looks)
    shown = runs[MEMORY_OF][0]
    old = int(oldest_counts(shown)[0])
    clusters = shown.events.geometry.pools * shown.events.geometry.clusters
    return (
        "accuracy on the first task while other tasks are learned, mean of runs with a band of ±1 standard deviation; "
        f"after the last epoch: {finals}.",
        f"one horizontal line per cluster of the memory of {looks[MEMORY_OF].label}, in the colour of its "
        f"oldest task; when training ends, {old} of {clusters} clusters still hold samples of the first task.",
    )

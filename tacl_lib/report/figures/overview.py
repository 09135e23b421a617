"""The idea at a glance, from real runs: the first task is forgotten, or not, and where it survives."""

from collections.abc import Mapping, Sequence

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
    if not runs.get(MEMORY_OF):
        raise TaclError(f"the overview needs a run of {MEMORY_OF}; run it first.")
    looks = style.looks(method for method, records in runs.items() if records)
    shown = runs[MEMORY_OF][0]
    with style.applied():
        picture = new_picture(12, 4.6, title=title)
        left, right = picture.subfigures(1, 2, width_ratios=(1, 1.05), wspace=0.03)
        ax = left.subplots()
        mark_tasks(ax, shown.epochs)
        for turn, method in enumerate(looks):
            draw_runs(ax, runs[method], METRIC, looks[method], turn)
        tidy(ax, len(shown.epochs))
        ax.set_title("Is the first task still known?")
        ax.set_xlabel("Epochs trained")
        ax.set_ylabel("Accuracy of first task")
        left.legend(
            handles=key_of(looks.values()),
            loc="outside lower center",
            ncols=len(looks),
            frameon=False,
            handlelength=2.9,
            columnspacing=1.1,
            handletextpad=0.5,
        )
        memory = right.subplots()
        draw_timeline(memory, shown)
        memory.set_title(f"What the memory of {looks[MEMORY_OF].label} holds: oldest task in each cluster")
        tasks = shown.accuracy.shape[1]
        right.legend(
            handles=task_key(tasks),
            loc="outside lower center",
            ncols=tasks + 1,
            frameon=False,
            handlelength=1.4,
            handleheight=1.1,
            columnspacing=1.2,
        )
    return finished(picture, _alt(runs, looks, title))


def _alt(runs, looks: Mapping[str, style.Look], title: str) -> str:
    finals = "; ".join(f"{looks[method].label} {ends(runs[method], METRIC)}" for method in looks)
    shown = runs[MEMORY_OF][0]
    old = int(oldest_counts(shown)[0])
    clusters = shown.events.geometry.pools * shown.events.geometry.clusters
    return (
        f"{title + ': ' if title else ''}two charts over epochs. Left: accuracy on the first task while "
        f"other tasks are learned, mean of runs with a band of ±1 standard deviation; after the last epoch: {finals}. "
        f"Right: one horizontal line per cluster of the memory of {looks[MEMORY_OF].label}, in the colour of its "
        f"oldest task; when training ends, {old} of {clusters} clusters still hold samples of the first task."
    )

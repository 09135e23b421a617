"""What the clusters of a memory hold over time: one line per cluster, in the colour of its oldest task."""

from collections.abc import Mapping

import numpy as np
from matplotlib import patheffects
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from tacl_lib.errors import TaclError
from tacl_lib.report.figures import style
from tacl_lib.report.figures.parts import mixing_spans, not_run, task_changes
from tacl_lib.report.figures.picture import Picture, finished, new_picture
from tacl_lib.training.events import EMPTY
from tacl_lib.training.record import Record

BINS = 1200  #: moments shown, more than a printed figure has dots


def moments(record: Record, bins: int = BINS) -> np.ndarray:
    """The last step that was over at the middle of each of ``bins`` equal parts of the training, -1 before the first.

    Equal in epochs, whose steps may differ from task to task.
    """
    starts = np.append(
        record.epochs["first_step"], record.epochs["first_step"].iloc[-1] + record.epochs["steps"].iloc[-1]
    )
    middle = (np.arange(bins) + 0.5) * len(record.epochs) / bins
    return np.floor(np.interp(middle, np.arange(len(starts)), starts)).astype(np.int64) - 1


def draw_timeline(ax: Axes, record: Record, tasks: int | None = None, bins: int = BINS) -> None:
    """Draw the memory of a run; black lines where the task changes, or bars above where two tasks are mixed."""
    log = record.events
    if log is None:
        raise TaclError("this run kept no event log, as its method has no clusters; take one of TA-A-GEM or TA-OGD.")
    tasks = tasks or record.accuracy.shape[1]
    pools, of_pool, _ = log.geometry
    content = log.oldest(moments(record, bins))
    epochs, gap = len(record.epochs), max(pools * of_pool / 50, 0.5)
    ax.set_facecolor(style.GROUND)
    for pool in range(pools):
        top = pool * (of_pool + gap)
        ax.imshow(
            content[pool * of_pool : (pool + 1) * of_pool],
            cmap=style.task_colour_map(tasks),
            vmin=EMPTY - 0.5,
            vmax=tasks - 0.5,
            extent=(0, epochs, top + of_pool, top),
            aspect="auto",
            interpolation="nearest",
            zorder=1,
        )
        if pools > 1:
            ax.text(
                1.012,
                top + of_pool / 2,
                _pool_name(pool, pools),
                transform=ax.get_yaxis_transform(),
                va="center",
                ha="left",
                size=8,
                rotation=90 if pools < 4 else 0,
            )
    ax.set_xlim(0, epochs)
    ax.set_ylim(pools * (of_pool + gap) - gap, 0)
    _cluster_ticks(ax, pools, of_pool, gap)
    casing = [patheffects.withStroke(linewidth=2.2, foreground="white")]
    for x in task_changes(record.epochs):
        ax.axvline(x, color="black", linewidth=1.1, zorder=3, label="_change", path_effects=casing)
    for begin, end in mixing_spans(record.epochs):
        ax.plot(
            [begin, end],
            [1.012, 1.012],
            transform=ax.get_xaxis_transform(),
            color="black",
            linewidth=3,
            solid_capstyle="butt",
            clip_on=False,
            label="_mixing",
        )
    ax.set_xlabel("Epochs trained")
    ax.set_ylabel("Cluster")


def timeline_figure(
    panels: Mapping[str, Record | None],
    *,
    title: str = "",
    reasons: Mapping[str, str] | None = None,
    reduced: str | None = None,
) -> Picture:
    """Cluster contents over time side by side, e.g. ``{"Clustering": record, "Random assignment": record}``.

    A panel without a record says that it was not run, and why (``reasons``, by panel).
    """
    given = {name: record for name, record in panels.items() if record is not None}
    tasks = max((record.accuracy.shape[1] for record in given.values()), default=1)
    with style.applied():
        picture = new_picture(5.6 * len(panels) if len(panels) > 1 else 6.4, 4.9, title=title, reduced=reduced)
        axes = picture.subplots(1, len(panels), squeeze=False)[0]
        for ax, (name, record) in zip(axes, panels.items(), strict=True):
            ax.set_title(name, pad=9)
            if record is None:
                not_run(ax, (reasons or {}).get(name, "no finished run was given"))
            else:
                draw_timeline(ax, record, tasks)
        if given:
            picture.legend(
                handles=task_key(tasks, any(mixing_spans(record.epochs) for record in given.values())),
                title="Oldest task in the cluster",
                loc="outside lower center",
                ncols=tasks + 2,
                frameon=False,
                handlelength=1.4,
                handleheight=1.1,
                columnspacing=1.4,
            )
    return finished(picture, _alt(panels, title, reasons or {}, reduced))


def task_key(tasks: int, mixed: bool = False) -> list[Artist]:
    """Legend entries: the tasks, the empty cluster and, of a continuous stream, the bar above mixed epochs."""
    named = [(f"Task {task}", colour) for task, colour in enumerate(style.task_colours(tasks))]
    boxes = [
        Patch(facecolor=colour, edgecolor=style.FAINT, linewidth=0.6, label=label)
        for label, colour in [*named, ("empty", style.EMPTY_COLOUR)]
    ]
    return [*boxes, Line2D([], [], color="black", linewidth=3, label="two tasks mixed")] if mixed else boxes


def oldest_counts(record: Record) -> np.ndarray:
    """Of how many clusters each task is the oldest when training ends: int64 ``[T]``."""
    content = record.events.oldest([np.iinfo(np.int32).max])[:, 0]
    return np.bincount(content[content >= 0], minlength=record.accuracy.shape[1])


def _pool_name(pool: int, pools: int) -> str:
    return f"pool of class {pool}" if pools < 4 else f"class {pool}"


def _cluster_ticks(ax: Axes, pools: int, of_pool: int, gap: float) -> None:
    """Cluster numbers, about ten in all; the first of every pool among them."""
    every = next((n for n in (1, 2, 5, 10, 20, 50, 100, 200, 500) if n * 12 >= pools * of_pool), 1000)
    shown = [(pool, cluster) for pool in range(pools) for cluster in range(0, of_pool, every)]
    ax.set_yticks([pool * (of_pool + gap) + cluster + 0.5 for pool, cluster in shown])
    ax.set_yticklabels([str(pool * of_pool + cluster) for pool, cluster in shown])


def _alt(panels: Mapping[str, Record | None], title: str, reasons: Mapping[str, str], reduced: str | None) -> str:
    mixed = any(record is not None and mixing_spans(record.epochs) for record in panels.values())
    said = [
        f"{title + '. ' if title else ''}What the clusters of the memory hold during training. Each horizontal line is "
        "a cluster, in the colour of the oldest task that it holds, white while empty; "
        + (
            "black bars above show where two tasks are mixed."
            if mixed
            else "black vertical lines mark each task change."
        )
    ]
    for name, record in panels.items():
        if record is None:
            said.append(f"{name}: not run, {reasons.get(name, 'no finished run was given')}.")
            continue
        counts = ", ".join(f"task {task} in {count}" for task, count in enumerate(oldest_counts(record)))
        said.append(f"{name}: when training ends, the oldest task is {counts} clusters.")
    return " ".join([*([reduced + "."] if reduced else []), *said])

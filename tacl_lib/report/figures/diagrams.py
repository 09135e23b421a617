"""The two drawings of the method: from task-aware to task-agnostic, and how a sample joins a cluster."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch, Rectangle

from tacl_lib.report.figures import style
from tacl_lib.report.figures.picture import Picture, finished, new_picture

TASKS = 3
BATCHES = 6  #: drawn for each task
CELL = 0.3  #: inches
START = 2.35  #: where the streams begin
PLACES = 3  #: of each cluster that is drawn


def strategy_diagram() -> Picture:
    """Task-aware methods store when a task ends; ours after every batch, in clusters of fixed size."""
    colours = style.task_colours(5)[::2]
    bold = {"size": 9, "weight": "bold", "va": "center"}
    with style.applied():
        picture, ax = _canvas(8.9, 5.75)
        _heading(
            ax,
            5.35,
            "Task-aware",
            "A-GEM, OGD",
            "Told when a task ends:\nthen it stores samples\nor gradients of the task.",
        )
        _stream(ax, 4.85, colours, bounded=True)
        for task in range(TASKS):
            x = _end_of(task)
            _arrow(ax, (x, 4.78), (x, 4.24), width=1.6)
            ax.text(x - 0.1, 4.55, f"end of $T_{task + 1}$", ha="right", va="center", size=8.5)
            deep = 0.06 + 0.24 * (task + 1)
            _box(ax, x - 0.6, 4.18 - deep, 1.2, deep)
            for row in range(task + 1):
                _cells(ax, x - 0.54, 3.94 - 0.24 * row, [colours[row]] * 6, 0.18)
        ax.text(START, 3.08, "The memory, shown at three moments, grows with every task.", **bold)

        ax.plot([0.15, 8.75], [2.72, 2.72], color=style.FAINT, lw=0.8, ls=(0, (4, 3)))

        _heading(
            ax,
            2.4,
            "Task-agnostic",
            "TA-A-GEM, TA-OGD",
            "Told nothing: a sample or\ngradient of every batch\njoins the nearest cluster.",
        )
        _stream(ax, 1.9, colours, bounded=False)
        for batch in range(TASKS * BATCHES):
            x = START + (batch + 0.5) * CELL
            _arrow(ax, (x, 1.84), (x, 1.42), width=0.8, head=6)
        for task in range(TASKS):
            _memory(ax, _end_of(task) - 1.65, 0.6, colours, task)
        ax.text(START, 0.25, "The memory keeps its size; some of its clusters keep old tasks.", **bold)
        ax.text(8.15, 4.85 + CELL / 2, "time", size=8.5, va="center")
        ax.text(8.15, 1.9 + CELL / 2, "time", size=8.5, va="center")
    alt = (
        "Two timelines of the same three tasks. Above, a task-aware method (A-GEM, OGD): after the known end of each "
        "task it stores samples of that task, and the memory grows by one block a task. Below, the task-agnostic "
        "method (TA-A-GEM, TA-OGD): no task boundary is known, an arrow leads from every batch to the memory, which "
        "has a fixed number of clusters of fixed size and holds samples of old tasks beside new ones."
    )
    return finished(picture, alt)


def clustering_diagram() -> Picture:
    """Four moments of the clustering mechanism, computed by its own rule from a handful of points."""
    members, newcomer = _example()
    means = members.mean(1)
    nearest = int(((means - newcomer) ** 2).sum(1).argmin())
    after = members.copy()
    after[nearest] = np.vstack([members[nearest, 1:], newcomer])  # the first one is the oldest
    titles = (
        "1  A newcomer z arrives",
        "2  The nearest mean is found",
        "3  z joins, the oldest leaves",
        "4  The mean is recomputed",
    )
    with style.applied():
        picture = new_picture(11.6, 3.45)
        axes = picture.subplots(1, 4)
        for number, (ax, title) in enumerate(zip(axes, titles, strict=True)):
            _space(ax, title)
            late = number == 3
            _groups(
                ax,
                after if late else members,
                after.mean(1) if late else means,
                nearest,
                newest=late,
                leaves=number == 2,
            )
            if not late:
                ax.plot(*newcomer, "*", color="black", ms=15, mec="white", mew=0.8, zorder=6)
                ax.annotate(
                    "z", newcomer, xytext=(9, 5), textcoords="offset points", size=11, style="italic", weight="bold"
                )
        for group, mean in enumerate(means):
            near = group == nearest
            axes[1].plot(
                *zip(newcomer, mean, strict=True),
                color="black" if near else style.FAINT,
                lw=2 if near else 1,
                ls="-" if near else (0, (3, 2)),
                zorder=2,
            )
        _arrow(axes[2], newcomer, means[nearest], width=1.8, shrink=11)
        oldest = members[nearest, 0]
        _arrow(axes[2], oldest, oldest + np.array((-0.7, -1.6)), width=1.8, shrink=8)
        axes[2].text(*(oldest + np.array((-0.9, -1.75))), "oldest out", ha="center", va="top", size=9)
        axes[3].plot(*means[nearest], "+", color=style.FAINT, ms=9, mew=2, zorder=2)
        _arrow(axes[3], means[nearest], after[nearest].mean(0), width=1.4, shrink=2, head=8)
        picture.supxlabel(
            "numbers: order of arrival in a cluster (1 is the oldest)     +: mean of a cluster     "
            "here every cluster has room for P = 3",
            size=9,
        )
    alt = (
        "Four pictures of the same three clusters of three members each. One: a newcomer z arrives. Two: its distances "
        "to the three cluster means are compared; the nearest is highlighted. Three: z joins the nearest cluster and "
        "the member that came first leaves. Four: the mean of that cluster is recomputed and has moved towards z."
    )
    return finished(picture, alt)


def _canvas(width: float, height: float) -> tuple[Picture, Axes]:
    """An empty drawing whose coordinates are inches."""
    picture = new_picture(width, height)
    picture.set_layout_engine("none")
    ax = picture.add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, width), ylim=(0, height))
    ax.axis("off")
    return picture, ax


def _arrow(ax: Axes, start, end, width: float, head: float = 11, shrink: float = 0) -> None:
    ax.add_patch(
        FancyArrowPatch(
            start,
            end,
            arrowstyle="-|>",
            mutation_scale=head,
            lw=width,
            color=style.INK,
            shrinkA=shrink,
            shrinkB=shrink,
            zorder=4,
        )
    )


def _end_of(task: int) -> float:
    return START + (task + 1) * BATCHES * CELL


def _heading(ax: Axes, top: float, name: str, methods: str, text: str) -> None:
    ax.text(0.15, top, name, size=13, weight="bold", va="top")
    ax.text(0.15, top - 0.3, methods, size=9.5, va="top", color="#555555")
    ax.text(0.15, top - 0.68, text, size=9, va="top", linespacing=1.45)


def _cells(ax: Axes, x: float, y: float, colours: list[str], size: float) -> None:
    for number, colour in enumerate(colours):
        ax.add_patch(Rectangle((x + number * size, y), size, size, facecolor=colour, edgecolor="white", lw=1))


def _box(ax: Axes, x: float, y: float, width: float, height: float) -> None:
    """The frame of a memory."""
    shape = FancyBboxPatch((x, y), width, height, boxstyle="round,pad=0.03", facecolor="white", lw=1.2)
    shape.set_edgecolor(style.INK)
    ax.add_patch(shape)


def _stream(ax: Axes, y: float, colours: list[str], bounded: bool) -> None:
    """The batches in order; with the names and ends of the tasks only where the method knows them."""
    _cells(ax, START, y, [colours[task] for task in range(TASKS) for _ in range(BATCHES)], CELL)
    _arrow(ax, (START + TASKS * BATCHES * CELL + 0.05, y + CELL / 2), (8.1, y + CELL / 2), width=1.2)
    for task in range(TASKS):
        middle = _end_of(task) - BATCHES * CELL / 2
        if bounded:
            ax.text(middle, y + CELL + 0.1, f"task $T_{task + 1}$", ha="center", va="bottom", size=10)
            ax.plot([_end_of(task)] * 2, [y - 0.05, y + CELL + 0.28], color="black", lw=2)
    if not bounded:
        ax.text(START, y + CELL + 0.1, "batches; nobody says where a task ends", va="bottom", size=9, style="italic")


def _memory(ax: Axes, x: float, y: float, colours: list[str], task: int) -> None:
    """The clusters after a task: the same number and size each time, older tasks still in some."""
    holds = ((0, 0, 0, 0, 0, 0), (0, 1, 0, 1, 1, 0), (0, 1, 2, 1, 2, 0))[task]
    _box(ax, x, y, 1.5, 0.72)
    for cluster, held in enumerate(holds):
        column, row = cluster % 3, cluster // 3
        for place in range(PLACES):
            centre = (x + 0.13 + column * 0.5 + place * 0.12, y + 0.53 - row * 0.34)
            ax.add_patch(Circle(centre, 0.055, facecolor=colours[held], edgecolor="white", lw=0.5))


def _example() -> tuple[np.ndarray, np.ndarray]:
    """Members of three clusters ``[3, 3, 2]`` in order of arrival, and a newcomer."""
    members = np.array(
        [
            [[1.15, 7.3], [2.7, 7.2], [2.05, 8.8]],
            [[5.0, 4.2], [6.6, 5.3], [5.1, 5.9]],
            [[7.3, 1.1], [8.7, 1.7], [7.2, 2.6]],
        ]
    )
    return members, np.array([7.7, 7.3])


def _space(ax: Axes, title: str) -> None:
    ax.set(xlim=(0, 10), ylim=(0, 10), xticks=[], yticks=[], aspect="equal")
    ax.set_title(title, loc="left", size=10)


def _groups(ax: Axes, members: np.ndarray, means: np.ndarray, nearest: int, newest: bool, leaves: bool) -> None:
    colours = ("#2f9fd0", "#c93a06", "#8a6a00")
    for group, (points, mean) in enumerate(zip(members, means, strict=True)):
        reach = np.linalg.norm(points - mean, axis=1).max() + 0.75
        chosen = group == nearest
        ax.add_patch(Circle(mean, reach, facecolor=colours[group], alpha=0.16 if chosen else 0.1, lw=0, zorder=0))
        ax.add_patch(Circle(mean, reach, fill=False, edgecolor=colours[group], lw=2 if chosen else 1, zorder=1))
        ax.plot(*mean, "+", color="black", ms=9, mew=2, zorder=5)
        for age, point in enumerate(points):
            out = leaves and chosen and age == 0
            star = newest and chosen and age == len(points) - 1
            ax.plot(
                *point,
                "o",
                ms=13,
                color="white" if out else colours[group],
                mec="black" if star else colours[group],
                mew=1.6,
                zorder=3,
            )
            ax.text(
                *point,
                str(age + 1),
                ha="center",
                va="center_baseline",
                size=8,
                weight="bold",
                color=colours[group] if out else "white",
                zorder=4,
            )

"""The figures of the lessons, one line each where they are used."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from tacl_lib.report.figures import style
from tacl_lib.report.figures.picture import Picture, finished, new_picture
from tacl_lib.teaching.lessons.world import World

#: the methods of the lessons: colour, dash, marker; anything else takes one of OTHERS
LOOKS = {
    "SGD": ("#c79200", (0, (1, 1)), "v"),
    "A-GEM": ("#2b8a3e", (0, (6, 1.5)), "s"),
    "OGD": ("#1c6fb5", (0, (3, 1.5)), "D"),
    "TA-A-GEM": ("#c93a06", "-", "o"),
    "TA-OGD": ("#004c94", (0, (9, 2, 1, 2)), "^"),
    "yours": ("#7b2d8b", "-", "X"),
}
OTHERS = (
    ("#c93a06", "-", "o"),
    ("#004c94", (0, (5, 1.5)), "s"),
    ("#2b8a3e", (0, (2, 1)), "^"),
    ("#1a1a1a", (0, (1, 1)), "D"),
)


def looks_of(names: Iterable[str]) -> dict[str, dict]:
    """How the lines of these names look."""
    spare, found = iter(OTHERS * 3), {}
    for name in names:
        colour, dash, marker = LOOKS.get(name) or next(spare)
        found[name] = {"color": colour, "ls": dash, "marker": marker, "lw": 2, "ms": 4.5}
    return found


def show_tasks(world: World, columns: int = 10, title: str = "What there is to learn") -> Picture:
    """A row of images for each task."""
    with style.applied():
        picture = new_picture(9, 0.35 + 0.62 * len(world.tasks), title=title)
        for task, ax in enumerate(np.atleast_1d(picture.subplots(len(world.tasks), 1))):
            each = world.tasks[task]
            rows = [int(row) for label in range(world.classes) for row in (each.y == label).nonzero()[:2, 0]]
            rows += [row for row in range(len(each.y)) if row not in rows]
            images = [np.pad(world.image(each.x[row]), 1, constant_values=60) for row in sorted(rows[:columns])]
            ax.imshow(np.hstack(images), cmap="gray")
            ax.set(xticks=[], yticks=[])
            ax.set_ylabel(f"task {task}\n{world.names[task]}", rotation=0, ha="right", va="center")
    return finished(picture, f"Some images of each task: {'; '.join(world.names)}.")


def curves(
    runs: Mapping[str, np.ndarray], label: str, title: str = "", every: int | None = None, x: str = "Epochs trained"
) -> Picture:
    """Lines with bands: name → [points] or [seeds, points]. every: points that a task lasts."""
    with style.applied():
        picture = new_picture(9, 3.4, title=title)
        ax = picture.subplots()
        for name, look in looks_of(runs).items():
            values = np.atleast_2d(runs[name])
            at, mean = np.arange(1, values.shape[1] + 1), values.mean(0)
            ax.plot(at, mean, label=name, markevery=max(1, len(at) // 12), **look)
            if len(values) > 1:
                spread = values.std(0, ddof=1)
                ax.fill_between(at, mean - spread, mean + spread, color=look["color"], alpha=0.15, lw=0)
        mark_changes(ax, len(at), every)
        ax.set(xlabel=x, ylabel=label, xlim=(0.5, len(at) + 0.5))
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.legend(loc="upper left", bbox_to_anchor=(1, 1), handlelength=4, frameon=False)
    ends = ", ".join(f"{name} {np.atleast_2d(values)[:, -1].mean():.2f}" for name, values in runs.items())
    return finished(picture, f"{label} over {len(at)} points; in the end {ends}.")


def mark_changes(ax: Axes, points: int, every: int | None) -> None:
    """A line where a task ends, and its number."""
    for task in range(points // every if every else 0):
        if task:
            ax.axvline(task * every + 0.5, color=style.FAINT, lw=0.8)
        ax.text(
            (task + 0.5) * every + 0.5, 1.01, f"task {task}", ha="center", size=8, transform=ax.get_xaxis_transform()
        )


def matrix(A: np.ndarray, names: Sequence[str], title: str = "Accuracy matrix") -> Picture:
    """Accuracy after each task (rows) on each task (columns)."""
    with style.applied():
        picture = new_picture(6.4, 4.2, title=title)
        ax = picture.subplots()
        image = ax.imshow(A, cmap="cividis", vmin=0, vmax=1)
        for (row, column), value in np.ndenumerate(A):
            look = {"color": "black" if value > 0.55 else "white", "weight": "bold" if row == column else "normal"}
            ax.text(column, row, f"{value:.2f}", ha="center", va="center", **look)
        ax.set_xticks(range(len(names)), [f"{k}\n({name})" for k, name in enumerate(names)])
        ax.set_yticks(range(len(A)), [f"after task {k}" for k in range(len(A))])
        ax.set_xlabel("Tested on task (bold: just learned; right of it: not learned yet)")
        picture.colorbar(image, label="Accuracy", shrink=0.9)
    told = "; ".join(f"after task {k}: " + ", ".join(f"{v:.2f}" for v in row) for k, row in enumerate(A))
    return finished(picture, f"Accuracy on each task, {told}.")


def lines(at: Sequence[float], values: Mapping[str, Sequence[float]], x: str, y: str, title: str = "") -> Picture:
    """A line for each name, over any numbers."""
    with style.applied():
        picture = new_picture(8.4, 3.2, title=title)
        ax = picture.subplots()
        for name, look in looks_of(values).items():
            ax.plot(at, values[name], label=name, **(look | {"marker": ""}))
        ax.set(xlabel=x, ylabel=y)
        ax.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False, handlelength=4)
    ends = ", ".join(f"{name} from {line[0]:.3g} to {line[-1]:.3g}" for name, line in values.items())
    return finished(picture, f"{y} against {x}: {ends}.")


def points(groups: Mapping[str, Sequence[float]], label: str, title: str = "", log: bool = True) -> Picture:
    """Every value as a point, group beside group."""
    with style.applied():
        picture = new_picture(8, 3, title=title)
        ax = picture.subplots()
        for place, (look, values) in enumerate(zip(looks_of(groups).values(), groups.values(), strict=True)):
            shown = np.maximum(np.asarray(values, dtype=float), 1e-17) if log else np.asarray(values, dtype=float)
            spread = np.linspace(-0.2, 0.2, len(shown))
            ax.scatter(place + spread, shown, s=16, color=look["color"], marker=look["marker"], alpha=0.8)
        ax.set(ylabel=label, yscale="log" if log else "linear")
        ax.set_xticks(range(len(groups)), groups)
    said = ", ".join(f"{name} {np.median(np.asarray(values, dtype=float)):.2g}" for name, values in groups.items())
    return finished(picture, f"{label}, medians: {said}.")


def shares(groups: Mapping[str, np.ndarray], title: str = "Who is in the memory?") -> Picture:
    """Stacked bars: name → share of each task [seeds, tasks]; above them the effective number of tasks."""
    count = next(iter(groups.values())).shape[1]
    colours = style.task_colours(count)
    with style.applied():
        picture = new_picture(8.5, 3.8, title=title)
        ax, bottom = picture.subplots(), np.zeros(len(groups))
        means = np.array([values.mean(0) for values in groups.values()])
        for task in range(count):
            ax.bar(
                range(len(groups)), means[:, task], bottom=bottom, color=colours[task], ec="white", label=f"task {task}"
            )
            for place, (low, high) in enumerate(zip(bottom, means[:, task], strict=True)):
                if high > 0.07:
                    ink = "black" if task > count / 2 else "white"
                    ax.text(place, low + high / 2, f"{high:.0%}", ha="center", va="center", size=8, color=ink)
            bottom += means[:, task]
        for place, values in enumerate(groups.values()):
            ax.text(place, 1.02, f"{effective_tasks(values).mean():.1f}", ha="center", size=9, weight="bold")
        ax.set(ylim=(0, 1.1), ylabel="Share of the memory", xlabel="bold: effective number of tasks")
        ax.set_xticks(range(len(groups)), groups)
        picture.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=count, frameon=False)
    said = "; ".join(f"{name}: {', '.join(f'{v:.0%}' for v in row)}" for name, row in zip(groups, means, strict=True))
    return finished(picture, f"Share of each task in the memory. {said}.")


def effective_tasks(share: np.ndarray) -> np.ndarray:
    """The effective number of tasks, e to the entropy: all if they have equal shares, 1 if one has everything."""
    logs = np.log(np.where(share > 0, share, 1))
    return np.exp(-(share * logs).sum(-1))


def plane(shots: Sequence[list], clouds: Sequence[np.ndarray], title: str = "") -> Picture:
    """Clusters of a memory in the plane after each task; a shot is a list of clusters of (tag, z)."""
    colours = style.task_colours(len(clouds) + 1)
    with style.applied():
        picture = new_picture(10.5, 3.2, title=title)
        for task, (ax, clusters) in enumerate(zip(picture.subplots(1, len(shots), sharey=True), shots, strict=True)):
            for cloud in clouds[: task + 1]:
                ax.scatter(*np.asarray(cloud).T, s=5, color="#d5d5d5", zorder=1)
            for cluster in clusters:
                mean = np.mean([np.asarray(z) for _, z in cluster], axis=0)
                for tag, z in cluster:
                    ax.plot([z[0], mean[0]], [z[1], mean[1]], color=style.INK, lw=0.7, zorder=2)
                    look = {"color": colours[tag], "marker": "osD^v"[tag], "ec": "black", "lw": 0.5}
                    ax.scatter(*z, s=32, zorder=3, **look)
            ax.set(title=f"after task {task}", xticks=[], yticks=[])
    return finished(picture, "Stored points after each task: clusters of old clouds stay when new clouds come.")


def table(runs: Mapping[str, Mapping[str, Sequence[float]]]) -> pd.DataFrame:
    """Mean ± deviation over the seeds: method → number → [seeds]."""
    text = {
        name: {what: f"{np.mean(v):.3f} ± {np.std(v, ddof=1):.3f}" for what, v in own.items()}
        for name, own in runs.items()
    }
    return pd.DataFrame(text).T

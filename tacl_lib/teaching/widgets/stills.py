"""The same states as still images, for where no front end can show a widget."""

import textwrap
from collections.abc import Sequence

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from tacl_lib.report.figures import style
from tacl_lib.report.figures.picture import Picture, finished, new_picture
from tacl_lib.report.figures.timeline import task_key
from tacl_lib.teaching.widgets import thumbnails
from tacl_lib.teaching.widgets.base import TaskLook
from tacl_lib.teaching.widgets.history import MemoryHistory, MemoryState
from tacl_lib.training.events import EMPTY

NOW = "#d6006c"  #: the newcomer and the cursor: not a colour of any task
FOLLOWED = "#000000"  #: the cluster that is followed


def empty_still(sentence: str) -> Picture:
    """Nothing to show but a sentence."""
    with style.applied():
        picture = new_picture(11, 1.2)
        picture.subplots().set_axis_off()
        picture.text(0.5, 0.5, textwrap.fill(sentence, 130), ha="center", va="center", parse_math=False)
    return finished(picture, sentence)


def player_still(
    history: MemoryHistory, state: MemoryState, followed: int | None, looks: list[TaskLook], title: str = ""
) -> Picture:
    """The four views of the player at a step."""
    sentence = history.sentence(state)
    with style.applied():
        picture = new_picture(11, 7.6, title=title)
        upper, lower = picture.subfigures(2, 1, height_ratios=(1.15, 1))
        draw_clusters(upper.subplots(), history, state, followed, looks, aspect=3.1)
        upper.suptitle(sentence, size=10)
        left, right = lower.subfigures(1, 2, width_ratios=(1.45, 1))
        timeline, share = left.subplots(2, 1, sharex=True, height_ratios=(2, 1))
        draw_over_time(timeline, share, history, state, followed, looks)
        draw_map(right.subplots(), history, state, followed, looks)
        _key(picture, looks)
    return finished(picture, f"{sentence} {in_numbers(state)}")


def builder_still(
    names: Sequence[str], histories: Sequence[MemoryHistory], step: int, followed: int | None, looks: list[TaskLook]
) -> Picture:
    """Memories side by side at the same step."""
    states = [history.state(step) for history in histories]
    with style.applied():
        picture = new_picture(11, 7.6)
        columns = np.atleast_1d(picture.subfigures(1, len(histories)))
        for column, name, history, state in zip(columns, names, histories, states, strict=True):
            now, timeline, share = column.subplots(3, 1, height_ratios=(2, 1.3, 0.9))
            draw_clusters(now, history, state, followed, looks, aspect=1.6 if len(histories) > 1 else 3.1)
            now.set_title(name)
            draw_over_time(timeline, share, history, state, followed, looks)
        _key(picture, looks)
    said = [f"{n}: {h.sentence(s)} {in_numbers(s)}" for n, h, s in zip(names, histories, states, strict=True)]
    return finished(picture, " ".join(said))


def in_numbers(state: MemoryState) -> str:
    """How many members of each task there are, in words."""
    return f"Members by task: {', '.join(f'{n} of task {t}' for t, n in enumerate(state.counts))}."


def draw_clusters(ax: Axes, history: MemoryHistory, state: MemoryState, followed, looks, aspect: float) -> None:
    sheet = thumbnails.sheet_for(*history.geometry, history.image_shape, aspect)
    ax.imshow(cluster_picture(sheet, history, state, looks)[..., :3])
    if followed is not None:
        ax.plot(*sheet.box(followed), color=FOLLOWED, linewidth=2)
    if state.arrival is not None:
        x, y = sheet.corner(state.arrival.cluster, state.arrival.slot)
        wide, high = sheet.cell
        ax.plot([x, x + wide, x + wide, x, x], [y, y, y + high, y + high, y], color=NOW, linewidth=2)
    ax.set_axis_off()


def draw_over_time(timeline: Axes, share: Axes, history: MemoryHistory, state: MemoryState, followed, looks) -> None:
    """The oldest task of each cluster, and the share of each task, with a cursor at the step."""
    timeline.imshow(
        history.oldest,
        cmap=style.task_colour_map(len(looks)),
        vmin=EMPTY - 0.5,
        vmax=len(looks) - 0.5,
        extent=(0, history.steps, history.clusters - 0.5, -0.5),
        aspect="auto",
        interpolation="nearest",
    )
    if followed is not None:
        timeline.axhspan(followed - 0.5, followed + 0.5, fill=False, edgecolor=FOLLOWED, linewidth=1.5)
    timeline.set(title="Oldest task in each cluster", ylabel="cluster" if history.clustered else "row")
    timeline.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    areas = share.stackplot(history.moments, history.shares, colors=[look.colour for look in looks])
    for area, look in zip(areas, looks, strict=True):
        area.set(hatch=look.pattern * 2, edgecolor=look.ink, linewidth=0.3)
    for task, at, height in share_labels(history.shares):
        colours = {"color": looks[task].ink, "backgroundcolor": looks[task].colour}
        share.text(history.moments[at], height, str(task), ha="center", va="center", size=8, **colours)
    share.set(xlim=(0, history.steps), ylim=(0, 1), xlabel="training step", ylabel="share")
    for ax in (timeline, share):
        ax.axvline(state.step + 0.5, color=NOW, linewidth=1.5)


def draw_map(ax: Axes, history: MemoryHistory, state: MemoryState, followed, looks) -> None:
    seen = map_state(history, state, followed)
    for look in looks:
        ax.scatter(
            *seen["members"][state.task.ravel() == look.task].T,
            color=look.colour,
            marker=look.marker,
            s=26,
            edgecolors=style.INK,
            linewidths=0.4,
        )
    ax.plot(*seen["means"].T, "P", color="white", markeredgecolor="black", markersize=6, markeredgewidth=0.8)
    ax.plot(*seen["spokes"].T, color=FOLLOWED, linewidth=1)
    ax.plot(*seen["to_cluster"].T, ":", color=NOW, linewidth=1.2)
    ax.plot(*seen["to_nearest"].T, color=NOW, linewidth=1.8)
    ax.plot(*seen["newcomer"].T, "*", color=NOW, markersize=13, markeredgecolor="white")
    ax.set(xticks=[], yticks=[], title="Map: members, means (+), newcomer (★)")


def share_labels(shares: np.ndarray) -> list[tuple[int, int, float]]:
    """Where the number of each task has room in the stacked areas: task, number of the moment, height."""
    top = shares.cumsum(0)
    edge = shares.shape[1] // 25
    found = []
    for task, share in enumerate(shares if shares.size else ()):
        at = edge + int(share[edge : len(share) - edge].argmax()) if edge else int(share.argmax())
        if share[at] > 0.12:
            found.append((task, at, float(top[task, at] - share[at] / 2)))
    return found


def map_state(history: MemoryHistory, state: MemoryState, followed: int | None) -> dict[str, np.ndarray]:
    """What the map shows at a step, each as points ``[n, 2]``; NaN where there is nothing or a line is interrupted."""
    nothing = np.full((0, 2), np.nan, np.float32)
    spots = history.places_on_map
    held = state.row.ravel() >= 0
    members = np.where(held[:, None], spots[np.maximum(state.row.ravel(), 0)], np.nan)
    means = history.means_on_map(state.row)
    seen = {"members": members, "means": means}
    seen |= dict.fromkeys(("spokes", "ring", "to_cluster", "to_nearest", "newcomer"), nothing)
    if followed is not None:
        of_cluster = members.reshape(*state.row.shape, 2)[followed]
        pen_up = np.full_like(of_cluster, np.nan)
        centre = np.broadcast_to(means[followed], of_cluster.shape)
        seen["spokes"] = np.stack([centre, of_cluster, pen_up], axis=1).reshape(-1, 2)
        seen["ring"] = of_cluster
    came = state.arrival
    if came is None:
        return seen
    seen["newcomer"] = spots[came.row][None]
    # The means as they were when the newcomer came: it had not moved them yet.
    before = history.means_on_map(history.log.rows(came.step - 1))
    if came.nearest is not None:
        seen["to_nearest"] = np.stack([spots[came.row], before[came.nearest]])
    if came.nearest != came.cluster and not came.opened:
        seen["to_cluster"] = np.stack([spots[came.row], before[came.cluster]])
    return seen


def cluster_picture(sheet, history: MemoryHistory, state: MemoryState, looks: list[TaskLook]) -> np.ndarray:
    """The sheet of thumbnails at a step; images are read from the tasks only now."""
    rows = torch.from_numpy(np.maximum(state.row, 0)).to(history.images.device)
    return thumbnails.composed(sheet, history.images[rows].cpu().numpy(), state.task, looks, history.image_shape)


def _key(picture: Picture, looks: list[TaskLook]) -> None:
    boxes = task_key(len(looks))[:-1]
    picture.legend(handles=boxes, loc="outside lower center", ncols=len(boxes), frameon=False, handlelength=1.4)

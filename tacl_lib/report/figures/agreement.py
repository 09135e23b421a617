"""How near our numbers are to the paper's: a heat map of all cells, and a scatter with the line of identity."""

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch, Rectangle

from tacl_lib.errors import TaclError
from tacl_lib.names import EXPERIMENTS, METHODS, METRICS, SPLITS, printed, title
from tacl_lib.paper.compare import ANOTHER_SET, PAPER_RUNS, TOLERANCE, comparable
from tacl_lib.paper.published import in_order
from tacl_lib.report.figures import style
from tacl_lib.report.figures.parts import key_of
from tacl_lib.report.figures.picture import Picture, finished, new_picture

SHORT = {"average_accuracy": "Average accuracy", "first_task_accuracy": "First task", "forgetting": "Forgetting"}
STEP, STEPS = 0.01, 13  #: width of a colour and their number; larger differences have the darkest
EMPTY = "#d2d2d2"  #: a cell without a run
_EMPTY_CELL = {"facecolor": EMPTY, "edgecolor": "white", "lw": 0.8}
_HATCHED = _EMPTY_CELL | {"hatch": "////"}


def heat_map(cells: pd.DataFrame) -> Picture:
    """Ours minus the paper's in every published cell: red where ours is higher, blue where it is lower, grey where
    nothing was run, hatched where the images are another set; a number where they are further apart than the tolerance.

    cells: `make_cells` of runs at the paper's settings.
    """
    cells = _published(cells)
    with style.applied():
        picture = new_picture(9.6, 5.8)
        rows = {name: cells.loc[cells["experiment"] == name, "method"].nunique() for name in EXPERIMENTS}
        axes = picture.subplots(len(METRICS), len(EXPERIMENTS), squeeze=False)
        for column, experiment in enumerate(rows):
            for row, metric in enumerate(METRICS):
                part = cells[(cells["experiment"] == experiment) & (cells["metric"] == metric)]
                _panel(axes[row, column], part, last=row == len(METRICS) - 1)
            axes[0, column].set_title(EXPERIMENTS[experiment].capitalize(), pad=20)
            _dataset_names(axes[0, column], cells)
        for row, metric in enumerate(METRICS):
            axes[row, 0].set_ylabel(SHORT[metric], fontweight="bold")
        bar = picture.colorbar(
            axes[0, 0].collections[0], ax=axes, location="bottom", fraction=0.035, aspect=50, extend="both"
        )
        bar.set_label("ours minus the paper's")
        bar.outline.set_visible(False)
        handles = [Patch(facecolor=EMPTY, label="not run yet")]
        if (cells["verdict"] == ANOTHER_SET).any():
            handles.append(Patch(**_HATCHED, label="† another set of images"))
        picture.legend(handles=handles, loc="lower right", frameon=False, fontsize=8.5)
    return finished(picture, _heat_alt(cells))


def scatter(cells: pd.DataFrame) -> Picture:
    """Ours against the paper's, one mark a cell in the colour of its method, with the line of identity.

    cells: `make_cells` of runs at the paper's settings.
    """
    cells = comparable(cells)
    there = cells[cells["ours"].notna()]
    if there.empty:
        raise TaclError("there are no cells with runs to compare; run some first.")
    looks = style.looks(there["method"])
    with style.applied():
        picture = new_picture(6.2, 6.1)
        ax = picture.subplots()
        ax.axline((0, 0), slope=1, color=style.INK, lw=0.9, zorder=2)
        ax.fill_between(
            [0, 1], [-TOLERANCE, 1 - TOLERANCE], [TOLERANCE, 1 + TOLERANCE], color=style.GROUND, lw=0, zorder=0
        )
        for method, look in looks.items():
            own = there[there["method"] == method]
            face = "white" if look.aware else look.colour
            shape = {"marker": look.marker, "s": 34, "linewidths": 1.1, "alpha": 0.85, "zorder": 3}
            ax.scatter(own["paper"], own["ours"], facecolors=face, edgecolors=look.colour, label=look.label, **shape)
        ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel="the paper's number", ylabel="ours")
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(True)
        handles = key_of(looks.values())
        for handle in handles:
            handle.set_linestyle("none")
        handles.append(Patch(facecolor=style.GROUND, label=f"within {TOLERANCE}"))
        ax.legend(handles=handles, loc="upper left", frameon=False)
    return finished(picture, _scatter_alt(there))


def _published(cells: pd.DataFrame) -> pd.DataFrame:
    return cells[cells["paper"].notna()]


def _panel(ax: Axes, part: pd.DataFrame, last: bool) -> None:
    """One metric of one experiment: methods down, datasets and splits across."""
    methods = in_order(part["method"], METHODS)
    columns = list(dict.fromkeys(zip(part["dataset"], part["split"], strict=True)))
    elsewhere = part["verdict"] == ANOTHER_SET
    part = part.assign(difference=part["difference"].mask(elsewhere))
    wide = part.pivot(index="method", columns=["dataset", "split"], values="difference").reindex(methods)[columns]
    far = wide.map(lambda value: f"{value:+.2f}".replace("0.", ".") if abs(value) > TOLERANCE else "")
    sns.heatmap(
        wide,
        ax=ax,
        cmap=ListedColormap(sns.color_palette("vlag", STEPS)),
        vmin=-STEP * STEPS / 2,
        vmax=STEP * STEPS / 2,
        annot=far,
        fmt="",
        annot_kws={"size": 6.5},
        cbar=False,
        linewidths=0.8,
        linecolor="white",
        xticklabels=[printed("split", split) for _, split in columns] if last else False,
        yticklabels=[title("method", method) for method in methods],
    )
    ax.set_facecolor(EMPTY)
    ax.set(xlabel="", ylabel="")
    ax.tick_params(length=0, rotation=0, axis="y")
    ax.tick_params(length=0, rotation=90, axis="x")
    for number in range(len(SPLITS), len(columns), len(SPLITS)):
        ax.axvline(number, color="white", lw=4)
    for row, column in np.argwhere(wide.isna().to_numpy()):
        name = dict(zip(("method", "dataset", "split"), (methods[row], *columns[column]), strict=True))
        hatched = elsewhere[(part[list(name)] == pd.Series(name)).all(axis=1)].any()
        ax.add_patch(Rectangle((column, row), 1, 1, **(_HATCHED if hatched else _EMPTY_CELL)))


def _dataset_names(ax: Axes, cells: pd.DataFrame) -> None:
    for number, dataset in enumerate(cells["dataset"].unique()):
        x = (number + 0.5) * len(SPLITS)
        mark = "†" if ANOTHER_SET in set(cells.loc[cells["dataset"] == dataset, "verdict"]) else ""
        ax.text(x, -0.25, title("dataset", dataset) + mark, ha="center", va="bottom", size=8)


def _heat_alt(cells: pd.DataFrame) -> str:
    there = comparable(cells)
    near = int((there["difference"].abs() <= TOLERANCE).sum())
    said = (
        f"heat map of our numbers minus the paper's in its {len(cells)} cells: three "
        f"metrics, seven methods, five datasets split in three ways, disjoint and continuous. {len(there)} cells were "
        f"run; {near} of them lie within {TOLERANCE} of the paper's."
    )
    if len(there):
        far = there.loc[there["difference"].abs().idxmax()]
        where = f"{title('dataset', far['dataset'])} {far['split']}"
        what = f"{title('method', far['method'])}, {SHORT[far['metric']]}"
        said += f" The largest difference is {far['difference']:+.3f} ({where}, {what}, {far['experiment']})."
    return said


def _scatter_alt(there: pd.DataFrame) -> str:
    distance = (there["ours"] - there["paper"]).abs()
    correlation = np.corrcoef(there["paper"], there["ours"])[0, 1] if len(there) > 2 else float("nan")
    short = int((there["runs"] < PAPER_RUNS).sum())
    return (
        f"scatter of our numbers against the paper's, {len(there)} cells, one mark a "
        f"cell, coloured by method, with the line of identity. Median distance {distance.median():.3f}, correlation "
        f"{correlation:.3f}" + (f"; {short} cells have fewer than {PAPER_RUNS} runs." if short else ".")
    )

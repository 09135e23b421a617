"""Readings of what the paper leaves open: how far each lies from the paper's numbers, in all and cell by cell."""

import textwrap

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from tacl_lib.errors import TaclError
from tacl_lib.names import printed, title
from tacl_lib.report.figures import style
from tacl_lib.report.figures.picture import Picture, finished, new_picture

LARGEST = 0.1  #: differences beyond it have the darkest colour
_LETTER = 0.06  #: inches that a letter of a cell's name takes
_METRICS = {"average_accuracy": "average", "first_task_accuracy": "first task", "forgetting": "forgetting"}


def readings_figure(results: pd.DataFrame, ranking: pd.DataFrame, *, title: str = "") -> Picture:
    """Left: the total error of each reading, best on top, dots for single seeds. Right: ours minus the paper's.

    results, ranking: what `results_of` and `ranking` (`tacl_lib.paper.calibration`) say of one study.
    """
    if ranking.empty:
        raise TaclError("none of the readings of this study has runs; make them with --run first.")
    wide = _wide(results).reindex(ranking["alternative"])
    names = list(map(_name, wide.columns))
    below = 0.3 + _LETTER * max(map(len, names))
    high = 1.1 + 0.42 * len(wide) + below
    with style.applied():
        picture = new_picture(13, high, title=title)
        picture.set_layout_engine("none")  # inches are known, and long names make the engine give up
        edges = {"left": 0.24, "right": 0.99, "top": 1 - 0.75 / high, "bottom": below / high}
        left, right = picture.add_gridspec(1, 2, width_ratios=(1, 1.6), wspace=0.04, **edges).subplots()
        _errors(left, ranking)
        sns.heatmap(
            wide,
            ax=right,
            cmap="vlag",
            center=0,
            vmin=-LARGEST,
            vmax=LARGEST,
            cbar=False,
            yticklabels=False,
            xticklabels=names,
            linewidths=0.5,
        )
        right.set(xlabel="", ylabel="")
        right.set_title(
            f"ours minus the paper's: red higher, blue lower, darkest at {LARGEST:g}", size=9, weight="normal"
        )
        right.tick_params(axis="x", labelsize=7 if len(wide.columns) <= 24 else 5.5, rotation=90, length=0)
        right.set_facecolor("#ececec")
    return finished(picture, _alt(ranking, title))


def _errors(ax: Axes, ranking: pd.DataFrame) -> None:
    names = ranking["alternative"]
    sns.barplot(x=ranking["total_error"], y=names, ax=ax, color="#9cc3e0", width=0.7)
    seeds = ranking.explode("by_seed")
    values = pd.to_numeric(seeds["by_seed"])
    sns.stripplot(x=values, y=seeds["alternative"], ax=ax, color="#004c94", size=4.5, jitter=False)
    ax.set(xlabel=f"total error over {ranking['cells'].iloc[0]} cells", ylabel="")
    ax.set_title("total error; dots: single seeds", size=9, weight="normal")
    ax.tick_params(axis="y", length=0, labelsize=8)
    ax.set_yticks(range(len(names)), [textwrap.fill(name, 46, max_lines=2, placeholder=" …") for name in names])
    sns.despine(ax=ax, left=True)


def _wide(results: pd.DataFrame) -> pd.DataFrame:
    results = results.assign(difference=results["ours"] - results["paper"])
    columns = ["experiment", "dataset", "split", "method", "metric"]
    return results.pivot(index="alternative", columns=columns, values="difference")


def _name(cell: tuple[str, ...]) -> str:
    _, dataset, split, method, metric = cell
    return f"{title('dataset', dataset)} {printed('split', split)}, {title('method', method)}, {_METRICS[metric]}"


def _alt(ranking: pd.DataFrame, title: str) -> str:
    said = "; ".join(f"{row.alternative} {row.total_error:.3f}" for row in ranking.itertuples())
    return (
        f"{title + ': ' if title else ''}bars of the total error of each reading over {ranking['cells'].iloc[0]} "
        f"cells, the best first: {said}. Beside them a heat map of ours minus the paper's, a row for each reading."
    )

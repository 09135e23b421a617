"""Readings of what the paper leaves open: how far each lies from the paper's numbers, in all and cell by cell."""

import pandas as pd
import seaborn as sns

from tacl_lib.errors import TaclError
from tacl_lib.paper.published import METHODS, SPLITS
from tacl_lib.report.figures import style
from tacl_lib.report.figures.picture import Picture, finished, new_picture

LARGEST = 0.1  #: differences beyond it have the darkest colour
_METRICS = {"average_accuracy": "average", "first_task_accuracy": "first task", "forgetting": "forgetting"}


def readings_figure(results: pd.DataFrame, ranking: pd.DataFrame, *, title: str = "") -> Picture:
    """Left: the total error of each reading, best on top, dots for single seeds. Right: ours minus the paper's.

    results, ranking: what `results_of` and `ranking` (`tacl_lib.paper.calibration`) say of one study.
    """
    if ranking.empty:
        raise TaclError("none of the readings of this study has runs; make them with --run first.")
    order = ranking["alternative"].tolist()
    # As many cells as the largest study has must stay readable, and one reading must not fill the page.
    wide = _wide(results).reindex(order)
    with style.applied():
        picture = new_picture(13, 1.9 + 0.34 * len(order), title=title)
        left, right = picture.subplots(1, 2, width_ratios=(1, 1.5), sharey=False)
        _errors(left, ranking)
        sns.heatmap(
            wide,
            ax=right,
            cmap="vlag",
            center=0,
            vmin=-LARGEST,
            vmax=LARGEST,
            yticklabels=False,
            xticklabels=list(map(_name, wide.columns)) if len(wide.columns) <= 24 else False,
            linewidths=0.5,
            cbar_kws={"label": "ours minus the paper's", "extend": "both", "pad": 0.02},
        )
        right.set(xlabel="" if len(wide.columns) <= 24 else f"{len(wide.columns)} cells", ylabel="")
        right.tick_params(axis="x", labelsize=6.5, rotation=90, length=0)
        right.set_facecolor("#ececec")
    return finished(picture, _alt(ranking, title))


def _errors(ax, ranking: pd.DataFrame) -> None:
    names = ranking["alternative"]
    sns.barplot(x=ranking["total_error"], y=names, ax=ax, color="#9cc3e0", width=0.7)
    seeds = ranking.explode("by_seed")
    values = pd.to_numeric(seeds["by_seed"])
    sns.stripplot(x=values, y=seeds["alternative"], ax=ax, color="#004c94", size=4, jitter=False)
    ax.set(xlabel=f"total error over {ranking['cells'].iloc[0]} cells (dots: single seeds)", ylabel="")
    ax.tick_params(axis="y", length=0, labelsize=7.5)
    ax.set_yticks(range(len(names)), [_folded(name) for name in names])
    sns.despine(ax=ax, left=True)


def _wide(results: pd.DataFrame) -> pd.DataFrame:
    results = results.assign(difference=results["ours"] - results["paper"])
    columns = ["experiment", "dataset", "split", "method", "metric"]
    return results.pivot(index="alternative", columns=columns, values="difference")


def _name(cell: tuple[str, ...]) -> str:
    _, dataset, split, method, metric = cell
    return f"{style.DATASETS[dataset]} {SPLITS[split]}, {METHODS[method]}, {_METRICS[metric]}"


def _folded(text: str, width: int = 44) -> str:
    return text if len(text) <= width else f"{text[:width]}…"


def _alt(ranking: pd.DataFrame, title: str) -> str:
    said = "; ".join(f"{row.alternative} {row.total_error:.3f}" for row in ranking.itertuples())
    return (
        f"{title + ': ' if title else ''}bars of the total error of each reading over {ranking['cells'].iloc[0]} "
        f"cells, the best first: {said}. Beside them a heat map of ours minus the paper's, a row for each reading."
    )

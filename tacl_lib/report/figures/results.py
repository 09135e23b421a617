"""The result figure of a dataset and an experiment: three metrics × three splits, over epochs."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes

from tacl_lib import names
from tacl_lib.errors import TaclError
from tacl_lib.report.figures import style
from tacl_lib.report.figures.parts import METRICS, draw_runs, ends, key_of, mark_tasks, not_run, tidy
from tacl_lib.report.figures.picture import Picture, finished, new_picture
from tacl_lib.training.record import Record

Runs = Mapping[str, Sequence[Record]]  #: the runs of each method


def result_figure(
    runs: Mapping[str, Runs],
    *,
    dataset: str,
    experiment: str = "disjoint",
    splits: Sequence[str] = tuple(names.SPLITS),
    reasons: Mapping[str, str] | None = None,
    reduced: str | None = None,
) -> Picture:
    """Average accuracy, accuracy of the first task and its forgetting, by split: mean of runs ±1 standard deviation.

    runs: records by split and method, ``{"class": {"sgd": [record, …]}}``.
    splits: the columns to draw. reasons: why one of them was not run, for its empty panels.
    reduced: what was cut down, e.g. ``"REDUCED (profile quick: 2 epochs)"``; drawn on the face of the figure.
    """
    unknown = set(runs) - set(names.SPLITS)
    if unknown:
        raise TaclError(f"unknown splits {sorted(unknown)}; choose among: {', '.join(names.SPLITS)}.")
    runs = {
        split: {m: list(r) for m, r in runs.get(split, {}).items() if r} for split in names.SPLITS if split in splits
    }
    looks = style.looks(method for of_split in runs.values() for method in of_split)
    title = f"{names.title('dataset', dataset)}, {names.title('experiment', experiment)}"
    with style.applied():
        picture = new_picture(max(2 + 3 * len(runs), 7), 8.4, title=title, reduced=reduced)
        axes = picture.subplots(len(METRICS), len(runs), squeeze=False)
        for column, split in enumerate(runs):
            reason = (reasons or {}).get(split, "no finished runs were given")
            for row, metric in enumerate(METRICS):
                ax = axes[row, column]
                ax.set_gid(f"{metric}-{split}")
                if runs[split]:
                    _panel(ax, runs[split], metric, looks)
                else:
                    not_run(ax, reason)
                if column == 0:
                    ax.set_ylabel(METRICS[metric][0])
            _column_title(axes[0, column], split, runs[split], looks)
            if runs[split]:
                axes[-1, column].set_xlabel("Epochs trained")
        if looks:
            picture.legend(
                handles=key_of(looks.values()),
                loc="outside lower center",
                ncols=len(looks) if len(runs) == len(names.SPLITS) else 4,
                handlelength=4,
                frameon=False,
            )
        picture.align_ylabels(axes[:, 0])
    return finished(picture, _alt(runs, title, looks, reasons or {}, experiment, reduced))


def _panel(ax: Axes, runs: Runs, metric: str, looks: Mapping[str, style.Look]) -> None:
    records = next(iter(runs.values()))
    epochs = records[0].epochs
    mark_tasks(ax, epochs)
    for turn, method in enumerate(looks):
        if method in runs:
            draw_runs(ax, runs[method], metric, looks[method], turn)
    tidy(ax, max(len(of_method[0].epochs) for of_method in runs.values()))
    if metric == "forgetting":
        ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]))


def _column_title(ax: Axes, split: str, runs: Runs, looks: Mapping[str, style.Look]) -> None:
    """The split, and below it which of the figure's methods were not run on it."""
    absent = [looks[method].label.split(" (")[0] for method in looks if method not in runs]
    if runs and absent:
        ax.set_title(names.title("split", split), pad=19)
        text = f"not run: {', '.join(absent)}"
        ax.text(0.5, 1.025, text, transform=ax.transAxes, ha="center", va="bottom", size=8, color="#555555")
    else:
        ax.set_title(names.title("split", split))


def _alt(runs: Mapping[str, Runs], title: str, looks, reasons, experiment: str, reduced: str | None) -> str:
    """What the figure shows, with the numbers at the end of training."""
    marks = "Grey bands show where two tasks are mixed." if experiment == "continuous" else ""
    said = [
        f"{title}: {len(METRICS) * len(runs)} line charts over epochs. Rows: average accuracy over the tasks seen, "
        f"accuracy of the first task, forgetting of the first task. Columns: task split by {', '.join(runs)}. One line "
        "per method is the mean over runs, a band is ±1 standard deviation.",
        marks or "Thin vertical lines show where the task changes.",
    ]
    for split, of_split in runs.items():
        if not of_split:
            said.append(f"{names.title('split', split)}: not run, {reasons.get(split, 'no finished runs were given')}.")
            continue
        numbers = (
            f"{looks[method].label} {ends(of_split[method], 'average_accuracy')} average and "
            f"{ends(of_split[method], 'first_task_accuracy')} first task ({len(of_split[method])} runs)"
            for method in looks
            if method in of_split
        )
        said.append(f"{names.title('split', split)}, accuracy after the last epoch: {'; '.join(numbers)}.")
    return " ".join([*([reduced + "."] if reduced else []), *said])

"""Is it the clusters? TA-A-GEM with clustering and with random assignment, for several sampling rates."""

from collections.abc import Mapping, Sequence

from tacl_lib.errors import TaclError
from tacl_lib.report.figures import style
from tacl_lib.report.figures.parts import METRICS, draw_runs, ends, key_of, mark_tasks, not_run, tidy
from tacl_lib.report.figures.picture import Picture, finished, new_picture
from tacl_lib.training.record import Record

SHOWN = ("average_accuracy", "first_task_accuracy")


def study_figure(
    runs: Mapping[tuple[str, float], Sequence[Record]],
    *,
    title: str = "TA-A-GEM with and without clustering",
    reasons: str | None = None,
    reduced: str | None = None,
) -> Picture:
    """Accuracy over epochs of the six variants: mean of runs ±1 standard deviation.

    runs: records by policy and sampling rate, ``{("clustering", 0.1): [record, …]}``; see `style.STUDY`.
    reasons: why variants that are missing were not run.
    """
    unknown = set(runs) - set(style.STUDY)
    if unknown:
        raise TaclError(f"unknown variants {sorted(unknown)}; choose among: {', '.join(map(str, style.STUDY))}.")
    runs = {variant: list(runs[variant]) for variant in style.STUDY if runs.get(variant)}
    absent = [look.label for variant, look in style.STUDY.items() if variant not in runs]
    why = reasons or "no finished runs were given"
    with style.applied():
        picture = new_picture(10, 4.5, title=title, reduced=reduced)
        for ax, metric in zip(picture.subplots(1, len(SHOWN)), SHOWN, strict=True):
            ax.set_gid(metric)
            ax.set_title(METRICS[metric][0])
            if not runs:
                not_run(ax, why)
                continue
            records = next(iter(runs.values()))
            mark_tasks(ax, records[0].epochs)
            for turn, (variant, of_variant) in enumerate(runs.items()):
                draw_runs(ax, of_variant, metric, style.STUDY[variant], turn)
            tidy(ax, len(records[0].epochs))
            ax.set_xlabel("Epochs trained")
        if runs:
            # matplotlib fills a legend column by column: two rows, clustering above random.
            variants = sorted(runs, key=lambda variant: (-variant[1], variant[0]))
            handles = key_of(style.STUDY[variant] for variant in variants)
            note = f"not run: {', '.join(absent)} ({why})" if absent else None
            picture.legend(
                handles=handles, loc="outside lower center", ncols=3, handlelength=4.5, frameon=False, title=note
            )
    return finished(picture, _alt(runs, absent, why, title, reduced))


def _alt(runs, absent: list[str], why: str, title: str, reduced: str | None) -> str:
    numbers = (
        f"{style.STUDY[variant].label}: {ends(records, SHOWN[0])} average, {ends(records, SHOWN[1])} first task "
        f"({len(records)} runs)"
        for variant, records in runs.items()
    )
    said = [
        f"{title}: two line charts over epochs, average accuracy and accuracy of the first task, one line per "
        "assignment (clustering or random) and sampling rate; bands are ±1 standard deviation over runs and thin "
        "vertical lines mark task changes."
    ]
    if runs:
        said.append(f"Accuracy after the last epoch: {'; '.join(numbers)}.")
    if absent:
        said.append(f"Not run: {', '.join(absent)} ({why}).")
    return " ".join([*([reduced + "."] if reduced else []), *said])

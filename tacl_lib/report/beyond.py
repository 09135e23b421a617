"""Larger networks: tables, a figure and findings from the stored runs of notebook 11.

tacl beyond            executes the missing runs, one after another in this process
tacl beyond --list     lists all runs, and which are done
tacl beyond --page     writes the page of evidence
"""

import argparse
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from matplotlib.lines import Line2D
from scipy import stats

from tacl_lib import names
from tacl_lib.core.metrics import summary
from tacl_lib.files import write_whole
from tacl_lib.paper.markdown import markdown_table
from tacl_lib.report.figures import style
from tacl_lib.report.figures.parts import not_run
from tacl_lib.report.figures.picture import Picture, finished, new_picture
from tacl_lib.runs.beyond import (
    PLACES,
    PROFILES,
    SHAPES,
    STORED,
    STORED_GRADIENTS,
    VARIANTS,
    Shape,
    columns,
    job,
    jobs,
    sizes,
)
from tacl_lib.runs.execution import run_job
from tacl_lib.runs.profiles import Profile
from tacl_lib.runs.store import Store

PAGE = "README.md"
NOT_YET = "Not run yet: `tacl beyond` executes the missing runs."
LEVEL = 0.95  #: of the intervals
#: A question, and the two variants whose comparison answers it.
QUESTIONS = (
    ("Clusters of pixels against random assignment", "TA-A-GEM", "TA-A-GEM, random"),
    ("Clusters of features against clusters of pixels", "TA-A-GEM, features", "TA-A-GEM"),
    ("Clusters of features against random assignment", "TA-A-GEM, features", "TA-A-GEM, random"),
    ("A memory of clusters against none", "TA-A-GEM", "SGD"),
    ("Stored gradients of clusters against none", "TA-OGD", "SGD"),
)
_MARKERS = {"MLP": ("o", "#1a1a1a"), "CNN": ("s", "#c93a06"), "ResNet": ("D", "#004c94")}


def results(store: Store, profile: Profile) -> pd.DataFrame:
    """A row for each finished run: column, network, variant, seed, the three metrics, and further numbers."""
    rows = []
    for column, shape, variant in product(columns(profile), SHAPES, VARIANTS):
        for record in store.records(*job(profile, column, shape, variant)):
            first = int(np.flatnonzero(record.epochs["task"].to_numpy() == 0)[-1])
            rows.append(
                {
                    "column": title_of(column),
                    "network": shape.title,
                    "variant": variant.title,
                    "seed": record.seed,
                    **summary(record.accuracy, record.seen),
                    "learned": float(record.accuracy[first, 0]),
                    "held": record.first_task_share(),
                    "seconds": float(record.info.get("wall_seconds_of_stack", np.nan)),
                }
            )
    return pd.DataFrame(
        rows, columns=["column", "network", "variant", "seed", *names.METRICS, "learned", "held", "seconds"]
    )


def title_of(column: tuple[str, str]) -> str:
    dataset, split = column
    return f"{names.title('dataset', dataset)}, {names.title('split', split).lower()}"


def learned_table(runs: pd.DataFrame, profile: Profile) -> str:
    """How well each network has learned the first task when the next one begins (SGD, which nothing constrains)."""
    plain = runs[runs["variant"] == "SGD"]
    rows = [
        [title, *(_mean(plain[(plain["column"] == title) & (plain["network"] == s.title)]["learned"]) for s in SHAPES)]
        for title in map(title_of, columns(profile))
    ]
    return markdown_table(["accuracy on the first task after it", *(shape.title for shape in SHAPES)], rows)


def table(runs: pd.DataFrame, column: tuple[str, str], metric: str) -> str:
    """A metric in a column, variants × networks: mean ± standard deviation over runs."""
    own = runs[runs["column"] == title_of(column)]
    rows = [
        [
            variant.title,
            *(_mean(own[(own["network"] == s.title) & (own["variant"] == variant.title)][metric]) for s in SHAPES),
        ]
        for variant in VARIANTS
    ]
    return markdown_table([names.METRICS[metric].title, *(shape.title for shape in SHAPES)], rows)


def comparison(runs: pd.DataFrame, question: tuple[str, str, str], metric: str = "average_accuracy") -> pd.DataFrame:
    """For each column and network, the mean difference seed by seed, and half the width of its interval.

    Runs with the same seed see the same data and start from the same weights, so the differences are paired.
    """
    _, better, worse = question
    rows = []
    for (column, network), own in runs.groupby(["column", "network"], sort=False):
        wide = own.pivot(index="seed", columns="variant", values=metric)
        if better not in wide or worse not in wide:
            continue
        difference = (wide[better] - wide[worse]).dropna().to_numpy()
        if len(difference) < 2:
            continue
        half = stats.t.ppf((1 + LEVEL) / 2, len(difference) - 1) * difference.std(ddof=1) / np.sqrt(len(difference))
        rows.append((column, network, float(difference.mean()), float(half), len(difference)))
    return pd.DataFrame(rows, columns=["column", "network", "difference", "half", "runs"])


def finding(runs: pd.DataFrame, question: tuple[str, str, str]) -> str:
    """The answer to a question, with its numbers."""
    found = comparison(runs, question)
    if found.empty:
        return f"{question[0]}: not run yet."
    clear = found[found["difference"].abs() > found["half"]]
    up, down = (clear["difference"] > 0).sum(), (clear["difference"] < 0).sum()
    by_network = ", ".join(
        f"{network} {own['difference'].mean():+.3f}" for network, own in found.groupby("network", sort=False)
    )
    return (
        f"{question[0]}: average accuracy differs by {found['difference'].mean():+.3f} on average over {len(found)} "
        f"cells (column and network; {by_network}). Cells by the {LEVEL:.0%} interval of the "
        f"paired runs: {up} above 0, {down} below 0, {len(found) - up - down} contain 0."
    )


def comparison_table(runs: pd.DataFrame, question: tuple[str, str, str]) -> str:
    found = comparison(runs, question)
    rows = [
        [row.column, row.network, f"{row.difference:+.3f} ± {row.half:.3f}", row.runs]
        for row in found.itertuples(index=False)
    ]
    return markdown_table(["column", "network", f"difference, {LEVEL:.0%} interval", "runs"], rows)


def held_table(runs: pd.DataFrame, profile: Profile) -> str:
    """The first task's share of the memory when training ends."""
    kinds = [variant.title for variant in VARIANTS if variant.learner == "ta_agem"]
    rows = []
    for title, shape in product(map(title_of, columns(profile)), SHAPES):
        own = runs[(runs["column"] == title) & (runs["network"] == shape.title)]
        if len(own):
            rows.append([title, shape.title, *(_share(own[own["variant"] == kind]["held"]) for kind in kinds)])
    return markdown_table(["column", "network", *kinds], rows)


def figure(runs: pd.DataFrame, profile: Profile, metric: str = "average_accuracy") -> Picture:
    """A panel for each column, a line for each variant, a mark for each network."""
    titles = [title_of(column) for column in columns(profile)]
    reduced = reduced_line(profile)
    with style.applied():
        wide = 2 if len(titles) > 1 else 1
        height = 3.2 * -(-len(titles) // wide) + 0.6
        picture = new_picture(10, height, title=names.METRICS[metric].title, reduced=reduced)
        axes = picture.subplots(-(-len(titles) // wide), wide, squeeze=False).flatten()
        for number, (ax, title) in enumerate(zip(axes, titles, strict=False)):
            own = runs[runs["column"] == title]
            ax.set_title(title)
            if own.empty:
                not_run(ax, "there are no finished runs")
                continue
            for turn, shape in enumerate(SHAPES):
                marker, colour = _MARKERS[shape.title]
                of_network = own[own["network"] == shape.title]
                for row, variant in enumerate(VARIANTS):
                    values = of_network[of_network["variant"] == variant.title][metric]
                    if len(values):
                        look = {"fmt": marker, "ms": 5, "color": colour, "lw": 1}
                        spread = values.std(ddof=1) if len(values) > 1 else 0
                        ax.errorbar(values.mean(), row + 0.2 * (turn - 1), xerr=spread, **look)
            shown = [variant.title if number % wide == 0 else "" for variant in VARIANTS]
            ax.set_yticks(range(len(VARIANTS)), shown)
            ax.set_ylim(len(VARIANTS) - 0.5, -0.5)
            ax.grid(axis="x")
            ax.spines[["top", "right"]].set_visible(False)
        marks = [Line2D([], [], ls="", marker=m, color=c, label=title) for title, (m, c) in _MARKERS.items()]
        picture.legend(handles=marks, loc="outside lower center", ncols=3, frameon=False)
    numbers = runs.groupby(["column", "network", "variant"], sort=False)[metric].mean()
    told = "; ".join(f"{' / '.join(place)} {value:.3f}" for place, value in numbers.items())
    said = f"{reduced}. {names.METRICS[metric].title} of each variant (rows) and network (marks), with deviations"
    return finished(picture, f"{said}: {told or 'no finished runs'}.")


def networks_line(profile: Profile) -> str:
    """The networks, their numbers of weights, and the size of their stored gradients."""
    heads = [
        "dataset",
        "network",
        "settings",
        "weights",
        f"{STORED_GRADIENTS} stored gradients of a run",
        "if stored in full",
    ]
    rows = [
        [dataset, shape.title, _told(shape), f"{weights:,}", _mb(taken), _mb(weights * STORED_GRADIENTS * 4)]
        for dataset, shape, weights, taken in sizes(profile)
    ]
    return markdown_table(heads, rows)


def _told(shape: Shape) -> str:
    settings = ", ".join(f"{name} {value}" for name, value in shape.settings.items())
    return f"{shape.network}{', ' * bool(settings)}{settings}"


def _mb(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"


def _mean(values: pd.Series) -> str:
    if values.empty:
        return "–"
    return f"{values.mean():.3f}" + (f" ± {values.std(ddof=1):.3f}" if len(values) > 1 else "")


def _share(values: pd.Series) -> str:
    return "–" if values.dropna().empty else f"{values.mean():.0%}"


def reduced_line(profile: Profile) -> str:
    """What is reduced, for every figure and page."""
    places = "" if "clusters" in profile.learners["ta_agem"] else f", TA-A-GEM and A-GEM memories of {PLACES} samples"
    return f"REDUCED ({profile.reduction}{places})"


def state_line(store: Store, profile: Profile) -> str:
    """How many of the runs are done."""
    every = jobs(profile)
    done = sum(len(one.seeds) - len(store.missing(*one)) for one in every)
    return f"{done} of {sum(len(one.seeds) for one in every)} runs are done."


def page(store: Store, profile: Profile) -> str:
    """The page of evidence, as Markdown."""
    runs = results(store, profile)
    parts = [
        "# Beyond the paper",
        "Generated by `tacl beyond --page` from the runs in this folder. **Nothing here is at the paper's settings, "
        f"and none of it counts among its numbers.** {reduced_line(profile)}. {state_line(store, profile)}",
        "## The networks",
        networks_line(profile),
        learned_table(runs, profile),
        "A network that has not learned the first task has little to forget: where these numbers are low, the others "
        "mean little.",
        "## What came out",
        "\n".join(f"- {finding(runs, question)}" for question in QUESTIONS),
        "The intervals are those of paired differences over few seeds, not corrected for the number of cells.",
    ]
    for column in columns(profile):
        there = (runs["column"] == title_of(column)).any()
        found = [table(runs, column, metric) for metric in names.METRICS] if there else [NOT_YET]
        parts += [f"## {title_of(column)}", *found]
    parts += ["## The share of the first task in the memory, at the end", held_table(runs, profile)]
    parts += ["## Differences, cell by cell"]
    for question in QUESTIONS[:3]:
        parts += [f"### {question[0]}", comparison_table(runs, question)]
    return "\n\n".join(parts) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="tacl beyond", description="Make the runs of notebook 11, one after another.")
    parser.add_argument("--results", type=Path, default=STORED, help="the store; default: results/reference/beyond")
    parser.add_argument("--list", action="store_true", help="only list the runs, and which are done")
    parser.add_argument("--page", action="store_true", help="only write the page of evidence into the store")
    options = parser.parse_args(arguments)
    store, profile = Store(options.results), PROFILES["beyond"]
    if options.page:
        text = page(store, profile)
        write_whole(options.results / PAGE, lambda part: part.write_text(text, encoding="utf-8"))
        return
    torch.set_num_threads(1)
    for one in jobs(profile):
        missing = store.missing(*one)
        print(f"{'missing' if missing else 'done':8} {one} on {one.spec.network}", flush=True)
        if missing and not options.list:
            run_job(one, options.results)

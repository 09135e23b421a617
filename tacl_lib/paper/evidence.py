"""What holds of the paper, from stored runs at its own settings:  python -m tacl_lib.paper.evidence [--write]

The reference runs in ``results/reference`` are part of the project. The page beside them, and the short table in the
README, are made from nothing else.
"""

import argparse
import sys
from collections.abc import Sequence

from tacl_lib.core.metrics import CONFIDENCE
from tacl_lib.errors import TaclError
from tacl_lib.files import write_whole
from tacl_lib.paper import DATASETS, PAPER_RUNS, TOLERANCE, by_method, counts, engine_speed
from tacl_lib.paper import METHODS as TITLES
from tacl_lib.paper.calibration import FORMER_TA_AGEM
from tacl_lib.paper.differences import chance_line, differing_table
from tacl_lib.paper.markdown import markdown_table, replaced_block
from tacl_lib.paper.open_settings import chosen_settings
from tacl_lib.paper.paper_runs import FAILS, Evidence
from tacl_lib.paper.readings import PAPER, others, tried, turned_round, untouched_line
from tacl_lib.runs.grid import EXPERIMENTS
from tacl_lib.runs.profiles import PAPER_DATASETS, SPLITS
from tacl_lib.runs.store import REFERENCE, ROOT, Store

PAGE = REFERENCE / "README.md"
#: the column that the README shows
SHOWN = ("disjoint", "fashion_mnist", "class")


def page(evidence: Evidence) -> str:
    """The whole page as Markdown."""
    about = (
        "Made by `python -m tacl_lib.paper.evidence --write` from the runs in this folder: one file for each run, with "
        f"its settings, versions, commit, machine, wall time and date{evidence.undated()}. The last section is from "
        "`figures/engine.json`. Numbers are means over epochs, then runs, ± standard deviation over runs; the "
        "paper's are in brackets."
    )
    title = "# What holds of the paper, at the settings that it states"
    return "\n\n".join([title, about, opening(evidence), details(evidence)]) + "\n"


def opening(evidence: Evidence) -> str:
    """What a reader asks first: how many cells agree, and what became of each claim."""
    claims, agreeing = evidence.claims(), by_method(evidence.cells)
    agreeing["method"] = agreeing["method"].map(TITLES)
    n = counts(evidence.cells)
    bold = (
        f"The methods in bold, which the best of a column cannot be told from at 99%, are the paper's in "
        f"{n['bold_agree']} of these {n['columns']} columns."
    )
    parts = [
        f"**{evidence.line()}** {bold if n['columns'] else ''} {untouched_line(evidence.cells, evidence.store)}",
        markdown_table([name.replace("_", " ") for name in agreeing], agreeing.to_numpy().tolist()),
        "## Claims",
        markdown_table(list(claims), claims.to_numpy().tolist()),
        f"Claims are judged on cells with {PAPER_RUNS} runs; {FAILS} marks parts that do not hold. “Significantly” is "
        "Welch's t-test over runs at 99% (the paper gives the confidence, not the test), also where it says “clearly”. "
        "Limits in brackets are ours, set with the paper's tables in view. The paper's own tables give means without "
        "deviations, so there any difference counts as significant. “The two” are TA-OGD and TA-A-GEM.",
        "### Claims that hang on an open setting",
        "Parts of claims that another value of one method's own setting decides otherwise, with the seeds of its study "
        "in place of the five runs:",
        turned_round(evidence.complete(), evidence.memories(), evidence.store),
    ]
    return "\n\n".join(parts)


def details(evidence: Evidence) -> str:
    """Settings, every number and how to make it again, where ours and theirs differ, what was tried, speed."""
    parts = ["## Settings that the paper leaves open", chosen_settings(PAPER), "## Numbers"]
    notes = evidence.store.notes(evidence.jobs)
    for column in evidence.columns():
        experiment, dataset, split = column
        parts += [f"### {DATASETS[dataset]}, {split} split, {experiment}", evidence.column(column, more=True)]
        if dataset in notes:
            parts.append(f"Not the published data: {notes[dataset]}.")
    without = [
        f"{DATASETS[dataset]} {split} ({experiment})"
        for dataset in PAPER_DATASETS
        for experiment in EXPERIMENTS
        for split in SPLITS
        if (experiment, dataset, split) not in set(evidence.columns())
    ]
    parts += ["### Not run", ", ".join(without) + "." if without else "Every column has runs."]
    parts += [
        "## Clustering against random assignment",
        "TA-A-GEM on the class split of Fashion MNIST, with the paper's clusters and with random ones, at three "
        "sampling rates (its figure of memory contents). Members are those of the memory at the end, mean over runs.",
        evidence.study_table(),
        *_former_study(evidence),
        "## Where ours and theirs differ",
        f"Cells further from the paper's than {TOLERANCE}, the tolerance of this project, or than chance at "
        f"{CONFIDENCE:.0%}. Standard errors are those of a difference between our mean and another mean of five runs "
        f"that spread as ours do, as the paper gives no deviations. {chance_line(evidence.cells)}",
        differing_table(evidence.cells, evidence.store),
        "## What was tried",
        "Each alternative is another reading of what the paper leaves open; its error is the sum of the distances "
        "to the paper's numbers over the cells that all alternatives of a study have. `python -m "
        "tacl_lib.paper.calibration NAME` prints a table from the runs in this folder; with `--run` it first makes "
        "all runs of the study, also those that are missing here, so that the table has more cells. A title says "
        "everything in which a reading differs from the profile: one with Glorot's initialisation and inputs in "
        "[0, 1] says nothing on its other setting alone. [Notebook 09](../../notebooks/09_calibration.ipynb) "
        "explains them.",
        *tried(evidence.store),
        "**Other stored runs**, which belong to no study:",
        others(evidence.store),
    ]
    speed = engine_speed.stored()
    if speed:
        parts += ["## Speed of the engine", engine_speed.table(speed), engine_speed.caption(speed)]
    return "\n\n".join(parts)


def _former_study(evidence: Evidence) -> list[str]:
    """The clustering study as it was first run, if the store has it: does it hang on the other open settings?"""
    if not any(evidence.study(FORMER_TA_AGEM).values()):
        return []
    about = f"The same with another reading of other open settings ({FORMER_TA_AGEM.title}), which decides no claim:"
    return [about, evidence.study_table(FORMER_TA_AGEM)]


def short(evidence: Evidence) -> str:
    """What the README shows."""
    return f"{evidence.line()} {untouched_line(evidence.cells, evidence.store)}\n\n{evidence.column(SHOWN)}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="tacl evidence", description=__doc__.split("\n")[0])
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)} and the README's table")
    options = parser.parse_args(arguments)
    try:
        evidence = Evidence(Store(REFERENCE))
        text = page(evidence)
        if options.write:
            readme = replaced_block((ROOT / "README.md").read_text(encoding="utf-8"), "evidence", short(evidence))
            write_whole(PAGE, lambda part: part.write_text(text, encoding="utf-8"))
            write_whole(ROOT / "README.md", lambda part: part.write_text(readme, encoding="utf-8"))
    except TaclError as error:
        sys.exit(f"evidence: {error}")
    print(text)


if __name__ == "__main__":
    main()

"""Shared by the tests of paper and report: the paper's own source, and made-up runs that give its numbers."""

import itertools
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tacl_lib.names import DATASETS, METHODS, METRICS, SPLITS
from tacl_lib.paper.published import published

PAPER = Path(__file__).parents[3] / "shared" / "paper"
NAMES = ["experiment", "dataset", "split", "method"]

needs_paper = pytest.mark.skipif(not (PAPER / "paper.tex").exists(), reason="the paper's source is not beside the kit")


def runs_like_paper(spread=0.0, seeds=5, shift=0.0):
    """Runs whose mean is the paper's number plus a shift; the seeds lie evenly around it."""
    wide = published().pivot(index=NAMES, columns="metric", values="value").reset_index()
    offsets = np.linspace(-spread, spread, seeds) if spread else np.zeros(seeds)
    metrics = list(METRICS)
    return pd.concat(
        [
            wide.assign(seed=seed, spec="x", **{m: wide[m] + shift + offset for m in metrics})
            for seed, offset in enumerate(offsets)
        ],
        ignore_index=True,
    )


def parsed_from_latex(source):
    """All result tables of a LaTeX source, read without any help from the kit: key → (value, bold)."""
    found = {}
    for table in re.findall(r"\\begin\{table\*\}.*?\\end\{table\*\}", source, re.DOTALL):
        caption = table[table.index(r"\caption") :].lower()
        if r"\multicolumn{3}" not in table:
            continue
        experiment = "disjoint" if "disjoint tasks" in caption else "continuous"
        start = caption[:130]
        metric = (
            "forgetting" if "forgetting" in start else "average_accuracy" if "average validation" in start else None
        )
        metric = metric or "first_task_accuracy"
        for line in re.findall(r"^.*&.*\\\\$", table, re.MULTILINE):
            name, *numbers = (re.sub(r"\\color\{gray\}", "", cell) for cell in line.removesuffix("\\\\").split("&"))
            if not re.search(r"\d\.\d", line):
                continue
            name = name.strip(" {}")
            method = next(m for m, method in METHODS.items() if method.title == name)
            places = itertools.product(DATASETS, SPLITS)
            for (dataset, split), cell in zip(places, numbers, strict=True):
                value = float(re.search(r"\d\.\d+", cell)[0])
                found[experiment, metric, dataset, split, method] = value, r"\textbf" in cell
    return found

"""The runs beyond the paper: their tables and findings are made from stored runs."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tacl_lib.paper.compare import UNPUBLISHED, counts, make_cells
from tacl_lib.report import beyond
from tacl_lib.runs.beyond import PROFILES, STORED, columns, jobs
from tacl_lib.runs.store import REFERENCE, Store
from tacl_lib.teaching.widgets.explorer_state import Library

QUESTION = ("A against B", "A", "B")


def made_up(differences):
    """Runs of A and B that differ by so much, seed by seed, in each column."""
    rows = []
    for column, values in differences.items():
        for seed, value in enumerate(values):
            base = 0.5 + 0.1 * seed
            both = (("A", base + value), ("B", base))
            rows += [
                {"column": column, "network": "MLP", "variant": v, "seed": seed, "average_accuracy": x} for v, x in both
            ]
    return pd.DataFrame(rows)


def test_differences_are_paired_and_their_intervals_are_student_s():
    values = {"one": [0.02, 0.03, 0.04], "two": [0.05, -0.05, 0.01], "three": [-0.2, -0.21, -0.19]}
    found = beyond.comparison(made_up(values), QUESTION).set_index("column")
    for column, of in values.items():
        low, high = stats.ttest_1samp(of, 0).confidence_interval(0.95)
        assert found.loc[column, "difference"] == pytest.approx(np.mean(of))
        assert found.loc[column, "half"] == pytest.approx((high - low) / 2)
    sentence = beyond.finding(made_up(values), QUESTION)
    assert "1 above 0, 1 below 0, 1 contain 0" in sentence


def test_what_was_not_run_is_said():
    nothing = beyond.results(Store(STORED / "nowhere"), PROFILES["beyond"])
    assert beyond.finding(nothing, QUESTION) == "A against B: not run yet."
    text = beyond.page(Store(STORED / "nowhere"), PROFILES["beyond"])
    assert text.count(beyond.NOT_YET) == len(columns(PROFILES["beyond"]))
    assert "0 of 252 runs are done" in text
    assert "not run" in beyond.figure(nothing, PROFILES["beyond"]).axes[0].texts[0].get_text()


def test_the_page_is_made_from_the_stored_runs():
    profile = PROFILES["beyond"]
    assert (STORED / beyond.PAGE).read_text(encoding="utf-8") == beyond.page(Store(STORED), profile)
    named = {f"{job.spec.name()}-{seed}.parquet" for job in jobs(profile) for seed in job.seeds}
    assert {path.name for path in STORED.glob("*.parquet") if not path.name.endswith(".events.parquet")} <= named
    assert not any((REFERENCE / name).exists() for name in named)  # they never count among the paper's


def test_the_learned_accuracy_is_that_at_the_end_of_the_first_task():
    runs = beyond.results(Store(STORED), PROFILES["beyond"])
    record = Store(STORED).records(*jobs(PROFILES["beyond"])[0])[0]
    last = record.epochs.index[record.epochs["task"] == 0][-1]
    row = runs[(runs["variant"] == "SGD") & (runs["network"] == "MLP") & (runs["seed"] == record.seed)].iloc[0]
    assert row["learned"] == record.accuracy[last, 0]


def test_another_network_has_no_number_of_the_paper_and_is_never_counted():
    runs = Store(STORED).summaries([jobs(PROFILES["beyond"])[7]])
    assert set(runs["network"]) == {"cnn"}
    cells = make_cells(runs)
    own = cells[cells["runs"] > 0]
    assert len(own) == 3
    assert own["paper"].isna().all()
    assert (own["verdict"] == UNPUBLISHED).all()
    assert counts(cells)["run"] == 0


def test_the_explorer_shows_networks_as_lines_beside_each_other():
    library = Library(Store(STORED))
    group = f"REDUCED ({PROFILES['beyond'].reduction})"
    assert library.groups() == [group]
    lines = {line.label: line for line in library.available(group, "disjoint", "fashion_mnist", "class")}
    assert {"SGD", "SGD (network cnn, width 8)", "SGD (network resnet, width 8)"} <= set(lines)
    assert lines["SGD"].plain
    assert not lines["SGD (network cnn, width 8)"].plain

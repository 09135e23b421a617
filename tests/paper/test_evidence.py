"""The page of evidence and the part of the report that holds it, from small stores of made-up runs."""

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from paper_like import runs_like_paper

from tacl_lib.core.record import Record
from tacl_lib.paper import evidence, make_cells
from tacl_lib.paper.calibration import AS_RUN, FORMER_TA_AGEM
from tacl_lib.paper.evidence import page
from tacl_lib.paper.markdown import markdown_table
from tacl_lib.paper.paper_runs import Evidence
from tacl_lib.paper.readings import made
from tacl_lib.report import page as report
from tacl_lib.runs.profiles import PROFILES
from tacl_lib.runs.store import Store

ABOUT = {"commit": "abcdef1", "machine": "Linux x86_64, 2 cores", "device": "cpu"}


def put(
    store,
    method,
    value,
    seeds,
    *,
    finished="2030-01-02T00:00:00+00:00",
    note=None,
    memory=(0, 0),
    reading=AS_RUN,
    **settings,
):
    """Runs on MNIST's class split (Fashion-MNIST's if settings are given) whose every accuracy is about the value."""
    dataset = "fashion_mnist" if settings else "mnist"
    spec = reading.of(PROFILES["paper"].spec(dataset, "class", "disjoint", method, **settings))
    for seed in seeds:
        info = ABOUT | {"spec": spec.full(), "data": {"note": note}} | ({"finished": finished} if finished else {})
        plan = pd.DataFrame({"epoch": [0, 1, 2, 3], "task": [0, 0, 1, 1]})
        accuracy = np.full((4, 2), value + 0.001 * seed)
        counts = np.array([[sum(memory), 0]] * 2 + [list(memory)] * 2)
        Record(seed, plan, accuracy, np.ones((4, 2), bool), counts, info=info).write(store.path(spec, seed))


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "runs")


def row_of(store, *words):
    """The row of one claim."""
    table = Evidence(store).claims()
    (found,) = [row for _, row in table.iterrows() if all(word in row["claim"] for word in words)]
    return found


def test_fewer_than_five_runs_decide_no_claim(store):
    put(store, "sgd", 0.80, range(5))
    put(store, "ta_agem", 0.90, range(4))
    assert row_of(store, "class split of MNIST the two")["our runs"] == "not tested"
    put(store, "ta_agem", 0.90, [4])
    found = row_of(store, "class split of MNIST the two")
    assert found["our runs"] == "holds, as far as tested"
    assert found["parts that hold"] == "1 of 1 tested, 6 in all"
    assert found["our numbers"] == "MNIST class: TA-A-GEM 0.902, SGD 0.802"


def test_parts_that_fail_are_marked_in_ours_and_in_the_papers(store):
    put(store, "sgd", 0.80, range(5))
    put(store, "ta_ogd", 0.80, range(5))
    found = row_of(store, "class split of MNIST the two")
    assert found["our runs"] == "does not hold, as far as tested"
    assert found["our numbers"] == "✗ MNIST class: TA-OGD 0.802, SGD 0.802"
    assert found["the paper's own tables"] == "holds (6 of 6)"
    coloured = row_of(store, "comparable to BGD")["the paper's own tables"]
    # read off the paper's first table
    assert coloured == (
        "holds in part (10 of 12)<br>✗ CIFAR10 permutation: TA-OGD 0.328, BGD 0.385<br>"
        "✗ SVHN permutation: TA-OGD 0.547, BGD 0.591"
    )
    assert row_of(store, "lost almost at once")["the paper's own tables"] == "has no table"


def test_the_study_is_judged_with_five_runs_of_each_policy_and_shown_with_any(store):
    put(store, "sgd", 0.80, range(5))
    put(store, "ta_agem", 0.9, range(5), policy="clustering", sampling_rate=1.0, memory=(60, 40))
    put(store, "ta_agem", 0.8, range(4), policy="random", sampling_rate=1.0, memory=(2, 98))
    assert row_of(store, "greater variety")["our runs"] == "not tested"
    put(store, "ta_agem", 0.8, [4], policy="random", sampling_rate=1.0, memory=(2, 98))
    put(store, "ta_agem", 0.7, [1], policy="random", sampling_rate=0.1, memory=(0, 100))
    assert row_of(store, "greater variety")["our runs"] == "holds"
    assert row_of(store, "lost almost at once")["our runs"] == "holds"
    rows = [line.split(" | ") for line in Evidence(store).study_table().splitlines()[2:]]
    shown = {(row[0].removeprefix("| "), row[1]): row for row in rows}
    assert len(shown) == 6
    assert shown["clustering", "1"][2:8] == ["0.902 ± 0.002", "0.902 ± 0.002", "0.000 ± 0.000", "60, 40", "100", "5"]
    assert shown["random", "0.1"][2:8] == ["0.701", "0.701", "0.000", "0, 100", "100", "1"]
    assert "--seeds 1 --set sampling_rate=0.1 policy=random" in shown["random", "0.1"][-1]
    assert "not run" in shown["random", "0.01"]


def test_the_study_with_other_readings_is_shown_beside_and_decides_nothing(store):
    put(store, "sgd", 0.80, range(5))
    assert "which decides no claim" not in page(Evidence(store))
    rate = {"policy": "clustering", "sampling_rate": 0.1}
    put(store, "ta_agem", 0.9, range(5), memory=(60, 40), reading=FORMER_TA_AGEM, **rate)
    text = page(Evidence(store))
    assert "which decides no claim" in text
    assert "`--dataset fashion_mnist --split class --learner ta_agem --scaling unit --initialisation glorot" in text
    assert "| clustering | 0.1 | 0.902 ± 0.002 | 0.902 ± 0.002 | 0.000 ± 0.000 | 60, 40 | 100 | 5 |" in text
    assert row_of(store, "counteracted at all rates")["our runs"] == "not tested"
    assert "**Other stored runs**, which belong to no study:\n\nNone." in text


def test_the_page_tells_diverged_runs_missing_dates_and_other_data(store):
    put(store, "sgd", np.nan, [0], finished=None, note="a copy")
    put(store, "bgd", 0.8, [0])
    text = page(Evidence(store))
    assert "| SGD | diverged (0.804)" in text
    assert "(1 early ones without a date)" in text
    assert "date not recorded, commit abcdef1" in text
    assert "Not the published data: a copy." in text
    assert "2 of 540 cells" not in text
    assert "Of 540 cells 6 were run" in text


def test_write_leaves_the_page_alone_if_the_readme_has_no_markers(store, tmp_path, monkeypatch):
    put(store, "sgd", 0.8, range(5))
    own_page = store.folder / "README.md"
    for name, value in (("ROOT", tmp_path), ("REFERENCE", store.folder), ("PAGE", own_page)):
        monkeypatch.setattr(evidence, name, value)
    (tmp_path / "README.md").write_text("no markers")
    with pytest.raises(SystemExit, match=r"evidence: README\.md has no markers"):
        evidence.main(["--write"])
    assert not own_page.exists()
    (tmp_path / "README.md").write_text("<!-- evidence -->\n<!-- /evidence -->\n")
    evidence.main(["--write"])
    assert "| SGD | 0.802 ± 0.002 (0.804) |" in own_page.read_text(encoding="utf-8")
    assert "Of 540 cells 3 were run" in (tmp_path / "README.md").read_text(encoding="utf-8")


def test_the_papers_profile_reports_on_the_users_own_runs(store):
    assert "there are no runs at the paper" in report._claims(store)
    put(store, "sgd", 0.8, range(5))
    text = report._claims(store)
    assert text.startswith("<p>From these runs, at the paper's settings.</p>")
    assert "<strong>Of 540 cells 3 were run" in text
    assert text.count("<h3>Claims</h3>") == 1
    assert "holds in part (10 of 12)<br>✗ CIFAR10 permutation" in text  # a line for each part, not the tag as text
    assert "<td>0.802 ± 0.002 (0.804)</td>" in text


def test_the_summary_counts_what_deviates():
    assert "cells that deviate" in report._summary(make_cells(runs_like_paper(shift=0.05)), None, {})
    assert "cells that deviate" not in report._summary(make_cells(runs_like_paper()), None, {})


def test_what_a_file_says_is_shown_and_not_obeyed():
    """The page becomes a part of the report, where a script would run."""
    bad = "<script>alert(1)</script>"
    info = {"finished": "2030", "commit": bad, "machine": f"<img src=x onerror={bad}>", "device": bad}
    said = made([SimpleNamespace(info=info)])
    table = markdown_table(["a"], [[bad], ["1<br>2"], [said]])
    for text in (said, table):
        assert not re.search(r"<(?!br>)", text)
        assert "&lt;script>alert(1)" in text
    assert "1<br>2" in table

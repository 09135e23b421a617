"""The page of evidence and the part of the report that holds it, from small stores of made-up runs."""

import numpy as np
import pandas as pd
import pytest

from tacl_lib.errors import TaclError
from tacl_lib.paper.calibration import AS_RUN, FORMER_TA_AGEM
from tacl_lib.paper.headlines import TEN, in_numbers, ten_claims
from tacl_lib.paper.judging import Finding, Part
from tacl_lib.paper.paper_runs import Evidence
from tacl_lib.report import evidence
from tacl_lib.report.evidence import pages
from tacl_lib.runs import RunSpec
from tacl_lib.runs.profiles import PROFILES
from tacl_lib.runs.store import Store
from tacl_lib.training.record import Record

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
        plan = pd.DataFrame({"epoch": [0, 1, 2, 3], "task": [0, 0, 1, 1], "next_task": -1})
        plan = plan.assign(first_step=[0, 10, 20, 30], steps=10)
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
        "holds in part (10 of 12)<br>✗ CIFAR-10 permutation: TA-OGD 0.328, BGD 0.385<br>"
        "✗ SVHN permutation: TA-OGD 0.547, BGD 0.591"
    )
    assert row_of(store, "lost almost at once")["the paper's own tables"] == "no table"


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
    assert "it decides no claim" not in pages(Evidence(store))["numbers.md"]
    rate = {"policy": "clustering", "sampling_rate": 0.1}
    put(store, "ta_agem", 0.9, range(5), memory=(60, 40), reading=FORMER_TA_AGEM, **rate)
    found = pages(Evidence(store))
    text = found["numbers.md"]
    assert "it decides no claim" in text
    assert "`--dataset fashion_mnist --split class --learner ta_agem --scaling unit --initialisation glorot" in text
    assert "| clustering | 0.1 | 0.902 ± 0.002 | 0.902 ± 0.002 | 0.000 ± 0.000 | 60, 40 | 100 | 5 |" in text
    assert row_of(store, "less forgetting at all rates")["our runs"] == "not tested"
    assert "These belong to no study:\n\nNone." in found["readings.md"]


def test_the_page_tells_diverged_runs_missing_dates_and_other_data(store):
    put(store, "sgd", np.nan, [0], finished=None, note="a copy")
    put(store, "bgd", 0.8, [0])
    found = pages(Evidence(store))
    text = found["numbers.md"]
    assert "| SGD | diverged (0.804)" in text
    assert "2 runs (1 early ones without a date)" in found["provenance.md"]
    assert "date not recorded, commit abcdef1" in text
    assert "Not the published data: a copy." in text
    assert "2 of 540 cells" not in text
    assert "Of 540 cells 6 were run" in text


def test_nothing_is_written_if_the_readme_has_no_markers(store, tmp_path):
    put(store, "sgd", 0.8, range(5))
    readme = tmp_path / "README.md"
    readme.write_text("no markers")
    with pytest.raises(TaclError, match=r"README\.md has no markers"):
        evidence.write(Evidence(store), tmp_path / "pages", tmp_path / "figures", readme)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["README.md", "runs"]


def test_pages_figures_and_the_readme_are_written_as_far_as_there_are_runs(store, tmp_path):
    put(store, "sgd", 0.8, range(5))
    readme, figures = tmp_path / "README.md", tmp_path / "figures"
    readme.write_text("<!-- evidence -->\n<!-- /evidence -->\n")
    evidence.write(Evidence(store), tmp_path / "pages", figures, readme)
    assert "| SGD | 0.802 ± 0.002 (0.804) |" in (tmp_path / "pages" / "numbers.md").read_text(encoding="utf-8")
    assert "Of 540 cells 3 were run" in readme.read_text(encoding="utf-8")
    names = {path.stem for path in figures.glob("*.svg")}
    assert names == {"agreement", "scatter", "method_strategy", "method_clustering", "disjoint_mnist"}
    text = (figures / "disjoint_mnist.alt.txt").read_text(encoding="utf-8")
    assert "3 line charts" in text  # of the one split that was run
    page = (figures / "README.md").read_text(encoding="utf-8")
    assert "No runs yet for: Fashion-MNIST, disjoint tasks; " in page
    assert "SVHN, continuous change" in page
    first = (tmp_path / "pages" / "README.md").read_text(encoding="utf-8")
    assert "Not run yet: MNIST disjoint (permutation, rotation); MNIST continuous" in first
    assert "; Fashion-MNIST; notMNIST; CIFAR-10; SVHN." in first


def test_what_a_file_says_is_shown_and_not_obeyed(store):
    spec = PROFILES["paper"].spec("mnist", "class", "disjoint", "sgd")
    put(store, "sgd", 0.8, range(4))
    (record,) = store.records(spec, [0])
    record.info["commit"] = "<script>alert(1)</script>|x"
    record.info["data"]["note"] = "<script>alert(2)</script>"
    record.write(store.path(spec, 0))
    text = "".join(pages(Evidence(store)).values())
    assert "<script" not in text
    assert "&lt;script>alert(1)&lt;/script>&#124;x" in text
    assert "Not the published data: &lt;script>alert(2)" in text


def test_runs_of_a_dataset_that_the_paper_has_not_are_listed_too(store):
    put(store, "sgd", 0.8, range(5))
    (record,) = store.records(PROFILES["paper"].spec("mnist", "class", "disjoint", "sgd"), [0])
    spec = RunSpec("digits", "class", learner="sgd", epochs=2)
    record.info["spec"] = spec.full()
    del record.info["machine"]  # nor do all say on what they were made
    store.write(spec, [record])
    assert "| Digits class (disjoint, SGD) | 0.800 (–) |" in "".join(pages(Evidence(store)).values())


def test_each_of_the_ten_claims_is_made_of_claims_and_of_all_that_matter(store):
    put(store, "sgd", 0.80, range(5))
    every = [each.ours for each in Evidence(store).judged()]
    ten = ten_claims(every)
    assert len(ten) == 10
    for found, (_, keys) in zip(ten, TEN, strict=True):
        made_of = [each for each in every if each.key in keys]
        assert [each.key for each in made_of] == list(keys)
        assert [part for each in made_of for part in each.parts] == list(found.parts) != []
    used = [key for _, keys in TEN for key in keys]
    assert len(used) == len(set(used))  # none counts twice
    all_keys = [each.key for each in every]
    assert len(all_keys) == len(set(all_keys))


def test_the_line_of_numbers_shows_a_part_that_fails():
    parts = (Part(True, "a"), Part(False, "b"), Part(None, "c"))
    assert in_numbers(Finding("x", parts)) == "1 of 2 parts (1 more wait for runs); not in b"
    assert in_numbers(Finding("x", parts[:1])) == "1 of 1 parts; e.g. a"
    assert in_numbers(Finding("x", parts[2:])) == "none of 1 parts has runs yet"

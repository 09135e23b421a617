"""The paper's numbers against the paper itself, and our numbers against the paper's."""

import csv
import hashlib
import itertools
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from paper_like import PAPER, needs_paper, parsed_from_latex, runs_like_paper

from tacl_lib import paper
from tacl_lib.core.learners import LEARNERS, TaskAwareLearner
from tacl_lib.errors import TaclError
from tacl_lib.names import DATASETS, EXPERIMENTS, METHODS, METRICS, SPLITS, TASK_AWARE
from tacl_lib.paper.compare import VERDICTS, agreement, by_method, counts, make_cells
from tacl_lib.paper.published import CITATION, methods_in, published
from tacl_lib.paper.settings import SETTINGS, settings_table, specs_of_settings
from tacl_lib.runs import RunSpec
from tacl_lib.runs.profiles import PROFILES

KEY = ["experiment", "metric", "dataset", "split", "method"]
WITHIN, DEVIATES, NOT_RUN, REDUCED, UNPUBLISHED, ANOTHER_SET = VERDICTS

needs_tables = pytest.mark.skipif(not (PAPER / "tables.csv").exists(), reason="tables.csv is not beside the kit")


def column_of(values, metric="average_accuracy", **place):
    """Runs of one column: method → results over seeds; the other metrics are 0.5."""
    place = {"experiment": "disjoint", "dataset": "mnist", "split": "class"} | place
    rows = [
        {**place, "method": method, "seed": seed, **dict.fromkeys(METRICS, 0.5), metric: value, "spec": method}
        for method, results in values.items()
        for seed, value in enumerate(results)
    ]
    return pd.DataFrame(rows)


def one(cells, method, metric="average_accuracy", experiment="disjoint", dataset="mnist", split="class"):
    wanted = dict(zip(KEY, (experiment, metric, dataset, split, method), strict=True))
    found = cells[np.logical_and.reduce([cells[name] == value for name, value in wanted.items()])]
    assert len(found) == 1
    return found.iloc[0]


# The published numbers


def test_published_structure():
    table = published()
    assert list(table) == [*KEY, "value", "bold"]
    assert len(table) == 540
    assert not table.duplicated(KEY).any()
    assert table["value"].between(0, 1).all()
    # 7 methods in the disjoint tables, 5 in the continuous ones, 15 columns, 3 metrics
    assert table.groupby("experiment").size().to_dict() == {"disjoint": 7 * 15 * 3, "continuous": 5 * 15 * 3}
    assert (table.groupby("metric").size() == 180).all()
    expected = [
        (e, m, d, s, x)
        for e, m in itertools.product(EXPERIMENTS, METRICS)
        for x in methods_in(e)
        for d, s in itertools.product(DATASETS, SPLITS)
    ]
    assert list(table[KEY].itertuples(index=False, name=None)) == expected


def test_published_is_a_copy():
    table = published()
    table.loc[0, "value"] = 99
    assert published().loc[0, "value"] < 1


@pytest.mark.parametrize(
    ("key", "value", "bold"),
    [
        (("disjoint", "average_accuracy", "mnist", "permutation", "sgd"), 0.842, False),
        (("disjoint", "average_accuracy", "fashion_mnist", "class", "ta_agem"), 0.931, True),
        (("disjoint", "first_task_accuracy", "svhn", "rotation", "bgd"), 0.261, True),
        (("disjoint", "forgetting", "mnist", "class", "agem"), 0.049, False),
        (("continuous", "forgetting", "cifar10", "class", "ta_agem"), 0.147, True),
        (("continuous", "average_accuracy", "svhn", "class", "ta_ogd"), 0.792, True),
    ],
)
def test_spot_values(key, value, bold):
    row = published().set_index(KEY).loc[key]
    assert (row["value"], row["bold"]) == (value, bold)


def test_task_aware_never_bold_and_the_best_always():
    table = published()
    assert not table.loc[table["method"].isin(TASK_AWARE), "bold"].any()
    for (_, metric, *_), column in table[~table["method"].isin(TASK_AWARE)].groupby(KEY[:4]):
        best = column["value"].max() if METRICS[metric].higher_is_better else column["value"].min()
        assert column.loc[column["value"] == best, "bold"].all()


def test_names_are_those_of_the_kit():
    assert set(METHODS) <= set(LEARNERS)
    assert {name for name in METHODS if issubclass(LEARNERS[name], TaskAwareLearner)} == set(TASK_AWARE)
    assert "2309.12078" in CITATION


def test_the_published_numbers_are_those_that_were_compared_with_the_paper():
    """Where the paper is not beside the kit, this finds a digit that somebody has changed."""
    text = (Path(paper.__file__).parent / "published.csv").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if not line.startswith("#")]
    assert hashlib.sha256("\n".join(rows).encode()).hexdigest() == (
        "d01d7e550b2e846494579968278ca9b93f1a7021a8a00190aa9ff6bcc3f69efa"
    )


@needs_tables
def test_published_equals_tables_csv():
    datasets = {"MNIST": "mnist", "Fashion-MNIST": "fashion_mnist", "notMNIST": "notmnist"}
    datasets |= {"CIFAR10": "cifar10", "SVHN": "svhn"}
    methods = {method.title: name for name, method in METHODS.items()}
    with open(PAPER / "tables.csv", encoding="utf-8", newline="") as file:
        theirs = {
            (
                row["experiment"],
                row["metric"].replace("first_task_forgetting", "forgetting"),
                datasets[row["dataset"]],
                row["split"],
                methods[row["method"]],
            ): (float(row["value"]), row["bold"] == "1")
            for row in csv.DictReader(file)
        }
    ours = {tuple(row[:5]): (row[5], row[6]) for row in published().itertuples(index=False, name=None)}
    assert ours == theirs


@needs_paper
def test_published_equals_the_papers_latex():
    theirs = parsed_from_latex((PAPER / "paper.tex").read_text(encoding="utf-8"))
    ours = {tuple(row[:5]): (row[5], row[6]) for row in published().itertuples(index=False, name=None)}
    assert len(theirs) == 540
    assert ours == theirs


# Settings


def test_settings_are_the_papers():
    assert {name: len(table.rows) for name, table in SETTINGS.items()} == {"task_split": 3, "ta_agem": 6, "ta_ogd": 6}
    for name in SETTINGS:
        table = settings_table(name)
        assert list(table) == ["parameter", "value", "paper", "differs", "explanation"]
        assert not table["differs"].any(), table[table["differs"]]


@needs_paper
def test_paper_column_of_settings_is_the_papers():
    source = (PAPER / "paper.tex").read_text(encoding="utf-8")
    for name, label in (("task_split", "tasksplit"), ("ta_agem", "taagem"), ("ta_ogd", "taogd")):
        end = source.index(f"\\label{{tab:{label}settings}}")
        rows = re.findall(r"^.*&.*&.*\\\\$", source[source.rindex(r"\begin{tabular}", 0, end) : end], re.MULTILINE)[1:]
        place = 2 if name == "task_split" else 1
        values = [row.removesuffix("\\\\").split("&")[place].strip(" $") for row in rows]
        assert ["0.001" if value == "10^{-3}" else value for value in values] == list(settings_table(name)["paper"])


def test_settings_follow_the_spec():
    spec = RunSpec(
        learner="ta_agem",
        learner_settings={"sampling_rate": 0.1, "pool_per_class": False, "clusters": 7, "rate": 0.01},
        batch_size=20,
        task_count=3,
        degrees_per_task=45.0,
    )
    changed = settings_table("ta_agem", spec).set_index("parameter")
    assert changed["value"].to_dict() == {
        "Learning rate": "0.01",
        "Batch size": "20",
        "Sampling rate": "0.1",
        "Number of pools": "1",
        "Number of clusters": "7",
        "Cluster size": "3",
    }
    assert changed["differs"].tolist() == [True] * 5 + [False]
    # The settings of one learner are not those of another.
    assert settings_table("ta_ogd", spec).set_index("parameter")["value"]["Sampling rate"] == "1"
    tasks = settings_table("task_split", spec)["value"].tolist()
    assert tasks == ["3", "[0, 45, 90]", "[[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]"]


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
def test_settings_of_a_profile_are_those_of_its_runs(profile):
    """Each table is about one learner, and a reduced profile changes each in its own way."""
    specs = specs_of_settings(profile)
    assert list(specs) == list(SETTINGS)
    for name in ("ta_agem", "ta_ogd"):
        own = profile.learners.get(name, {})
        values = settings_table(name, specs[name]).set_index("parameter")["value"]
        assert values["Learning rate"] == f"{profile.rate or own.get('rate', 1e-3):g}"
        if "clusters" in own:
            assert str(own["clusters"]) in values[next(row for row in values.index if "clusters" in row.lower())]


def test_unknown_settings_table():
    with pytest.raises(TaclError, match="task_split"):
        settings_table("bgd")


# Bold


def test_bold_is_the_best_and_what_cannot_be_told_from_it():
    near, far = [0.89, 0.91, 0.90, 0.90, 0.90], [0.70, 0.71, 0.70, 0.70, 0.69]
    best = [0.90, 0.92, 0.91, 0.91, 0.91]
    cells = make_cells(column_of({"sgd": far, "bgd": near, "ta_agem": best, "agem": [0.99] * 5}))
    assert [one(cells, m)["bold"] for m in ("sgd", "bgd", "ta_agem", "agem")] == [False, True, True, False]
    assert not one(cells, "ta_ogd")["bold"]


def test_lower_forgetting_is_better():
    cells = make_cells(
        column_of({"sgd": [0.3, 0.31, 0.3, 0.3, 0.31], "bgd": [0.1, 0.11, 0.1, 0.1, 0.11]}, "forgetting")
    )
    assert one(cells, "bgd", "forgetting")["bold"]
    assert not one(cells, "sgd", "forgetting")["bold"]


def test_best_of_one_is_not_bold():
    cells = make_cells(column_of({"sgd": [0.8] * 5, "agem": [0.7] * 5}))
    assert not cells["bold"].any()


def test_with_fewer_runs_than_the_papers_nothing_is_bold():
    values = [0.90, 0.91, 0.90, 0.91, 0.90]
    for runs, bold in ((4, False), (5, True)):
        cells = make_cells(column_of({"sgd": values[:runs], "bgd": [value - 0.1 for value in values]}))
        assert one(cells, "sgd")["bold"] == bold


def test_diverged_runs_are_not_bold_and_deviate():
    cells = make_cells(column_of({"sgd": [0.8] * 5, "bgd": [0.7] * 5, "ta_agem": [0.9] * 4 + [np.nan]}))
    row = one(cells, "ta_agem")
    assert (row["runs"], row["bold"], row["verdict"]) == (5, False, DEVIATES)
    assert np.isnan(row["ours"])
    assert one(cells, "sgd")["bold"]


# Verdicts and the line about them


def test_runs_on_another_set_of_images_are_shown_but_not_counted():
    runs = runs_like_paper()
    runs["another_set"] = runs["dataset"] == "notmnist"
    cells = make_cells(runs)
    of_set = cells["dataset"] == "notmnist"
    assert (cells.loc[of_set, "verdict"] == ANOTHER_SET).all()
    assert (cells.loc[~of_set, "verdict"] == WITHIN).all()
    assert cells.loc[of_set, "ours"].notna().all()
    assert of_set.sum() == 108
    found = counts(cells)
    assert (found["run"], found["columns"], found["within_0.01"]) == (540 - 108, 90 - 18, 540 - 108)
    assert by_method(cells)["run"].sum() == 540 - 108


def test_paper_against_itself():
    cells = make_cells(runs_like_paper())
    assert (cells["verdict"] == WITHIN).all()
    assert (cells["difference"] == 0).all()
    assert np.allclose(cells["ours"], cells["paper"])
    # Without any spread only the best is bold; the paper's marks include those and more.
    assert (cells["bold"] <= cells["paper_bold"]).all()
    assert cells.loc[cells["bold"]].groupby(KEY[:4]).ngroups == 90
    assert agreement(cells, at_paper_settings=True) == (
        "of 540 cells 540 were run at the paper's settings; 540 lie within 0.01, 540 within 0.03, 540 within 0.05; "
        "the winner agrees in 90 of the 90 columns (of 90: dataset, split, experiment, metric) in which all "
        "task-agnostic methods were run"
    )


def test_cells_statistics():
    cells = make_cells(column_of({"sgd": [0.80, 0.81, 0.82], "bgd": [0.5]}))
    row, single = one(cells, "sgd"), one(cells, "bgd")
    assert row["ours"] == pytest.approx(0.81)
    assert row["std"] == pytest.approx(0.01)
    assert row["runs"] == 3
    assert row["difference"] == pytest.approx(0.81 - 0.804)
    assert np.isnan(single["std"])
    assert single["runs"] == 1


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [
        (0.834, WITHIN),
        (0.774, WITHIN),
        (0.835, DEVIATES),
        (0.773, DEVIATES),
        (0.8344, WITHIN),  # printed as 0.834: the verdict must fit what is printed
    ],
)
def test_tolerance_is_exact(ours, verdict):
    cells = make_cells(column_of({"sgd": [ours, ours]}))  # the paper has 0.804
    assert one(cells, "sgd")["verdict"] == verdict


def test_another_tolerance():
    runs = column_of({"sgd": [0.82, 0.82]})
    assert one(make_cells(runs, tolerance=0.01), "sgd")["verdict"] == DEVIATES
    assert one(make_cells(runs, tolerance=0.02), "sgd")["verdict"] == WITHIN


def test_not_run_and_reasons():
    runs = runs_like_paper()
    cells = make_cells(runs[runs["dataset"] != "svhn"], reasons={"svhn": "SVHN is not available", "mnist": "unused"})
    missing = cells[cells["verdict"] == NOT_RUN]
    assert set(missing["dataset"]) == {"svhn"}
    assert len(missing) == 108
    assert set(missing["reason"]) == {"SVHN is not available"}
    assert (cells.loc[cells["dataset"] == "mnist", "reason"] == "").all()
    assert "of 540 cells 432 were run" in agreement(cells, True)
    assert agreement(cells, True).endswith(
        "the winner agrees in 72 of the 72 columns (of 90: dataset, split, experiment, metric) in which all "
        "task-agnostic methods were run"
    )


def test_nothing_run_at_all():
    cells = make_cells(runs_like_paper().iloc[:0])
    assert (cells["verdict"] == NOT_RUN).all()
    assert (cells["reason"] != "").all()
    assert "of 540 cells 0 were run" in agreement(cells, True)


def test_reduced_is_never_judged():
    cells = make_cells(runs_like_paper(), reduced="REDUCED profile quick")
    assert set(cells["verdict"]) == {REDUCED}
    line = agreement(cells, at_paper_settings=False)
    assert "none were run at the paper's settings" in line
    assert "within" not in line
    with pytest.raises(TaclError, match="reduced"):
        agreement(cells, at_paper_settings=True)


def test_agreement_counts():
    runs = runs_like_paper()
    runs.loc[runs["method"] == "sgd", list(METRICS)] += 0.02
    runs.loc[runs["method"] == "bgd", list(METRICS)] += 0.04
    runs.loc[runs["method"] == "agem", list(METRICS)] += 0.20
    n = counts(make_cells(runs))
    assert (n["within_0.01"], n["within_0.03"], n["within_0.05"]) == (540 - 90 - 90 - 45, 540 - 90 - 45, 540 - 45)
    assert n["short"] == 0
    assert 0 < n["agree"] < n["columns"] == 90
    table = by_method(make_cells(runs[runs["method"].isin(["sgd", "agem"])]))
    assert table.to_numpy().tolist() == [["sgd", 90, 0, 90, 90], ["agem", 45, 0, 0, 0]]


def test_columns_with_the_papers_methods_in_bold_are_counted():
    """The paper has .878 of TA-A-GEM alone in bold on MNIST's class split, and both of the two by the first task."""
    others = {"sgd": [0.80, 0.81], "sgd_lr_adapt": [0.81, 0.80], "bgd": [0.80, 0.79], "ta_ogd": [0.85, 0.86]}
    for best, same in (([0.95, 0.96], 1), ([0.86, 0.85], 0)):
        five = {method: [*values, *values, values[0]] for method, values in (others | {"ta_agem": best}).items()}
        n = counts(make_cells(column_of(five)))
        assert (n["columns"], n["bold_agree"]) == (3, same)


def test_agreement_tells_of_missing_seeds_and_incomplete_columns():
    runs = runs_like_paper(seeds=3)
    runs = runs[(runs["method"] != "sgd") | (runs["dataset"] != "mnist")]
    cells = make_cells(runs)
    assert counts(cells)["columns"] == 90 - 18
    assert agreement(cells, True).endswith(f"; {540 - 18} cells have fewer than 5 runs")


def test_what_the_paper_does_not_have_stands_beside_it_and_is_not_judged():
    more = column_of({"my_method": [0.9, 0.9], "sgd": [0.8, 0.8]}, dataset="digits")
    cells = make_cells(more)
    own = cells[cells["runs"] > 0]
    assert set(own["dataset"]) == {"digits"}
    assert set(own["method"]) == {"my_method", "sgd"}
    assert (own["verdict"] == UNPUBLISHED).all()
    assert own["paper"].isna().all()
    # a whole new column group and a whole new row, so that tables have no holes
    assert len(cells) == 540 + len(METRICS) * len(SPLITS) * (len(METHODS) + 1) + len(METRICS) * 15
    assert counts(cells)["cells"] == 540
    assert counts(cells)["run"] == 0


def test_two_profiles_in_one_frame_are_refused():
    runs = column_of({"sgd": [0.8, 0.81]})
    with pytest.raises(TaclError, match="more than one spec"):
        make_cells(pd.concat([runs, runs.assign(spec="other", seed=[7, 8])]))
    with pytest.raises(TaclError, match="seed occurs twice"):
        make_cells(pd.concat([runs, runs]).drop(columns="spec"))


def test_missing_columns_are_named():
    with pytest.raises(TaclError, match="forgetting"):
        make_cells(runs_like_paper().drop(columns="forgetting"))

"""The calibration: which runs it asks for, how it ranks readings of the paper, and what it says of differences."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tacl_lib.core.learners import settings_of
from tacl_lib.errors import TaclError
from tacl_lib.names import METRICS
from tacl_lib.paper import calibration, readings
from tacl_lib.paper.calibration import AS_RUN, CELL, STUDIES, Alternative, Study, not_told_apart, ranking, results_of
from tacl_lib.paper.compare import make_cells
from tacl_lib.paper.differences import chance_line, differing, differing_table
from tacl_lib.paper.published import published
from tacl_lib.runs.profiles import PROFILES
from tacl_lib.runs.store import Store
from tacl_lib.training.record import Record

STUDY = Study(
    "small",
    ("sgd",),
    (("disjoint", "mnist", "class"), ("disjoint", "mnist", "rotation")),
    (AS_RUN, Alternative("He", {"initialisation": "he"}), Alternative("nearest", {"interpolation": "nearest"})),
)


def stored(store, study, alternative, column, difference):
    """Runs whose every metric differs from the paper's by this much; two epochs of one task make any three numbers."""
    paper = published().set_index(["experiment", "dataset", "split", "method", "metric"])["value"]
    average, first, forgotten = (paper[(*column, "sgd", metric)] + difference for metric in METRICS)
    # After one epoch A, after two B: first task (A + B) / 2, forgetting (A - B) / 2; a second task fixes the average.
    a, b = first + forgotten, first - forgotten
    other = 2 * (2 * average - a) - b
    spec, seeds = study.job(alternative, column, "sgd")
    for seed in seeds:
        epochs = pd.DataFrame({"epoch": [0, 1], "task": [0, 1]})
        accuracy = np.array([[a, np.nan], [b, other]])
        seen = np.array([[True, False], [True, True]])
        info = {"spec": spec.full(), "finished": "2030-01-01T00:00:00+00:00", "commit": "abcdef1"}
        info |= {"machine": "a machine", "device": "cpu"}
        Record(seed, epochs, accuracy, seen, np.zeros((2, 2), int), info=info).write(store.path(spec, seed))


def test_every_study_asks_for_cells_and_settings_that_exist():
    printed = set(published()[CELL].itertuples(index=False, name=None))
    for study in STUDIES.values():
        assert study.alternatives[0] is AS_RUN
        assert len({alternative.title for alternative in study.alternatives}) == len(study.alternatives)
        for job in study.jobs():
            assert job.spec.train_limit is None  # never a reduced run
            assert set(job.spec.learner_settings) <= set(settings_of(job.spec.learner))
        for column, method, metric in product(study.columns, study.methods, METRICS):
            assert (*column, method, metric) in printed


def test_the_first_alternative_is_the_papers_profile_and_the_others_are_not():
    for study in STUDIES.values():
        column, method = study.columns[0], study.methods[0]
        paper = PROFILES["paper"].spec(column[1], column[2], column[0], method)
        specs = [study.job(alternative, column, method).spec for alternative in study.alternatives]
        assert specs[0] == paper
        for alternative in study.alternatives:  # none is another one under a second title
            names = {
                tuple(study.job(other, column, method).spec.name() for column in study.columns)
                for other in study.alternatives
                if other is not alternative
            }
            assert tuple(study.job(alternative, column, method).spec.name() for column in study.columns) not in names


def test_an_alternative_for_one_split_shares_the_runs_of_the_others():
    nearest = STUDY.alternatives[2]
    by_class, by_rotation = ([STUDY.job(a, c, "sgd").spec.name() for a in (nearest, AS_RUN)] for c in STUDY.columns)
    assert by_class[0] == by_class[1]
    assert by_rotation[0] != by_rotation[1]


def test_alternatives_are_ranked_on_the_cells_that_all_have(tmp_path):
    store = Store(tmp_path)
    as_run, he, whole = AS_RUN, STUDY.alternatives[1], Alternative("whole", {"validation": "whole"})
    study = replace(STUDY, alternatives=(as_run, he, whole))
    for alternative, distances in ((as_run, (0.02, 0.0)), (he, (-0.01, None)), (whole, (0.03, 0.05))):
        for column, difference in zip(study.columns, distances, strict=True):
            if difference is not None:
                stored(store, study, alternative, column, difference)
    results = results_of(study, store)
    assert len(results) == 5 * 3
    table = ranking(results_of(study, store))
    assert list(table["alternative"]) == ["He", "as in the profile", "whole"]
    assert list(table["cells"]) == [3, 3, 3]  # rotation is left out: He was not run on it
    np.testing.assert_allclose(table["total_error"], [0.03, 0.06, 0.09], atol=1e-9)
    np.testing.assert_allclose(table["largest_error"], [0.01, 0.02, 0.03], atol=1e-9)


def test_a_cell_with_a_seed_missing_does_not_count(tmp_path):
    store = Store(tmp_path)
    stored(store, STUDY, AS_RUN, STUDY.columns[0], 0.0)
    store.path(*[STUDY.job(AS_RUN, STUDY.columns[0], "sgd").spec, 1]).unlink()
    assert ranking(results_of(STUDY, store)).empty


def test_an_unknown_study_is_one_sentence(capsys):
    with pytest.raises(TaclError, match=r"^unknown study 'sdg'; choose one of: sgd, "):
        calibration.main(["sdg"])


def test_the_command_prints_what_there_is(tmp_path, capsys):
    stored(Store(tmp_path), STUDIES["sgd"], AS_RUN, ("disjoint", "mnist", "class"), 0.04)
    calibration.main(["sgd", "bgd", "--results", str(tmp_path)])
    said = capsys.readouterr().out
    assert "as in the profile" in said
    assert "0.12" in said
    assert "BGD" in said
    assert "not run" in said


def test_an_alternative_without_runs_of_its_own_was_not_tried(tmp_path):
    study = replace(STUDY, alternatives=(AS_RUN, Alternative("nearest", {"interpolation": "nearest"})))
    store, (by_class, rotation) = Store(tmp_path), study.columns
    stored(store, study, AS_RUN, by_class, 0.01)
    assert list(ranking(results_of(study, store))["alternative"]) == [AS_RUN.title]
    stored(store, study, AS_RUN, rotation, 0.01)
    stored(store, study, study.alternatives[1], rotation, 0.02)
    found = ranking(results_of(study, store))
    assert list(found["alternative"]) == [AS_RUN.title, "nearest"]
    assert list(found["cells"]) == [6, 6]
    assert found["total_error"].tolist() == pytest.approx([0.06, 0.09])


def _cells(method_runs):
    """Cells of runs on MNIST's class split: method → (average accuracies, first task, forgetting), one for each run."""
    rows = [
        {"experiment": "disjoint", "dataset": "mnist", "split": "class", "method": method, "seed": seed, "spec": "x"}
        | dict(zip(METRICS, numbers, strict=True))
        for method, runs in method_runs.items()
        for seed, numbers in enumerate(zip(*runs, strict=True))
    ]
    return make_cells(pd.DataFrame(rows))


def _of_paper(method):
    paper = published().set_index(["experiment", "dataset", "split", "method", "metric"])["value"]
    return [paper["disjoint", "mnist", "class", method, metric] for metric in METRICS]


def test_cells_that_differ_are_listed_with_their_standard_errors_and_what_other_readings_give(tmp_path, monkeypatch):
    store = Store(tmp_path)
    monkeypatch.setattr(readings, "STUDIES", {"small": STUDY})
    for column in STUDY.columns:
        stored(store, STUDY, AS_RUN, column, 0.0)
    he = STUDY.alternatives[1]
    stored(store, STUDY, he, STUDY.columns[0], -0.02)
    average, first, forgetting = _of_paper("sgd")
    spread = np.array([-0.02, -0.01, 0.0, 0.01])
    cells = _cells({"sgd": ([average] * 4, first + 0.05 + spread, forgetting - 0.07 + spread)})
    found = differing(cells, store)
    assert found["cell"].tolist() == [
        "MNIST class (disjoint), SGD: Forgetting of the first task",
        "MNIST class (disjoint), SGD: Validation accuracy of the first task",
    ]
    # the oracle: Welch's statistic, if five runs of the paper spread as ours
    std = spread.std(ddof=1)
    for (_, row), metric in zip(found.iterrows(), ("forgetting", "first_task_accuracy"), strict=True):
        welch = stats.ttest_ind_from_stats(row["difference"], std, 4, 0.0, std, 5, equal_var=False).statistic
        assert row["standard_errors"] == pytest.approx(abs(welch))
        # "nearest" changes nothing where nothing is turned, and is not told as a reading of its own
        paper = dict(zip(METRICS, _of_paper("sgd"), strict=True))[metric]
        assert row["readings"] == {AS_RUN.title: pytest.approx(paper), "He": pytest.approx(paper - 0.02)}
    assert "He: " in differing_table(cells, store)


def test_a_single_run_has_no_standard_error_and_no_difference_is_a_sentence(tmp_path):
    store = Store(tmp_path)
    average, first, forgetting = _of_paper("bgd")
    alone = _cells({"bgd": ([average], [first - 0.04], [forgetting])})
    assert differing(alone, store)["standard_errors"].isna().all()
    assert "| -0.040 | – | – |" in differing_table(alone, store)
    near = _cells({"bgd": ([average], [first - 0.03], [forgetting])})
    assert differing_table(near, store) == ("No cell differs from the paper's by more than 0.03 or beyond chance.")


def test_a_reading_that_fits_better_is_told_with_what_it_was_judged_on(tmp_path, monkeypatch):
    monkeypatch.setattr(readings, "STUDIES", {"small": STUDY})
    store = Store(tmp_path)
    stored(store, STUDY, AS_RUN, STUDY.columns[0], 0.02)
    stored(store, STUDY, STUDY.alternatives[1], STUDY.columns[0], -0.01)
    stored(store, STUDY, STUDY.alternatives[1], STUDY.columns[1], 0.0)  # which the profile has not
    text = "\n".join(readings.tried(store))
    assert "He (`small`: 0.030 instead of 0.060)" in text
    assert "Judged on: MNIST class (disjoint, SGD). Not run: nearest." in text


def test_a_store_without_the_profiles_own_runs_is_told_of_all_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(readings, "STUDIES", {"small": STUDY})
    store = Store(tmp_path)
    for alternative, difference in zip(STUDY.alternatives[1:], (0.02, -0.03), strict=True):
        stored(store, STUDY, alternative, STUDY.columns[1], difference)
    text = "\n".join(readings.tried(store))
    assert "He" in text
    assert "Not run: as in the profile" in text
    assert "instead of" not in text


def test_cells_that_no_other_reading_was_run_on_are_counted_apart(tmp_path):
    store, (by_class, rotation) = Store(tmp_path), STUDY.columns
    stored(store, STUDY, AS_RUN, by_class, 0.0)
    stored(store, STUDY, STUDY.alternatives[1], rotation, 0.0)  # of another column: class split stays untouched
    numbers = {"sgd": [[value] for value in _of_paper("sgd")]}
    average, first, forgetting = _of_paper("bgd")
    cells = _cells(numbers | {"bgd": ([average], [first + 0.02], [forgetting + 0.06])})
    assert readings.touched(store) == {("disjoint", "mnist", "rotation", "sgd")}
    assert " 6 of these cells belong to" in readings.untouched_line(cells, store)
    assert readings.untouched_line(cells, store).endswith(
        "; of those, 4 lie within 0.01, 5 within 0.03, 5 within 0.05."
    )
    # one run of another reading is enough, whether a study has it or not
    stored(store, STUDY, Alternative("", {"validation": "whole", "batch_size": 20}), by_class, 0.0)
    assert " 3 of these cells belong to" in readings.untouched_line(cells, store)
    assert readings.untouched_line(cells, store).endswith(
        "; of those, 1 lie within 0.01, 2 within 0.03, 2 within 0.05."
    )


def test_runs_of_no_study_are_listed_with_their_command(tmp_path, monkeypatch):
    monkeypatch.setattr(readings, "STUDIES", {"small": STUDY})
    store, column = Store(tmp_path), STUDY.columns[0]
    for alternative in STUDY.alternatives[:2]:
        stored(store, STUDY, alternative, column, 0.0)
    assert readings.others(store) == "None."
    stored(store, STUDY, Alternative("", {"validation": "whole"}, {"momentum": 0.9}), column, 0.01)
    (row,) = readings.others(store).splitlines()[2:]
    average = _of_paper("sgd")[0]
    assert row.startswith(f"| MNIST class (disjoint, SGD) | {average + 0.01:.3f} ({average:.3f}) |")
    assert row.endswith(
        "| 2 | 2030-01-01, commit abcdef1, a machine, cpu | "
        "`--dataset mnist --split class --learner sgd --validation whole --seeds 0 1 --set momentum=0.9` |"
    )


def test_readings_that_single_seeds_do_not_tell_apart_are_named(tmp_path, monkeypatch):
    table = pd.DataFrame(
        {
            "alternative": ["best", "second", "third"],
            "by_seed": [(0.02, 0.06), (0.05, 0.07), (0.08, 0.09)],
        }
    )
    assert not_told_apart(table) == ["second"]
    assert not_told_apart(table[:1]) == []
    assert not_told_apart(table.assign(by_seed=[(0.02,), (0.01,), (0.0,)])) == []  # one seed says nothing of chance
    monkeypatch.setattr(readings, "STUDIES", {"small": STUDY})
    store = Store(tmp_path)
    for alternative, difference in zip(STUDY.alternatives[:2], (0.0, 0.02), strict=True):
        stored(store, STUDY, alternative, STUDY.columns[0], difference)
    errors = ranking(results_of(STUDY, store))["by_seed"].tolist()
    np.testing.assert_allclose(errors, [(0, 0), (0.06, 0.06)], atol=1e-9)  # three metrics, two seeds alike
    assert "Not told apart" not in "\n".join(readings.tried(store))


def test_claims_that_another_setting_would_turn_round(tmp_path, monkeypatch):
    """A-GEM with more samples is so good that TA-A-GEM is no longer on par."""
    column = ("disjoint", "fashion_mnist", "class")
    more = Alternative("more", learner={"samples_per_task": 300})
    other_inputs = Alternative("other inputs", {"scaling": "unit"})
    study = Study("A-GEM", ("agem",), (column,), (AS_RUN, more, other_inputs))
    monkeypatch.setattr(readings, "STUDIES", {"agem": study})
    store = Store(tmp_path)
    for alternative in (more, other_inputs):
        spec, seeds = study.job(alternative, column, "agem")
        for seed in seeds:
            accuracy, seen = np.full((1, 1), 0.96), np.ones((1, 1), bool)
            plan, info = pd.DataFrame({"epoch": [0], "task": [0]}), {"spec": spec.full()}
            Record(seed, plan, accuracy, seen, np.zeros((1, 1), int), info=info).write(store.path(spec, seed))
    runs = pd.DataFrame(
        [(*column, method, seed, 0.93, 0.93, 0.05, method) for method in ("agem", "ta_agem") for seed in range(5)],
        columns=["experiment", "dataset", "split", "method", "seed", *METRICS, "spec"],
    )
    (row,) = readings.reversed_claims(runs, {}, store).splitlines()[2:]  # readings of the inputs are not mixed in
    assert "on par with A-GEM" in row
    assert row.endswith(
        "| A-GEM: more | Fashion-MNIST class: TA-A-GEM 0.930, A-GEM 0.930 "
        "| does not hold: Fashion-MNIST class: TA-A-GEM 0.930, A-GEM 0.960 |"
    )
    assert (
        readings.reversed_claims(runs[runs["method"] == "agem"], {}, store) == "None of the readings that were tried."
    )


def test_small_differences_beyond_chance_are_listed_too(tmp_path):
    average, first, forgetting = _of_paper("bgd")
    tight, wide = np.linspace(-0.002, 0.002, 5), np.linspace(-0.02, 0.02, 5)
    cells = _cells({"bgd": (average + 0.01 + tight, first + 0.01 + wide, [forgetting] * 5)})
    found = differing(cells, Store(tmp_path))
    assert found["cell"].tolist() == ["MNIST class (disjoint), BGD: Average validation accuracy"]
    welch = stats.ttest_ind(average + 0.01 + tight, average + tight)
    assert welch.pvalue < 0.01
    assert found["standard_errors"].iloc[0] == pytest.approx(welch.statistic)
    # Forgetting has no spread, so two cells can be judged: 2 · P(t > 2) of 8 degrees of freedom is 0.08.
    assert chance_line(cells).startswith(
        "Of 2 cells 1 differ by more than 2 standard errors (about 0 would by chance), and 1 differ at 99%"
    )

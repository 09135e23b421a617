"""The forgetting explorer: synthetic runs whose numbers are known, the paper's from its own file."""

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tacl_lib.paper
from tacl_lib.places import PROJECT
from tacl_lib.report import summary
from tacl_lib.report.figures import style
from tacl_lib.report.figures.parts import METRICS
from tacl_lib.runs.profiles import PROFILES
from tacl_lib.runs.store import REFERENCE, Store
from tacl_lib.teaching.widgets import explorer_figure
from tacl_lib.teaching.widgets import explorer_state as states
from tacl_lib.teaching.widgets.explorer import forgetting_explorer
from tacl_lib.training.record import Record

EPOCHS = 6
NOT_RUN = ["SGD lr adapt", "BGD", "TA-OGD", "OGD (task-aware)"]  #: of the paper's methods, in the store below
CHANGE = 3


def made_up(spec, seed: int, offset: float = 0.0) -> Record:
    """Two tasks of three epochs each; the first one is forgotten, a little more with each seed."""
    first = np.array([0.8, 0.9, 0.95, 0.7, 0.6, 0.5]) - offset - 0.02 * seed
    second = np.array([np.nan] * CHANGE + [0.6, 0.7, 0.8]) - offset
    epochs = pd.DataFrame({"epoch": range(EPOCHS), "task": [0] * CHANGE + [1] * CHANGE, "next_task": -1})
    seen = np.array([[True, epoch >= CHANGE] for epoch in range(EPOCHS)])
    accuracy = np.stack([first, second], axis=1)
    return Record(seed, epochs, accuracy, seen, np.zeros((EPOCHS, 2), int), info={"spec": spec.full(), "device": "cpu"})


def fill(
    folder: Path, profile: str, methods: dict[str, float], split: str = "class", seeds=(0, 1), **settings
) -> Store:
    store = Store(folder)
    for method, offset in methods.items():
        spec = PROFILES[profile].spec("mnist", split, "disjoint", method, **settings)
        store.write(spec, [made_up(spec, seed, offset) for seed in seeds])
    return store


@pytest.fixture
def store(tmp_path) -> Store:
    fill(tmp_path / "runs", "quick", {"sgd": 0.2})
    fill(tmp_path / "runs", "paper", {"ta_agem": 0.1}, policy="random")
    fill(tmp_path / "runs", "paper", {"agem": 0.0}, seeds=(3,))
    return fill(tmp_path / "runs", "paper", {"sgd": 0.05, "ta_agem": 0.0})


def traces(view, metric: str, part: str) -> list:
    return [t for t in view.figure.data if t.meta[1:] == [metric, part] or t.meta[1:] == (metric, part)]


def visible(view, metric: str, part: str) -> list:
    return [trace for trace in traces(view, metric, part) if trace.visible]


def paper_number(metric: str, method: str) -> float:
    text = (Path(tacl_lib.paper.__file__).parent / "published.csv").read_text().splitlines()
    for row in csv.DictReader(line for line in text if not line.startswith("#")):
        if (row["experiment"], row["metric"], row["dataset"]) == ("disjoint", metric, "mnist") and (
            row["split"] == "class" and row["method"] == method
        ):
            return float(row["value"])
    raise AssertionError((metric, method))


def test_a_store_says_what_it_holds_without_being_read(store):
    found = {(spec.learner, spec.epochs): seeds for spec, seeds in store.catalogue().items()}
    assert found[("agem", 20)] == [3]
    assert found[("sgd", PROFILES["quick"].run["epochs"])] == [0, 1]
    (store.folder / f"{'0' * 16}-0.parquet").write_bytes(b"not parquet")
    with pytest.warns(UserWarning, match="set aside"):
        assert len(store.catalogue()) == 5


def test_curves_bands_and_the_paper_s_line(store):
    view = forgetting_explorer(store)
    assert view.group.value == states.AT_PAPER
    runs = [made_up(PROFILES["paper"].spec("mnist", "class", "disjoint", "sgd"), seed, 0.05) for seed in (0, 1)]
    by_hand = {"first_task_accuracy": np.array([run.accuracy[:, 0] for run in runs])}
    by_hand["average_accuracy"] = np.array([np.nanmean(run.accuracy, axis=1) for run in runs])
    first = by_hand["first_task_accuracy"]
    by_hand["forgetting"] = np.array([[max(run[: e + 1]) - run[e] for e in range(EPOCHS)] for run in first])
    for metric, values in by_hand.items():
        line = visible(view, metric, "line")[0]
        assert line.name == "SGD"
        np.testing.assert_allclose(line.x, range(1, EPOCHS + 1))
        np.testing.assert_allclose(line.y, values.mean(0))
        np.testing.assert_allclose(line.customdata, values.std(0, ddof=1))
        band = visible(view, metric, "band")[0]
        np.testing.assert_allclose(band.y[:EPOCHS], values.mean(0) + values.std(0, ddof=1))
        np.testing.assert_allclose(band.y[EPOCHS:][::-1], values.mean(0) - values.std(0, ddof=1))
        ours = visible(view, metric, "ours")[0]
        assert ours.y[0] == pytest.approx(values.mean())
        assert list(visible(view, metric, "paper")[0].y) == [paper_number(metric, "sgd")] * 2
        assert f"(paper {paper_number(metric, 'sgd'):.3f})" in view.table.value
    assert [(shape.x0, shape.type) for shape in view.figure.layout.shapes] == [(CHANGE, "line")] * len(METRICS)


def test_ticks_choose_the_methods(store):
    view = forgetting_explorer(store)
    names = [trace.name for trace in visible(view, "forgetting", "line")]
    assert names == ["SGD", "TA-A-GEM", "A-GEM (task-aware)"]  # the paper's methods, as in the paper
    variant = view.boxes["TA-A-GEM (policy random)"]
    assert variant in view._others.children  # behind the fold
    variant.value = True
    names = [trace.name for trace in visible(view, "forgetting", "line")]
    assert names == ["SGD", "TA-A-GEM", "TA-A-GEM (policy random)", "A-GEM (task-aware)"]
    view.boxes["SGD"].value = view.boxes["TA-A-GEM"].value = False
    names = [trace.name for trace in visible(view, "forgetting", "line")]
    assert names == ["TA-A-GEM (policy random)", "A-GEM (task-aware)"]
    # One run has no spread; other settings have no number in the paper.
    assert len(visible(view, "forgetting", "band")[1].x) == 0
    assert len(visible(view, "forgetting", "paper")) == 1 + len(NOT_RUN)
    view.paper.value = False
    assert visible(view, "forgetting", "paper") == []


def test_what_was_not_run_shows_the_paper_s_numbers_and_why(store):
    view = forgetting_explorer(store)
    assert ("SVHN – not run", "svhn") in view.dataset.options
    bgd = next(line for line in view.state.absent if line.look.label == "BGD")
    assert bgd.paper["forgetting"] == paper_number("forgetting", "bgd")
    assert f"– (paper {paper_number('forgetting', 'bgd'):.3f})" in view.table.value
    assert view.table.value.count("not run here") == len(NOT_RUN)
    assert [line.look.label for line in view.state.absent] == NOT_RUN

    view.split.value = "rotation"
    assert "Not run yet: MNIST, rotation, disjoint tasks" in view.said
    assert "make reproduce PROFILE=paper DATASETS=mnist" in view.said
    assert visible(view, "forgetting", "line") == visible(view, "forgetting", "ours") == []
    assert len(visible(view, "forgetting", "paper")) == 7
    assert view.table.value.count("not run here") == 7
    assert "Not run yet" in view.still().alt or "not run yet" in view.still().alt
    view.split.value = "class"
    assert view.said == ""
    assert len(visible(view, "forgetting", "line")) == 3


def test_where_neither_runs_nor_paper_have_a_method_it_cannot_be_ticked(tmp_path):
    spec = PROFILES["smoke"].spec("digits", "class", "disjoint", "sgd")
    Store(tmp_path).write(spec, [made_up(spec, 0)])
    view = forgetting_explorer(tmp_path)
    assert (view.boxes["SGD"].disabled, view.boxes["BGD"].disabled) == (False, True)


def test_names_from_files_are_text_and_no_markup(tmp_path):
    spec = PROFILES["paper"].spec("mnist", "class", "disjoint", "sgd")
    record = made_up(spec, 0)
    record.info["commit"] = "<script>alert(1)</script>"
    folder = tmp_path / "<img src=x onerror=alert(1)>"
    Store(folder).write(spec, [record])
    view = forgetting_explorer(folder)
    shown = "".join(part.value for part in (view.settings, view.table, view.source, view.message))
    assert "&lt;script&gt;" in shown
    assert "&lt;img" in shown
    assert "<script" not in shown
    assert "<img" not in shown
    look = style.Look("<b>%{x}</b>", "#000000", (), "o")
    drawn = replace(view.state.drawn[0], look=look)
    trace = explorer_figure._trace(drawn, "forgetting", "line", EPOCHS, True)
    assert "<b>%{x}" not in trace["hovertemplate"] + trace["name"]


def test_no_ticked_method_is_one_sentence(store):
    view = forgetting_explorer(store)
    for box in view.boxes.values():
        box.value = False
    assert "no method is chosen" in view.said.lower()
    view.boxes["SGD"].value = True
    assert view.said == ""


def test_reduced_runs_say_so_and_are_kept_apart(store):
    view = forgetting_explorer(store)
    label, quick = view.group.options[1]
    assert label == "REDUCED (profile quick)"
    view.group.value = quick
    assert [trace.name for trace in visible(view, "average_accuracy", "line")] == ["SGD"]
    assert "not comparable with the paper" in view.source.value
    assert "REDUCED" in view.still().texts[1].get_text()
    view.group.value = states.AT_PAPER
    assert "REDUCED" not in view.source.value


def test_other_settings_name_what_differs(tmp_path):
    spec = replace(PROFILES["paper"].spec("mnist", "class", "disjoint", "sgd", rate=0.1), epochs=7)
    assert states.group_of(spec) == ("OTHER SETTINGS (epochs 7)", "rate 0.1")
    assert states.group_of(PROFILES["smoke"].spec("digits", "class", "disjoint", "bgd"))[1] == ""


def test_settings_are_one_click_away(store):
    view = forgetting_explorer(store)
    view.boxes["TA-A-GEM (policy random)"].value = True
    assert view.more.selected_index is None
    rows = {name: (values, differs) for name, values, differs in states.settings_of_lines(view.state.drawn)}
    assert rows["batch size"] == (["10"] * 4, False)
    assert rows["policy"] == (["–", "clustering", "random", "–"], True)
    assert rows["seeds"] == (["0, 1", "0, 1", "0, 1", "3"], False)
    assert "policy ≠" in view.settings.value


def test_new_runs_are_found(store):
    view = forgetting_explorer(store)
    fill(store.folder, "paper", {"bgd": 0.3, "ogd": 0.3, "ta_ogd": 0.2})
    view.again.click()
    assert len(visible(view, "forgetting", "line")) == 6
    assert "3 more" in view.said


@pytest.mark.parametrize("where", [60, -8])
def test_a_damaged_run_is_named_and_the_others_are_shown(store, where):
    view = forgetting_explorer(store)
    spec = PROFILES["paper"].spec("mnist", "class", "disjoint", "sgd")
    path = store.path(spec, 0)
    content = bytearray(path.read_bytes())
    content[where : where + 40] = bytes(40)  # in the numbers, or at the end, which describes them
    path.write_bytes(content)
    view.again.click()
    assert "damaged" in view.said
    assert [len(drawn.records) for drawn in view.state.drawn] == [1, 2, 1]
    view.boxes["A-GEM (task-aware)"].value = False
    assert view.said == ""


def test_an_empty_store_is_one_sentence(tmp_path):
    view = forgetting_explorer(tmp_path / "nothing")
    assert "no finished runs in the folder nothing" in view.said
    fill(tmp_path / "nothing", "paper", {"sgd": 0.0})
    view.again.click()
    assert [trace.name for trace in visible(view, "forgetting", "line")] == ["SGD"]


def test_own_runs_and_the_project_s_stand_side_by_side(store, tmp_path, monkeypatch):
    monkeypatch.setattr(states, "RESULTS", tmp_path / "own")
    monkeypatch.setattr(states, "REFERENCE", store.folder)
    view = forgetting_explorer()
    assert "came with the project" in view.source.value
    sgd = next(drawn for drawn in view.state.drawn if drawn.look.label == "SGD")
    assert len(sgd.records) == 2
    fill(tmp_path / "own", "paper", {"sgd": 0.3}, seeds=(0,))  # fewer runs than the project has
    fill(tmp_path / "own", "paper", {"bgd": 0.3})
    view.again.click()
    assert "your own runs" in view.source.value
    shown = {drawn.look.label: len(drawn.records) for drawn in view.state.drawn}
    assert shown == {"SGD": 2, "BGD": 2, "TA-A-GEM": 2, "A-GEM (task-aware)": 1}
    fill(tmp_path / "own", "paper", {"sgd": 0.3}, seeds=(0, 1))  # as many: one's own come first
    view.again.click()
    assert view.state.drawn[0].ours["first_task_accuracy"][0] < sgd.ours["first_task_accuracy"][0]


def test_the_reference_runs_of_the_project_are_shown():
    view = forgetting_explorer(REFERENCE)
    view.experiment.value, view.dataset.value, view.split.value = summary.SHOWN
    assert view.said == ""
    lines = [trace.name for trace in visible(view, "average_accuracy", "line")]
    table = (PROJECT / "README.md").read_text()
    # The README's table is made from the same runs by other code.
    for label, drawn in zip(lines, view.state.drawn, strict=True):
        value, deviation = drawn.ours["average_accuracy"]
        spread = f" ± {deviation:.3f}" if len(drawn.records) > 1 else ""
        assert f"| {label.removesuffix(' (task-aware)')} | {value:.3f}{spread} (" in table
    assert len(lines) == len(view.state.drawn) >= 2
    other = "OGD (task-aware) (samples per task 100)"
    variant = view.boxes[other]
    assert (variant.value, variant.disabled) == (False, False)
    variant.value = True
    assert [trace.name for trace in visible(view, "average_accuracy", "line")].count(other) == 1


def test_one_update_for_each_change(store, monkeypatch):
    view, sent = forgetting_explorer(store), []
    for kind in ("update", "restyle", "relayout"):
        monkeypatch.setattr(view.figure, f"_send_{kind}_msg", lambda *a, k=kind, **b: sent.append(k))
    for change in (
        lambda: setattr(view.boxes["TA-A-GEM"], "value", False),
        lambda: setattr(view.paper, "value", False),
        lambda: setattr(view.group, "value", view.group.options[1][1]),
        lambda: setattr(view.dataset, "value", "svhn"),
    ):
        change()
        assert sent == ["update"]
        sent.clear()


def test_a_still_picture_stands_in(store):
    data, about = forgetting_explorer(store)._repr_mimebundle_()
    assert {"image/png", "application/vnd.jupyter.widget-view+json"} <= set(data)
    assert "SGD: average accuracy 0.59" in about["image/png"]["alt"]

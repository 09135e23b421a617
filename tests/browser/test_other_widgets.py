"""The projection playground, the forgetting explorer and the scheduler lab, used as a person uses them."""

import shutil

import pytest

from tacl_lib.runs.profiles import PROFILES
from tacl_lib.runs.store import REFERENCE, Store

pytestmark = pytest.mark.slow
CELLS = [
    "from tacl_lib.teaching.widgets import forgetting_explorer, projection_playground, scheduler_lab",
    # Changed after it was shown, while the browser is still loading: nothing of that may be lost.
    "playground = projection_playground()\ndisplay(playground)\nplayground.agem.example.value = 'no conflict'",
    "scheduler_lab()",
]
#: of these the explorer shows the reference runs on the class split of Fashion-MNIST; nothing else was run
METHODS = ("sgd", "sgd_lr_adapt")
PLAYGROUND, LAB, EXPLORER = range(3)


@pytest.fixture(scope="module")
def notebook(lab, tmp_path_factory):
    runs = tmp_path_factory.mktemp("runs")
    for spec in (PROFILES["paper"].spec("fashion_mnist", "class", "disjoint", method) for method in METHODS):
        for seed in range(5):
            shutil.copy(Store(REFERENCE).path(spec, seed), runs)
    with lab.open([*CELLS, f"forgetting_explorer({str(runs)!r})"]) as opened:
        for number in (PLAYGROUND, LAB, EXPLORER):
            opened.figure(number).wait_for(lambda model: model.data and "annotations" in model.layout, "all figures")
        late = "a change that was made while the figure was loading"
        opened.figure(PLAYGROUND).wait_for(lambda model: not drawn(model, "removed")["x"], late)
        yield opened


def ends(model) -> list[tuple[float, float]]:
    """Where g and g_ref end."""
    return [(round(mark["ax"], 6), round(mark["ay"], 6)) for mark in model.layout["annotations"]]


def drawn(model, name: str) -> dict:
    return next(trace for trace in model.data if trace.get("name") == name)


def test_arrows_are_dragged_and_turned_with_keys(notebook):
    figure = notebook.figure(PLAYGROUND)
    notebook.choose("Example", "a conflict")
    before = figure.wait_for(lambda model: len(drawn(model, "removed")["x"]) == 2, "a conflict to begin with")
    g, g_ref = ends(before)
    notebook.screenshot("playground_plane")

    figure.drag(g, (1.0, 1.0))  # away from the conflict
    after = figure.wait_for(lambda model: not drawn(model, "removed")["x"], "no projection")
    assert ends(after)[1] == g_ref
    assert ends(after)[0] == pytest.approx((1.0, 1.0), abs=0.05)
    assert drawn(after, "result")["x"][1] == pytest.approx(1.0, abs=0.05)
    assert abs(int(notebook.slider_value("g: angle °")) - 45) <= 2
    assert "not projected" in notebook.text()

    notebook.press("g: angle °", "End")  # 359°
    after = figure.wait_for(lambda model: ends(model)[0][1] < 0, "the arrow turned with the keyboard")
    assert notebook.slider_value("g: angle °") == "359"
    assert ends(after)[0][0] == pytest.approx(2**0.5, abs=0.05)
    notebook.choose("Example", "opposite")
    figure.wait_for(lambda model: not drawn(model, "result")["x"], "nothing left of g")


def test_the_space_opens_and_the_plane_is_as_it_was_left(notebook):
    notebook.choose("Example", "a right angle")
    notebook.click("OGD: stored gradients in space")
    figure = notebook.figure(PLAYGROUND)
    model = figure.wait_for(lambda model: any(trace.get("name") == "ĝ" for trace in model.data), "the space")
    assert drawn(model, "span plane")["visible"] is True
    notebook.press("stored gradients", "ArrowRight")
    model = figure.wait_for(lambda model: not drawn(model, "ĝ")["x"], "three gradients that leave nothing")
    assert len(drawn(model, "u3")["x"]) == 2
    assert "cannot learn any more" in notebook.text()
    notebook.choose("Example", "two stored gradients")
    figure.wait_for(lambda model: len(drawn(model, "ĝ")["x"]) == 2, "something left")
    eye = figure.model().layout["scene"]["camera"]["eye"]
    notebook.press("look from °", "ArrowRight")
    figure.wait_for(lambda model: model.layout["scene"]["camera"]["eye"] != eye, "another point of view")
    notebook.screenshot("playground_space")

    notebook.click("A-GEM: two arrows in a plane")
    model = figure.wait_for(lambda model: len(model.layout.get("annotations", [])) == 2, "the plane")
    x, y = ends(model)[0]
    assert (x < 0, y > 0) == (True, True)  # 110°: not the state in which the plane was first shown
    assert len(drawn(model, "result")["x"]) == 2
    assert not drawn(model, "removed")["x"]


def test_the_loss_is_bent_with_keys_and_with_the_pointer(notebook):
    figure = notebook.figure(LAB)
    notebook.choose("Loss curve", "a new task: the loss jumps")
    before = figure.wait_for(lambda model: len(drawn(model, "reset")["x"]) == 1, "a reset to begin with")
    notebook.screenshot("scheduler_lab")
    notebook.press("the loss jumps by", "Home")
    figure.wait_for(lambda model: not drawn(model, "reset")["x"], "no jump, no reset")

    notebook.page.get_by_text("Bend the curve with sliders").click()
    mark = before.layout["annotations"][1]
    figure.drag((mark["x"], mark["y"]), (mark["x"] + 15, 2.5))
    model = figure.wait_for(  # only its height can be changed
        lambda model: model.layout["annotations"][1]["y"] > 2.4 and model.layout["annotations"][1]["x"] == mark["x"],
        "the point that was dragged, set back to its step",
    )
    assert drawn(model, "loss")["y"][mark["x"]] == pytest.approx(2.5, abs=0.15)
    assert notebook.slider_value(str(mark["x"])) == f"{model.layout['annotations'][1]['y']:.2f}"

    notebook.press(str(mark["x"]), "ArrowDown")
    figure.wait_for(lambda new: new.layout["annotations"][1]["y"] < model.layout["annotations"][1]["y"], "one key down")


def test_a_step_is_looked_at_with_a_click_or_a_key(notebook):
    figure = notebook.figure(LAB)
    place = 300
    height = drawn(figure.model(), "loss")["y"][place]
    figure.click(place, height)
    figure.wait_for(lambda model: model.layout["shapes"][0]["x0"] == place, "the cursor")
    notebook.press("Step", "ArrowLeft")
    figure.wait_for(lambda model: model.layout["shapes"][0]["x0"] == place - 1, "the step before")
    assert f"Step {place - 1}, loss" in notebook.text()
    notebook.click("The paper's values")
    notebook.wait_until(lambda: "6,932 lowerings halve the rate" in notebook.text(), "the paper's factor")
    assert notebook.slider_value("factor") == "0.9999"


def shown(model) -> list[str]:
    """The methods in the first panel."""
    return [
        trace["name"]
        for trace in model.data
        if trace.get("visible") is True and trace["meta"][1:] == ["average_accuracy", "line"]
    ]


def test_the_explorer_shows_numbers_where_one_points_and_methods_that_are_ticked(notebook):
    figure = notebook.figure(EXPLORER)
    notebook.choose("Dataset", "Fashion-MNIST")
    model = figure.wait_for(lambda model: "SGD lr adapt" in shown(model), "the reference runs")
    line = next(trace for trace in model.data if trace.get("name") == "SGD lr adapt")
    text = figure.hover(line["x"][49], line["y"][49])
    assert f"{line['y'][49]:.3f}" in text
    assert "5 runs" in text
    notebook.screenshot("explorer")

    notebook.page.get_by_label("SGD lr adapt", exact=True).press("Space")
    figure.wait_for(lambda model: "SGD lr adapt" not in shown(model), "the method is gone")
    notebook.page.get_by_label("SGD lr adapt", exact=True).press("Space")
    figure.wait_for(lambda model: "SGD lr adapt" in shown(model), "the method is back")


def test_the_explorer_says_what_was_not_run_and_shows_settings(notebook):
    figure = notebook.figure(EXPLORER)
    notebook.choose("Split", "Rotation – not run")
    figure.wait_for(lambda model: shown(model) == [], "nothing that was not run")
    notebook.wait_until(lambda: "Not run yet: Fashion-MNIST, rotation" in notebook.text(), "why")
    notebook.choose("Split", "Class split")
    figure.wait_for(lambda model: "SGD lr adapt" in shown(model), "what was run")
    settings = notebook.page.get_by_text("batch size", exact=True)
    assert not settings.is_visible()
    notebook.page.get_by_text("Settings of these runs").click()
    settings.wait_for()

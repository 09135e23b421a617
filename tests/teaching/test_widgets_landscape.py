"""The loss landscape and the quiz, without a browser."""

import numpy as np
import pytest
import torch

from tacl_lib.errors import TaclError
from tacl_lib.teaching import widgets
from tacl_lib.teaching.lessons import progress
from tacl_lib.teaching.lessons.questions import QUESTIONS
from tacl_lib.teaching.widgets.landscape_state import ANSWERS, EDGE, ORDERS, level_lines, scene


def test_at_the_start_the_picture_shows_what_the_lessons_say():
    found = scene()
    end = {name: walk.old_loss[-1] for name, walk in found.walks.items()}
    assert all(walk.new_loss[-1] < 0.01 for walk in found.walks.values()), "every method learns the new task"
    assert all(walk.old_loss[0] < 0.01 for walk in found.walks.values()), "the old task was learned"
    assert end["sgd"] > 0.6, "SGD leaves the old valley"
    assert end["agem"] < 0.05, "A-GEM slides along its wall"
    assert end["agem"] < end["ogd"] < end["sgd"] / 2, "OGD keeps to the level line until the valley bends"


def test_ogd_walks_straight_along_the_level_line():
    walk = scene().walks["ogd"]
    steps = np.diff(walk.points, axis=0)
    steps = steps[np.linalg.norm(steps, axis=1) > 1e-6]
    across = torch.tensor(walk.points[0]).requires_grad_()
    (normal,) = torch.autograd.grad(ANSWERS["A"](across), across)
    assert np.abs(steps @ normal.numpy()).max() < 1e-9


def test_agem_never_raises_the_old_loss_by_more_than_a_step_bends():
    walk = scene().walks["agem"]
    assert np.diff(walk.old_loss).max() < 0.03


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("start", [(-3, -3), (3, 3), (0, 0), (9, -9)])
def test_walks_stay_on_the_map(start, order):
    found = scene(start, order)
    points = np.concatenate([found.learned, *(walk.points for walk in found.walks.values())])
    assert np.abs(points).max() <= EDGE
    assert (found.old, found.new) == (("A", "B") if order == ORDERS[0] else ("B", "A"))


def test_the_first_level_line_is_the_valley():
    for task in ("A", "B"):
        valley = torch.tensor(level_lines(task)[0], dtype=torch.float64)
        assert ANSWERS[task](valley.T).abs().max() < 0.01


def test_moving_the_start_or_the_order_moves_the_walks():
    shown = widgets.loss_landscape()
    before = shown._scene
    shown.start = [2.0, -2.0]
    moved = shown._scene
    shown.order = ORDERS[1]
    assert before["learned"] != moved["learned"]
    assert (moved["old"], shown._scene["old"]) == ("A", "B")
    assert set(widgets.loss_landscape(["sgd"])._scene["walks"]) == {"sgd"}
    with pytest.raises(TaclError, match="unknown method 'adam'"):
        widgets.loss_landscape(["adam"])


def test_without_a_front_end_there_is_a_picture_with_words():
    data, about = widgets.loss_landscape()._repr_mimebundle_()
    assert len(data["image/png"]) > 10_000
    assert data["text/plain"] == about["image/png"]["alt"]
    assert data["text/plain"].startswith("Loss of the old task A after the new task B was learned: SGD 0.")


def test_the_quiz_remembers_what_was_right(tmp_path, monkeypatch):
    monkeypatch.setenv("TACL_PROGRESS", str(tmp_path / "progress.json"))
    first = widgets.quiz("02_agem")
    assert first.right == []
    first.right = [2]  # what the browser sends
    assert progress.done()["question"] == ["02_agem/3"]
    assert widgets.quiz("02_agem").right == [2]
    assert widgets.quiz("03_ogd").right == []


def test_the_quiz_can_be_read_without_a_front_end(tmp_path, monkeypatch):
    monkeypatch.setenv("TACL_PROGRESS", str(tmp_path / "progress.json"))
    page = widgets.quiz("01_catastrophic_forgetting")._repr_mimebundle_()[0]["text/html"]
    for question in QUESTIONS["01_catastrophic_forgetting"]:
        assert question.ask in page
    with pytest.raises(TaclError, match="unknown lesson"):
        widgets.quiz("06_experiment")


@pytest.mark.parametrize("made", [widgets.loss_landscape, lambda: widgets.quiz("02_agem")])
def test_widgets_fetch_nothing(made):
    code = made()._esm
    assert "import(" not in code
    assert "fetch(" not in code
    assert "http" not in code.replace("http://www.w3.org/2000/svg", "")

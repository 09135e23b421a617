"""The board of the capstone: what it refuses before anything runs, and what it says of a learner that falls short."""

import numpy as np
import pytest

from tacl_lib.errors import TaclError
from tacl_lib.plain.network import Network, loss_gradient
from tacl_lib.plain.sgd import Sgd
from tacl_lib.teaching.lessons import capstone, progress

RIVALS_ONCE = {}  # they are the same in every test


@pytest.fixture(autouse=True)
def few(tmp_path, monkeypatch):
    """Two seeds and an epoch are enough to see what is said."""
    monkeypatch.setenv("TACL_PROGRESS", str(tmp_path / "progress.json"))
    monkeypatch.setattr(capstone, "EPOCHS", 2)
    monkeypatch.setattr(capstone, "_known", RIVALS_ONCE)
    runs_of = capstone.runs_of
    monkeypatch.setattr(capstone, "runs_of", lambda learner: runs_of(learner, range(2)))


class Lazy:
    def __init__(self, network, classes, seed):
        self.network = network

    def step(self, x, y):
        pass


class Told(Lazy):
    def end_task(self, x, y):
        pass


@pytest.mark.parametrize(
    ("learner", "sentence"),
    [
        (lambda network: None, r"Learner\(network, classes, seed\)"),
        (Told, "never told that a task is over"),
        (type("Stepless", (), {"__init__": Lazy.__init__}), "has no step"),
        (Lazy, "the weights never changed"),
    ],
)
def test_what_cannot_be_judged_is_refused_with_a_sentence(learner, sentence):
    with pytest.raises(TaclError, match=sentence):
        capstone.board(learner)
    assert progress.done()["exercise"] == []


class InPlace(Lazy):
    """SGD that changes the weights where they stand."""

    def step(self, x, y):
        self.network.w -= capstone.LR * loss_gradient(self.network, x, y)


@pytest.mark.parametrize("goal", ["TA-A-GEM", "TA-OGD"])
def test_sgd_is_told_that_it_falls_short(goal, capsys, monkeypatch):
    monkeypatch.setattr(capstone, "EPOCHS", 4)  # TA-OGD needs that long to leave SGD behind, and then not by much
    monkeypatch.setattr(capstone, "_known", {})
    capstone.board(InPlace, goal)
    said = capsys.readouterr().out
    assert "below the library's on average" in said
    assert "yours minus SGD: +0.000" in said
    assert progress.done()["exercise"] == []


def test_a_learner_as_good_as_the_library_s_is_remembered(capsys):
    picture = capstone.board(lambda network, classes, seed: capstone.plain_ta_agem(network, classes, seed))
    assert "✓ As good as the library's." in capsys.readouterr().out
    assert progress.done()["exercise"] == ["capstone"]
    assert picture.alt.startswith("Average accuracy over 10 points; in the end SGD 0.")


def test_ta_ogd_is_compared_with_the_library_s_ta_ogd(capsys):
    capstone.board(lambda network, classes, seed: capstone.plain_ta_ogd(network, classes, seed), "TA-OGD")
    said = capsys.readouterr().out
    assert "yours minus TA-OGD: " in said
    assert "TA-A-GEM" not in said
    assert "✓ As good as the library's. You have written TA-OGD" in said
    assert progress.done()["exercise"] == []


def test_another_goal_is_refused():
    with pytest.raises(TaclError, match="unknown goal 'OGD'"):
        capstone.board(None, "OGD")


def test_not_written_yet_the_solution_stands_in(capsys):
    capstone.board(None)
    assert capsys.readouterr().out.startswith("→ not written yet")
    assert progress.done()["exercise"] == []


def test_the_library_s_learner_walks_from_the_same_weights_along_the_same_batches():
    network = Network(capstone.SIZES, 1)
    before = network.w.clone()
    learner = capstone.library_ta_agem(network, 2, 1)
    task = capstone.digits("class", 1).tasks[0]
    learner.step(task.x[:10], task.y[:10])
    sgd = Network(capstone.SIZES, 1)
    Sgd(sgd, capstone.LR).step(task.x[:10], task.y[:10])  # with an empty memory the step is SGD's
    assert not np.allclose(network.w, before, atol=1e-5)
    np.testing.assert_allclose(network.w, sgd.w, atol=1e-6)

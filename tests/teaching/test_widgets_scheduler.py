"""The scheduler lab: against the appendix's box, line by line."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacl_lib.errors import TaclError
from tacl_lib.plain.scheduler import LearningRateScheduler
from tacl_lib.teaching.widgets.scheduler_lab import CURVES, PLACES, scheduler_lab
from tacl_lib.teaching.widgets.scheduler_state import STEPS, Constants, Curve, answer


@pytest.fixture(scope="module")
def lab():
    return scheduler_lab()


@given(
    st.lists(st.floats(0, 4).map(lambda loss: round(loss, 2)), min_size=1, max_size=60),
    st.sampled_from([0.9, 0.97, 0.9999, 1.0]),
    st.integers(0, 7),
    st.sampled_from([0.0, 1e-4, 0.1]),
    st.sampled_from([0.1, 1.0]),
)
def test_the_answer_is_that_of_the_box(losses, factor, patience, threshold, reset_threshold):
    oracle = LearningRateScheduler(
        factor=factor, patience=patience, threshold=threshold, reset_threshold=reset_threshold
    )
    given_answer = answer(losses, Constants(factor, patience, threshold, reset_threshold))
    rate = 1e-3
    for step, loss in enumerate(losses):
        assert given_answer.used[step] == rate
        before = rate
        stagnant, best = oracle.n_stagnant, oracle.best
        rate = oracle.step(loss, rate)
        assert given_answer.rate[step] == rate
        assert given_answer.best[step] == oracle.best
        assert given_answer.stagnant[step] == oracle.n_stagnant
        assert given_answer.spikes[step] == oracle.n_spike
        assert given_answer.reset[step] == (oracle.best > best)
        assert given_answer.lowered[step] == (
            stagnant == patience and oracle.n_stagnant == 0 and not oracle.best < best
        )
        if rate < before:
            assert given_answer.lowered[step]
        assert f"Step {step}, loss {loss:.2f}" in given_answer.sentence(step)


def test_a_curve_goes_through_its_points_jumps_and_fades():
    points = (3.0, 2.0, 1.5, 1.5, 0.5, 0.2, 0.1)
    smooth = Curve(points).losses()
    np.testing.assert_allclose(smooth[PLACES], points, atol=0.02)
    assert (np.diff(smooth) <= 1e-12).all()  # the line does not swing between points that fall
    jumped = Curve(points, change_at=100, jump=2.0, lasts=50).losses() - smooth
    assert not jumped[:100].any()
    assert jumped[100] == pytest.approx(2)
    assert jumped[150] == pytest.approx(2 / np.e)
    noisy = Curve(points, noise=0.1).losses() - smooth
    assert 0.08 < noisy[:200].std() < 0.12


def test_bad_curves_get_a_sentence():
    with pytest.raises(TaclError, match="negative"):
        Curve((1.0, -1.0)).losses()
    with pytest.raises(TaclError, match="finite"):
        answer([1.0, float("nan")])


def test_presets_do_what_their_names_say(lab):
    answers = {name: answer(curve.losses(), Constants()) for name, curve in CURVES.items()}
    assert answers["a new task: the loss jumps"].reset.sum() == 1
    assert answers["a spike of four steps"].reset.sum() == 0
    assert answers["a spike of four steps"].spikes.max() == 4
    assert answers["a small jump: never noticed"].spikes.max() == 0
    assert answers["a steady fall"].lowered.sum() == 0
    assert answers["noise only"].lowered.sum() > 20
    assert answers["learn, then a plateau"].lowered.sum() > 5


def shown(lab, name):
    return next(trace for trace in lab.figure.data if trace.name == name)


def test_a_bent_curve_is_answered_in_figure_and_words(lab):
    lab.example.value = "a new task: the loss jumps"
    np.testing.assert_array_equal(shown(lab, "loss").y, lab.curve.losses())
    assert list(shown(lab, "reset").x) == list(np.flatnonzero(lab.answer.reset))
    lab.jump.value = 0
    assert lab.example.value == "your own"
    assert len(shown(lab, "reset").x) == 0
    oracle, rate = LearningRateScheduler(factor=lab.factor.value), 1e-3
    for loss in lab.curve.losses():
        rate = oracle.step(loss, rate)
    assert shown(lab, "learning rate").y[-1] == rate
    assert f"to {rate:.6f}" in lab.summary.value


def test_a_point_that_is_dragged_moves_its_slider_and_stays_in_its_place(lab):
    lab.example.value = "a steady fall"
    lab.figure.layout.annotations[2].update(x=200.0, y=0.5)
    assert lab.points[2].value == pytest.approx(0.5)
    assert (lab.figure.layout.annotations[2].x, lab.figure.layout.annotations[2].y) == (PLACES[2], pytest.approx(0.5))
    assert shown(lab, "loss").y[PLACES[2]] == pytest.approx(0.5, abs=0.02)
    lab.figure.layout.annotations[2].update(y=9.0)
    assert lab.points[2].value == 3.0
    assert "between 0 and 3" in lab.said
    lab.points[2].value = 1.0
    assert lab.said == ""


def test_the_step_slider_tells_which_lines_took_effect(lab):
    lab.example.value = "a new task: the loss jumps"
    (reset,) = np.flatnonzero(lab.answer.reset)
    lab.step.value = int(reset)
    assert lab.figure.layout.shapes[0].x0 == reset
    assert "back to the first rate" in lab.words.value
    lab.step.value = 0
    assert "lower than the best so far" in lab.words.value


def test_the_paper_s_values_are_one_click_away(lab):
    lab.factor.value, lab.patience.value, lab.reset.value = 0.9, 12, 2.5
    lab.paper.click()
    # The appendix, as in the oracle's signature.
    oracle = LearningRateScheduler()
    paper = (oracle.factor, oracle.patience, oracle.threshold, oracle.reset_threshold)
    assert (lab.factor.value, lab.patience.value, lab.threshold.value, lab.reset.value) == paper
    assert lab.figure.layout.shapes[1].y0 == oracle.patience
    halved = int(np.ceil(np.log(0.5) / np.log(oracle.factor)))
    assert f"{halved:,} lowerings halve the rate" in lab.summary.value


def test_one_update_for_each_change(lab, monkeypatch):
    sent = []
    for kind in ("update", "restyle", "relayout"):
        monkeypatch.setattr(lab.figure, f"_send_{kind}_msg", lambda *a, k=kind, **b: sent.append(k))
    for change in (
        lambda: setattr(lab.example, "value", "noise only"),
        lambda: setattr(lab.points[3], "value", 2.0),
        lambda: setattr(lab.patience, "value", 9),
        lambda: lab.paper.click(),
        lambda: setattr(lab.step, "value", STEPS // 2),
    ):
        change()
        assert sent in (["update"], ["relayout"])
        sent.clear()


def test_a_still_picture_stands_in(lab):
    data, about = lab._repr_mimebundle_()
    assert {"image/png", "application/vnd.jupyter.widget-view+json"} <= set(data)
    assert lab.answer.summary() in about["image/png"]["alt"]

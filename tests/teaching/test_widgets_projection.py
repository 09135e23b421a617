"""The projection playground: its numbers against dense linear algebra, its picture against its numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tacl_lib.errors import TaclError
from tacl_lib.teaching.widgets.projection import agem_state, ogd_state, projection_playground

numbers = st.floats(-3, 3).map(lambda value: round(value, 3))
vectors = st.integers(2, 6).flatmap(
    lambda n: st.tuples(arrays(float, n, elements=numbers), arrays(float, n, elements=numbers))
)
stacks = st.tuples(
    arrays(float, 3, elements=numbers), arrays(float, st.tuples(st.integers(0, 4), st.just(3)), elements=numbers)
)


@pytest.fixture
def playground():
    return projection_playground()


@given(vectors)
def test_agem_projects_only_in_conflict_and_to_the_nearest_harmless_gradient(pair):
    g, g_ref = pair
    state = agem_state(g, g_ref)
    if g @ g_ref < -1e-6:
        fit, *_ = np.linalg.lstsq(g_ref[:, None], g, rcond=None)  # the part of g along g_ref
        assert state.projects
        np.testing.assert_allclose(state.result, g - g_ref * fit, atol=1e-7)
        assert abs(state.result @ g_ref) < 1e-6
    elif g @ g_ref > 1e-6:
        assert not state.projects
        np.testing.assert_array_equal(state.result, g)
    assert state.kept == pytest.approx(np.linalg.norm(state.result) / (np.linalg.norm(g) or 1) if g.any() else 1)


def test_agem_at_the_edges():
    right_angle = agem_state(
        [np.cos(np.radians(110)), np.sin(np.radians(110))], [np.cos(np.radians(20)), np.sin(np.radians(20))]
    )
    assert (right_angle.projects, right_angle.product) == (False, 0)
    opposite = agem_state([-1, -2], [2, 4])
    assert opposite.projects
    assert not opposite.result.any()
    assert "nothing is left" in opposite.sentence()
    assert agem_state([1, 2], [0, 0]).angle is None
    assert not agem_state([1, 2], [0, 0]).projects
    with pytest.raises(TaclError, match="same length"):
        agem_state([1, 2], [1, 2, 3])


@given(stacks)
def test_ogd_leaves_what_is_at_a_right_angle_to_all_stored_gradients(pair):
    g, stored = pair
    state = ogd_state(g, stored)
    dense = g - np.linalg.pinv(stored) @ (stored @ g) if len(stored) else g
    singular = np.linalg.svd(stored, compute_uv=False) if len(stored) else np.zeros(0)
    if len(singular) and (singular[(singular > 1e-12)] < 1e-3).any():
        return  # neither answer is sharp for near copies
    np.testing.assert_allclose(state.result, dense, atol=1e-6)
    np.testing.assert_allclose(state.removed + state.result, g, atol=1e-12)
    assert state.rank == int((singular > 1e-9).sum())
    assert np.abs(state.result_products).max(initial=0) < 1e-6


def test_ogd_says_when_nothing_is_left_to_learn_in():
    assert "cannot learn any more" in ogd_state([1, 2, 3], np.eye(3)).sentence()
    assert "protects nothing new" in ogd_state([1, 2, 3], [[1, 0, 0], [0, 1, 0], [1, 1, 0]]).sentence()
    assert "every direction is free" in ogd_state([1, 2, 3], []).sentence()


def trace(figure, name):
    return next(trace for trace in figure.data if trace.name == name)


def end(figure, name):
    drawn = trace(figure, name)
    return np.array([axis[-1] for axis in (drawn.x, drawn.y, getattr(drawn, "z", None)) if axis is not None])


def test_sliders_move_arrows_and_the_result_follows(playground):
    plane = playground.agem
    plane.angles["g"].value, plane.lengths["g"].value = 180, 1.0
    plane.angles["g_ref"].value, plane.lengths["g_ref"].value = 45, 2.0
    g, g_ref = plane.figure.layout.annotations
    np.testing.assert_allclose([g.ax, g.ay], [-1, 0], atol=1e-12)
    np.testing.assert_allclose([g_ref.ax, g_ref.ay], [2**0.5, 2**0.5])
    np.testing.assert_allclose(end(plane.figure, "result"), [-0.5, 0.5])  # by hand: half of it lies along g_ref
    assert "<b>-1.41</b>, projected" in plane.words.value
    plane.angles["g"].value = 60
    np.testing.assert_allclose(end(plane.figure, "result"), [0.5, 3**0.5 / 2])
    assert len(trace(plane.figure, "removed").x) == 0
    assert "not projected" in plane.words.value


def test_an_arrow_that_is_dragged_moves_the_sliders(playground):
    plane = playground.agem
    plane.figure.layout.annotations[0].update(ax=0.0, ay=-1.0)
    assert (plane.angles["g"].value, plane.lengths["g"].value) == (270, pytest.approx(1.0))
    assert plane.example.value == "your own"
    np.testing.assert_allclose(plane.state.g, [0, -1], atol=1e-12)


def test_an_arrow_that_is_dragged_too_far_is_shortened_with_a_sentence(playground):
    plane = playground.agem
    plane.figure.layout.annotations[1].update(ax=3.0, ay=4.0)
    assert "shortened" in playground.said
    assert plane.lengths["g_ref"].value == pytest.approx(2)
    mark = plane.figure.layout.annotations[1]
    assert np.hypot(mark.ax, mark.ay) == pytest.approx(2)
    plane.angles["g"].value += 1
    assert playground.said == ""


def test_an_example_can_be_chosen_again_after_a_change(playground):
    plane = playground.agem
    plane.example.value = "opposite"
    assert not plane.state.result.any()
    assert len(trace(plane.figure, "result").x) == 0
    plane.angles["g"].value = 10
    plane.example.value = "opposite"
    assert plane.angles["g"].value == 200


@pytest.fixture
def updates(monkeypatch):
    """Messages that figures send to the browser."""
    import plotly.basewidget

    sent = []
    for kind in ("update", "restyle", "relayout"):
        monkeypatch.setattr(
            plotly.basewidget.BaseFigureWidget, f"_send_{kind}_msg", lambda self, *a, k=kind, **b: sent.append(k)
        )
    return sent


def test_one_update_for_each_change(playground, updates):
    for change in (
        lambda: setattr(playground.agem.angles["g"], "value", 77),
        lambda: setattr(playground.agem.example, "value", "no conflict"),
        lambda: setattr(playground.ogd.height, "value", 10),
        lambda: setattr(playground.ogd.count, "value", 3),
    ):
        change()
        assert updates == ["update"]
        updates.clear()


def test_space_shows_span_and_what_is_free(playground):
    space = playground.ogd
    playground.method.value = playground.method.options[1]
    assert space.state.rank == 2
    assert trace(space.figure, "span plane").visible
    assert not trace(space.figure, "free plane").visible
    direction = end(space.figure, "free line")
    assert np.abs(space.state.stored @ direction).max() < 1e-9  # the free line is at a right angle to the span
    rim = np.array([trace(space.figure, "span plane")[axis] for axis in "xyz"]).T
    assert np.abs(rim @ direction).max() < 1e-9
    np.testing.assert_allclose(end(space.figure, "ĝ"), space.state.result)

    space.count.value = 1
    assert trace(space.figure, "free plane").visible
    assert space.moved.options == ("g", "u1")
    space.moved.value = "u1"
    space.angle.value, space.height.value = 90, 0
    np.testing.assert_allclose(space.state.stored, [[0, 1, 0]], atol=1e-12)
    np.testing.assert_allclose(end(space.figure, "u1"), [0, 1, 0], atol=1e-12)

    space.example.value = "three that fill the space"
    assert space.state.rank == 3
    assert len(trace(space.figure, "ĝ").x) == 0
    assert "cannot learn any more" in space.words.value


def test_another_point_of_view_changes_nothing_but_the_camera(playground):
    before = playground.ogd.state
    playground.ogd.look.value = 0
    assert playground.ogd.figure.layout.scene.camera.eye.y == pytest.approx(0)
    np.testing.assert_array_equal(playground.ogd.state.result, before.result)


def test_a_still_picture_stands_in_where_nothing_can_be_moved(playground):
    for method in playground.method.options:
        playground.method.value = method
        data, about = playground._repr_mimebundle_()
        assert {"image/png", "text/plain", "application/vnd.jupyter.widget-view+json"} <= set(data)
        room = playground._rooms[method]
        assert room.state.sentence() in about["image/png"]["alt"]

"""The memory player and the memory builder as a person uses them."""

import re

import pytest

# The file of a trained run is not at hand in every checkout: the demonstration has a log of its own.
PLAYER = "from tacl_lib.teaching import widgets\n\nplayer = widgets.memory_player()\nplayer"
BUILDER = "from tacl_lib.teaching import widgets\n\nbuilder = widgets.memory_builder(epochs=2)\nbuilder"


@pytest.fixture(scope="module")
def player(lab):
    with lab.open([PLAYER]) as opened:
        opened.figure().model()
        yield opened


@pytest.fixture(scope="module")
def builder(lab):
    with lab.open([BUILDER]) as opened:
        opened.figure().model()
        yield opened


def traces(model, name: str) -> list[dict]:
    """The traces with this name; none while plotly is still loading."""
    return [trace for trace in getattr(model, "data", []) if trace.get("name") == name]


def at_step(step: int):
    """Whether all cursors of a figure stand at a step."""
    return lambda model: {trace["x"][0] for trace in traces(model, "cursor") if trace.get("x")} == {step + 0.5}


def step_in_words(notebook) -> int:
    found = re.search(r"[Ss]tep ([\d,]+) of", notebook.text())
    return int(found[1].replace(",", "")) if found else -1


def test_the_player_opens_at_the_first_step_and_shows_the_last_when_asked(player):
    model = player.figure().wait_for(at_step(0), "the first step")
    assert "Step 0 of 628" in player.text()
    assert "Press Play" in player.text()
    assert [trace["x"][0] for trace in traces(model, "future")] == [1, 1]  # what is to come is covered
    assert len(model.data[0]["x"]) == 20  # a point per cluster, in front of the image
    assert model.layout["images"][0]["source"].startswith("data:image/jpeg")
    # Looks that were given when the figure was made are still there.
    assert {trace["line"]["color"] for trace in traces(model, "cursor")} == {"#d6006c"}
    assert traces(model, "means")[0]["marker"]["symbol"] == "cross"
    player.press("Step", "End")
    model = player.figure().wait_for(at_step(627), "the last step")
    assert not any(trace.get("x") for trace in traces(model, "future"))
    player.screenshot("memory_player")


def test_it_is_as_wide_as_the_notebook_leaves_room(player):
    output = player.page.locator(".jp-OutputArea-output").first.bounding_box()
    figure = player.figure().locator.bounding_box()
    assert output["width"] - 40 <= figure["width"] <= output["width"]


def test_keys_move_the_slider_and_with_it_all_views(player):
    player.press("Step", "Home")
    first = player.figure().wait_for(at_step(0), "the first step")
    assert sum(value is not None for value in traces(first, "members")[0]["x"]) == 1
    player.press("Step", "ArrowRight", "ArrowRight")
    model = player.figure().wait_for(at_step(2), "two steps on")
    assert sum(value is not None for value in traces(model, "members")[0]["x"]) == 3
    assert model.layout["images"][0]["source"] != first.layout["images"][0]["source"]
    player.wait_until(lambda: step_in_words(player) == 2, "the sentence")
    player.click("Go on to the next arrival")
    player.figure().wait_for(at_step(3), "the next arrival")
    player.click("Go back to the arrival before")
    player.figure().wait_for(at_step(2), "the arrival before")


def test_play_moves_on_and_pause_stays_without_any_jump(player):
    player.press("Step", "Home")
    player.figure().wait_for(at_step(0), "the first step")
    below = player.page.locator("[role=status]").first
    place = below.bounding_box()["y"]
    player.click("Play")
    model = player.figure().wait_for(lambda model: traces(model, "cursor")[0]["x"][0] > 20, "steps that go by")
    assert below.bounding_box()["y"] == place
    player.click("Pause")
    player.button("Play").wait_for()
    player.page.wait_for_timeout(1500)  # what was under way arrives
    stopped = step_in_words(player)
    player.page.wait_for_timeout(1000)
    assert step_in_words(player) == stopped >= traces(model, "cursor")[0]["x"][0] - 1
    assert below.bounding_box()["y"] == place


def test_a_click_on_a_cluster_highlights_it_everywhere(player):
    player.press("Step", "End")
    model = player.figure().wait_for(at_step(627), "the last step")
    strips = traces(model, "strips")[0]
    assert "cluster 9" in player.figure().hover(strips["x"][9], strips["y"][9])
    player.figure().click(strips["x"][9], strips["y"][9])
    model = player.figure().wait_for(lambda model: traces(model, "followed")[1].get("y"), "the cluster in the timeline")
    outline = traces(model, "followed")[1]["y"]
    assert (min(outline) + max(outline)) / 2 == pytest.approx(9)
    assert any(value is not None for value in traces(model, "spokes")[0]["x"])
    assert "Cluster 9 holds" in player.text()
    player.screenshot("memory_player_followed")

    player.figure().click(300, 4, "xaxis2", "yaxis2")  # another one, in the timeline
    player.figure().wait_for(lambda model: sum(traces(model, "followed")[1]["y"][:4]) / 4 == 4, "cluster 4")
    player.wait_until(lambda: "Cluster 4 holds" in player.text(), "its story")
    player.choose("Follow", "none")
    player.figure().wait_for(lambda model: not traces(model, "followed")[1]["y"], "no cluster")


@pytest.mark.slow
def test_a_page_that_is_reloaded_shows_the_present_step(lab):
    with lab.open([PLAYER]) as opened:
        opened.figure().wait_for(at_step(0), "the first step")
        opened.press("Step", "End")
        opened.figure().wait_for(at_step(627), "the last step")
        opened.page.keyboard.press("Control+s")
        opened.page.wait_for_timeout(1000)
        opened.page.reload()
        opened.wait_for_kernel()
        model = opened.figure().wait_for(at_step(627), "the last step again")
        assert traces(model, "cursor")[0]["line"]["color"] == "#d6006c"


@pytest.mark.slow
def test_the_builder_fills_two_memories_before_your_eyes(builder):
    builder.click("Run")
    figure = builder.figure()
    seen = figure.wait_for(lambda model: any(t.get("x") for t in traces(model, "cursor")), "a memory that fills")
    early = traces(seen, "cursor")[0]["x"][0]
    model = figure.wait_for(at_step(313), "the end of the stream")
    assert early <= 313.5
    assert len(model.layout["images"]) == 2
    assert len({image["source"] for image in model.layout["images"]}) == 2  # two policies, two memories
    assert model.layout["yaxis2"]["range"] == [19.5, -0.5]
    builder.press("Step", "Home", "ArrowRight")
    figure.wait_for(at_step(1), "one slider for both")
    builder.press("Step", "End")
    figure.wait_for(at_step(313), "the end again")
    builder.screenshot("memory_builder")


@pytest.mark.slow
def test_a_wrong_choice_in_the_builder_is_told_and_it_goes_on(builder):
    field = builder.control("Q").locator("input")
    field.fill("5000")
    field.press("Enter")
    builder.click("Run")
    builder.wait_until(lambda: "Q = 5000 needs 5,000 samples" in builder.text(), "what is wrong")
    field.fill("4")
    field.press("Enter")
    builder.click("Run")
    builder.wait_until(lambda: "Q = 5000" not in builder.text(), "that all is well")
    builder.figure().wait_for(lambda model: model.layout["yaxis2"]["range"] == [3.5, -0.5], "four clusters")

"""The memory player and the memory builder as a person uses them."""

import re

import pytest

# The file of a trained run is not at hand in every checkout: the demonstration has a log of its own.
PLAYER = "from tacl_lib.teaching import widgets\n\nplayer = widgets.memory_player()\nplayer"
BUILDER = "from tacl_lib.teaching import widgets\n\nbuilder = widgets.memory_builder(epochs=2)\nbuilder"
TOLD = "print('at', player.step, player.followed)"


@pytest.fixture(scope="module")
def player(lab):
    with lab.open([PLAYER, TOLD]) as opened:
        opened.wait_until(lambda: step_in_words(opened) == 0, "the first step")
        yield opened


@pytest.fixture(scope="module")
def builder(lab):
    with lab.open([BUILDER]) as opened:
        yield opened


def part(notebook, name: str, number: int = 0):
    return notebook.page.locator(f".tacl-memory .{name}").nth(number)


def press(notebook, *keys: str) -> None:
    """Keys for the slider."""
    part(notebook, "step").focus()
    for key in keys:
        notebook.page.keyboard.press(key)


def step_in_words(notebook) -> int:
    found = re.search(r"[Ss]tep ([\d,]+) of", part(notebook, "said").inner_text())
    return int(found[1].replace(",", "")) if found else -1


def picture(notebook, name: str, number: int = 0) -> str:
    return part(notebook, name, number).evaluate("(canvas) => canvas.toDataURL()")


def told(notebook) -> str:
    """What the kernel knows, asked for by running the last cell again."""
    notebook.page.locator(".jp-CodeCell").last.locator(".cm-content").click()
    notebook.page.keyboard.press("Control+Enter")
    notebook.page.wait_for_timeout(800)
    return notebook.page.locator(".jp-CodeCell").last.locator(".jp-OutputArea-output").inner_text().strip()


def test_the_player_opens_at_the_first_step_and_shows_the_last_when_asked(player):
    assert "Press Play" in part(player, "story").inner_text()
    first = {name: picture(player, name) for name in ("thumbs", "oldest", "share", "map")}
    press(player, "End")
    assert step_in_words(player) == 627
    assert all(picture(player, name) != drawn for name, drawn in first.items())
    assert "1 of task 0, 0 of task 1" not in part(player, "thumbs").get_attribute("aria-label")
    player.screenshot("memory_player")
    # What was seen stays uncovered: the timeline of the first step is another one now.
    press(player, "Home")
    assert picture(player, "thumbs") == first["thumbs"]
    assert picture(player, "oldest") != first["oldest"]


def test_it_is_as_wide_as_the_notebook_leaves_room(player):
    output = player.page.locator(".jp-OutputArea-output").first.bounding_box()
    figure = player.page.locator(".tacl-memory").first.bounding_box()
    assert output["width"] - 40 <= figure["width"] <= output["width"]


def test_keys_and_buttons_move_all_views(player):
    press(player, "Home")
    first = {name: picture(player, name) for name in ("thumbs", "oldest", "share", "map")}
    press(player, "ArrowRight", "ArrowRight")
    assert step_in_words(player) == 2
    assert all(picture(player, name) != drawn for name, drawn in first.items())
    assert part(player, "thumbs").get_attribute("aria-label").startswith("Images in the memory at step 2: 3 of task 0")
    player.page.locator(".tacl-memory .on").click()
    assert step_in_words(player) == 3
    player.page.locator(".tacl-memory .back").focus()
    player.page.keyboard.press("Enter")
    assert step_in_words(player) == 2
    # The keys were the player's: the notebook has run nothing and has no new cell.
    assert player.page.locator(".jp-CodeCell").count() == 2


def test_play_moves_on_and_pause_stays_without_any_jump(player):
    press(player, "Home")
    below = part(player, "key").bounding_box()["y"]
    part(player, "play").focus()
    player.page.keyboard.press("Space")
    player.wait_until(lambda: step_in_words(player) > 20, "steps that go by")
    assert part(player, "said").get_attribute("aria-live") == "off"
    assert part(player, "key").bounding_box()["y"] == below
    player.page.keyboard.press("Space")
    stopped = step_in_words(player)
    assert part(player, "play").inner_text() == "▶ Play"
    player.page.wait_for_timeout(600)
    assert step_in_words(player) == stopped
    assert part(player, "said").get_attribute("aria-live") == "polite"
    assert told(player) == f"at {stopped} None"


def test_a_click_on_a_cluster_highlights_it_everywhere_and_hovering_names_it(player):
    press(player, "End")
    plain = {name: picture(player, name) for name in ("thumbs", "oldest", "map")}
    box = part(player, "thumbs").bounding_box()
    at = {"x": 30, "y": box["height"] * 0.1}  # the strip in the upper left corner
    part(player, "thumbs").hover(position=at)
    assert re.match(r"cluster 0\nan? ‘\d’ of task \d, since step \d+", part(player, "hover").inner_text())
    part(player, "thumbs").click(position=at)
    assert all(picture(player, name) != drawn for name, drawn in plain.items())
    assert part(player, "story").inner_text().startswith("Cluster 0 holds")
    player.screenshot("memory_player_followed")

    box = part(player, "oldest").bounding_box()
    at = {"x": box["width"] * 0.5, "y": 16 + (box["height"] - 36) * 4.5 / 20}  # the fifth of twenty lines
    part(player, "oldest").hover(position=at)
    assert re.match(r"cluster 4, step 2\d\d\noldest task: \d", part(player, "hover").inner_text())
    part(player, "oldest").click(position=at)
    assert part(player, "story").inner_text().startswith("Cluster 4 holds")
    assert told(player) == "at 627 4"
    part(player, "follow").select_option("")
    assert part(player, "story").inner_text().startswith("Click a cluster")
    part(player, "share").hover(position={"x": 80, "y": 80})
    assert re.match(r"step \d+\ntask 0: \d+ %", part(player, "hover").inner_text())
    assert {name: picture(player, name) for name in plain} == plain


def test_what_the_kernel_sets_is_shown(lab):
    cells = [PLAYER, "player.step, player.followed = 400, 7", "player.show(7)"]
    with lab.open(cells) as opened:
        opened.wait_until(lambda: step_in_words(opened) == 400, "the step that was set")
        opened.wait_until(lambda: part(opened, "story").inner_text().startswith("Cluster 7 "), "the cluster")
        opened.wait_until(lambda: "not int" in part(opened, "message").inner_text(), "what cannot be played")


@pytest.mark.slow
def test_a_page_that_is_reloaded_shows_the_present_step(lab):
    with lab.open([PLAYER]) as opened:
        press(opened, "End")
        opened.page.keyboard.press("Control+s")
        opened.page.wait_for_timeout(1000)
        opened.page.reload()
        opened.wait_for_kernel()
        opened.wait_until(lambda: step_in_words(opened) == 627, "the last step again")


def test_names_of_a_user_are_text_and_no_markup(lab):
    cell = (
        "from tacl_lib.core.memory.policies import POLICIES, fifo\n"
        "from tacl_lib.teaching import widgets\n\n"
        "name = '<a href=x>mine</a>'\nPOLICIES[name] = fifo\n"
        "builder = widgets.memory_builder(epochs=1, clusters=4, cluster_size=2, policies=(name, 'fifo'))\n"
        "builder.start()\nbuilder"
    )
    with lab.open([cell]) as opened:
        opened.wait_until(lambda: "<a href=x>mine</a>" in part(opened, "side").inner_text(), "the name as it is")
        assert opened.page.locator(".tacl-memory a").count() == 0


@pytest.mark.slow
def test_the_builder_plays_two_memories_from_the_first_step_to_the_last(builder):
    builder.click("Run")
    builder.wait_until(lambda: builder.page.locator(".tacl-memory .side").count() == 2, "two memories")
    builder.wait_until(lambda: 0 < step_in_words(builder) < 300, "a memory that fills")
    builder.wait_until(lambda: step_in_words(builder) == 313, "the end of the stream")
    assert picture(builder, "thumbs", 0) != picture(builder, "thumbs", 1)
    assert builder.page.locator(".tacl-memory .map").count() == 0
    press(builder, "Home", "ArrowRight")
    steps = [re.search(r"Step (\d+)", text)[1] for text in builder.page.locator(".tacl-memory .said").all_inner_texts()]
    assert steps == ["1", "1"]
    press(builder, "End")
    assert part(builder, "story").inner_text().startswith("Members from the first task: clustering: ")
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
    builder.wait_until(lambda: part(builder, "follow").locator("option").count() == 5, "four clusters and none")

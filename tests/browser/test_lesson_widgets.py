"""The loss landscape and the quiz, used as a student uses them: with the mouse, and with the keyboard alone."""

import re

import pytest


@pytest.fixture(scope="module")
def notebook(lab, tmp_path_factory):
    place = str(tmp_path_factory.mktemp("progress") / "progress.json")
    cells = [
        f"import os\nos.environ['TACL_PROGRESS'] = {place!r}\nfrom tacl_lib.teaching import widgets",
        "widgets.loss_landscape()",
        "widgets.quiz('02_agem')",
    ]
    with lab.open(cells) as opened:
        opened.wait_until(lambda: opened.page.locator(".tacl-quiz .score").count() == 1, "the quiz")
        opened.place = place
        yield opened


def old_losses(notebook) -> list[float]:
    """Of SGD, A-GEM and OGD, as the sentence below the figure says."""
    sentence = notebook.page.locator(".tacl-land .said").inner_text()
    return [float(number) for number in re.findall(r"\d\.\d\d", sentence)]


def test_the_start_is_moved_with_arrow_keys_and_with_the_mouse(notebook):
    page, start = notebook.page, notebook.page.locator(".tacl-land .start")
    at_first = old_losses(notebook)
    assert at_first[0] > 0.6
    start.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    notebook.wait_until(lambda: old_losses(notebook)[0] < at_first[0] / 2, "another walk after arrow keys")
    box = start.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] - 120, box["y"], steps=4)
    page.mouse.up()
    notebook.wait_until(lambda: old_losses(notebook)[0] > at_first[0], "another walk after dragging")
    page.locator(".tacl-land .home").click()
    notebook.wait_until(lambda: old_losses(notebook) == at_first, "the walk of the beginning")


def test_the_order_of_the_tasks_is_changed_and_the_walk_is_played(notebook):
    page = notebook.page
    page.locator(".tacl-land .order").select_option("first B, then A")
    said = page.locator(".tacl-land .said")
    notebook.wait_until(lambda: "old task B" in said.inner_text(), "the other order")
    notebook.screenshot("loss_landscape")
    page.locator(".tacl-land .play").click()
    notebook.wait_until(lambda: said.inner_text().startswith("Learning task B"), "the film to begin")
    notebook.wait_until(lambda: said.inner_text().startswith("Loss of the old task B"), "the film to end")


def test_the_quiz_is_answered_with_the_keyboard_and_remembered(notebook):
    page = notebook.page
    first, second = (page.locator(".tacl-quiz fieldset").nth(number) for number in range(2))
    first.locator("input").first.focus()
    page.keyboard.press("Space")
    notebook.wait_until(lambda: "✓ Right." in first.locator(".why").inner_text(), "a sentence for the right choice")
    second.locator("input").first.focus()
    page.keyboard.press("Space")
    notebook.wait_until(lambda: "✗ Not quite." in second.locator(".why").inner_text(), "a sentence for a wrong one")
    page.keyboard.press("ArrowDown")
    notebook.wait_until(lambda: "✓ Right." in second.locator(".why").inner_text(), "the right one after all")
    assert page.locator(".tacl-quiz .score").inner_text() == "2 of 4 right"

    def remembered() -> str:
        try:
            with open(notebook.place, encoding="utf-8") as file:
                return file.read()
        except OSError:
            return ""

    notebook.wait_until(lambda: "02_agem/2" in remembered(), "what was right in the file")
    assert "02_agem/1" in remembered()
    notebook.screenshot("quiz")

"""The teachers' plans: 90 minutes each, true to the lessons; and the slides that are made of them."""

import base64
import re
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from tacl_lib.errors import TaclError
from tacl_lib.teaching.lessons import slides
from tacl_lib.teaching.lessons.exercises import EXERCISES
from tacl_lib.teaching.lessons.plan import Shown, Slide, Text, read_plan

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
PLANS = sorted((NOTEBOOKS / "teaching").glob("*.md"))
each_plan = pytest.mark.parametrize("path", PLANS, ids=lambda path: path.stem)
PNG = base64.b64decode(  # one white pixel
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAsTjkbAAAAABJRU5ErkJggg=="
)


@each_plan
def test_a_plan_fills_ninety_minutes(path):
    found = read_plan(path)
    assert sum(slide.minutes for slide in found) == 90
    assert found[0].first
    assert not any(slide.first for slide in found[1:])


def test_every_lesson_has_a_plan_and_the_guide_names_them_all():
    shown = {
        part.lesson for path in PLANS for slide in read_plan(path) for part in slide.parts if isinstance(part, Shown)
    }
    assert shown == {path.stem for path in (NOTEBOOKS / "source").glob("*.md")}
    guide = (NOTEBOOKS / "teaching.md").read_text(encoding="utf-8")
    assert [path.name for path in PLANS] == re.findall(r"\(teaching/(\w+\.md)\)", guide)


@each_plan
def test_links_of_a_plan_work(path):
    links = re.findall(r"\]\(([^)\s]+)\)", path.read_text(encoding="utf-8"))
    assert [link for link in links if not (path.parent / link).exists()] == []


@each_plan
def test_the_mistakes_that_a_plan_names_are_those_of_the_checks(path):
    known = " | ".join(mistake.sentence for exercise in EXERCISES.values() for mistake in exercise.mistakes)
    named = [words for slide in read_plan(path) for words in re.findall(r"^- “(.+?)”", slide.notes, re.M)]
    assert [words for words in named if words not in known] == []
    if "6_" not in path.name:
        assert len(named) >= 3


@each_plan
def test_an_exercise_and_a_question_that_a_plan_shows_exist(path):
    of_lesson = {"write", "quiz", "goals", "summary", "landscape"}
    shown = [part for slide in read_plan(path) for part in slide.parts if isinstance(part, Shown)]
    checked = [part for part in shown if part.kind in of_lesson]
    assert all(slides._of_lesson(part, path, _no_lesson, slides.ROOM)[0][1].strip() for part in checked)
    assert {part.kind for part in checked} == (set() if "6_" in path.name else of_lesson)


def _no_lesson(name):
    raise AssertionError(f"{name} need not run")


def test_the_parts_of_a_plan(tmp_path):
    path = tmp_path / "plan.md"
    path.write_text(
        "# Title\n\nfirst\n\n## Heading · 5 min\n\nseen\n\n> said\n> more\n\n[quiz: 2](../02_agem.ipynb)\n\n"
        "<details><summary>Answer</summary>\n\nbecause\n\n</details>\n"
    )
    assert read_plan(path) == [
        Slide("Title", True, 0, (Text("first"),), ""),
        Slide("Heading", False, 5, (Text("seen"), Shown("quiz", "2", "02_agem"), Text("because", True)), "said\nmore"),
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("## No title\n\n## But slides", "must begin with a title"),
        ("# Title only", "must begin with a title"),
        ("# T\n\n## S\n\n[film: x](../02_agem.ipynb)", "there is no film; choose one of figure"),
        ("# T\n\n## S\n\n[quiz: 9](../02_agem.ipynb)", "question 9 of 02_agem, which has 4"),
        ("# T\n\n## S\n\n[write: loss](../02_agem.ipynb)", "the exercise loss, which 02_agem does not have"),
        ("# T\n\n## S\n\n[figure: Nowhere](../02_agem.ipynb)", "“Nowhere” in plan.md belongs to 0 figures"),
        ("# T\n\n## S\n\n[said: Nothing](../02_agem.ipynb)", "no cell printed “Nothing”, which plan.md asks for"),
    ],
)
def test_what_a_plan_cannot_mean_is_refused_with_a_sentence(tmp_path, text, sentence):
    path = tmp_path / "plan.md"
    path.write_text(text)
    with pytest.raises(TaclError, match=sentence):
        slides.deck(path, _executed)


def _executed(name: str) -> nbformat.NotebookNode:
    """A lesson with a figure and a printed line."""
    shown = new_output("display_data", {"image/png": base64.b64encode(PNG).decode(), "text/plain": "A white pixel."})
    printed = new_output("stream", text="Ready.\nIn the end 3; you predicted 0.95.\nYou predicted 4. So.\n")
    return new_notebook(cells=[new_code_cell("draw()", outputs=[shown]), new_code_cell("tell()", outputs=[printed])])


def test_a_deck_is_one_page_that_asks_for_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(slides, "reveal", lambda: {"script": "REVEAL", "notes": "NOTES", "style": "STYLE"})
    path = tmp_path / "plan.md"
    path.write_text(
        "# Title\n\n## Formula · 5 min\n\nThe loss is $w^2$, and `$` stays.\n\n> whisper\n\n"
        "## Shown\n\n[figure: white pixel](../02_agem.ipynb)\n\n[said: In the end](../02_agem.ipynb)\n\n"
        "## Quiz\n\n[quiz: 1](../02_agem.ipynb)\n\n## Play\n\n[landscape: sgd, ogd](../02_agem.ipynb)\n"
    )
    page = slides.deck(path, _executed)
    assert page.count("<section") == 2 * 5
    assert "<msup><mi>w</mi><mn>2</mn></msup>" in page.replace("\n", "")
    assert '<aside class="notes">' in page
    assert 'alt="A white pixel."' in page
    assert "In the end 3.\nSo.</pre>" in page
    assert page.count('class="fragment"') == 1
    assert "✓ A" in page.split('class="fragment"')[1]
    assert re.search(r"_methods.{1,20}sgd.{1,20}ogd", page)
    assert re.findall(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=\"(?!data:)[^\"]*", page) == []
    assert "export default" not in page

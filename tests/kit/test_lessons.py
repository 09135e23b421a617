"""What every notebook and every lesson must have; that they run is nbval's business."""

import re
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

import nbformat
import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
LESSONS = [path for path in NOTEBOOKS if re.match(r"0[0-5]|10", path.name)]
EQUATIONS = 14  #: numbered ones of the paper, appendix included
ALGORITHMS = 4  #: boxes: A-GEM, OGD, clustering, scheduler

notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
lesson = pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)


def prose(path: Path) -> str:
    """All markdown of a notebook."""
    return "\n\n".join(cell.source for cell in nbformat.read(path, 4).cells if cell.cell_type == "markdown")


def code(path: Path) -> list[str]:
    """The code cells of a notebook."""
    return [cell.source for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]


def links(text: str) -> list[str]:
    return re.findall(r"\]\(([^()\s]+(?:\([^()]*\)[^()\s]*)*)\)", text)


def outline(text: str) -> list[tuple[int, str]]:
    """Level and text of every heading; what stands in code blocks is none."""
    text = re.sub(r"```.*?```", "", text, flags=re.S)
    return [(len(marks), title) for marks, title in re.findall(r"^(#{1,6}) +(.+)$", text, re.M)]


@notebook
def test_links_to_files_work(path):
    local = [link for link in links(prose(path)) if not re.match(r"https?://|mailto:|#", link)]
    broken = [link for link in local if not (path.parent / unquote(link.split("#")[0])).exists()]
    assert broken == []


@notebook
def test_links_to_the_web_are_whole(path):
    web = [link for link in links(prose(path)) if link.startswith("http")]
    assert [link for link in web if not re.fullmatch(r"https://[\w.-]+\.[a-z]+/\S+", link)] == []
    arxiv = [link for link in web if "arxiv.org" in link]
    assert [link for link in arxiv if not re.fullmatch(r"https://arxiv\.org/abs/\d{4}\.\d{4,5}", link)] == []


@notebook
def test_headings_form_an_outline(path):
    levels = [level for level, _ in outline(prose(path))]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


@notebook
def test_equations_and_algorithms_of_the_paper_exist(path):
    text = prose(path)
    named = re.findall(r"[Ee]quations? (\d+)(?: (?:and|to) (\d+))?", text)
    assert all(1 <= int(number) <= EQUATIONS for pair in named for number in pair if number)
    assert all(1 <= int(number) <= ALGORITHMS for number in re.findall(r"Algorithm (\d+)", text))


@lesson
def test_lesson_has_its_parts(path):
    text = prose(path)
    titles = [title.lower() for _, title in outline(text)]
    for part in ("summary", "what to try next", "references"):
        assert part in titles, f"no section “{part}”"
    opening = nbformat.read(path, 4).cells[0].source
    assert re.search(r"\*\*Time:?\*\*:? .*minutes", opening), "the first cell must say how long it takes"
    assert re.search(r"\*\*Assumes:?\*\*", opening), "the first cell must say what is assumed"
    assert len(re.findall(r"<details>.*?<summary>.*?</summary>.*?</details>", text, re.S)) >= 2
    assert "arxiv.org/abs/2309.12078" in text


@lesson
def test_a_prediction_is_asked_before_it_is_compared(path):
    cells = code(path)
    asked = [number for number, cell in enumerate(cells) if re.match(r"my_prediction\w*\b.*=", cell, re.M)]
    assert asked, "no prediction is asked"
    for number, following in pairwise([*asked, len(cells)]):
        later = "\n".join(cells[number + 1 : following])
        assert "my_prediction" in later, f"the prediction of code cell {number} is never compared"


@lesson
def test_facts_are_asserted(path):
    assert sum("assert" in cell for cell in code(path)) >= 2


@lesson
def test_figures_carry_an_alternative_text(path):
    for cell in code(path):
        assert "plt.show" not in cell
        if "new_picture(" in cell:
            assert re.search(r"finished\(\s*\w+,\s*\S", cell), "a figure must be finished with an alternative text"

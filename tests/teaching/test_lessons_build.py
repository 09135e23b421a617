"""From sources to notebooks: what is committed is what the sources give, and students never see a solution unfolded."""

import ast
import re
from pathlib import Path

import pytest

from tacl_lib.errors import TaclError
from tacl_lib.teaching.lessons.build import STUB, notebook, source_of, stub, written
from tacl_lib.teaching.lessons.exercises import EXERCISES
from tacl_lib.teaching.lessons.progress import LESSONS
from tacl_lib.teaching.lessons.source import Code, ExerciseText, Markdown, read

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
SOURCES = sorted((NOTEBOOKS / "source").glob("*.md"))
DRAWING = r"draw\.|strategy_diagram\("
each_source = pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)


@each_source
def test_the_committed_notebook_is_made_from_its_source(path):
    committed = (NOTEBOOKS / f"{path.stem}.ipynb").read_text(encoding="utf-8")
    assert committed == written(notebook(path)), "run: tacl lessons"


def test_every_lesson_asks_for_its_exercises_in_order():
    asked = {path.stem: [p.name for p in read(path) if isinstance(p, ExerciseText)] for path in SOURCES}
    listed = {lesson: [name for name in names if name != "capstone"] for lesson, (_, names) in LESSONS.items()}
    assert asked == listed


@each_source
def test_students_get_stubs_and_solutions_are_folded(path):
    exercises = [part.name for part in read(path) if isinstance(part, ExerciseText)]
    cells = notebook(path).cells
    answers = [cell.source for cell in cells if cell.metadata.get("tags") == ["exercise"]]
    assert len(answers) == len(exercises)
    for name, answer in zip(exercises, answers, strict=True):
        assert answer.endswith(STUB)
        solution = source_of(EXERCISES[name].solution)
        shown = [cell for cell in cells if solution in cell.source]
        assert len(shown) == 1
        assert shown[0].source.split(solution)[0].rstrip().endswith("<details><summary>Solution</summary>\n\n```python")
    solved = [cell.source for cell in notebook(path, solved=True).cells if cell.metadata.get("tags") == ["exercise"]]
    assert solved == [source_of(EXERCISES[name].solution) for name in exercises]


@each_source
def test_a_figure_takes_one_line_and_a_cell_that_only_draws_is_folded(path):
    figures = 0
    for part in [part for part in read(path) if isinstance(part, Code)]:
        statements = ast.parse(part.text).body
        imports = [s for s in statements if isinstance(s, ast.Import | ast.ImportFrom)]
        drawn = [s for s in statements if isinstance(s, ast.Expr) and re.match(DRAWING, ast.unparse(s))]
        assert all(s.lineno == s.end_lineno for s in drawn)
        assert "matplotlib" not in part.text
        assert part.folded == bool(drawn and len(imports) + len(drawn) == len(statements)), part.text
        figures += len(drawn)
    assert figures >= 4  # the rule above was put to the test


@each_source
def test_an_exercise_says_what_it_takes(path):
    exercises = [part for part in read(path) if isinstance(part, ExerciseText)]
    assert len(exercises) >= 2
    for part in exercises:
        assert 1 <= part.difficulty <= 5
        assert 1 <= part.importance <= 5
        assert 1 <= part.minutes <= 15
        assert len(part.hints) >= 2
        assert part.task


@pytest.mark.parametrize("name", EXERCISES)
def test_a_stub_keeps_signature_and_docstring_only(name):
    solution = EXERCISES[name].solution
    (made,) = ast.parse(stub(solution)).body
    (real,) = ast.parse(source_of(solution)).body
    assert ast.dump(made.args) == ast.dump(real.args)
    assert ast.get_docstring(made) == ast.get_docstring(real)
    assert len(made.body) == 2


def test_the_parts_of_a_source(tmp_path):
    path = tmp_path / "lesson.md"
    path.write_text(
        "# One\n\ntext\n\n---\n\nnext\n\n```python\nx = 1\n```\n\n```python fold\ndraw()\n```\n\n"
        "### Later {folded}\n\nmore\n\n"
        "```exercise project\ndifficulty: 2\nimportance: 5\nminutes: 4\nhint: a\nhint: b\n\nDo it.\n```\n"
    )
    assert read(path) == [
        Markdown("# One\n\ntext"),
        Markdown("next"),
        Code("x = 1"),
        Code("draw()", folded=True),
        Markdown("### Later", folded=True),
        Markdown("more"),
        ExerciseText("project", 2, 5, 4, ("a", "b"), "Do it."),
    ]


def test_an_exercise_without_its_minutes_is_refused(tmp_path):
    path = tmp_path / "lesson.md"
    path.write_text("```exercise project\ndifficulty: 2\n\nDo it.\n```\n")
    with pytest.raises(TaclError, match=r"exercise project in lesson\.md must say"):
        read(path)

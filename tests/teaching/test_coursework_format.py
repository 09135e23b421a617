"""The sources of the sets keep to the format, and what is made from them is up to date."""

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from tacl_lib.errors import TaclError
from tacl_lib.teaching.checks import CHECKS
from tacl_lib.teaching.coursework.generate import generate, generated, leftovers
from tacl_lib.teaching.coursework.source import (
    ProblemSet,
    grade_id,
    is_answer,
    is_test,
    is_written,
    read_set,
    read_sets,
)
from tacl_lib.teaching.coursework.versions import STUB, UNANSWERED, explained, marking_scheme, release, solution

ROOT = Path(__file__).parents[2]
COURSEWORK = ROOT / "coursework"
SETS = read_sets(COURSEWORK / "source")
EXERCISES = [pytest.param(e, id=e.name) for of in SETS for e in of.exercises]
of_each_set = pytest.mark.parametrize("of", [pytest.param(of, id=of.name) for of in SETS])
of_each_exercise = pytest.mark.parametrize("exercise", EXERCISES)


def test_generated_files_are_those_that_the_sources_make():
    files = generated(COURSEWORK)
    old = [str(p.relative_to(ROOT)) for p, text in files.items() if not p.exists() or p.read_text("utf-8") != text]
    assert old == [], "run `make coursework` and commit what it makes"
    assert leftovers(COURSEWORK, files) == [], "no source makes these any more: run `make coursework`"


def test_generating_again_changes_nothing_and_removes_leftovers(tmp_path):
    for of in SETS:
        (tmp_path / "source" / of.name).mkdir(parents=True)
        (tmp_path / "source" / of.name / of.path.name).write_bytes(of.path.read_bytes())
    first = {path: path.read_bytes() for path in generate(tmp_path)}
    (tmp_path / "marking" / "set9_gone.md").write_text("old")
    assert {path: path.read_bytes() for path in generate(tmp_path)} == first
    assert not (tmp_path / "marking" / "set9_gone.md").exists()


@of_each_set
def test_a_set_is_about_two_hours_and_says_so(of: ProblemSet):
    assert [e.number for e in of.exercises] == [1, 2, 3, 4]
    assert sum(exercise.marks for exercise in of.exercises) == 20
    assert of.question.marks == 4
    assert 120 <= of.minutes <= 140
    assert f"4 exercises and a question · {of.minutes} minutes · {of.marks} marks" in of.notebook.cells[0].source
    assert re.fullmatch(r"set\d_[a-z_]+", of.name)
    assert of.path.name == of.name.split("_")[0] + ".ipynb"


def test_names_are_unique_over_all_sets():
    names = [exercise.name for of in SETS for exercise in of.exercises]
    assert sorted(names) == sorted(set(names))
    assert set(CHECKS) == set(names), "each exercise has a check, and each check an exercise"


@of_each_exercise
def test_an_exercise_has_all_its_parts(exercise):
    assert re.search(r"\*\*Think first:\*\*", exercise.cells[0].source)
    function = ast.parse(exercise.answer.source).body[-1]
    assert (type(function), function.name) == (ast.FunctionDef, exercise.name)
    assert ast.get_docstring(function)
    assert function.returns is not None
    assert all(argument.annotation is not None for argument in function.args.args)
    hints = [cell for cell in exercise.cells if "<details>" in cell.source]
    assert len(hints) == 1
    assert (
        len(re.findall(r"<details>\n<summary>Hint [123]: .+?</summary>\n\n.+?\n\n</details>", hints[0].source, re.S))
        == 3
    )
    checks = [c.source for c in exercise.cells if c.source.endswith(f"check_{exercise.name}({exercise.name})")]
    assert len(checks) == 1
    assert f"from tacl_lib.teaching.checks import check_{exercise.name}" in checks[0]
    text, code = explained(exercise.answer)
    assert len(text.split()) >= 30, "a solution is explained in a few sentences"
    assert "SOLUTION" not in code
    for number, cell in enumerate(exercise.tests, start=1):
        assert grade_id(cell) == f"{exercise.name}_test_{number}"
        assert f"from tacl_lib.teaching.checks import check_{exercise.name}" in cell.source
    assert any("### BEGIN HIDDEN TESTS" in cell.source for cell in exercise.tests)


@of_each_exercise
def test_the_parameters_are_those_of_the_check(exercise):
    function = ast.parse(exercise.answer.source).body[-1]
    reference = CHECKS[exercise.name].reference
    assert [a.arg for a in function.args.args] == list(inspect.signature(reference).parameters)


@of_each_set
def test_no_widgets_in_a_graded_notebook(of: ProblemSet):
    code = "\n".join(cell.source for cell in of.notebook.cells if cell.cell_type == "code")
    assert not re.search(r"widget|plotly|interact|input\(", code)
    assert "widgets" not in of.notebook.metadata


@of_each_set
def test_students_get_stubs_and_no_solution(of: ProblemSet):
    notebook = nbformat.reads(release(of), as_version=4)
    text = "\n".join(cell.source for cell in notebook.cells)
    assert not re.search("SOLUTION|HIDDEN", text)
    for mine, theirs in zip(of.notebook.cells, notebook.cells, strict=True):
        if is_answer(mine):
            assert STUB.splitlines()[-1] in theirs.source
            _, code = explained(mine)
            own = set(code.splitlines()) - set(theirs.source.splitlines())
            assert own, "the source has a solution"
            assert not any(line.strip() in theirs.source for line in own if len(line.strip()) > 12)
        elif is_written(mine):
            assert theirs.source == UNANSWERED
        elif not is_test(mine):
            assert mine.source == theirs.source


@of_each_set
def test_the_solution_has_its_explanation_before_it(of: ProblemSet):
    notebook = nbformat.reads(solution(of), as_version=4)
    places = [number for number, cell in enumerate(notebook.cells) if is_answer(cell)]
    assert all(notebook.cells[n - 1].source.startswith("**Solution.** ") for n in places)
    assert len(places) == len(of.exercises)
    assert not re.search("BEGIN|END|NotImplementedError", "\n".join(cell.source for cell in notebook.cells))


@of_each_set
def test_the_marking_scheme_accounts_for_every_mark(of: ProblemSet):
    scheme = marking_scheme(of)
    points = [float(n) for n in re.findall(r"^\| ([\d.]+) \| .+ \| `\w+_test_\d` \|$", scheme, re.M)]
    by_hand = re.findall(r"^## Question · .+ · (\d+) marks, by hand$", scheme, re.M)
    assert sum(points) + sum(map(int, by_hand)) == of.marks == 24


# --- bad sources are refused in a sentence ------------------------------------------------------------------------


def broken(tmp_path: Path, change) -> ProblemSet:
    path = tmp_path / SETS[0].path.name
    notebook = nbformat.reads(SETS[0].path.read_text("utf-8"), as_version=4)
    change(notebook)
    nbformat.write(notebook, path)
    return read_set(path)


def first(notebook, wanted):
    return next(cell for cell in notebook.cells if wanted(cell))


def test_marks_that_disagree_with_points_are_refused(tmp_path):
    of = broken(tmp_path, lambda nb: first(nb, is_test).metadata.nbgrader.update(points=7))
    with pytest.raises(TaclError, match=r"exercise 1 of set1.ipynb says 4 marks, but its test cells have 9 points\."):
        _ = of.exercises


def test_a_heading_without_its_line_is_refused(tmp_path):
    def change(notebook):
        cell = first(notebook, lambda cell: cell.source.startswith("## Exercise 1"))
        cell.source = cell.source.replace("Difficulty", "Hardness")

    with pytest.raises(TaclError, match=r"exercise 1 of set1\.ipynb needs a line 'Difficulty"):
        _ = broken(tmp_path, change).exercises


def test_an_exercise_without_tests_is_refused(tmp_path):
    def change(notebook):
        notebook.cells = [cell for cell in notebook.cells if not (grade_id(cell) or "").startswith("run_metrics_test")]

    with pytest.raises(TaclError, match="exactly one answer cell and at least one test cell"):
        _ = broken(tmp_path, change).exercises


def test_a_solution_without_explanation_is_refused(tmp_path):
    def change(notebook):
        cell = first(notebook, is_answer)
        cell.source = re.sub(r"(BEGIN SOLUTION\n)(?: +#.*\n)+", r"\1", cell.source)

    with pytest.raises(TaclError, match="run_metrics must begin with a comment that explains it"):
        solution(broken(tmp_path, change))


def test_a_test_cell_without_a_purpose_is_refused(tmp_path):
    def change(notebook):
        cell = first(notebook, is_test)
        cell.source = cell.source.split("\n", 1)[1]

    with pytest.raises(TaclError, match="run_metrics_test_1 must begin with a comment"):
        marking_scheme(broken(tmp_path, change))


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(TaclError, match="there is no problem set in"):
        read_sets(tmp_path)


def test_checks_start_at_once():
    """They need NumPy only: importing them must not wait for torch."""
    code = "import sys, tacl_lib.teaching.checks; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert {"torch", "pandas", "matplotlib", "nbgrader"} & set(done.stdout.split()) == set()

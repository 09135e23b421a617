"""nbgrader's whole cycle over a class: full marks, none, some, and submissions that misbehave."""

import csv
import inspect
import re
import subprocess
import sys
from pathlib import Path

import nbclient
import nbformat
import pytest
from coursework_answers import run_metrics as answers

from tacl_lib.errors import TaclError
from tacl_lib.teaching.coursework.source import ProblemSet, grade_id, is_answer, is_test, read_sets
from tacl_lib.teaching.coursework.submissions import collect, mend
from tacl_lib.teaching.coursework.versions import release, solution

ROOT = Path(__file__).parents[2]
COURSEWORK = ROOT / "coursework"
SETS = read_sets(COURSEWORK / "source")
of_each_set = pytest.mark.parametrize("of", [pytest.param(of, id=of.name) for of in SETS])
TIMEOUT = 30


def solved(of: ProblemSet):
    return nbformat.reads(solution(of), as_version=4)


def cell_of(notebook, name: str):
    return next(cell for cell in notebook.cells if grade_id(cell) == name)


def hand_in(folder: Path, student: str, of: ProblemSet, notebook) -> None:
    (folder / student).mkdir(parents=True, exist_ok=True)
    text = notebook if isinstance(notebook, str) else nbformat.writes(notebook)
    (folder / student / of.path.name).write_text(text, encoding="utf-8")


def every_other_solved(of: ProblemSet):
    """Exercises 1, 3, … as in the solution, the others as handed out."""
    notebook = nbformat.reads(release(of), as_version=4)
    for exercise in of.exercises[::2]:
        cell_of(notebook, exercise.name).source = cell_of(solved(of), exercise.name).source
    return notebook


def partly_right(of: ProblemSet):
    """The solution, but the first exercise has the accuracies right and the sign of forgetting wrong."""
    notebook = solved(of)
    helpers = [answers._first, answers._average]
    text = "\n\n".join(inspect.getsource(function) for function in [*helpers, answers.wrong_sign])
    cell_of(notebook, "run_metrics").source = re.sub("@wrong.*\n", "", text).replace(
        "def wrong_sign", "def run_metrics"
    )
    return notebook


def looping(of: ProblemSet):
    """The first answer loops when it is called, the second cell loops by itself."""
    notebook = solved(of)
    first, second = (exercise.name for exercise in of.exercises[:2])
    stub = cell_of(nbformat.reads(release(of), as_version=4), first).source
    cell_of(notebook, first).source = re.sub(r"raise NotImplementedError\(.*\)", "while True:\n        pass", stub)
    cell_of(notebook, second).source = "while True:\n    pass"
    # Without its check, which would loop as well: the test cells are enough to show it.
    notebook.cells = [cell for cell in notebook.cells if f"check_{first}({first})" not in cell.source]
    return notebook


def tampered(of: ProblemSet):
    """A test cell was deleted with a wrong answer before it, another one was made to pass always."""
    notebook = solved(of)
    gone = of.exercises[0].tests[0]
    stub = cell_of(nbformat.reads(release(of), as_version=4), of.exercises[0].name)
    cell_of(notebook, of.exercises[0].name).source = stub.source
    notebook.cells = [cell for cell in notebook.cells if grade_id(cell) != grade_id(gone)]
    changed = cell_of(notebook, grade_id(of.exercises[0].tests[1]))
    changed.source = "print('passed')"
    return notebook


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """One cycle over everybody: a kernel is started for each submission, so it is run once."""
    pytest.importorskip("nbgrader", reason="nbgrader is not installed: make setup-test, or the instructor extra")
    from tacl_lib.teaching.coursework.grading import grade

    place = tmp_path_factory.mktemp("class")
    submissions = place / "submissions"
    for of in SETS:
        hand_in(submissions, "solution", of, solution(of))
        hand_in(submissions, "empty", of, release(of))
        hand_in(submissions, "mixed", of, every_other_solved(of))
    first = SETS[0]
    hand_in(submissions, "Åsa Öberg", first, partly_right(first))
    hand_in(submissions, "looping", first, looping(first))
    hand_in(submissions, "deleting", first, tampered(first))
    hand_in(submissions, "broken", first, release(first)[:500])
    (submissions / "stray.ipynb").write_text("{}")
    (submissions / "renamed").mkdir()
    (submissions / "renamed" / "set1 (1).ipynb").write_text(release(first))
    return grade(COURSEWORK / "source", submissions, place / "grading", TIMEOUT)


def of(graded, student: str, problem_set: ProblemSet):
    return next(g for g in graded.graded if g.student == student and g.of.name == problem_set.name)


@of_each_set
def test_the_solution_gets_full_marks(graded, of):
    entry = next(g for g in graded.graded if (g.student, g.of.name) == ("solution", of.name))
    assert entry.marks == {exercise.name: exercise.marks for exercise in of.exercises}
    assert entry.remark == ""


@of_each_set
def test_the_empty_release_gets_none(graded, of):
    entry = next(g for g in graded.graded if (g.student, g.of.name) == ("empty", of.name))
    assert entry.marks == {exercise.name: 0 for exercise in of.exercises}


@of_each_set
def test_a_mixed_one_gets_exactly_what_it_solved(graded, of):
    entry = next(g for g in graded.graded if (g.student, g.of.name) == ("mixed", of.name))
    assert entry.marks == {e.name: e.marks if n % 2 == 0 else 0 for n, e in enumerate(of.exercises)}


def test_an_exercise_that_is_half_right_gets_half_the_marks(graded):
    entry = of(graded, "Åsa Öberg", SETS[0])
    assert entry.marks == {"run_metrics": 2, "project": 5, "reference_gradient": 6, "read_timeline": 5}
    assert (entry.total, entry.remark) == (18, "")


def test_loops_cost_their_own_marks_only_and_are_reported(graded):
    entry = of(graded, "looping", SETS[0])
    assert entry.marks == {"run_metrics": 0, "project": 0, "reference_gradient": 6, "read_timeline": 5}
    assert "in the cell run_metrics_test_1 the answer did not come to an end." in entry.remark
    assert f"the cell project ran longer than {TIMEOUT} seconds and was stopped." in entry.remark


def test_deleted_and_changed_test_cells_are_put_back_and_reported(graded):
    entry = of(graded, "deleting", SETS[0])
    assert entry.marks == {"run_metrics": 0, "project": 5, "reference_gradient": 6, "read_timeline": 5}
    assert entry.remark == (
        "the test cell run_metrics_test_1 had been deleted and was put back. "
        "the test cell run_metrics_test_2 had been changed; the original was used."
    )


def test_a_broken_file_is_reported_in_one_sentence(graded):
    entry = of(graded, "broken", SETS[0])
    assert entry.marks is None
    assert entry.remark.startswith("set1.ipynb is not a notebook that can be read (")
    assert entry.remark.endswith("ask for it again.")
    assert "\n" not in entry.remark


def test_whoever_comes_after_them_is_graded(graded):
    order = [entry.student for entry in graded.graded]
    assert order.index("solution") > max(map(order.index, ("broken", "deleting", "looping")))
    assert of(graded, "solution", SETS[0]).total == SETS[0].marks


def test_files_in_the_wrong_place_are_told(graded):
    assert graded.notes == [
        f"renamed handed in none of {', '.join(of.path.name for of in SETS)}; the folder has set1 (1).ipynb.",
        "stray.ipynb is not in a student's folder and was left aside.",
    ]


def test_marks_are_written_as_csv(graded):
    path = graded.folder / f"marks_{SETS[0].name}.csv"
    rows = {row["student"]: row for row in csv.DictReader(path.open(encoding="utf-8"))}
    names = [exercise.name for exercise in SETS[0].exercises]
    assert list(rows["mixed"]) == ["student", *names, "total", "out_of", "remark"]
    assert [rows["Åsa Öberg"][name] for name in [*names, "total", "out_of"]] == ["2", "5", "6", "5", "18", "20"]
    assert [rows["broken"][name] for name in [*names, "total"]] == ["", "", "", "", "0"]
    assert len(rows) == 7
    assert {path.name for path in graded.folder.glob("*.csv")} == {f"marks_{of.name}.csv" for of in SETS}


def test_feedback_names_the_mistake_in_html(graded):
    page = (graded.folder / "feedback" / "Åsa Öberg" / SETS[0].name / "set1.html").read_text("utf-8")
    assert "the sign of forgetting is wrong" in page
    assert not (graded.folder / "feedback" / "broken").exists()


def test_the_report_has_a_line_for_each(graded):
    lines = graded.text().splitlines()
    assert len(lines) == len(graded.graded) + len(graded.notes) + 1
    assert any(re.match(r"mixed +set1_forgetting +10 of 20$", line) for line in lines)


@of_each_set
def test_the_release_is_what_nbgrader_makes(graded, of):
    """Up to checksums, which nbgrader takes from its own database when it grades."""
    theirs = nbformat.read(graded.folder / "release" / of.name / of.path.name, as_version=4)
    sums = [cell.metadata.nbgrader.pop("checksum") for cell in theirs.cells if "nbgrader" in cell.metadata]
    assert len(sums) >= 2 * len(of.exercises)
    assert theirs == nbformat.reads(release(of), as_version=4)


@of_each_set
def test_students_notebooks_run_up_to_the_first_stub_which_says_what_to_do(graded, of):
    """As executed in the cycle: the first cell that fails is the first check, and it says why in one line."""
    path = graded.folder / "autograded" / "empty" / of.name / of.path.name
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    failed = [c for c in cells if any(output.output_type == "error" for output in c.outputs)]
    name = of.exercises[0].name
    assert failed[0].source.endswith(f"check_{name}({name})")
    (error,) = failed[0].outputs
    assert error.traceback == [f"✗ {name}: it is not written yet: put your code in place of the line that raises."]
    stub = cell_of(nbformat.reads(release(of), as_version=4), name)
    assert 'raise NotImplementedError("Not solved yet: put your code here' in stub.source
    # Only checks and tests fail, and they all fail in the same way.
    assert all("check_" in cell.source for cell in failed)
    assert {e.ename for cell in failed for e in cell.outputs if e.output_type == "error"} == {"CheckFailed"}


@of_each_set
def test_the_solution_runs_from_top_to_bottom(of, tmp_path):
    """Also the cells that grading skips: your function on real data."""
    notebook = nbformat.read(COURSEWORK / "solutions" / of.name / of.path.name, as_version=4)
    nbclient.NotebookClient(
        notebook, timeout=300, skip_cells_with_tag="", resources={"metadata": {"path": tmp_path}}
    ).execute()
    text = str([cell.get("outputs") for cell in notebook.cells])
    for exercise in of.exercises:
        assert f"✓ {exercise.name}: right" in text
    assert "widget-view" not in text, "no widgets in a graded notebook, progress bars included"


# --- without kernels ----------------------------------------------------------------------------------------------


def test_a_cell_that_cannot_be_interrupted_does_not_hold_up_the_class(monkeypatch):
    """After a few limits the next cells get a second each, so that the notebook ends."""
    pytest.importorskip("nbgrader", reason="nbgrader is not installed: make setup-test, or the instructor extra")
    from tacl_lib.teaching.coursework import grading

    now = [100.0]
    monkeypatch.setattr(grading.time, "monotonic", lambda: now[0])
    seconds = grading._limits(60)
    assert seconds(None) == 60
    now[0] += grading.LONGEST * 60 - 20
    assert seconds(None) == 20
    now[0] += 1000
    assert seconds(None) == 1


def test_grading_does_not_empty_a_folder_that_is_not_its_own(tmp_path):
    pytest.importorskip("nbgrader", reason="nbgrader is not installed: make setup-test, or the instructor extra")
    from tacl_lib.teaching.coursework.grading import grade

    (tmp_path / "thesis.txt").write_text("do not lose me")
    with pytest.raises(TaclError, match="not empty and was not made by grading"):
        grade(COURSEWORK / "source", tmp_path, tmp_path)
    assert (tmp_path / "thesis.txt").exists()


def test_no_folder_and_an_empty_one_are_told(tmp_path):
    with pytest.raises(TaclError, match="there is no folder"):
        collect(tmp_path / "none", SETS, tmp_path)
    with pytest.raises(TaclError, match=r"nothing to grade in .*: it is empty\."):
        collect(tmp_path, SETS, tmp_path)


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"cells": 3, "nbformat": 4}', b"\xff\xfe\x00"])
def test_files_that_are_no_notebook(tmp_path, data):
    (tmp_path / "in" / "ada").mkdir(parents=True)
    (tmp_path / "in" / "ada" / SETS[0].path.name).write_bytes(data)
    (submission,), notes = collect(tmp_path / "in", SETS, tmp_path / "out")
    assert submission.refused
    assert notes == []
    assert submission.remarks[0].startswith("set1.ipynb is not a notebook that can be read (")


def test_folder_names_that_nbgrader_cannot_use(tmp_path):
    for name in ("ada", "b[e]n", "c*"):
        hand_in(tmp_path / "in", name, SETS[0], release(SETS[0]))
    found, notes = collect(tmp_path / "in", SETS, tmp_path / "out")
    assert [submission.student for submission in found] == ["ada"]
    assert [re.search("'(.*?)' was", note)[1] for note in notes] == ["b[e]n", "c*"]


def test_mending_keeps_the_work_and_forgets_foreign_metadata():
    notebook = nbformat.reads(release(SETS[0]), as_version=4)
    answer = next(cell for cell in notebook.cells if is_answer(cell))
    answer.source = "def run_metrics(): return 1"
    answer.metadata["nbgrader"] = {"grade_id": "run_metrics", "points": 1000}
    next(cell for cell in notebook.cells if not grade_id(cell)).metadata["nbgrader"] = {"grade_id": "mine"}
    assert mend(notebook, SETS[0]) == []
    assert answer.source == "def run_metrics(): return 1"
    assert "points" not in answer.metadata["nbgrader"]
    assert [grade_id(cell) for cell in notebook.cells if grade_id(cell)] == [
        grade_id(cell) for cell in SETS[0].notebook.cells if grade_id(cell)
    ]


def test_mending_tells_what_is_missing():
    notebook = nbformat.reads(release(SETS[0]), as_version=4)
    notebook.cells = [cell for cell in notebook.cells if not (grade_id(cell) or "").startswith("project")]
    assert mend(notebook, SETS[0]) == [
        "the answer cell project is missing.",
        "the test cell project_test_1 had been deleted and was put back.",
        "the test cell project_test_2 had been deleted and was put back.",
    ]
    assert [grade_id(cell) for cell in notebook.cells[-2:]] == ["project_test_1", "project_test_2"]
    assert all(is_test(cell) for cell in notebook.cells[-2:])


def test_without_nbgrader_only_grading_is_missing_and_says_so(tmp_path):
    """Students have no nbgrader: checks and generation must work, and grading asks for it in a sentence."""
    code = (
        "import sys; sys.modules['nbgrader'] = None\n"
        "from tacl_lib.teaching.coursework.__main__ import COURSEWORK, main\n"
        "from tacl_lib.teaching.coursework.generate import generated\n"
        "assert generated(COURSEWORK)\n"
        f"main(['grade', {str(tmp_path)!r}])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.strip() == (
        "coursework: grading needs nbgrader; `make grade` installs it, or: pip install '.[instructor]'."
    )


def test_the_command_says_in_one_sentence_what_is_missing(tmp_path):
    pytest.importorskip("nbgrader", reason="nbgrader is not installed: make setup-test, or the instructor extra")
    from tacl_lib.teaching.coursework.__main__ import main

    with pytest.raises(SystemExit, match=r"^coursework: there is no folder .*nowhere; it should hold"):
        main(["grade", str(tmp_path / "nowhere"), "--output", str(tmp_path / "out")])

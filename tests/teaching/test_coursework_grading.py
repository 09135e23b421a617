"""The whole cycle with nbgrader: everybody gets a row, marks given by hand stay, platforms get their tables back."""

import csv
import re
import subprocess
import sys
import zipfile

import nbclient
import nbformat
import pytest
from coursework_answers import run_metrics as answers
from handed_in import COURSEWORK, SETS, cell_of, hand_in, released, solved, source_of
from nbformat.v4 import new_code_cell, new_notebook

from tacl_lib.errors import TaclError
from tacl_lib.teaching.coursework.restoring import restore
from tacl_lib.teaching.coursework.source import ProblemSet, grade_id, is_answer, is_test
from tacl_lib.teaching.coursework.submissions import collect
from tacl_lib.teaching.coursework.versions import release

ROOT = COURSEWORK.parent
FIRST, SECOND = SETS[:2]
of_each_set = pytest.mark.parametrize("of", [pytest.param(of, id=of.name) for of in SETS])


def partly_right():
    """The solution, but the first exercise has the accuracies right and the sign of forgetting wrong."""
    notebook = solved(FIRST)
    source = source_of(answers.wrong_sign, "run_metrics", answers._first, answers._average)
    cell_of(notebook, "run_metrics").source = source
    cell_of(notebook, "set1_question").source = "A mean hides $a < 0$ behind $b > 0$."
    return notebook


@pytest.fixture(scope="module")
def nbgrader():
    pytest.importorskip("nbgrader", reason="nbgrader is not installed: make setup-test, or the instructor extra")
    from tacl_lib.teaching.coursework import grading
    from tacl_lib.teaching.coursework.sandbox import protection

    try:
        protection()
    except TaclError as error:
        pytest.skip(str(error))
    return grading


@pytest.fixture(scope="module")
def graded(nbgrader, tmp_path_factory):
    """One cycle over a small class, from Moodle."""
    place = tmp_path_factory.mktemp("class")
    submissions = place / "submissions"
    hand_in(submissions, "Åsa Öberg_101_assignsubmission_file_", FIRST, partly_right())
    hand_in(submissions, "Ben O’Neill_102_assignsubmission_file_", FIRST, released(FIRST), "set1 (1).ipynb")
    hand_in(submissions, "Cleo_103_assignsubmission_file_", FIRST, release(FIRST)[:500])
    (submissions / "stray.ipynb").write_text("{}")
    table = place / "Grades.csv"
    table.write_bytes(WORKSHEET)
    hints = place / "hints.csv"
    hints.write_text("student,exercise,hints\nÅsa Öberg,project,1\nÅsa Öberg,run_metrics,3\nZoe,project,1\n")
    return nbgrader.grade(COURSEWORK / "source", submissions, place / "grading", 30, table, hints=hints)


WORKSHEET = (
    '\ufeffIdentifier,"Full name","Email address",Grade,"Maximum Grade","Feedback comments"\r\n'
    '"Participant 101","Åsa Öberg",asa@example.org,,24.00,"said ""hello"", twice"\r\n'
    '"Participant 102","Ben O’Neill",ben@example.org,"",24.00,\r\n'
    '"Participant 103",Cleo,cleo@example.org,,24.00,"two\r\nlines"\r\n'
    '"Participant 104",Dora,dora@example.org,7,24.00,\r\n'
).encode()


def entry_of(graded, student: str):
    return next(entry for entry in graded.graded if entry.student == student)


def test_marks_are_those_of_the_tests(graded):
    assert entry_of(graded, "Åsa Öberg").marks == {
        "run_metrics": 2, "project": 5, "reference_gradient": 6, "read_timeline": 5
    }  # fmt: skip
    assert entry_of(graded, "Ben O'Neill").marks == dict.fromkeys((e.name for e in FIRST.exercises), 0)
    assert entry_of(graded, "Ben O'Neill").by_hand == 0, "nothing was written"
    assert entry_of(graded, "Åsa Öberg").by_hand is None, "it waits for the lecturer"


def test_everybody_gets_a_row_and_a_sentence(graded):
    assert [entry.student for entry in graded.graded] == ["Ben O'Neill", "Cleo", "Åsa Öberg"]
    assert entry_of(graded, "Ben O'Neill").remark == "it was handed in as set1 (1).ipynb."
    assert entry_of(graded, "Cleo").marks is None
    assert re.fullmatch(r"set1\.ipynb is not a notebook that can be read \(.+\); ask for it again\.",
                        entry_of(graded, "Cleo").remark)  # fmt: skip
    assert graded.notes[:2] == [
        "stray.ipynb is not in a student's folder and was left aside.",
        "Zoe took hints, but handed in nothing.",
    ]


def test_marks_are_written_as_csv(graded):
    path = graded.folder / f"marks_{FIRST.name}.csv"
    rows = {row["student"]: row for row in csv.DictReader(path.open(encoding="utf-8"))}
    names = [exercise.name for exercise in FIRST.exercises]
    assert list(rows["Cleo"]) == ["student", *names, "question", "hints", "total", "out_of", "remark"]
    assert list(rows["Åsa Öberg"].values())[1:9] == ["2", "5", "6", "5", "", "-3", "15", "24"]
    assert list(rows["Cleo"].values())[1:8] == ["", "", "", "", "", "", "0"]


def test_the_platforms_table_comes_back_with_marks_and_else_as_it_was(graded):
    filled = (graded.folder / "platform" / "Grades.csv").read_bytes()
    expected = WORKSHEET.replace(b"asa@example.org,,", b"asa@example.org,15,").replace(
        b'ben@example.org,"",', b'ben@example.org,"0",'
    )
    assert filled == expected


def test_feedback_goes_back_as_the_platforms_zip(graded):
    with zipfile.ZipFile(graded.folder / "platform" / f"feedback_{FIRST.name}.zip") as archive:
        names = archive.namelist()
        page = archive.read(names[-1]).decode()
    assert names == ["Ben O’Neill_102_assignsubmission_file_set1.html", "Åsa Öberg_101_assignsubmission_file_set1.html"]
    assert "the sign of forgetting is wrong" in page


def test_submissions_that_are_alike_are_listed(graded):
    rows = list(csv.DictReader((graded.folder / f"alike_{FIRST.name}.csv").open(encoding="utf-8")))
    assert [(row["student"], row["other"]) for row in rows] == [("Ben O'Neill", "Åsa Öberg")]


def test_feedback_reads_well(graded):
    page = (graded.folder / "feedback" / "Åsa Öberg" / FIRST.name / "set1.html").read_text("utf-8")
    assert "http" not in re.sub(r'xmlns="[^"]*"|https://arxiv\S*', "", page), "it must work without the web"
    assert "<math" in page
    assert "$" not in re.sub(r"<(pre|code|style|div class=\"highlight).*?</\1>", "", page, flags=re.S)
    assert "Forgetting: the best accuracy so far minus the present one" in page
    assert "not marked yet" in page
    assert "pre-wrap" in page
    assert "it was handed in as set1 (1).ipynb." in (
        graded.folder / "feedback" / "Ben O'Neill" / FIRST.name / "set1.html"
    ).read_text("utf-8")


@pytest.mark.slow
def test_marks_given_by_hand_stay_and_none_can_be_above_the_maximum(nbgrader, tmp_path):
    from nbgrader.api import Gradebook

    for student in ("ada", "ben"):
        hand_in(tmp_path / "in", student, FIRST, partly_right())
    nbgrader.grade(COURSEWORK / "source", tmp_path / "in", tmp_path / "out", 30)
    with Gradebook(f"sqlite:///{tmp_path / 'out' / 'gradebook.db'}") as book:
        book.find_grade("set1_question", "set1", FIRST.name, "ada").manual_score = 3
        book.find_grade("project_test_2", "set1", FIRST.name, "ben").manual_score = 1000
        book.db.commit()
    again = nbgrader.grade(COURSEWORK / "source", tmp_path / "in", tmp_path / "out", 30)
    ada, ben = again.graded
    assert (ada.by_hand, ada.total) == (3, 21)
    assert (ben.marks, ben.total) == (None, 0)
    assert ben.remark == "the gradebook has 1000 marks for project_test_2, of 3: look at it in formgrader."


@pytest.mark.parametrize("of", [FIRST, *(pytest.param(of, marks=pytest.mark.slow) for of in SETS[1:])])
def test_the_release_is_what_nbgrader_makes(nbgrader, of, tmp_path):
    """Up to checksums, which nbgrader takes from its own database when it grades."""
    from tacl_lib.teaching.coursework.gradebook import Course

    (tmp_path / "source" / of.name).mkdir(parents=True)
    (tmp_path / "source" / of.name / of.path.name).write_bytes(of.path.read_bytes())
    Course(tmp_path).make_release(of)
    theirs = nbformat.read(tmp_path / "release" / of.name / of.path.name, as_version=4)
    sums = [cell.metadata.nbgrader.pop("checksum") for cell in theirs.cells if "nbgrader" in cell.metadata]
    assert len(sums) >= 2 * len(of.exercises)
    assert theirs == nbformat.reads(release(of), as_version=4)


@pytest.mark.slow
@of_each_set
def test_the_solution_runs_from_top_to_bottom(of, tmp_path):
    """In a notebook's own kernel; also the cells that grading skips: your function on real data."""
    notebook = nbformat.read(COURSEWORK / "solutions" / of.name / of.path.name, as_version=4)
    nbclient.NotebookClient(
        notebook, timeout=300, skip_cells_with_tag="", resources={"metadata": {"path": tmp_path}}
    ).execute()
    text = str([cell.get("outputs") for cell in notebook.cells])
    for exercise in of.exercises:
        assert f"✓ {exercise.name}: right" in text
    assert "widget-view" not in text, "no widgets in a graded notebook, progress bars included"


@pytest.mark.slow
def test_thirty_submissions_are_marked_and_none_touches_another(nbgrader, tmp_path):
    """A class of solutions, stubs and halves: exact marks for all."""
    for number in range(30):
        notebook = [solved, released, solved][number % 3](FIRST)
        if number % 3 == 2:
            cell_of(notebook, "project").source = cell_of(released(FIRST), "project").source
        hand_in(tmp_path / "in", f"student {number:02}", FIRST, notebook)
    marks = nbgrader.grade(COURSEWORK / "source", tmp_path / "in", tmp_path / "out", 60)
    assert [entry.total - (entry.by_hand or 0) for entry in marks.graded] == [20, 0, 15] * 10


# --- what was handed in, without nbgrader -------------------------------------------------------------------------


def collected(tmp_path):
    found, notes = collect(tmp_path, SETS)
    return {(submission.student, submission.of.name): submission for submission in found}, notes


def test_the_set_is_read_in_the_file_and_not_in_its_name(tmp_path):
    hand_in(tmp_path, "ada", FIRST, solved(SECOND), "set1.ipynb")
    hand_in(tmp_path, "ben", FIRST, solved(FIRST), "Final version.ipynb")
    found, _ = collected(tmp_path)
    assert found["ada", SECOND.name].remarks == ["set1.ipynb holds set2_projections, and was marked as such."]
    assert found["ben", FIRST.name].remarks == ["it was handed in as Final version.ipynb."]


def test_a_script_is_marked(tmp_path):
    script = "import numpy as np\n\n# %%\ndef project(gradient, reference):\n    return gradient\n"
    hand_in(tmp_path, "ada", FIRST, script, "set1.py")
    found, _ = collected(tmp_path)
    submission = found["ada", FIRST.name]
    assert submission.remarks[0] == "it is a script, not a notebook."
    assert cell_of(submission.notebook, "project").source.endswith("return gradient")


def test_of_several_files_the_most_complete_is_marked(tmp_path):
    hand_in(tmp_path, "ada", FIRST, released(FIRST))
    hand_in(tmp_path, "ada", FIRST, partly_right(), "set1-2.ipynb")
    found, _ = collected(tmp_path)
    assert "of several files set1-2.ipynb was marked, set1.ipynb left aside." in found["ada", FIRST.name].remarks


def test_the_files_of_a_student_belong_together_whatever_a_platform_writes_before_them(tmp_path):
    """Canvas counts files, Moodle has a folder for each kind of submission: still one student, one row for a set."""
    for name, of in (
        ("lovelaceada_1234_501_set1.ipynb", FIRST),
        ("lovelaceada_1234_502_set2.ipynb", SECOND),
        ("lovelaceada_LATE_1234_503_set1-1.ipynb", FIRST),
    ):
        (tmp_path / name).write_text(nbformat.writes(solved(of)), encoding="utf-8")
    (tmp_path / "Ben_7_assignsubmission_onlinetext_").mkdir()
    (tmp_path / "Ben_7_assignsubmission_onlinetext_" / "onlinetext.html").write_text("<p>here it is</p>")
    hand_in(tmp_path, "Ben_7_assignsubmission_file_", FIRST, solved(FIRST))
    found = collect(tmp_path, SETS)[0]
    rows = [(s.student, s.of.name, s.owner.prefix) for s in found]
    assert rows == [
        ("Ben", FIRST.name, "Ben_7_assignsubmission_file_"),
        ("lovelaceada", FIRST.name, "lovelaceada_1234_501_"),
        ("lovelaceada", SECOND.name, "lovelaceada_1234_502_"),
    ]
    assert not any(submission.refused for submission in found)


def test_whoever_handed_in_nothing_or_something_else_has_a_row(tmp_path):
    (tmp_path / "ada").mkdir()
    hand_in(tmp_path, "ben", FIRST, "essay", "essay.docx")
    hand_in(tmp_path, "cleo", FIRST, new_notebook(cells=[new_code_cell("print('hello')")]), "set2.ipynb")
    found, _ = collected(tmp_path)
    assert found["ada", FIRST.name if ("ada", FIRST.name) in found else SECOND.name].remarks == [
        "nothing was handed in: the folder is empty."
    ]
    assert any("essay.docx is not a notebook" in r for key, s in found.items() if key[0] == "ben" for r in s.remarks)
    assert found["cleo", SECOND.name].remarks == [
        "set2.ipynb is not a notebook that can be read (it holds no answer to any set); ask for it again."
    ]


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"cells": 3, "nbformat": 4}', b"\xff\xfe\x00"])
def test_files_that_are_no_notebook(tmp_path, data):
    (tmp_path / "ada").mkdir()
    (tmp_path / "ada" / FIRST.path.name).write_bytes(data)
    (submission,), notes = collect(tmp_path, SETS)
    assert submission.refused
    assert notes == []
    assert submission.remarks[0].startswith("set1.ipynb is not a notebook that can be read (")


def test_names_that_a_gradebook_cannot_hold_are_changed_and_stay_apart(tmp_path):
    for name in ("b[e]n", "b*e*n", "Åsa’s"):
        hand_in(tmp_path, name, FIRST, released(FIRST))
    found, _ = collect(tmp_path, SETS)
    names = [submission.student for submission in found]
    assert len(set(names)) == 3
    assert "Åsa's" in names
    assert not any(sign in name for name in names for sign in "[]*")


def test_no_folder_and_an_empty_one_are_told(tmp_path):
    with pytest.raises(TaclError, match="there is no folder"):
        collect(tmp_path / "none", SETS)
    with pytest.raises(TaclError, match=r"nothing to grade in .*: it is empty\."):
        collect(tmp_path, SETS)


def test_restoring_keeps_the_work_and_forgets_foreign_metadata():
    notebook = released(FIRST)
    answer = next(cell for cell in notebook.cells if is_answer(cell))
    answer.source = "def run_metrics(): return 1"
    answer.metadata["nbgrader"] = {"grade_id": "run_metrics", "points": 1000}
    next(cell for cell in notebook.cells if not grade_id(cell)).metadata["nbgrader"] = {"grade_id": "mine"}
    assert restore(notebook, FIRST) == []
    answer = cell_of(notebook, "run_metrics")
    assert answer.source == "def run_metrics(): return 1"
    assert "points" not in answer.metadata["nbgrader"]
    assert [grade_id(cell) for cell in notebook.cells if grade_id(cell)] == [
        grade_id(cell) for cell in FIRST.notebook.cells if grade_id(cell)
    ]


def test_restoring_tells_what_is_missing_and_puts_it_back():
    notebook = released(FIRST)
    notebook.cells = [cell for cell in notebook.cells if not (grade_id(cell) or "").startswith("project")]
    remarks = restore(notebook, FIRST)
    assert remarks == [
        "the test cells project_test_1, project_test_2 had been deleted and were put back.",
        "the answer cell project is missing.",
    ]
    original = {grade_id(cell): cell for cell in released(FIRST).cells if is_test(cell)}
    for name, cell in original.items():
        assert cell_of(notebook, name).source == cell.source
        assert cell_of(notebook, name).metadata == cell.metadata


def test_grading_does_not_empty_a_folder_that_is_not_its_own(nbgrader, tmp_path):
    hand_in(tmp_path / "in", "ada", FIRST, released(FIRST))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("do not lose me")
    with pytest.raises(TaclError, match="not empty and was not made by grading"):
        nbgrader.grade(COURSEWORK / "source", tmp_path / "in", tmp_path / "out")
    assert (tmp_path / "out" / "thesis.txt").exists()


def test_without_nbgrader_only_grading_is_missing_and_says_so(tmp_path):
    """Students have no nbgrader: checks and generation must work, and grading asks for it in a sentence."""
    code = (
        "import sys; sys.modules['nbgrader'] = None\n"
        "from tacl_lib.places import coursework\n"
        "from tacl_lib.__main__ import main\n"
        "from tacl_lib.teaching.coursework.generate import generated\n"
        "assert generated(coursework())\n"
        f"main(['grade', {str(tmp_path)!r}])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.strip() == (
        "grade: grading needs nbgrader; `make grade` installs it, or: pip install '.[instructor]'."
    )


def test_the_command_says_in_one_sentence_what_is_missing(nbgrader, tmp_path):
    from tacl_lib.__main__ import main

    with pytest.raises(SystemExit, match=r"^grade: there is no folder .*nowhere; it should hold"):
        main(["grade", str(tmp_path / "nowhere"), "--output", str(tmp_path / "out")])


def test_problem_sets_can_be_sent_to_other_processes():
    import pickle

    assert isinstance(pickle.loads(pickle.dumps(FIRST)), ProblemSet)

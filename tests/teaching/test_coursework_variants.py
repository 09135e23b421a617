"""Variants: everybody's own solution earns full marks, a neighbour's does not, and who copied is found."""

import csv
import random
import re
import zipfile
from dataclasses import replace

import nbformat
import pytest
from coursework_answers import answers_to
from handed_in import COURSEWORK, SETS, cell_of, hand_in, solved
from made_up_class import copied, own_answer, submission, ways

from tacl_lib.errors import TaclError
from tacl_lib.teaching.checks import CHECKS, CheckFailed
from tacl_lib.teaching.coursework.bundle import write_variants
from tacl_lib.teaching.coursework.platforms import Owner
from tacl_lib.teaching.coursework.similarity import pairs
from tacl_lib.teaching.coursework.source import points_of
from tacl_lib.teaching.coursework.submissions import collect
from tacl_lib.teaching.coursework.variants import (
    class_of,
    code_in,
    read_variants,
    texts_of,
    variant_of,
    varied,
    write_register,
)
from tacl_lib.teaching.coursework.versions import release, solution

ROOT = COURSEWORK.parent
FIRST = SETS[0]
#: exercises whose function must contain the number; the contest's data changes, but any rule may win
WITH_A_NUMBER = [name for name in CHECKS if name != "choose_leaver"]
SET_OF = {exercise.name: (of, exercise) for of in SETS for exercise in of.exercises}
SECRET = b"a secret of the tests"
of_each_set = pytest.mark.parametrize("of", [pytest.param(of, id=of.name) for of in SETS])


def marks(of, name: str, source: str) -> float:
    """What the test cells of a student's own set give to a cell, in this process."""
    exercise = next(exercise for exercise in of.exercises if exercise.name == name)
    earned = 0.0
    for test in exercise.tests:
        namespace: dict = {}
        exec(next(cell.source for cell in of.notebook.cells if cell.cell_type == "code"), namespace)
        exec(source, namespace)
        try:
            exec(test.source, namespace)
            earned += points_of(test)
        except CheckFailed:
            continue
    return earned


def ada_and_ben(name: str):
    """Two students with different numbers in an exercise."""
    students = (variant_of(SECRET, f"student {n}") for n in range(1000))
    ada = next(students)
    return ada, next(student for student in students if student.numbers[name] != ada.numbers[name])


# --- each exercise ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CHECKS)
def test_the_solution_of_a_variant_has_the_number_and_earns_its_marks(name):
    of, exercise = SET_OF[name]
    ada, ben = ada_and_ben(name)
    for student in (ada, ben):
        text = texts_of(of)[name].of(student.numbers[name])
        assert f"{student.numbers[name]:g}" in text.difference
        assert marks(varied(of, student), name, text.solution) == exercise.marks
    if name in WITH_A_NUMBER:
        theirs = texts_of(of)[name].of(ben.numbers[name]).solution
        assert marks(varied(of, ada), name, theirs) < exercise.marks
        without = next(answer for answer in answers_to(name) if answer.words is None)
        with pytest.raises(CheckFailed):
            CHECKS[name].variant(ada.numbers[name])(without, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_A_NUMBER)
def test_every_two_numbers_of_an_exercise_tell_students_apart(name):
    """Any right answer with its own number passes; none passes with another. The answers, not the checks, say how."""
    of, _ = SET_OF[name]
    check, text = CHECKS[name], texts_of(of)[name]
    for number in check.twist.numbers:
        for answer in ways(name):
            check.variant(number).salted(5)(check.twist.of(answer, number), seed=3)
        for other in check.twist.numbers:
            namespace: dict = {}
            exec("from collections.abc import Callable\nimport numpy as np", namespace)
            exec(text.of(other).solution, namespace)
            if other == number:
                check.variant(number).salted(7)(namespace[name], seed=2)
                continue
            with pytest.raises(CheckFailed):
                check.variant(number).salted(7)(namespace[name], seed=2)


def test_a_number_that_is_forgotten_or_anothers_is_told():
    check = CHECKS["project"].variant(0.7)
    plain = ways("project")[0]
    with pytest.raises(CheckFailed, match=r"✗ project: this is right without your own number, 0\.7: see 'Your number'"):
        check(plain, seed=1)
    with pytest.raises(CheckFailed, match=r"✗ project: this is right for the number 1\.5; yours is 0\.7\."):
        check(check.twist.of(plain, 1.5), seed=1)
    with pytest.raises(CheckFailed, match="the sign is wrong"):
        check(lambda g, r: g + 0.7 * (g @ r) / (r @ r) * r if g @ r < 0 else g, seed=1)
    with pytest.raises(ValueError, match="project has no variant with the number 0"):
        CHECKS["project"].variant(0)


def test_hidden_cases_are_a_students_own():
    asked = {}
    for salt in (1, 2, 1):
        seen = asked.setdefault(salt, [])
        CHECKS["project"].variant(0.7).salted(salt).agrees(
            lambda g, r, seen=seen: seen.append(g.tolist()) or g + 0.7 * (ways("project")[0](g, r) - g), 5
        )
    assert asked[1][: len(asked[2])] != asked[2]
    assert asked[1][: len(asked[1]) // 2] == asked[1][len(asked[1]) // 2 :]


# --- the notebooks ------------------------------------------------------------------------------------------------


def test_a_variant_is_the_secrets_and_the_names():
    ada = variant_of(SECRET, "Ada")
    assert variant_of(SECRET, "Ada") == ada
    assert variant_of(b"another", "Ada") != ada
    assert variant_of(SECRET, "Ben").salt != ada.salt
    assert len({variant_of(SECRET, f"student {n}").code for n in range(1000)}) == 1000
    for name, check in CHECKS.items():
        drawn = {variant_of(SECRET, f"student {n}").numbers[name] for n in range(300)}
        assert drawn == set(check.twist.numbers), "all numbers are drawn"


@of_each_set
def test_a_students_notebook_tells_the_numbers_and_nothing_hidden(of):
    ada = variant_of(SECRET, "Ada Lovelace")
    text = release(varied(of, ada))
    notebook = nbformat.reads(text, as_version=4)
    assert code_in([notebook.cells[0].source]) == ada.code
    assert "made for Ada Lovelace" in notebook.cells[0].source
    for hidden in (str(ada.salt), "SOLUTION", "HIDDEN", "salted", "agrees", ".expect(", "{number}"):
        assert hidden not in re.sub(r"\{numbers\}", "", text)
    plain = nbformat.reads(release(of), as_version=4)
    assert [cell.metadata for cell in notebook.cells] == [cell.metadata for cell in plain.cells]
    for exercise in of.exercises:
        assert cell_of(notebook, exercise.name).source == cell_of(plain, exercise.name).source
        told = next(c.source for c in notebook.cells if c.source.startswith(f"## Exercise {exercise.number} "))
        assert f"**Your number is {ada.numbers[exercise.name]:g}.**" in told
        own = f"check_{exercise.name}.variant({ada.numbers[exercise.name]!r})"
        assert sum(own in cell.source for cell in notebook.cells) == 1 + len(exercise.tests)


@of_each_set
def test_every_change_of_a_shown_cell_is_made(of):
    """The cells that show the function on real data call it as the variant wants it."""
    ada = variant_of(SECRET, "Ada")
    made = varied(of, ada)
    for name, text in texts_of(of).items():
        for old, new in text.of(ada.numbers[name]).changes:
            assert any(old in cell.source for cell in of.notebook.cells), old
            assert any(new in cell.source for cell in made.notebook.cells), new
    assert texts_of(of).keys() == {exercise.name for exercise in of.exercises}


@pytest.mark.slow
@of_each_set
def test_a_variants_solution_runs_from_top_to_bottom(of, tmp_path):
    import nbclient

    notebook = nbformat.reads(solution(varied(of, variant_of(SECRET, "Ada"))), as_version=4)
    nbclient.NotebookClient(
        notebook, timeout=300, skip_cells_with_tag="", resources={"metadata": {"path": tmp_path}}
    ).execute()
    text = str([cell.get("outputs") for cell in notebook.cells])
    for exercise in of.exercises:
        assert f"✓ {exercise.name}: right" in text
    if "the same in every batch" in text:
        assert "the same in every batch: True" in text
        assert "the same in every batch: False" not in text


# --- a class of students ------------------------------------------------------------------------------------------

MOODLE = (
    '\ufeffIdentifier,"Full name","Email address",Grade\r\n'
    '"Participant 101","Åsa Öberg",asa@example.org,\r\n"Participant 102","Ben O’Neill",ben@example.org,\r\n'
)
CANVAS = 'Student,ID,SIS Login ID,Section,Set 1 (501)\n    Points Possible,,,,24\n"Lovelace, Ada",1234,ada,A,\n'


def test_a_class_is_a_platforms_table_or_a_list_of_names(tmp_path):
    path = tmp_path / "class.csv"
    path.write_text(MOODLE, encoding="utf-8", newline="")
    assert [(s.name, s.number) for s in class_of(path)] == [("Åsa Öberg", "101"), ("Ben O'Neill", "102")]
    path.write_text(CANVAS, encoding="utf-8")
    assert [(s.name, s.number) for s in class_of(path)] == [("Lovelace, Ada", "1234")]
    path.write_text("Ada Lovelace\n\nBen O’Neill\n", encoding="utf-8")
    assert [s.name for s in class_of(path)] == ["Ada Lovelace", "Ben O'Neill"]
    path.write_text("Ada Lovelace\nlovelace, ada\nBen\n", encoding="utf-8")
    with pytest.raises(TaclError, match=r"these names are in class\.csv twice: Ada Lovelace, lovelace, ada\."):
        class_of(path)
    path.write_text("\n")
    with pytest.raises(TaclError, match="there are no students in"):
        class_of(path)
    with pytest.raises(TaclError, match=r"cannot be read: give the platform's table"):
        class_of(tmp_path / "none.csv")


def test_the_folder_of_a_class_keeps_its_secret_and_its_variants(tmp_path):
    first = write_register(tmp_path / "v", [Owner("Ada"), Owner("Ben")])
    later = write_register(tmp_path / "v", [Owner("Ada"), Owner("Ben"), Owner("Cleo")])
    assert (tmp_path / "v" / "secret").stat().st_mode & 0o077 == 0
    assert [later.of(s) for s in later.students[:2]] == [first.of(s) for s in first.students]
    rows = list(csv.DictReader((tmp_path / "v" / "students.csv").open(encoding="utf-8")))
    assert [row["project"] for row in rows] == [f"{later.of(s).numbers['project']:g}" for s in later.students]
    assert read_variants(tmp_path / "v") == later
    with pytest.raises(TaclError, match="holds no variants"):
        read_variants(tmp_path)
    (tmp_path / "mine.txt").write_text("thesis")
    with pytest.raises(TaclError, match="is not empty and holds no variants"):
        write_register(tmp_path, [Owner("Ada")])


def test_each_student_gets_a_folder_and_a_platform_its_zip(tmp_path):
    path = tmp_path / "Grades.csv"
    path.write_text(MOODLE, encoding="utf-8", newline="")
    made = write_variants(ROOT, tmp_path / "variants", path, "held")
    assert {p.name for p in made} == {"students.csv", "set1.zip", "set2.zip", "set3.zip"}
    students = tmp_path / "variants"
    texts = {name: (students / name / "set1.ipynb").read_text("utf-8") for name in ("Åsa Öberg", "Ben O'Neill")}
    secret = (tmp_path / "variants" / "secret").read_text().strip()
    for name, text in texts.items():
        assert f"made for {name}" in text
        assert secret not in text
        assert "<details>" not in text, "hints are held"
    with zipfile.ZipFile(tmp_path / "variants" / "set1.zip") as archive:
        assert "Åsa Öberg_101_assignsubmission_file_set1.ipynb" in archive.namelist()


def test_whoever_hands_in_is_found_in_the_class(tmp_path):
    students = [Owner("Ada Lovelace", "101"), Owner("Ben O'Neill"), Owner("Åsa Öberg")]
    class_ = write_register(tmp_path / "v", students)
    ada, _, asa = (varied(FIRST, class_.of(student)) for student in students)

    def work(of):
        return nbformat.reads(solution(of), as_version=4)

    for folder, notebook in {
        "A. Lovelace_101_assignsubmission_file_": work(ada),  # by number
        "O’Neill, Ben": work(ada),  # Ada's notebook
        "Åsa Öberg": solved(FIRST),  # without any variant
        "Zoe": work(asa),
        "Nobody": solved(FIRST),
    }.items():
        hand_in(tmp_path / "in", folder, FIRST, notebook)
    found = {s.student: s for s in collect(tmp_path / "in", SETS, class_)[0]}

    numbers = {s: re.search(r"variant\((\d+)\)", str(found[s].marked_as.exercises[0].tests[0].source)) for s in found}
    expected = {"A. Lovelace": 0, "O'Neill- Ben": 1, "Åsa Öberg": 2, "Zoe": 2}
    for name, number in expected.items():
        assert int(numbers[name][1]) == class_.of(students[number]).numbers["run_metrics"], name
    assert numbers["Nobody"] is None
    assert found["A. Lovelace"].remarks == []
    assert found["O'Neill- Ben"].remarks == [
        "this is the notebook of Ada Lovelace; it was marked with Ben O'Neill's own numbers."
    ]
    told = "no variant is named in it; it was marked with the student's own numbers."
    assert found["Åsa Öberg"].remarks[0] == told
    told = "Zoe is not in the list of the class, and was marked with the numbers of Åsa Öberg."
    assert found["Zoe"].remarks == [told]
    assert found["Nobody"].remarks == ["Nobody is not in the list of the class, and was marked without numbers."]
    with pytest.raises(TaclError, match=r"the notebook of .* is a variant: name the folder"):
        collect(tmp_path / "in", SETS)


def test_a_class_with_variants_is_marked_each_with_their_own(tmp_path):
    pytest.importorskip("nbgrader", reason="nbgrader is not installed: make setup-test, or the instructor extra")
    from tacl_lib.teaching.coursework.grading import grade
    from tacl_lib.teaching.coursework.sandbox import protection

    try:
        protection()
    except TaclError as error:
        pytest.skip(str(error))
    students = [Owner("Ada"), Owner("Ben")]
    class_ = write_register(tmp_path / "v", students)
    own = nbformat.reads(solution(varied(FIRST, class_.of(students[0]))), as_version=4)
    hand_in(tmp_path / "in", "Ada", FIRST, own)
    hand_in(tmp_path / "in", "Ben", FIRST, own)
    ada, ben = grade(COURSEWORK / "source", tmp_path / "in", tmp_path / "out", 30, variants=tmp_path / "v").graded
    assert ada.marks == {exercise.name: exercise.marks for exercise in FIRST.exercises}
    assert ada.remark == ""
    numbers = [class_.of(student).numbers for student in students]
    for exercise in FIRST.exercises:
        same = numbers[0][exercise.name] == numbers[1][exercise.name]
        assert (ben.marks[exercise.name] == exercise.marks) == same
    assert ben.remark == "this is the notebook of Ada; it was marked with Ben's own numbers."
    page = (tmp_path / "out" / "feedback" / "Ben" / FIRST.name / "set1.html").read_text("utf-8")
    assert "this is the notebook of Ada" in page
    assert [path.name for path in (tmp_path / "out").rglob("variants.md")] == [], "it holds the solutions"
    shown = re.sub(r"<[^>]+>", "", page)
    assert f"check_run_metrics.variant({numbers[1]['run_metrics']})" in shown
    assert "salted" not in shown, "hidden cases stay hidden"


@pytest.mark.slow
@of_each_set
def test_a_class_of_a_hundred(of):
    """Everybody's own solution earns full marks; a neighbour's loses some wherever its number is another."""
    class_ = [variant_of(SECRET, f"student {n}") for n in range(100)]
    told_apart = 0
    for place, (student, neighbour) in enumerate(zip(class_, [*class_[1:], class_[0]], strict=True)):
        own = varied(of, student)
        for exercise in of.exercises:
            name = exercise.name
            if name == "choose_leaver" and place % 10:
                continue  # a contest takes seconds
            numbers = student.numbers[name], neighbour.numbers[name]
            mine, theirs = (own_answer(of, name, n, random.Random(f"{name} {place} {n}")) for n in numbers)
            assert marks(own, name, mine) == exercise.marks, f"{student.student}:\n{mine}"
            if name in WITH_A_NUMBER and numbers[0] != numbers[1]:
                told_apart += 1
                assert marks(own, name, theirs) < exercise.marks, f"{student.student}:\n{theirs}"
    assert told_apart > 250


@pytest.mark.slow
@of_each_set
def test_in_a_class_of_a_hundred_every_copy_ranks_above_every_innocent_pair(of):
    class_ = [variant_of(SECRET, f"student {n}") for n in range(80)]
    copiers = [variant_of(SECRET, f"copier {n}") for n in range(20)]
    work = {own.student: submission(of, own, random.Random(f"{of.name} {own.student}")) for own in class_}
    guilty = set()
    for n, (model, copier) in enumerate(zip(class_, copiers, strict=False)):
        own = random.Random(f"{of.name} {model.student}")  # the model's work once more, with the copier's numbers
        theirs = submission(of, replace(model, numbers=copier.numbers), own)
        work[copier.student] = copied(of, theirs, copier, random.Random(n))
        guilty.add((copier.student, model.student))
    for copier, model in guilty:  # the disguise is good: every copy earns full marks with the copier's own numbers
        own = next(variant for variant in copiers if variant.student == copier)
        name, most = of.exercises[1].name, of.exercises[1].marks
        assert marks(varied(of, own), name, cell_of(work[copier], name).source) == most, model
    found = pairs(of, work)
    assert {(pair.left, pair.right) for pair in found[: len(guilty)]} == guilty

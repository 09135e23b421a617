"""Notebooks as students hand them in, and what they get: without nbgrader."""

import copy
import inspect
import re
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell

from tacl_lib.teaching.coursework.marking import mark
from tacl_lib.teaching.coursework.restoring import restore
from tacl_lib.teaching.coursework.sandbox import protection
from tacl_lib.teaching.coursework.source import ProblemSet, grade_id, is_test, points_of, read_sets
from tacl_lib.teaching.coursework.versions import release, solution

COURSEWORK = Path(__file__).parents[2] / "coursework"
SETS = read_sets(COURSEWORK / "source")


def released(of: ProblemSet):
    return nbformat.reads(release(of), as_version=4)


def solved(of: ProblemSet):
    return nbformat.reads(solution(of), as_version=4)


def cell_of(notebook, name: str):
    return next(cell for cell in notebook.cells if grade_id(cell) == name)


def with_answer(of: ProblemSet, name: str, source: str):
    """The release with one answer in it."""
    notebook = released(of)
    cell_of(notebook, name).source = source
    return notebook


def with_cell(notebook, source: str, **metadata):
    """The notebook with one more cell of code, first of all."""
    notebook = copy.deepcopy(notebook)
    notebook.cells.insert(1, new_code_cell(source, metadata=metadata))
    return notebook


def source_of(answer, name: str, *helpers) -> str:
    """A seeded answer as a student's cell."""
    text = "\n\n".join(inspect.getsource(function) for function in [*helpers, answer])
    text = re.sub(r"^@(?:wrong|right).*\n", "", text, flags=re.M)
    return text.replace(f"def {answer.__name__}(", f"def {name}(")


def hand_in(folder: Path, student: str, of: ProblemSet, notebook, name: str = "") -> None:
    (folder / student).mkdir(parents=True, exist_ok=True)
    text = notebook if isinstance(notebook, str) else nbformat.writes(notebook)
    (folder / student / (name or of.path.name)).write_text(text, encoding="utf-8")


def marked(of: ProblemSet, notebook, timeout: float = 60) -> tuple[dict[str, float], str, list[str]]:
    """The marks for each exercise, what the lecturer reads, and what the tests say to the student."""
    notebook = copy.deepcopy(notebook)
    remarks = restore(notebook, of)
    result = mark(of, notebook, timeout, protection())
    marks = dict.fromkeys((exercise.name for exercise in of.exercises), 0.0)
    said = []
    for number, cell in enumerate(notebook.cells):
        if is_test(cell):
            failed = [output.evalue for output in result.outputs[number] if output.output_type == "error"]
            said += failed
            marks[re.sub(r"_test_\d+$", "", grade_id(cell))] += 0 if failed else points_of(cell)
    return marks, " ".join([*remarks, *result.remarks, result.suspicion]).strip(), said

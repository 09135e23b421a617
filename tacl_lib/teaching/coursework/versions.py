"""What is made from the source of a set: the student's notebook, the solution, and the marking scheme.

The student's notebook is the one that ``nbgrader generate_assignment`` makes (a test compares the two), but needs no
nbgrader: its rules are a few lines, and so everybody can run ``make coursework``.
"""

import copy
import re
from textwrap import dedent, indent

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from tacl_lib.errors import TaclError
from tacl_lib.teaching.checks import CHECKS
from tacl_lib.teaching.coursework.source import (
    Exercise,
    ProblemSet,
    Question,
    grade_id,
    is_answer,
    is_test,
    is_written,
    points_of,
)

#: What stands in place of a solution; ``grading`` tells nbgrader the same.
STUB = """\
# YOUR CODE HERE
raise NotImplementedError("Not solved yet: put your code here; the text above says what to return.")\
"""

#: … and of the answer to a question; nbgrader puts the same
UNANSWERED = "YOUR ANSWER HERE"

_SOLUTION = re.compile(r"^([ \t]*)### BEGIN SOLUTION\n(.*?)^[ \t]*### END SOLUTION$", re.M | re.S)
_HIDDEN = re.compile(r"^[ \t]*### BEGIN HIDDEN TESTS\n(.*?)^[ \t]*### END HIDDEN TESTS(?:\n|$)", re.M | re.S)
_EXPLANATION = re.compile(r"\A(?:[ \t]*#.*\n)+")


def release(of: ProblemSet) -> str:
    """The student's notebook: stubs for solutions, no hidden tests, test cells locked."""
    notebook = _without_outputs(of)
    for cell in notebook.cells:
        if is_answer(cell):
            cell.source = _SOLUTION.sub(lambda region: indent(STUB, region[1]), cell.source)
            cell.metadata["deletable"] = False
        elif is_test(cell):
            cell.source = _HIDDEN.sub("", cell.source).removesuffix("\n")
            cell.metadata["deletable"] = cell.metadata["editable"] = False
        elif is_written(cell):
            cell.source = UNANSWERED
            cell.metadata["deletable"] = False
        if grade_id(cell):
            cell.metadata["nbgrader"]["cell_type"] = cell.cell_type
    return _written(notebook)


def solution(of: ProblemSet) -> str:
    """The notebook with solutions, each after its explanation, and with all tests. It gets full marks."""
    notebook = _without_outputs(of)
    cells = []
    for cell in notebook.cells:
        if is_answer(cell):
            text, code = explained(cell)
            cells.append(new_markdown_cell(f"**Solution.** {text}"))
            cell.source = code
        elif is_test(cell):
            cell.source = _HIDDEN.sub(r"\1", cell.source).removesuffix("\n")
        cells.append(cell)
    for number, cell in enumerate(cells):
        cell["id"] = str(number)  # as nbstripout numbers them
    notebook.cells = cells
    return _written(notebook)


def explained(answer: NotebookNode) -> tuple[str, str]:
    """The explanation of a solution, which is the comment that it begins with, and the code without it."""
    region = _SOLUTION.search(answer.source)
    comment = region and _EXPLANATION.match(region[2])
    if not comment:
        raise TaclError(
            f"the solution of {grade_id(answer)} must begin with a comment that explains it, after BEGIN SOLUTION."
        )
    text = re.sub(r"^# ?", "", dedent(comment[0]).strip(), flags=re.M)
    code = answer.source.replace(region[0], region[2][comment.end() :].rstrip("\n"))
    return text, code


def marking_scheme(of: ProblemSet) -> str:
    """Markdown: what each exercise is worth, what is tested, which mistakes have a name, and the solution."""
    rows = [
        f"| {e.number} | {e.title} | `{e.name}` | {e.difficulty} of 5 | {e.minutes} | {e.marks} |" for e in of.exercises
    ]
    lines = [
        f"# Marking scheme: {of.title}",
        "",
        f"{of.marks} marks, about {of.minutes} minutes. Made by `make coursework` from `{of.name}/{of.path.name}`: "
        "change it there.",
        "",
        "| exercise | title | function | difficulty | minutes | marks |",
        "|---|---|---|---|---|---|",
        *rows,
    ]
    if of.question:
        lines.append(f"| | {of.question.title} | in words | | {of.question.minutes} | {of.question.marks} |")
    for exercise in of.exercises:
        lines += ["", *_marking_of(exercise)]
    if of.question:
        lines += ["", *_marking_of_question(of.question)]
    return "\n".join(lines) + "\n"


def _marking_of(exercise: Exercise) -> list[str]:
    text, code = explained(exercise.answer)
    tested = [
        f"| {points_of(cell):g} | {_purpose(cell)} | `{cell.metadata.nbgrader.grade_id}` |" for cell in exercise.tests
    ]
    mistakes = getattr(CHECKS[exercise.name], "mistakes", ())
    return [
        f"## Exercise {exercise.number} · {exercise.title} · {exercise.marks} marks",
        "",
        "| marks | for | test cell |",
        "|---|---|---|",
        *tested,
        "",
        text,
        "",
        "```python",
        code,
        "```",
        "",
        "Mistakes that the check and the tests name:",
        "",
        *(f"- {mistake.sentence}." for mistake in mistakes),
    ]


def _marking_of_question(question: Question) -> list[str]:
    return [
        f"## Question · {question.title} · {question.marks} marks, by hand",
        "",
        "An answer that earns them, and what to give marks for:",
        "",
        question.answer.source,
    ]


def _purpose(test: NotebookNode) -> str:
    """What a test cell is for: the comment in its first line."""
    first = test.source.split("\n")[0]
    if not first.startswith("# "):
        raise TaclError(f"the test cell {grade_id(test)} must begin with a comment: what it tests.")
    return first.removeprefix("# ")


def _without_outputs(of: ProblemSet) -> NotebookNode:
    notebook = copy.deepcopy(of.notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return notebook


def _written(notebook: NotebookNode) -> str:
    return nbformat.writes(notebook, version=4) + "\n"

"""Collecting what students handed in: a folder for each student goes into nbgrader's layout, mended if need be."""

import re
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from tacl_lib.errors import TaclError
from tacl_lib.teaching.coursework.source import ProblemSet, grade_id, is_test
from tacl_lib.teaching.coursework.versions import release, solution


@dataclass
class Submission:
    """One student's notebook of one set."""

    student: str
    of: ProblemSet
    remarks: list[str] = field(default_factory=list)  #: what the lecturer should know
    refused: bool = False  #: it cannot be graded; the last remark says why


def collect(submissions: Path, sets: list[ProblemSet], course: Path) -> tuple[list[Submission], list[str]]:
    """Copy ``submissions/ada/set1.ipynb`` to ``course/submitted/ada/set1_forgetting/set1.ipynb``, and so on.

    Returns the submissions, and notes on what was left aside.
    """
    if not submissions.is_dir():
        raise TaclError(f"there is no folder {submissions}; it should hold a folder for each student.")
    found, notes = [], []
    names = [of.path.name for of in sets]
    for place in sorted(path for path in submissions.iterdir() if not path.name.startswith(".")):
        if not place.is_dir():
            notes.append(f"{place.name} is not in a student's folder and was left aside.")
        elif not re.fullmatch(r"[\w .@()'-]+", place.name):
            notes.append(f"the folder '{place.name}' was left aside: give it a name of letters, digits, '-', '_', '.'.")
        elif not any((place / name).exists() for name in names):
            others = ", ".join(sorted(path.name for path in place.iterdir())) or "nothing"
            notes.append(f"{place.name} handed in none of {', '.join(names)}; the folder has {others}.")
        else:
            found += [_collected(place, of, course) for of in sets if (place / of.path.name).exists()]
    if not found:
        raise TaclError(f"nothing to grade in {submissions}: {' '.join(notes) or 'it is empty.'}")
    return found, notes


def _collected(place: Path, of: ProblemSet, course: Path) -> Submission:
    submission = Submission(place.name, of)
    try:
        notebook = nbformat.reads((place / of.path.name).read_text(encoding="utf-8"), as_version=4)
        submission.remarks += mend(notebook, of)
        text = nbformat.writes(notebook, version=4)
    except Exception as error:  # whatever a damaged file does to the reader
        reason = (str(error).splitlines() or [""])[0][:120]
        submission.remarks.append(f"{of.path.name} is not a notebook that can be read ({reason}); ask for it again.")
        submission.refused = True
        return submission
    target = course / "submitted" / place.name / of.name / of.path.name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
    return submission


def mend(notebook: NotebookNode, of: ProblemSet) -> list[str]:
    """Put back what nbgrader needs, and say what was put back.

    Test cells that were deleted go to the end, where all answers are defined. Changed ones are only told: nbgrader
    itself takes the original.
    """
    remarks = []
    originals, solved = _graded_cells(release(of)), _graded_cells(solution(of))
    there = {}
    for cell in notebook.cells:
        name = grade_id(cell)
        if name in originals:
            cell.metadata["nbgrader"] = originals[name].metadata["nbgrader"]
            there[name] = cell
        else:
            cell.metadata.pop("nbgrader", None)
    for name, original in originals.items():
        if name not in there and is_test(original):
            notebook.cells.append(original)
            remarks.append(f"the test cell {name} had been deleted and was put back.")
        elif name not in there:
            remarks.append(f"the answer cell {name} is missing.")
        elif is_test(original) and there[name].source not in (original.source, solved[name].source):
            remarks.append(f"the test cell {name} had been changed; the original was used.")
    for number, cell in enumerate(notebook.cells):
        cell["id"] = str(number)  # a cell that was put back must not share its id with another
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    return remarks


def _graded_cells(notebook: str) -> dict[str, NotebookNode]:
    return {grade_id(cell): cell for cell in nbformat.reads(notebook, as_version=4).cells if grade_id(cell)}

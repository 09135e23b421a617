"""Feedback that reads well: formulas without the web, tests by what they are for, remarks on top."""

import json
import re
from pathlib import Path

from nbconvert.preprocessors import Preprocessor
from nbformat import NotebookNode
from nbgrader.api import Gradebook

from tacl_lib.teaching.coursework.source import grade_id, is_answer, is_test, is_written
from tacl_lib.teaching.formulas import with_formulas


class Readable(Preprocessor):
    """For nbgrader's feedback: the page's data for our template."""

    enabled = True

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        own = resources["nbgrader"]
        path = Path(own["db_url"].removeprefix("sqlite:///")).parent / "marked" / own["student"]
        notes = path / f"{own['assignment']}.remarks.json"
        resources["remarks"] = json.loads(notes.read_text("utf-8")) if notes.exists() else []
        resources["tests"] = []
        waiting = _waiting(own)
        for cell in nb.cells:
            if cell.cell_type == "markdown":
                cell.source = with_formulas(cell.source)
            if is_test(cell) or is_written(cell):
                cell.metadata["purpose"] = purpose = _purpose(cell)
                cell.metadata["waits"] = waits = grade_id(cell) in waiting
                about = {"id": grade_id(cell), "purpose": purpose, "exercise": _exercise(cell), "waits": waits}
                resources["tests"].append(about | _marks(cell))
            cell.metadata["kind"] = "answer" if is_answer(cell) else "test" if is_test(cell) else ""
        return nb, resources


def _waiting(own: dict) -> set[str]:
    """The cells that the lecturer has not marked yet."""
    with Gradebook(own["db_url"]) as gradebook:
        grades = gradebook.find_submission_notebook(own["notebook"], own["assignment"], own["student"]).grades
        return {grade.name for grade in grades if grade.needs_manual_grade and grade.manual_score is None}


def _purpose(cell: NotebookNode) -> str:
    if is_written(cell):
        return "The question in words, marked by hand"
    return cell.source.split("\n")[0].removeprefix("# ")


def _exercise(cell: NotebookNode) -> str:
    return re.sub(r"_test_\d+$", "", grade_id(cell)) if is_test(cell) else ""


def _marks(cell: NotebookNode) -> dict[str, float]:
    own = cell.metadata["nbgrader"]
    return {"score": own.get("score") or 0.0, "points": own["points"]}

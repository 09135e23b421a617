"""nbgrader around our marking: its gradebook, its commands, its feedback. It runs no cell of a student's."""

import hashlib
import json
import os
import re
import sys
import warnings
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from tacl_lib.errors import TaclError
from tacl_lib.teaching.coursework.source import ProblemSet, grade_id, is_test
from tacl_lib.teaching.coursework.variants import code_in
from tacl_lib.teaching.coursework.versions import STUB, release

try:
    from nbgrader.api import Gradebook, MissingEntry
    from nbgrader.apps import NbGraderAPI
    from nbgrader.preprocessors import (
        CheckCellMetadata,
        GetGrades,
        LimitOutput,
        NbGraderPreprocessor,
        SaveAutoGrades,
    )
    from traitlets.config import Config

    from tacl_lib.teaching.coursework.readable import Readable
except ImportError as error:
    raise TaclError("grading needs nbgrader; `make grade` installs it, or: pip install '.[instructor]'.") from error

DATABASE = "gradebook.db"
TEMPLATES = Path(__file__).with_name("templates")
#: for a lecturer who calls nbgrader in the folder, such as ``nbgrader formgrader``
CONFIG = """\
from tacl_lib.teaching.coursework.gradebook import configured

c = get_config()  # noqa: F821
c.merge(configured(__file__.rpartition("/")[0] or "."))
"""


class FillIn(NbGraderPreprocessor):
    """In place of nbgrader's own running of cells: the outputs that marking has written down."""

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        own = resources["nbgrader"]
        root = Path(own["db_url"].removeprefix("sqlite:///")).parent
        outputs = json.loads(_outputs_path(root, own["student"], own["assignment"]).read_text("utf-8"))
        if outputs["of"] != _fingerprint(nb):
            raise TaclError("the submission has changed since it was marked; run `make grade` again")
        for number, cell in enumerate(nb.cells):
            if cell.cell_type == "code":
                cell.outputs = [NotebookNode(output) for output in outputs["cells"].get(str(number), [])]
            # nbgrader has put the plain set's tests here; a student with a variant reads those of the variant.
            cell.source = outputs["tests"].get(grade_id(cell), cell.source)
        return nb, resources


def write_outputs(root: Path, student: str, of: ProblemSet, notebook: NotebookNode, outputs: dict[int, list]) -> None:
    path = _outputs_path(root, student, of.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    own = nbformat.reads(release(of), as_version=4)
    tests = {grade_id(cell): cell.source for cell in own.cells if is_test(cell) and code_in([own.cells[0].source])}
    content = {"of": _fingerprint(notebook), "cells": outputs, "tests": tests}
    path.write_text(json.dumps(content), encoding="utf-8")


def _outputs_path(root: Path, student: str, assignment: str) -> Path:
    return root / "marked" / student / f"{assignment}.json"


def _fingerprint(notebook: NotebookNode) -> str:
    """Of what the student wrote; the tests are the set's own, here with and there without their hidden part."""
    own = [cell.source for cell in notebook.cells if not cell.metadata.get("nbgrader", {}).get("locked")]
    return hashlib.sha256(json.dumps(own).encode()).hexdigest()


def configured(folder: Path | str) -> "Config":
    root = Path(folder).resolve()
    config = Config()
    config.CourseDirectory.root = str(root)
    config.CourseDirectory.db_url = f"sqlite:///{root / DATABASE}"
    config.ClearSolutions.code_stub = {"python": STUB}
    config.Autograde.autograde_preprocessors = [FillIn, LimitOutput, SaveAutoGrades, CheckCellMetadata]
    config.GenerateFeedback.preprocessors = [GetGrades, Readable]
    config.HTMLExporter.extra_template_basedirs = [str(TEMPLATES)]
    return config


class Course:
    """nbgrader in a folder of its own, whatever the user has configured elsewhere."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        # nbgrader calls programs that are installed beside Python, also where the environment is not activated.
        beside = str(Path(sys.executable).parent)
        if beside not in os.environ["PATH"].split(os.pathsep):
            os.environ["PATH"] = beside + os.pathsep + os.environ["PATH"]
        warnings.filterwarnings("ignore", module="nbgrader")  # of its database, nothing to act on
        self._api = NbGraderAPI(config=configured(self.folder))
        (self.folder / "nbgrader_config.py").write_text(CONFIG, encoding="utf-8")

    def make_release(self, of: ProblemSet) -> None:
        _succeed(self._api.generate_assignment(of.name, create=True), f"the release of {of.name}")

    def record(self, student: str, of: ProblemSet) -> None:
        """Into the gradebook with what marking found. Marks that were given by hand stay."""
        _succeed(self._api.autograde(of.name, student), "the submission")

    def write_feedback(self, student: str, of: ProblemSet) -> None:
        _succeed(self._api.generate_feedback(of.name, student), "the feedback")

    def marks(self, student: str, of: ProblemSet) -> tuple[dict[str, float], float | None]:
        """The marks for each exercise, and for the written answer: None until the lecturer has given them."""
        with Gradebook(f"sqlite:///{self.folder / DATABASE}") as gradebook:
            found = gradebook.find_submission_notebook(of.path.stem, of.name, student).grades
            grades = {g.name: (g.score, g.max_score, g.manual_score, g.needs_manual_grade) for g in found}
        for name, (score, most, *_) in grades.items():
            if score is not None and not 0 <= score <= most:
                raise TaclError(f"the gradebook has {score:g} marks for {name}, of {most:g}: look at it in formgrader.")
        marks = {e.name: sum(grades[grade_id(cell)][0] or 0.0 for cell in e.tests) for e in of.exercises}
        written = None
        if of.question:
            score, _, manual, _ = grades[of.question.name]
            answered = manual is not None or not grades[of.question.name][3]
            written = float(score or 0.0) if answered else None
        return marks, written

    def forget(self, student: str, of: ProblemSet) -> None:
        """A submission that can no longer be marked must not keep its old marks."""
        with Gradebook(f"sqlite:///{self.folder / DATABASE}") as gradebook:
            try:
                gradebook.remove_submission(of.name, student)
            except MissingEntry:
                return


def _succeed(result: dict, what: str) -> None:
    if not result["success"]:
        # The log holds the traceback of what happened; the error itself only points to the log.
        reasons = re.findall(r"^\s*([\w.]*(?:Error|Exception)\b.*)$", result.get("log") or "", re.M)
        raise TaclError(f"nbgrader could not make {what}: {reasons[-1] if reasons else 'it gave no reason'}.")

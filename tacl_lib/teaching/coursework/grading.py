"""``make grade``: nbgrader's whole cycle over a folder of submissions. Needs the instructor extra."""

import csv
import io
import os
import re
import shutil
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import nbformat

from tacl_lib.errors import TaclError
from tacl_lib.files import write_whole
from tacl_lib.teaching.coursework.source import ProblemSet, grade_id, read_sets
from tacl_lib.teaching.coursework.submissions import Submission, collect
from tacl_lib.teaching.coursework.versions import STUB

try:
    from nbgrader.api import Gradebook
    from nbgrader.apps import NbGraderAPI
    from traitlets.config import Config
except ImportError as error:
    raise TaclError("grading needs nbgrader; `make grade` installs it, or: pip install '.[instructor]'.") from error

DATABASE = "gradebook.db"
#: a notebook may take as long as so many cells that run into their limit
LONGEST = 5


@dataclass(frozen=True)
class Graded:
    """What a submission got."""

    student: str
    of: ProblemSet
    marks: dict[str, float] | None  #: by exercise; None if it could not be graded
    remark: str

    @property
    def total(self) -> float:
        return sum((self.marks or {}).values())


@dataclass(frozen=True)
class Marks:
    """Of all submissions, and notes on what was left aside."""

    graded: list[Graded]
    notes: list[str]
    folder: Path

    def csv_of(self, of: ProblemSet) -> str:
        """A row for each student: marks for each exercise, total, maximum, remark."""
        text = io.StringIO()
        names = [exercise.name for exercise in of.exercises]
        table = csv.writer(text, lineterminator="\n")
        table.writerow(["student", *names, "total", "out_of", "remark"])
        for entry in self.graded:
            if entry.of is of:
                own = [f"{entry.marks[name]:g}" if entry.marks is not None else "" for name in names]
                table.writerow([entry.student, *own, f"{entry.total:g}", of.marks, entry.remark])
        return text.getvalue()

    def text(self) -> str:
        """For the terminal."""
        lines = [
            f"{g.student:24} {g.of.name:24} {g.total:>4g} of {g.of.marks}  {g.remark}".rstrip() for g in self.graded
        ]
        return "\n".join([*lines, *self.notes, f"marks (CSV) and feedback (HTML): {self.folder}"])


def grade(source: Path, submissions: Path, folder: Path, timeout: int = 60) -> Marks:
    """Generate, collect, autograde, feedback, marks: for every set of which something was handed in."""
    sets = read_sets(source)
    _begin_anew(folder)
    found, notes = collect(submissions, sets, folder)
    used = [of for of in sets if any(submission.of is of for submission in found)]
    shutil.copytree(source, folder / "source", ignore=shutil.ignore_patterns(".*"))
    api = course(folder, timeout)
    for of in used:
        _succeed(api.generate_assignment(of.name, create=True), f"the release of {of.name}")
    marks = Marks([_graded(submission, folder, timeout) for submission in found], notes, folder)
    for of in used:
        text = marks.csv_of(of)
        write_whole(folder / f"marks_{of.name}.csv", lambda part, text=text: part.write_text(text, encoding="utf-8"))
    return marks


def course(folder: Path, timeout: int) -> "NbGraderAPI":
    """nbgrader in a folder of its own, whatever the user has configured elsewhere."""
    # nbgrader calls programs that are installed beside Python, also where the environment is not activated.
    beside = str(Path(sys.executable).parent)
    if beside not in os.environ["PATH"].split(os.pathsep):
        os.environ["PATH"] = beside + os.pathsep + os.environ["PATH"]
    config = Config()
    config.CourseDirectory.root = str(folder.resolve())
    config.CourseDirectory.db_url = f"sqlite:///{folder.resolve() / DATABASE}"
    config.ClearSolutions.code_stub = {"python": STUB}
    config.Execute.timeout_func = _limits(timeout)
    config.Execute.extra_arguments = ["--HistoryManager.hist_file=:memory:", "--log-level=40"]  # no chatter
    return NbGraderAPI(config=config)


def _limits(timeout: int):
    """The seconds that the next cell may take. A loop that cannot be interrupted must not take them for each cell."""
    begin = time.monotonic()

    def seconds(cell) -> int:
        left = begin + LONGEST * timeout - time.monotonic()
        return max(1, min(timeout, int(left)))

    return seconds


def _begin_anew(folder: Path) -> None:
    if folder.exists() and any(folder.iterdir()) and not (folder / DATABASE).exists():
        raise TaclError(f"{folder} is not empty and was not made by grading; name another folder.")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)


def _graded(submission: Submission, folder: Path, timeout: int) -> Graded:
    """Autograde one submission and write its feedback; whatever it does, the next one is graded as well."""
    student, of, remarks = submission.student, submission.of, list(submission.remarks)
    marks = None
    if not submission.refused:
        api = course(folder, timeout)
        try:
            warnings.filterwarnings("ignore", module="nbgrader")  # of its database, nothing to act on
            _succeed(api.autograde(of.name, student), "the submission")
            _succeed(api.generate_feedback(of.name, student), "the feedback")
            marks = _marks(student, of, folder)
            remarks += _remarks(folder / "autograded" / student / of.name / of.path.name, timeout)
        except TaclError as error:
            remarks.append(str(error))
    return Graded(student, of, marks, " ".join(remarks))


def _succeed(result: dict, what: str) -> None:
    if not result["success"]:
        # The log holds the traceback of what happened; the error itself only points to the log.
        reasons = re.findall(r"^\s*([\w.]*(?:Error|Exception)\b.*)$", result.get("log") or "", re.M)
        raise TaclError(f"nbgrader could not make {what}: {reasons[-1] if reasons else 'it gave no reason'}.")


def _marks(student: str, of: ProblemSet, folder: Path) -> dict[str, float]:
    with Gradebook(f"sqlite:///{folder.resolve() / DATABASE}") as gradebook:
        grades = gradebook.find_submission_notebook(of.path.stem, of.name, student).grades
        scores = {grade.name: grade.score for grade in grades}
    return {e.name: sum(scores[grade_id(cell)] for cell in e.tests) for e in of.exercises}


def _remarks(autograded: Path, timeout: int) -> list[str]:
    """What happened while it ran that marks alone do not tell."""
    remarks = []
    for number, cell in enumerate(nbformat.read(autograded, as_version=4).cells):
        errors = [output for output in cell.get("outputs", []) if output.output_type == "error"]
        name = grade_id(cell) or f"number {number + 1}"
        if any(error.ename == "CellTimeoutError" for error in errors):
            remarks.append(f"the cell {name} ran longer than {timeout} seconds and was stopped.")
        elif any("did not end within" in error.evalue for error in errors):
            remarks.append(f"in the cell {name} the answer did not come to an end.")
    return remarks

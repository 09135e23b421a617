"""``make grade``: whatever was handed in, marked in walls, in parallel, and entered into nbgrader's gradebook."""

import csv
import io
import json
import multiprocessing
import os
import shutil
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import nbformat

from tacl_lib.errors import TaclError
from tacl_lib.files import write_whole
from tacl_lib.teaching.coursework.gradebook import DATABASE, Course, write_outputs
from tacl_lib.teaching.coursework.marking import Marked, mark
from tacl_lib.teaching.coursework.platforms import Owner, feedback_zip, with_marks
from tacl_lib.teaching.coursework.sandbox import Protection, protection
from tacl_lib.teaching.coursework.similarity import pairs, report
from tacl_lib.teaching.coursework.source import ProblemSet, read_sets
from tacl_lib.teaching.coursework.submissions import Submission, collect
from tacl_lib.teaching.coursework.variants import TEXTS, read_variants

#: made anew by each call; the gradebook, with the marks that were given by hand, stays
REMADE = ("source", "release", "submitted", "autograded", "feedback", "marked", "platform")


@dataclass(frozen=True)
class Graded:
    """What a submission got."""

    student: str
    of: ProblemSet
    marks: dict[str, float] | None  #: by exercise; None if it could not be marked
    by_hand: float | None  #: for the question in words; None until it is marked
    remark: str
    owner: Owner
    hints: dict[str, int] = field(default_factory=dict)  #: how many were taken, by exercise; each costs a mark

    @property
    def cost(self) -> float:
        """Of the hints; no exercise gives less than no marks."""
        return float(sum(min(count, (self.marks or {}).get(name, 0)) for name, count in self.hints.items()))

    @property
    def total(self) -> float:
        return sum((self.marks or {}).values()) + (self.by_hand or 0.0) - self.cost


@dataclass(frozen=True)
class Marks:
    """Of all submissions, and notes on what was left aside."""

    graded: list[Graded]
    notes: list[str]
    folder: Path

    def csv_of(self, of: ProblemSet) -> str:
        """A row for each student: marks for each exercise and for the question, total, maximum, remark."""
        text = io.StringIO()
        names = [exercise.name for exercise in of.exercises]
        table = csv.writer(text, lineterminator="\n")
        table.writerow(["student", *names, "question", "hints", "total", "out_of", "remark"])
        for entry in self.graded:
            if entry.of.name == of.name:
                own = [f"{entry.marks[name]:g}" if entry.marks is not None else "" for name in names]
                by_hand = "" if entry.by_hand is None else f"{entry.by_hand:g}"
                cost = f"{-entry.cost:g}" if entry.cost else ""
                table.writerow([entry.student, *own, by_hand, cost, f"{entry.total:g}", of.marks, entry.remark])
        return text.getvalue()

    def text(self) -> str:
        """For the terminal."""
        lines = [
            f"{g.student:24} {g.of.name:24} {g.total:>4g} of {g.of.marks}  {g.remark}".rstrip() for g in self.graded
        ]
        waiting = sum(g.marks is not None and g.by_hand is None for g in self.graded)
        if waiting:
            lines.append(f"{waiting} answers in words wait to be marked by hand: see coursework/README.md")
        return "\n".join([*lines, *self.notes, f"marks (CSV) and feedback (HTML): {self.folder}"])


def grade(
    source: Path,
    submissions: Path,
    folder: Path,
    timeout: int = 60,
    table: Path | None = None,
    column: str | None = None,
    hints: Path | None = None,
    variants: Path | None = None,
) -> Marks:
    """Collect, mark, record, feedback: for every set of which something was handed in.

    table: Moodle's grading worksheet or Canvas's gradebook, to be given back with marks in it (Canvas: in the column).
    hints: a CSV with the columns student, exercise, hints: how many each one took, at a mark each.
    variants: the folder of the class, where each student has a variant.
    """
    protected = protection()
    taken = _hints_taken(hints)
    sets = read_sets(source)
    exported = table.read_bytes() if table else None
    found, notes = collect(submissions, sets, read_variants(variants) if variants else None)
    used = [of for of in sets if any(submission.of is of for submission in found)]
    _prepare(folder, source)
    course = Course(folder)
    for of in used:
        course.make_release(of)
    marked = _in_parallel(found, timeout, protected)
    graded = [_recorded(submission, course, marked.get(n)) for n, submission in enumerate(found)]
    graded = [replace(g, hints=taken.get(g.student, {})) for g in graded]
    unknown = sorted(taken.keys() - {g.student for g in graded})
    notes += [f"{student} took hints, but handed in nothing." for student in unknown]
    marks = Marks(graded, [*notes, *([protected.note] if protected.note else [])], folder)
    _write(marks, used, exported, table, column)
    for of in used:
        notebooks = {s.student: s.notebook for s in found if s.of is of and s.notebook is not None}
        _to(folder / f"alike_{of.name}.csv", report(pairs(of, notebooks)).encode("utf-8"))
    return marks


def _hints_taken(path: Path | None) -> dict[str, dict[str, int]]:
    """By student and exercise."""
    taken: dict[str, dict[str, int]] = {}
    if path is None:
        return taken
    try:
        for row in csv.DictReader(path.read_text(encoding="utf-8-sig").splitlines()):
            taken.setdefault(row["student"], {})[row["exercise"]] = int(row["hints"])
    except (OSError, KeyError, ValueError, TypeError):
        raise TaclError(f"{path} must be a CSV with the columns student, exercise, hints (a whole number).") from None
    return taken


def _prepare(folder: Path, source: Path) -> None:
    if folder.exists() and any(folder.iterdir()) and not (folder / DATABASE).exists():
        raise TaclError(f"{folder} is not empty and was not made by grading; name another folder.")
    for name in REMADE:
        shutil.rmtree(folder / name, ignore_errors=True)
    for old in (*folder.glob("marks_*.csv"), *folder.glob("alike_*.csv")):
        old.unlink()
    shutil.copytree(source, folder / "source", ignore=shutil.ignore_patterns(".*", TEXTS))


def _in_parallel(found: list[Submission], timeout: int, protected: Protection) -> dict[int, Marked]:
    """What marking gives, by the number of the submission; as many at a time as there are processors."""
    wanted = {n: submission for n, submission in enumerate(found) if not submission.refused}
    workers = max(1, min(len(wanted), os.cpu_count() or 1))
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        running = {n: pool.submit(mark, s.marked_as, s.notebook, timeout, protected) for n, s in wanted.items()}
        return {n: _result(future) for n, future in running.items()}


def _result(future: Future) -> Marked:
    """What marking gave; if it failed, a sentence in its place, so that one submission does not hold up a class."""
    try:
        return future.result()
    except Exception as error:
        return Marked(failure=f"marking stopped with {type(error).__name__}: {error}; please mark it by hand.")


def _recorded(submission: Submission, course: Course, marked: Marked | None) -> Graded:
    """Into the gradebook, and feedback; whatever happens with one, the next is recorded as well."""
    student, of, remarks = submission.student, submission.of, list(submission.remarks)
    marks, by_hand = None, None
    try:
        if marked is None or marked.failure:
            course.forget(student, of)
            remarks += [marked.failure] if marked else []
        else:
            remarks += marked.remarks
            _hand_over(submission, course.folder, marked, remarks)
            remarks += [marked.suspicion] if marked.suspicion else []
            course.record(student, of)
            marks, by_hand = course.marks(student, of)
            course.write_feedback(student, of)
    except TaclError as error:
        remarks.append(str(error))
        marks, by_hand = None, None
    return Graded(student, of, marks, by_hand, " ".join(dict.fromkeys(remarks)), submission.owner)


def _hand_over(submission: Submission, folder: Path, marked: Marked, remarks: list[str]) -> None:
    """To nbgrader: the restored notebook, its outputs, and the remarks for the feedback."""
    of = submission.of
    target = folder / "submitted" / submission.student / of.name / of.path.name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(nbformat.writes(submission.notebook, version=4), encoding="utf-8")
    write_outputs(folder, submission.student, submission.marked_as, submission.notebook, marked.outputs)
    notes = folder / "marked" / submission.student / f"{of.name}.remarks.json"
    notes.write_text(json.dumps(list(dict.fromkeys(remarks))), encoding="utf-8")


def _write(
    marks: Marks, used: list[ProblemSet], exported: bytes | None, table: Path | None, column: str | None
) -> None:
    """Marks as CSV, and for a platform its own table with marks, and the feedback as its zip."""
    for of in used:
        own = [g for g in marks.graded if g.of is of]
        _to(marks.folder / f"marks_{of.name}.csv", marks.csv_of(of).encode("utf-8"))
        pages = [
            (g.owner, marks.folder / "feedback" / g.student / of.name / f"{of.path.stem}.html")
            for g in own
            if g.owner.prefix and g.marks is not None
        ]
        if pages:
            _to(marks.folder / "platform" / f"feedback_{of.name}.zip", feedback_zip(pages, f"{of.path.stem}.html"))
        if exported is not None:
            totals = {g.owner.number: g.total for g in own if g.owner.number and g.marks is not None}
            filled, missing = with_marks(exported, column, totals)
            name = table.name if len(used) == 1 else f"{of.name}_{table.name}"
            _to(marks.folder / "platform" / name, filled)
            marks.notes.extend(f"{table.name} has no row for {number}." for number in missing)


def _to(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, lambda part: part.write_bytes(data))

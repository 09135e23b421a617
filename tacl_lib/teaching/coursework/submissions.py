"""Collecting what students handed in, however it is named and wherever it lies, so that nobody falls through."""

import ast
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_raw_cell

from tacl_lib.errors import TaclError
from tacl_lib.teaching.coursework.mending import mend, mentioned, solved
from tacl_lib.teaching.coursework.platforms import Owner, owner_of
from tacl_lib.teaching.coursework.source import ProblemSet

#: what lies in students' folders without being work of theirs
IGNORED = (".ipynb_checkpoints", "__MACOSX", "__pycache__")
LONGEST_FILE = 20 * 2**20


@dataclass
class Submission:
    """One student's notebook of one set."""

    student: str  #: as the gradebook calls them: letters, digits, spaces and a few signs
    of: ProblemSet
    owner: Owner  #: as the platform calls them
    file: str = ""  #: as it was handed in
    remarks: list[str] = field(default_factory=list)  #: what the lecturer should know
    notebook: NotebookNode | None = None  #: mended; None if it cannot be marked, and the last remark says why

    @property
    def refused(self) -> bool:
        return self.notebook is None


@dataclass
class _Found:
    """A file, and what is in it."""

    path: Path
    name: str  #: as the student named it
    of: ProblemSet | None = None
    notebook: NotebookNode | None = None
    remarks: list[str] = field(default_factory=list)


def collect(submissions: Path, sets: list[ProblemSet]) -> tuple[list[Submission], list[str]]:
    """The submissions in a folder, and notes on what was left aside.

    A folder for each student, or the flat files of Moodle and Canvas. Which set a file is of is read in it.
    """
    if not submissions.is_dir():
        raise TaclError(f"there is no folder {submissions}; it should hold a folder for each student.")
    owned, notes = _by_owner(submissions)
    if not owned:
        raise TaclError(f"nothing to grade in {submissions}: {' '.join(notes) or 'it is empty.'}")
    names = _names(owned)
    read = {owner: [_read(path, name, sets) for path, name in files] for owner, files in owned.items()}
    usual = Counter(found.of.name for files in read.values() for found in files if found.of)
    fallback = next((of for of in sets if usual and of.name == usual.most_common(1)[0][0]), sets[0])
    collected = []
    for owner, files in read.items():
        collected += _of_student(names[owner], owner, files, sets, fallback)
    return collected, notes


def _by_owner(submissions: Path) -> tuple[dict[Owner, list[tuple[Path, str]]], list[str]]:
    """The files of each student with the names that they gave them, and notes on files of nobody."""
    owned: dict[Owner, list[tuple[Path, str]]] = {}
    notes = []
    for place in sorted(submissions.iterdir()):
        if place.name.startswith(".") or place.name in IGNORED:
            continue
        if place.is_dir():
            owner, _ = owner_of(place.name)
            files = owned.setdefault(owner or Owner(_normal(place.name)), [])
            files += [(path, path.name) for path in sorted(place.rglob("*")) if _is_work(path, place)]
        elif (found := owner_of(place.name))[0]:
            owned.setdefault(found[0], []).append((place, found[1]))
        else:
            notes.append(f"{place.name} is not in a student's folder and was left aside.")
    return owned, notes


def _is_work(path: Path, place: Path) -> bool:
    inside = path.relative_to(place).parts
    return path.is_file() and not path.is_symlink() and not any(p.startswith(".") or p in IGNORED for p in inside)


def _normal(name: str) -> str:
    """One spelling of umlauts and apostrophes, of which there are several."""
    return unicodedata.normalize("NFC", name).replace("’", "'")


def _names(owners) -> dict[Owner, str]:
    """A name for each in the gradebook, which must be unlike all others and free of brackets, stars and the like."""
    plain = {owner: re.sub(r"[^\w .@()'-]", "-", _normal(owner.name)).strip() or "student" for owner in owners}
    twice = {name for name, count in Counter(plain.values()).items() if count > 1}
    names: dict[Owner, str] = {}
    for number, (owner, name) in enumerate(plain.items()):
        names[owner] = f"{name} ({owner.number or number})" if name in twice else name
    return names


def _read(path: Path, name: str, sets: list[ProblemSet]) -> _Found:
    """A file as a notebook, and the set that it is of; without one where it cannot be read."""
    found = _Found(path, name)
    guess = re.match(r"[Ss]et[ _-]?(\d)", name)
    by_name = next((of for of in sets if guess and of.path.stem == f"set{guess[1]}"), None)
    try:
        if path.stat().st_size > LONGEST_FILE:
            raise ValueError("it is larger than 20 MB")
        notebook = _notebook_of(path.read_text(encoding="utf-8-sig"), path.suffix, found.remarks)
        most = max(sets, key=lambda of: mentioned(notebook, of))
        if not mentioned(notebook, most):
            raise ValueError("it holds no answer to any set")
    except Exception as error:  # whatever a damaged file does to the reader
        reason = (str(error).splitlines() or [""])[0][:120].rstrip(".")
        found.of = by_name
        found.remarks = [f"{name} is not a notebook that can be read ({reason}); ask for it again."]
        return found
    found.of, found.notebook = most, notebook
    if by_name and by_name is not most:
        found.remarks.append(f"{name} holds {most.name}, and was marked as such.")
    elif name != most.path.name:
        found.remarks.append(f"it was handed in as {name}.")
    return found


def _notebook_of(text: str, suffix: str, remarks: list[str]) -> NotebookNode:
    if suffix == ".ipynb" or text.lstrip().startswith("{"):
        notebook = nbformat.reads(text, as_version=4)
        return new_notebook(cells=[_whole(cell) for cell in notebook.cells])
    if suffix not in (".py", ".txt"):
        raise ValueError(f"files of the kind '{suffix}' are not")
    ast.parse(text) if "def " in text else None
    remarks.append("it is a script, not a notebook.")
    parts = re.split(r"^# (?:%%|In\[).*$", text, flags=re.M)
    return new_notebook(cells=[new_code_cell(part.strip("\n")) for part in parts if part.strip()])


def _whole(cell: NotebookNode) -> NotebookNode:
    """A cell with all that belongs to it, whatever was lost or added on the way; outputs are not read."""
    make = {"code": new_code_cell, "markdown": new_markdown_cell}.get(cell.get("cell_type"), new_raw_cell)
    made = make(str(cell.get("source", "")), metadata=NotebookNode(cell.get("metadata") or {}))
    if isinstance(cell.get("attachments"), dict):
        made["attachments"] = cell["attachments"]
    return made


def _of_student(
    student: str, owner: Owner, files: list[_Found], sets: list[ProblemSet], fallback: ProblemSet
) -> list[Submission]:
    """A submission for each set of which there is something; at least one, so that everybody gets a row."""
    collected = []
    for of in sets:
        there = [found for found in files if found.of is of and found.notebook is not None]
        if not there:
            continue
        best = max(there, key=lambda found: (len(solved(found.notebook, of)), found.name == of.path.name))
        submission = Submission(student, of, owner, best.name, list(best.remarks))
        others = [found.name for found in there if found is not best]
        if others:
            submission.remarks.append(f"of several files {best.name} was marked, {', '.join(others)} left aside.")
        submission.remarks += mend(best.notebook, of)
        submission.notebook = best.notebook
        collected.append(submission)
    done = {submission.of.name for submission in collected}
    for found in files:
        of = found.of or fallback
        if found.notebook is None and of.name not in done and (found.of or not collected):
            done.add(of.name)
            collected.append(Submission(student, of, owner, found.name, list(found.remarks)))
    if not collected:
        collected.append(Submission(student, fallback, owner, "", ["nothing was handed in: the folder is empty."]))
    return collected

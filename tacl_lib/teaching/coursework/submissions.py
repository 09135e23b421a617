"""Collecting what students handed in, however it is named and wherever it lies, so that nobody falls through."""

import ast
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_raw_cell

from tacl_lib.errors import TaclError
from tacl_lib.teaching.coursework.platforms import Owner, normal, owner_of
from tacl_lib.teaching.coursework.restoring import mentioned, restore, solved
from tacl_lib.teaching.coursework.source import ProblemSet
from tacl_lib.teaching.coursework.variants import Variants, code_in, varied

#: what lies in students' folders without being work of theirs
IGNORED = (".ipynb_checkpoints", "__MACOSX", "__pycache__")
LONGEST_FILE = 20 * 2**20


@dataclass
class Submission:
    """One student's notebook of one set."""

    student: str  #: as the gradebook calls them: letters, digits, spaces and a few signs
    of: ProblemSet
    owner: Owner  #: as the platform calls them
    own: ProblemSet | None = None  #: the set as this student has it; None where all have the same
    file: str = ""  #: as it was handed in
    remarks: list[str] = field(default_factory=list)  #: what the lecturer should know
    notebook: NotebookNode | None = None  #: restored; None if it cannot be marked, and the last remark says why

    @property
    def marked_as(self) -> ProblemSet:
        return self.own or self.of

    @property
    def refused(self) -> bool:
        return self.notebook is None


@dataclass
class _Found:
    """A file, and what is in it."""

    path: Path
    name: str  #: as the student named it
    owner: Owner  #: as the platform named it
    of: ProblemSet | None = None
    notebook: NotebookNode | None = None
    remarks: list[str] = field(default_factory=list)


def collect(
    submissions: Path, sets: list[ProblemSet], variants: Variants | None = None
) -> tuple[list[Submission], list[str]]:
    """The submissions in a folder, and notes on what was left aside.

    A folder for each student, or the flat files of Moodle and Canvas. Which set a file is of is read in it.
    variants: whose numbers count, where each student has a variant.
    """
    if not submissions.is_dir():
        raise TaclError(f"there is no folder {submissions}; it should hold a folder for each student.")
    owned, notes = _by_owner(submissions)
    if not owned:
        raise TaclError(f"nothing to grade in {submissions}: {' '.join(notes) or 'it is empty.'}")
    names = _names(owned)
    read = {student: [_read(*file, sets) for file in files] for student, files in owned.items()}
    usual = Counter(found.of.name for files in read.values() for found in files if found.of)
    fallback = next((of for of in sets if usual and of.name == usual.most_common(1)[0][0]), sets[0])
    collected = []
    for owner, files in read.items():
        collected += _of_student(names[owner], owner, files, sets, fallback, variants)
    return collected, notes


def _by_owner(submissions: Path) -> tuple[dict[Owner, list[tuple[Path, str, Owner]]], list[str]]:
    """The files of each student with the names that they and the platform gave them, and notes on files of nobody.

    A student is a name and a number: what else a platform writes before a file may differ from file to file.
    """
    owned: dict[Owner, list[tuple[Path, str, Owner]]] = {}
    notes = []
    for place in sorted(submissions.iterdir()):
        if place.name.startswith(".") or place.name in IGNORED:
            continue
        if place.is_dir():
            owner = owner_of(place.name)[0] or Owner(normal(place.name))
            files = owned.setdefault(replace(owner, prefix=""), [])
            files += [(path, path.name, owner) for path in sorted(place.rglob("*")) if _is_work(path, place)]
        elif (found := owner_of(place.name))[0]:
            owned.setdefault(replace(found[0], prefix=""), []).append((place, found[1], found[0]))
        else:
            notes.append(f"{place.name} is not in a student's folder and was left aside.")
    return owned, notes


def _is_work(path: Path, place: Path) -> bool:
    inside = path.relative_to(place).parts
    return path.is_file() and not path.is_symlink() and not any(p.startswith(".") or p in IGNORED for p in inside)


def _names(owners) -> dict[Owner, str]:
    """A name for each in the gradebook, which must be unlike all others and free of brackets, stars and the like."""
    plain = {owner: re.sub(r"[^\w .@()'-]", "-", normal(owner.name)).strip() or "student" for owner in owners}
    twice = {name for name, count in Counter(plain.values()).items() if count > 1}
    names: dict[Owner, str] = {}
    for number, (owner, name) in enumerate(plain.items()):
        names[owner] = f"{name} ({owner.number or number})" if name in twice else name
    return names


def _read(path: Path, name: str, owner: Owner, sets: list[ProblemSet]) -> _Found:
    """A file as a notebook, and the set that it is of; without one where it cannot be read."""
    found = _Found(path, name, owner)
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
    student: str,
    owner: Owner,
    files: list[_Found],
    sets: list[ProblemSet],
    fallback: ProblemSet,
    variants: Variants | None,
) -> list[Submission]:
    """A submission for each set of which there is something; at least one, so that everybody gets a row."""
    collected = []
    for of in sets:
        there = [found for found in files if found.of is of and found.notebook is not None]
        if not there:
            continue
        best = max(there, key=lambda found: (len(solved(found.notebook, of)), found.name == of.path.name))
        submission = Submission(student, of, best.owner, file=best.name, remarks=list(best.remarks))
        others = [found.name for found in there if found is not best]
        if others:
            submission.remarks.append(f"of several files {best.name} was marked, {', '.join(others)} left aside.")
        submission.own, remarks = _own_set(of, owner, best.notebook, variants)
        submission.remarks += [*remarks, *restore(best.notebook, submission.marked_as)]
        submission.notebook = best.notebook
        collected.append(submission)
    done = {submission.of.name for submission in collected}
    for found in files:
        of = found.of or fallback
        if found.notebook is None and of.name not in done and (found.of or not collected):
            done.add(of.name)
            collected.append(Submission(student, of, found.owner, file=found.name, remarks=list(found.remarks)))
    if not collected:
        collected.append(Submission(student, fallback, owner, remarks=["nothing was handed in: the folder is empty."]))
    return collected


def _own_set(
    of: ProblemSet, owner: Owner, notebook: NotebookNode, variants: Variants | None
) -> tuple[ProblemSet | None, list[str]]:
    """The set with the student's own numbers, and what was odd. Whose numbers count is the class's list's to say."""
    code = code_in(cell.source for cell in notebook.cells)
    if variants is None:
        if code:
            raise TaclError(
                f"the notebook of {owner.name} is a variant: name the folder that `make release CLASS=…` made, "
                "VARIANTS=build/variants."
            )
        return None, []
    student, maker = variants.known(owner), variants.whose(code)
    if student is None:
        found = f"was marked with the numbers of {maker.name}" if maker else "was marked without numbers"
        remark = f"{owner.name} is not in the list of the class, and {found}."
        return (varied(of, variants.of(maker)) if maker else None), [remark]
    remarks = []
    if maker is not None and maker is not student:
        remarks = [f"this is the notebook of {maker.name}; it was marked with {student.name}'s own numbers."]
    elif maker is None:
        remarks = ["no variant is named in it; it was marked with the student's own numbers."]
    return varied(of, variants.of(student)), remarks

"""A variant of each set for each student: own numbers and own hidden cases, from a secret and the student's name.

A folder of variants, which ``make release CLASS=…`` makes and ``make grade VARIANTS=…`` reads, holds the secret, the
students, and for each of them a folder with their notebooks. Only these folders are for students.
"""

import copy
import csv
import hmac
import io
import os
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tacl_lib.errors import TaclError
from tacl_lib.files import write_whole
from tacl_lib.teaching.checks import CHECKS
from tacl_lib.teaching.coursework.platforms import Owner, normal, students_of
from tacl_lib.teaching.coursework.source import Exercise, ProblemSet, is_answer, is_test

SECRET, STUDENTS = "secret", "students.csv"
#: beside the notebook of a set: what is different, and the solutions
TEXTS = "variants.md"
CODE = re.compile(r"Variant `([0-9a-f]{8})`")

_MARKS = re.compile(r"^### (?:BEGIN|END) HIDDEN TESTS(?:\n|\Z)", re.M)
_LOCKED = "they hold an example, and more tests are run when your work is graded."
_LOCKED_NOW = "they name your number, and the tests are run when your work is graded."


@dataclass(frozen=True)
class Variant:
    """What is a student's own."""

    student: str
    code: str  #: stands in the notebook, and says whose it is
    numbers: dict[str, float]  #: by exercise
    salt: int  #: of hidden cases


def variant_of(secret: bytes, student: str) -> Variant:
    """The same for ever; without the secret nobody can tell the hidden cases."""

    def drawn(what: str) -> int:
        return int.from_bytes(hmac.digest(secret, f"{student}\n{what}".encode(), "sha256"))

    numbers = {
        name: check.twist.numbers[drawn(name) % len(check.twist.numbers)]
        for name, check in CHECKS.items()
        if check.twist
    }
    return Variant(student, f"{drawn('code') % 2**32:08x}", numbers, drawn("salt") % 2**31 + 1)


@dataclass(frozen=True)
class Text:
    """What ``variants.md`` says of an exercise."""

    difference: str  #: for the student
    changes: tuple[tuple[str, str], ...]  #: in the cell that shows the function on real data
    solution: str

    def of(self, number: float) -> "Text":
        def put(text: str) -> str:
            return text.replace("{number}", f"{number:g}")

        return Text(put(self.difference), tuple((old, put(new)) for old, new in self.changes), put(self.solution))


def texts_of(of: ProblemSet) -> dict[str, Text]:
    """By exercise."""
    path = of.path.with_name(TEXTS)
    if not path.exists():
        raise TaclError(f"{path} is missing: it says how a student's number changes each exercise.")
    _, *parts = re.split(r"^## (\w+)\n", path.read_text("utf-8"), flags=re.M)
    texts = {}
    for name, part in zip(parts[::2], parts[1::2], strict=True):
        code = re.search(r"^```python\n(.*?)^```$", part, re.M | re.S)
        changes = re.findall(r"^- `(.+)` → `(.+)`$", part, re.M)
        if code is None:
            raise TaclError(f"{path}: {name} has no solution.")
        told = re.sub(r"^- `.+` → `.+`\n", "", part[: code.start()], flags=re.M).strip()
        texts[name] = Text(told, tuple(changes), code[1].rstrip("\n"))
    return texts


def varied(of: ProblemSet, variant: Variant) -> ProblemSet:
    """The set as this student has it, solutions and hidden tests included."""
    made = ProblemSet(of.path, copy.deepcopy(of.notebook))
    first, texts = made.notebook.cells[0], texts_of(of)
    if _LOCKED not in first.source:
        raise TaclError(f"the first cell of {of.path.name} must say: '{_LOCKED}'")
    first.source = first.source.replace(_LOCKED, _LOCKED_NOW) + (
        f"\n\nVariant `{variant.code}`, made for {variant.student}. Each exercise has a number of your own and\n"
        "says what it changes; write it into your function, which is not given it. Your work is marked with your\n"
        "own numbers, whatever this notebook says."
    )
    for exercise in made.exercises:
        if exercise.name in variant.numbers:
            number = variant.numbers[exercise.name]
            _vary(exercise, texts[exercise.name].of(number), number, variant.salt)
    return made


def _vary(exercise: Exercise, text: Text, number: float, salt: int) -> None:
    name = exercise.name
    exercise.cells[0].source += f"\n\n{text.difference}"
    for cell in exercise.cells:
        if is_answer(cell):
            _, explanation, _ = re.split(r"(### BEGIN SOLUTION\n(?:[ \t]*#.*\n)+)", cell.source)
            cell.source = _with_solution(text.solution, explanation)
        elif is_test(cell):
            cell.source = _hidden(cell.source, name, number, salt)
        elif cell.source.endswith(f"check_{name}({name})"):
            cell.source = cell.source.replace(f"check_{name}({name})", f"check_{name}.variant({number!r})({name})")
        for old, new in text.changes:
            cell.source = cell.source.replace(old, new)


def _with_solution(code: str, explanation: str) -> str:
    """The function with its body between nbgrader's marks: what stands before them is the stub."""
    head = re.match(r"def .*?\n?\) -> .*?:\n|def .*?:\n", code, re.S)
    docstring = re.compile(r'    """.*?"""\n\n?', re.S).match(code, head.end())
    return f"{code[: docstring.end()]}    {explanation}{code[docstring.end() :]}\n    ### END SOLUTION"


def _hidden(source: str, name: str, number: float, salt: int) -> str:
    """A test cell with the student's number. Its example, which is of the plain exercise, goes to the hidden tests."""
    line = f"from tacl_lib.teaching.checks import check_{name}\n"
    head, rest = source.split(line, 1)
    return (
        f"{head}{line}\ncheck_{name} = check_{name}.variant({number!r})  # your number\n### BEGIN HIDDEN TESTS\n"
        f"check_{name} = check_{name}.salted({salt})\n{_MARKS.sub('', rest).strip()}\n### END HIDDEN TESTS"
    )


# --- a class ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Variants:
    """A class and its secret."""

    secret: bytes
    students: tuple[Owner, ...]

    @cached_property
    def _by_number(self) -> dict[str, Owner]:
        return {student.number: student for student in self.students if student.number}

    @cached_property
    def _by_words(self) -> dict[tuple[str, ...], Owner]:
        return {_words(student.name): student for student in self.students}

    @cached_property
    def _by_code(self) -> dict[str, Owner]:
        return {self.of(student).code: student for student in self.students}

    def of(self, student: Owner) -> Variant:
        return variant_of(self.secret, student.name)

    def known(self, owner: Owner) -> Owner | None:
        """The student of the class whom a platform, or a folder, calls so."""
        return self._by_number.get(owner.number) or self._by_words.get(_words(owner.name))

    def whose(self, code: str | None) -> Owner | None:
        """The student for whom a notebook was made."""
        return self._by_code.get(code or "")


def code_in(sources: Iterable[str]) -> str | None:
    """The code of the variant that a notebook says it is."""
    return next((found[1] for source in sources if (found := CODE.search(source))), None)


def _words(name: str) -> tuple[str, ...]:
    """A name as the folders and tables of platforms write it: 'Lovelace, Ada' is Ada Lovelace."""
    return tuple(sorted(re.findall(r"[^\W_]+", normal(name).casefold())))


def read_variants(folder: Path) -> Variants:
    """The class of a folder that `make release` has made."""
    try:
        secret = (folder / SECRET).read_bytes().strip()
        rows = list(csv.DictReader((folder / STUDENTS).read_text("utf-8").splitlines()))
        students = tuple(Owner(row["student"], row["number"]) for row in rows)
    except (OSError, KeyError, ValueError):
        raise TaclError(f"{folder} holds no variants: `make release CLASS=…` makes such a folder.") from None
    return Variants(secret, students)


def class_of(path: Path) -> list[Owner]:
    """The students in a file: the table of Moodle or Canvas, or a text with a name in each line."""
    try:
        students = students_of(path.read_bytes())
    except OSError:
        raise TaclError(
            f"{path} cannot be read: give the platform's table, or a text with a name in each line."
        ) from None
    words = [_words(student.name) for student in students]
    twice = [s.name for s, own in zip(students, words, strict=True) if words.count(own) > 1]
    if twice:
        raise TaclError(f"these names are in {path.name} twice: {', '.join(sorted(twice))}. Tell them apart, please.")
    if not students:
        raise TaclError(f"there are no students in {path}.")
    return students


def write_register(folder: Path, students: list[Owner]) -> Variants:
    """A new secret, or the one that is there: students who come later get variants like all others."""
    if folder.exists() and any(folder.iterdir()) and not (folder / SECRET).exists():
        raise TaclError(f"{folder} is not empty and holds no variants; name another folder.")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / SECRET
    if not path.exists():
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_hex(32) + "\n")
    made = Variants(path.read_bytes().strip(), tuple(students))
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    names = [name for name, check in CHECKS.items() if check.twist]
    table.writerow(["student", "number", "code", *names])
    for student in students:
        own = made.of(student)
        table.writerow([student.name, student.number, own.code, *(f"{own.numbers[name]:g}" for name in names)])
    write_whole(folder / STUDENTS, lambda part: part.write_text(text.getvalue(), encoding="utf-8"))
    return made

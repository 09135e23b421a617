"""Names and tables of Moodle and Canvas: whose a file is, marks into their CSV, feedback into their zip."""

import csv
import io
import re
import unicodedata
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tacl_lib.errors import TaclError


@dataclass(frozen=True)
class Owner:
    """Whose a file is, as the platform that exported it says."""

    name: str
    number: str = ""  #: of the participant (Moodle) or the user (Canvas)
    prefix: str = ""  #: what a file that is sent back must begin with


#: Ada Lovelace_1234567_assignsubmission_file_set1.ipynb, or a folder without the last part
MOODLE = re.compile(r"(?P<prefix>(?P<name>.+?)_(?P<number>\d+)_assignsubmission_\w+?_)(?P<file>.*)", re.S)
#: lovelaceada_LATE_1234_56789_set1-2.ipynb: the 2 counts attempts
CANVAS = re.compile(r"(?P<prefix>(?P<name>[^_]+)_(?:LATE_)?(?P<number>\d+)_\d+_)(?P<file>.+)", re.S)


def owner_of(name: str) -> tuple[Owner | None, str]:
    """Whose a file or folder is by its name, and the name that the student gave it; None for nobody's."""
    for pattern in (MOODLE, CANVAS):
        found = pattern.fullmatch(name if not name.endswith("_file") else name + "_")
        if found:
            file = re.sub(r"-\d+(?=\.\w+$)", "", found["file"]) if pattern is CANVAS else found["file"]
            return Owner(found["name"], found["number"], found["prefix"]), file
    return None, name


def normal(name: str) -> str:
    """One spelling of umlauts and apostrophes, of which there are several."""
    return unicodedata.normalize("NFC", name).replace("’", "'").strip()


def students_of(table: bytes) -> list[Owner]:
    """The class, from Moodle's grading worksheet or Canvas's gradebook; else a line is a name."""
    text = table.decode("utf-8-sig")
    rows = list(csv.reader(io.StringIO(text)))
    header = rows[0] if rows else []
    if "Identifier" in header and "Full name" in header:
        found = [(row[header.index("Full name")], row[header.index("Identifier")]) for row in rows[1:] if row]
    elif "Student" in header and "ID" in header:
        found = [(row[header.index("Student")], row[header.index("ID")]) for row in rows[1:] if row]
        found = [(name, number) for name, number in found if number.strip() and name != "Test Student"]
    else:
        return [Owner(normal(line)) for line in text.splitlines() if line.strip()]
    return [
        Owner(normal(name), number, f"{name}_{number}_assignsubmission_file_")
        for name, number in ((name, _number(number)) for name, number in found)
    ]


def _number(entry: str) -> str:
    return entry.strip().removeprefix("Participant ").strip()


def with_marks(table: bytes, column: str | None, marks: dict[str, float]) -> tuple[bytes, list[str]]:
    """A platform's table with marks in it, by the number of the student; all else stays as it is, to the byte.

    Moodle's grading worksheet has the column ``Grade``; of Canvas's gradebook, ``column`` names the assignment.
    Returns the table, and the numbers for which it has no row.
    """
    rows = _rows(table.decode("utf-8-sig"))
    header = [_value(entry) for entry in rows[0]] if rows else []
    if "Identifier" in header and "Grade" in header:
        key, place = header.index("Identifier"), header.index("Grade")
    elif "ID" in header and "Student" in header:
        key, place = header.index("ID"), _assignment(header, column)
    else:
        raise TaclError("this is neither Moodle's grading worksheet nor Canvas's gradebook: a column is missing.")
    left = dict(marks)
    for row in rows[1:]:
        if len(row) <= max(key, place):
            continue
        number = _number(_value(row[key]))
        if number in left:
            row[place] = _like(row[place], f"{left.pop(number):g}")
    text = "".join(",".join(row[:-1]) + row[-1] for row in rows)
    mark = b"\xef\xbb\xbf" if table.startswith(b"\xef\xbb\xbf") else b""
    return mark + text.encode("utf-8"), sorted(left)


def _assignment(header: list[str], column: str | None) -> int:
    wanted = [n for n, name in enumerate(header) if column and (name == column or name.startswith(f"{column} ("))]
    if len(wanted) != 1:
        raise TaclError(f"Canvas's gradebook has no single column '{column}'; it has {', '.join(header)}.")
    return wanted[0]


def _rows(text: str) -> list[list[str]]:
    """The fields of each row as they are written, quotes included; the end of the line stands in a last one."""
    field = re.compile(r'("(?:[^"]|"")*"|[^,"\r\n]*)(,|\r\n|\n|\r|\Z)')
    rows: list[list[str]] = [[]]
    place = 0
    while place < len(text):
        found = field.match(text, place)
        if found is None:
            raise TaclError(f"this table is damaged near '{text[place : place + 30]}': a quote is not closed.")
        rows[-1].append(found[1])
        if found[2] != ",":
            rows[-1].append(found[2])
            rows.append([])
        elif found.end() == len(text):
            rows[-1] += ["", ""]
        place = found.end()
    return [row for row in rows if row]


def _value(entry: str) -> str:
    return next(iter(next(iter(csv.reader([entry])), [""])), "") if entry.startswith('"') else entry


def _like(before: str, value: str) -> str:
    return f'"{value}"' if before.startswith('"') else value


def feedback_zip(pages: Iterable[tuple[Owner, Path]], file_name: str) -> bytes:
    """The pages of students in one zip, named as the platform wants to have them back."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for owner, page in pages:
            archive.writestr(f"{owner.prefix}{file_name}", page.read_bytes())
    return data.getvalue()

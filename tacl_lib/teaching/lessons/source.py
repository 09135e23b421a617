"""Reading the source of a lesson: Markdown in which fenced Python blocks are cells.

```python            a code cell
```python fold       a code cell that only draws: its code is folded
```exercise project  a function that the student writes; see `ExerciseText`
---                  on a line of its own: the next Markdown cell begins
### Title {folded}   a section that is folded until a click opens it
"""

import re
from dataclasses import dataclass
from pathlib import Path

from tacl_lib.errors import TaclError

_BLOCK = re.compile(r"^```(python|exercise)([^\n]*)\n(.*?)^```$", re.M | re.S)
_SPLIT = re.compile(r"^---$", re.M)
_FOLDED = re.compile(r"^(#+ .*?) \{folded\}$", re.M)


@dataclass(frozen=True)
class Markdown:
    text: str
    folded: bool = False  #: begins a section that is folded


@dataclass(frozen=True)
class Code:
    text: str
    folded: bool = False


@dataclass(frozen=True)
class ExerciseText:
    """What a source says of an exercise: ``key: value`` lines, an empty line, and the task in Markdown."""

    name: str
    difficulty: int  #: 1 to 5
    importance: int  #: 1 to 5
    minutes: int
    hints: tuple[str, ...]  #: each says more than the one before
    task: str


Part = Markdown | Code | ExerciseText


def read(path: Path) -> list[Part]:
    """The parts of a lesson, in order."""
    text, parts, end = path.read_text(encoding="utf-8"), [], 0
    for block in _BLOCK.finditer(text):
        parts += _prose(text[end : block.start()])
        kind, about, content = block.groups()
        if kind == "exercise":
            parts.append(_exercise(about.strip(), content, path))
        else:
            parts.append(Code(content.rstrip("\n"), folded="fold" in about.split()))
        end = block.end()
    return parts + _prose(text[end:])


def _prose(text: str) -> list[Markdown]:
    """Markdown cells; a folded heading begins a cell of its own."""
    cells = []
    for piece in _SPLIT.split(text):
        start = 0
        for heading in [*_FOLDED.finditer(piece)]:
            cells.append(Markdown(piece[start : heading.start()].strip()))
            cells.append(Markdown(heading[1], folded=True))
            start = heading.end()
        cells.append(Markdown(piece[start:].strip()))
    return [cell for cell in cells if cell.text]


def _exercise(name: str, content: str, path: Path) -> ExerciseText:
    head, _, task = content.partition("\n\n")
    fields = [line.partition(": ") for line in head.splitlines()]
    values = {key: value for key, _, value in fields if key != "hint"}
    try:
        numbers = {key: int(values[key]) for key in ("difficulty", "importance", "minutes")}
    except (KeyError, ValueError):
        raise TaclError(f"the exercise {name} in {path.name} must say difficulty, importance and minutes.") from None
    hints = tuple(value for key, _, value in fields if key == "hint")
    return ExerciseText(name, **numbers, hints=hints, task=task.strip())

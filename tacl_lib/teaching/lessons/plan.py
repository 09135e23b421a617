"""Reading a plan of the teachers' guide: Markdown in which every section is a slide.

# Title              the first slide
## Heading · 10 min  a slide, and how long one stays with it and with those after it that say nothing
> text               for the lecturer alone: notes of the slide
<details>…</details> an answer: on the slide after a click
[figure: words](../02_agem.ipynb)  from the lesson, alone on a line; `KINDS` says which there are
"""

import re
from dataclasses import dataclass
from pathlib import Path

from tacl_lib.errors import TaclError

KINDS = {
    "figure": "the figure of the cell in whose code or alternative text these words stand",
    "said": "what a cell printed, from the line with these words on",
    "write": "the stub of an exercise and how long it takes",
    "quiz": "a question by its number, and its answer after a click",
    "landscape": "the two valleys with these methods, to be played",
    "goals": "what students can do after the lesson",
    "summary": "the lesson's summary",
}
_HEADING = re.compile(r"^(#{1,2}) (.+?)(?: · (\d+) min)?$")
_SHOWN = re.compile(r"^\[(\w+)(?:: (.+))?\]\(\.\./(\w+)\.ipynb\)$")


@dataclass(frozen=True)
class Text:
    """Markdown on the slide; answer: after a click."""

    markdown: str
    answer: bool = False


@dataclass(frozen=True)
class Shown:
    """Something of a lesson; answer: after a click."""

    kind: str
    what: str
    lesson: str
    answer: bool = False


@dataclass(frozen=True)
class Slide:
    title: str
    first: bool  #: the title slide of the plan
    minutes: int  #: 0: belongs to the one before
    parts: tuple[Text | Shown, ...]
    notes: str


def read_plan(path: Path) -> list[Slide]:
    """The slides of a plan, in order."""
    slides, head, lines = [], None, []
    for line in path.read_text(encoding="utf-8").splitlines():
        if found := _HEADING.match(line):
            if head:
                slides.append(_slide(head, lines, path))
            head, lines = found, []
        else:
            lines.append(line)
    if not head or not slides or not slides[0].first:
        raise TaclError(f"the plan {path.name} must begin with a title, “# …”, and have slides, “## …”.")
    return [*slides, _slide(head, lines, path)]


def _slide(head: re.Match, lines: list[str], path: Path) -> Slide:
    notes = "\n".join(line[1:].removeprefix(" ") for line in lines if line.startswith(">"))
    parts, text, answer = [], [], False

    def flush() -> None:
        if markdown := "\n".join(text).strip():
            parts.append(Text(markdown, answer))
        text.clear()

    for line in lines:
        if found := _SHOWN.match(line):
            flush()
            kind, what, lesson = found.groups()
            if kind not in KINDS:
                raise TaclError(f"“{line}” in {path.name}: there is no {kind}; choose one of {', '.join(KINDS)}.")
            parts.append(Shown(kind, what or "", lesson, answer))
        elif line.startswith(("<details>", "</details>")):
            flush()
            answer = line.startswith("<details>")
        elif not line.startswith(">"):
            text.append(line)
    flush()
    return Slide(head[2], head[1] == "#", int(head[3] or 0), tuple(parts), notes.strip())

"""Slides for each meeting, from the plans in notebooks/teaching:  make slides

Figures and numbers come from the lessons, which are run with their solutions. Each deck is one self-contained file that
needs no network: it includes reveal.js and its fonts.
"""

import argparse
import base64
import html
import json
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from nbclient import NotebookClient
from nbconvert.exporters import SlidesExporter
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell, new_notebook

from tacl_lib.errors import TaclError
from tacl_lib.files import write_whole
from tacl_lib.places import BUILD, NOTEBOOKS
from tacl_lib.teaching.formulas import with_formulas
from tacl_lib.teaching.lessons.build import notebook, stub
from tacl_lib.teaching.lessons.exercises import EXERCISES
from tacl_lib.teaching.lessons.plan import Shown, Slide, Text, read_plan
from tacl_lib.teaching.lessons.questions import QUESTIONS
from tacl_lib.teaching.lessons.reveal import reveal
from tacl_lib.teaching.lessons.source import ExerciseText, Markdown, read
from tacl_lib.teaching.widgets import landscape
from tacl_lib.teaching.widgets.landscape_state import ORDERS

PLANS = NOTEBOOKS / "teaching"
TEMPLATES = Path(__file__).parent / "templates"
LANDSCAPE = Path(landscape.__file__).with_name("landscape.js")
BUILT = BUILD / "slides"
ROOM, ROOM_ALONE = (1160, 390), (1160, 560)  #: pixels for a figure beside other things, and alone
_GUESS = re.compile(r"[;,]? you predicted .*?(?=\.(?:\s|$))|You predicted .*?\.(?:\s|$)")  # the class makes its own
Lesson = Callable[[str], NotebookNode]


def run_lesson(name: str) -> NotebookNode:
    """A solved lesson with its outputs."""
    print(f"running {name} …", flush=True)
    made = notebook(NOTEBOOKS / "source" / f"{name}.md", solved=True)
    NotebookClient(made, timeout=600, resources={"metadata": {"path": str(NOTEBOOKS)}}).execute()
    return made


def deck(plan: Path, lesson: Lesson) -> str:
    """The page of a plan. lesson(name): an executed notebook."""
    cells = [cell for slide in read_plan(plan) for cell in _cells(slide, plan, lesson)]
    exporter = SlidesExporter(template_name="slides", extra_template_basedirs=[str(TEMPLATES)])
    code = re.sub(r"export default .*", "", LANDSCAPE.read_text(encoding="utf-8"))
    resources = {"slides": {**reveal(), "landscape": code, "title": read_plan(plan)[0].title}}
    page, _ = exporter.from_notebook_node(new_notebook(cells=cells), resources=resources)
    return page


def _cells(slide: Slide, plan: Path, lesson: Lesson) -> list[NotebookNode]:
    """The cells of one slide: what is shown at first, after a click, and the notes."""
    heading = f"{'#' if slide.first else '##'} {slide.title}"
    if slide.minutes:
        heading += f" <small>{slide.minutes} min</small>"
    found = [("slide", heading)]
    room = ROOM if len(slide.parts) > 1 else ROOM_ALONE
    for part, before in zip(slide.parts, (None, *slide.parts), strict=False):
        kind = "fragment" if part.answer and not (before and before.answer) else "-"
        if isinstance(part, Text):
            found.append((kind, part.markdown))
        else:
            (_, first), *others = _of_lesson(part, plan, lesson, room)
            found += [(kind, first), *others]
    if slide.notes:
        found.append(("notes", slide.notes))
    return [
        new_markdown_cell(_with_images(with_formulas(text), plan.parent), metadata={"slideshow": {"slide_type": kind}})
        for kind, text in _joined(found)
    ]


def _joined(parts: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Join each part with those that follow it without a click."""
    found = []
    for kind, text in parts:
        if kind == "-":
            found[-1] = (found[-1][0], f"{found[-1][1]}\n\n{text}")
        else:
            found.append((kind, text))
    return found


def _with_images(text: str, folder: Path) -> str:
    """Markdown with its local images embedded."""

    def inside(found: re.Match) -> str:
        return _image((folder / found["path"]).read_bytes(), found["alt"], ROOM_ALONE)

    return re.sub(r"!\[(?P<alt>[^\]]*)\]\((?P<path>[^)]+\.png)\)", inside, text)


def _of_lesson(part: Shown, plan: Path, lesson: Lesson, room: tuple[int, int]) -> list[tuple[str, str]]:
    """A slide's excerpt from a lesson, as Markdown with a slide type."""
    match part.kind:
        case "figure":
            return [("-", _figure(lesson(part.lesson), part.what, plan, room))]
        case "said":
            return [("-", f"<pre class='said'>{html.escape(_said(lesson(part.lesson), part.what, plan))}</pre>")]
        case "write":
            return [("-", _stub(part, plan))]
        case "quiz":
            return _question(part, plan)
        case "landscape":
            state = html.escape(json.dumps(_scenes([name.strip() for name in part.what.split(",")])))
            return [("-", f'<div class="landscape" data-state="{state}"></div>')]
        case "goals":
            return [("-", _after(part.lesson, r"\*\*After this lesson you can\*\*", plan))]
        case "summary":
            return [("-", _after(part.lesson, r"## Summary", plan))]
    raise AssertionError(part.kind)


def _figure(made: NotebookNode, words: str, plan: Path, room: tuple[int, int]) -> str:
    """The image of the only output that belongs to these words."""
    images = {}
    for cell in made.cells:
        for output in cell.get("outputs", []):
            alt = output.get("data", {}).get("text/plain", "")
            if "image/png" in output.get("data", {}) and (words in cell.source or words in alt):
                images[output.data["image/png"]] = alt
    if len(images) != 1:
        raise TaclError(f"“{words}” in {plan.name} belongs to {len(images)} figures; it must belong to one.")
    ((png, alt),) = images.items()
    return _image(base64.b64decode(png), alt, room)


def _image(png: bytes, alt: str, room: tuple[int, int]) -> str:
    """An image, as large as there is room for."""
    size = [int.from_bytes(png[at : at + 4], "big") for at in (16, 20)]
    scale = min(most / pixels for most, pixels in zip(room, size, strict=True))
    width, height = (round(scale * pixels) for pixels in size)
    content = base64.b64encode(png).decode()
    return f'<img alt="{html.escape(alt)}" width="{width}" height="{height}" src="data:image/png;base64,{content}">'


def _said(made: NotebookNode, words: str, plan: Path) -> str:
    """What a cell printed, starting at the line with these words."""
    for cell in made.cells:
        text = "".join(output.get("text", "") for output in cell.get("outputs", []))
        lines = _GUESS.sub("", text).strip().splitlines()
        for number, line in enumerate(lines):
            if words in line:
                return "\n".join(lines[number:])
    raise TaclError(f"no cell printed “{words}”, which {plan.name} asks for.")


def _stub(part: Shown, plan: Path) -> str:
    for text in read(NOTEBOOKS / "source" / f"{part.lesson}.md"):
        if isinstance(text, ExerciseText) and text.name == part.what:
            return f"```python\n{stub(EXERCISES[text.name].solution)}\n```\n\n{text.task}"
    raise TaclError(f"{plan.name} asks for the exercise {part.what}, which {part.lesson} does not have.")


def _question(part: Shown, plan: Path) -> list[tuple[str, str]]:
    questions = QUESTIONS.get(part.lesson, ())
    if not part.what.isdigit() or not 1 <= int(part.what) <= len(questions):
        raise TaclError(f"{plan.name} asks for question {part.what} of {part.lesson}, which has {len(questions)}.")
    question = questions[int(part.what) - 1]
    choices = "\n".join(f"- {chr(65 + number)} · {choice.text}" for number, choice in enumerate(question.choices))
    reasons = "\n".join(
        f"- {'✓' if choice.right else '✗'} {chr(65 + number)} · {choice.why}"
        for number, choice in enumerate(question.choices)
    )
    return [("-", f"**{question.ask}**\n\n{choices}"), ("fragment", reasons)]


def _after(lesson: str, heading: str, plan: Path) -> str:
    """The list below a heading in a lesson's source."""
    for part in read(NOTEBOOKS / "source" / f"{lesson}.md"):
        if isinstance(part, Markdown) and (
            found := re.search(rf"{heading}\n\n((?:- .+\n(?: +.+\n)*)+)", part.text + "\n")
        ):
            return found[1]
    raise TaclError(f"{plan.name} asks for a list that {lesson} does not have.")


def _scenes(methods: list[str]) -> dict:
    """Everything that a slide's landscape can show: each order of the tasks, from the usual start."""
    widget, shown = landscape.loss_landscape(methods), {}
    for order in ORDERS:
        widget.order = order
        shown[order] = widget._scene
    return {"_fixed": widget._fixed, "_methods": methods, "start": widget.start, "order": ORDERS[0], "scenes": shown}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="tacl slides", description="Slides, one file each, in build/slides.")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="of plans in notebooks/teaching, e.g. 2_agem; none: all"
    )
    names = parser.parse_args(arguments).names
    known = {path.stem: path for path in sorted(PLANS.glob("[0-9]*.md"))}
    if unknown := [name for name in names if name not in known]:
        raise TaclError(f"there is no plan {unknown[0]!r}; choose one of: {', '.join(known)}.")
    reveal()  # before minutes are spent on the lessons
    lesson = cache(run_lesson)
    for name in names or known:
        page = deck(known[name], lesson)
        write_whole(BUILT / f"{name}.html", lambda path, page=page: path.write_text(page, encoding="utf-8"))
        print(BUILT / f"{name}.html", flush=True)

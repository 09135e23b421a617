"""Reading a problem set: a notebook in nbgrader's conventions, in which each exercise is a run of cells."""

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from tacl_lib.errors import TaclError

#: How an exercise begins:  ## Exercise 2 · Do no harm
TITLE = re.compile(r"## Exercise (?P<number>\d+) · (?P<title>.+)")
#: … and goes on:  Difficulty 2 of 5 · 25 minutes · 5 marks
ABOUT = re.compile(r"Difficulty (?P<difficulty>[1-5]) of 5 · (?P<minutes>\d+) minutes · (?P<marks>\d+) marks")
#: … and after the exercises, one question in words:  ## Question · Whom does a mean protect?
QUESTION = re.compile(r"## Question · (?P<title>.+)")
ABOUT_QUESTION = re.compile(r"(?P<minutes>\d+) minutes · (?P<marks>\d+) marks, by hand")


@dataclass(frozen=True)
class Exercise:
    """One exercise: what its heading says, and its cells."""

    number: int
    title: str
    difficulty: int  #: 1 to 5
    minutes: int
    marks: int
    cells: tuple[NotebookNode, ...]

    @cached_property
    def answer(self) -> NotebookNode:
        """The cell that students fill in."""
        return next(cell for cell in self.cells if is_answer(cell))

    @property
    def name(self) -> str:
        """Of the function that it asks for."""
        return grade_id(self.answer)

    @property
    def tests(self) -> list[NotebookNode]:
        return [cell for cell in self.cells if is_test(cell)]


@dataclass(frozen=True)
class Question:
    """What is answered in words, and marked by the lecturer."""

    title: str
    minutes: int
    marks: int
    answer: NotebookNode

    @property
    def name(self) -> str:
        return grade_id(self.answer)


@dataclass(frozen=True)
class ProblemSet:
    """A folder of ``coursework/source`` with one notebook in it."""

    path: Path  #: of the notebook
    notebook: NotebookNode

    @property
    def name(self) -> str:
        """Of the folder; nbgrader calls it the assignment."""
        return self.path.parent.name

    @property
    def title(self) -> str:
        return self.notebook.cells[0].source.splitlines()[0].removeprefix("# ")

    @cached_property
    def exercises(self) -> list[Exercise]:
        starts = [number for number, cell in enumerate(self.notebook.cells) if TITLE.match(cell.source)]
        ends = [*starts[1:], len(self.notebook.cells)]
        return [self._exercise(self.notebook.cells[a:b]) for a, b in zip(starts, ends, strict=True)]

    def _exercise(self, cells: list[NotebookNode]) -> Exercise:
        title = TITLE.match(cells[0].source)
        about = ABOUT.search(cells[0].source)
        where = f"exercise {title['number']} of {self.path.name}"
        if about is None:
            raise TaclError(f"{where} needs a line 'Difficulty 2 of 5 · 25 minutes · 5 marks' under its heading.")
        if sum(map(is_answer, cells)) != 1 or not any(map(is_test, cells)):
            raise TaclError(f"{where} needs exactly one answer cell and at least one test cell (nbgrader's metadata).")
        made = Exercise(
            int(title["number"]), title["title"], *(int(about[name]) for name in about.groupdict()), tuple(cells)
        )
        points = sum(points_of(cell) for cell in made.tests)
        if points != made.marks:
            raise TaclError(f"{where} says {made.marks} marks, but its test cells have {points:g} points.")
        return made

    @cached_property
    def question(self) -> Question | None:
        written = [cell for cell in self.notebook.cells if is_written(cell)]
        if not written:
            return None
        asked = next((cell.source for cell in self.notebook.cells if QUESTION.match(cell.source)), "")
        title, about = QUESTION.match(asked), ABOUT_QUESTION.search(asked)
        if len(written) > 1 or about is None or points_of(written[0]) != int(about["marks"]):
            raise TaclError(
                f"{self.path.name} may have one question, '## Question · Title' with a line '10 minutes · 4 marks, by "
                "hand', and one cell for its answer with as many points."
            )
        return Question(title["title"], int(about["minutes"]), int(about["marks"]), written[0])

    @property
    def marks(self) -> int:
        return sum(part.marks for part in self._parts)

    @property
    def minutes(self) -> int:
        return sum(part.minutes for part in self._parts)

    @property
    def _parts(self) -> list["Exercise | Question"]:
        return [*self.exercises, *([self.question] if self.question else [])]


def read_set(path: Path) -> ProblemSet:
    return ProblemSet(path, nbformat.read(path, as_version=4))


def read_sets(source: Path) -> list[ProblemSet]:
    """The sets in a folder, in order: ``source/set1_forgetting/set1.ipynb`` and so on."""
    sets = [read_set(path) for path in sorted(source.glob("*/*.ipynb"))]
    if not sets:
        raise TaclError(f"there is no problem set in {source}; it should hold folders with one notebook each.")
    return sets


def grade_id(cell: NotebookNode) -> str | None:
    """nbgrader's name of a cell; None for a cell that nbgrader does not look at."""
    name = _nbgrader(cell).get("grade_id")
    return name if isinstance(name, str) else None


def is_answer(cell: NotebookNode) -> bool:
    """A function that students write, and tests mark."""
    return bool(_nbgrader(cell).get("solution")) and not _nbgrader(cell).get("grade")


def is_test(cell: NotebookNode) -> bool:
    return bool(_nbgrader(cell).get("grade")) and not _nbgrader(cell).get("solution")


def is_written(cell: NotebookNode) -> bool:
    """An answer in words, which the lecturer marks."""
    return bool(_nbgrader(cell).get("grade")) and bool(_nbgrader(cell).get("solution"))


def without_number(source: str) -> str:
    """A cell that was handed out, without what is a variant's own: those of two students are then the same."""
    return re.sub(r"\.(?:variant|salted)\([\d.]+\)", "", source)


def _nbgrader(cell: NotebookNode) -> dict:
    found = cell.metadata.get("nbgrader")
    return found if isinstance(found, dict) else {}


def points_of(cell: NotebookNode) -> float:
    return cell.metadata["nbgrader"]["points"]

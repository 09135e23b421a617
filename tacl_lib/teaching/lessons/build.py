"""From the source of a lesson to its notebook: for students with stubs, or solved.

A solution is written once, in `tacl_lib.plain`; the student's stub is its signature and docstring.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tacl_lib.teaching.lessons.exercises import EXERCISES
from tacl_lib.teaching.lessons.source import Code, ExerciseText, Markdown, read

STUB = "raise NotImplementedError  # your code in place of this line"
HIDDEN = {"jupyter": {"source_hidden": True}}
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def notebook(path: Path, solved: bool = False) -> NotebookNode:
    """The notebook of a source; solved: with the solutions in place of the stubs."""
    cells = []
    for part in read(path):
        match part:
            case Markdown(text, folded):
                cells.append(new_markdown_cell(text, metadata={"jp-MarkdownHeadingCollapsed": True} if folded else {}))
            case Code(text, folded):
                cells.append(new_code_cell(text, metadata=HIDDEN if folded else {}))
            case ExerciseText():
                cells += _exercise(part, solved)
    for number, cell in enumerate(cells):
        cell["id"] = str(number)  # as nbstripout numbers them
    return new_notebook(cells=cells, metadata=METADATA)


def written(of: NotebookNode) -> str:
    """The text of the file."""
    return nbformat.writes(of, version=4) + "\n"


def _exercise(part: ExerciseText, solved: bool) -> list[NotebookNode]:
    solution = EXERCISES[part.name].solution
    about = f"Difficulty {_dots(part.difficulty)} · importance {_dots(part.importance)} · {part.minutes} minutes"
    hints = [_details(f"Hint {number}", hint) for number, hint in enumerate(part.hints, 1)]
    folded = [*hints, _details("Solution", f"```python\n{source_of(solution)}\n```")]
    skipping = f"{part.name} = check({part.name})  # stuck? check({part.name}, skip=True) goes on with the solution"
    return [
        new_markdown_cell(f"### ✎ Write `{part.name}`\n\n*{about}*\n\n{part.task}"),
        new_code_cell(source_of(solution) if solved else stub(solution), metadata={"tags": ["exercise"]}),
        new_code_cell(skipping, metadata={"tags": ["check"]}),
        new_markdown_cell("\n\n".join(folded)),
    ]


def source_of(function: Callable) -> str:
    """Its code; quotes around a type that is not known where a lesson runs are kept."""
    return textwrap.dedent(inspect.getsource(function)).rstrip("\n")


def stub(function: Callable) -> str:
    """Its signature and docstring, and a line that waits for the student's."""
    source = source_of(function)
    (definition,) = ast.parse(source).body
    docstring = definition.body[0]
    assert isinstance(docstring, ast.Expr), f"{function.__name__} needs a docstring"
    head = source.splitlines()[: docstring.end_lineno]
    return "\n".join([*head, textwrap.indent(STUB, "    ")])


def _dots(number: int) -> str:
    return "●" * number + "○" * (5 - number)


def _details(summary: str, content: str) -> str:
    return f"<details><summary>{summary}</summary>\n\n{content}\n\n</details>"

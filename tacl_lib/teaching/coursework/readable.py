"""Feedback that reads well: formulas without the web, tests by what they are for, remarks on top."""

import html
import json
import re
from pathlib import Path

from nbconvert.preprocessors import Preprocessor
from nbformat import NotebookNode

from tacl_lib.errors import TaclError
from tacl_lib.teaching.coursework.source import grade_id, is_answer, is_test, is_written

try:
    from latex2mathml.converter import convert
except ImportError as error:
    raise TaclError(
        "feedback needs latex2mathml; `make grade` installs it, or: pip install '.[instructor]'."
    ) from error

_CODE = r"(?P<code>```.*?```|`[^`\n]+`)"
_FORMULA = re.compile(_CODE + r"|\$\$(?P<block>.+?)\$\$|(?<![\\$])\$(?P<inline>[^$\n]+?)\$", re.S)


class Readable(Preprocessor):
    """For nbgrader's feedback: the page's data for our template."""

    enabled = True

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        own = resources["nbgrader"]
        path = Path(own["db_url"].removeprefix("sqlite:///")).parent / "marked" / own["student"]
        notes = path / f"{own['assignment']}.remarks.json"
        resources["remarks"] = json.loads(notes.read_text("utf-8")) if notes.exists() else []
        resources["tests"] = []
        for cell in nb.cells:
            if cell.cell_type == "markdown":
                cell.source = with_formulas(cell.source)
            if is_test(cell) or is_written(cell):
                cell.metadata["purpose"] = purpose = _purpose(cell)
                resources["tests"].append(
                    {"id": grade_id(cell), "purpose": purpose, "exercise": _exercise(cell), **_marks(cell)}
                )
            cell.metadata["kind"] = "answer" if is_answer(cell) else "test" if is_test(cell) else ""
        return nb, resources


def with_formulas(text: str) -> str:
    """Markdown with its formulas as MathML, which browsers show by themselves."""
    return _FORMULA.sub(_as_mathml, text)


def _as_mathml(found: re.Match) -> str:
    if found["code"]:
        return found["code"]
    formula = found["block"] or found["inline"]
    try:
        return convert(" ".join(formula.split()), display="block" if found["block"] else "inline")
    except Exception:  # a formula that it does not know is shown as it was written
        return f"<code>{html.escape(formula)}</code>"


def _purpose(cell: NotebookNode) -> str:
    if is_written(cell):
        return "The question in words, marked by hand"
    return cell.source.split("\n")[0].removeprefix("# ")


def _exercise(cell: NotebookNode) -> str:
    return re.sub(r"_test_\d+$", "", grade_id(cell)) if is_test(cell) else ""


def _marks(cell: NotebookNode) -> dict[str, float]:
    own = cell.metadata["nbgrader"]
    return {"score": own.get("score") or 0.0, "points": own["points"]}

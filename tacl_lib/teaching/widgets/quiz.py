"""A few questions with a sentence for each choice; works offline, with the keyboard, and remembers what was right."""

import html
from pathlib import Path

import anywidget
import traitlets

from tacl_lib.errors import unknown_name
from tacl_lib.teaching.lessons import progress
from tacl_lib.teaching.lessons.questions import QUESTIONS, Question


class Quiz(anywidget.AnyWidget):
    """The questions of a lesson."""

    _esm = (Path(__file__).parent / "quiz.js").read_text(encoding="utf-8")
    _questions = traitlets.List().tag(sync=True)
    right = traitlets.List(traitlets.Int()).tag(sync=True)  #: numbers of the questions that were answered rightly

    def __init__(self, lesson: str, questions: tuple[Question, ...]):
        self.lesson, self.questions = lesson, questions
        known = progress.done()["question"]
        answered = [number for number in range(len(questions)) if f"{lesson}/{number + 1}" in known]
        shown = [
            {"ask": q.ask, "choices": [{"text": c.text, "right": c.right, "why": c.why} for c in q.choices]}
            for q in questions
        ]
        super().__init__(_questions=shown, right=answered)
        self.observe(self._remember, "right")

    def _remember(self, change) -> None:
        for number in change["new"]:
            progress.note("question", f"{self.lesson}/{number + 1}")

    def _repr_mimebundle_(self, **kwargs):
        """With folded answers as HTML for where no front end shows widgets."""
        shown = super()._repr_mimebundle_(**kwargs)
        data = shown[0] if isinstance(shown, tuple) else shown or {}
        return data | {"text/html": self._page(), "text/plain": "\n".join(q.ask for q in self.questions)}, {}

    def _page(self) -> str:
        parts = []
        for q in self.questions:
            choices = "".join(
                f"<li>{html.escape(c.text)} <details><summary>?</summary>{'✓' if c.right else '✗'} "
                f"{html.escape(c.why)}</details></li>"
                for c in q.choices
            )
            parts.append(f"<p><b>{html.escape(q.ask)}</b></p><ul>{choices}</ul>")
        return "".join(parts)


def quiz(lesson: str) -> Quiz:
    """The questions of a lesson, e.g. ``quiz("02_agem")``."""
    if lesson not in QUESTIONS:
        raise unknown_name("lesson", lesson, QUESTIONS)
    return Quiz(lesson, QUESTIONS[lesson])

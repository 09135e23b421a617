"""What a student has done, kept in a small file so that it outlives the kernel."""

import html
import json
import os
from pathlib import Path

from tacl_lib.errors import TaclError
from tacl_lib.files import write_whole

#: lesson → its title, exercises and number of quiz questions
LESSONS = {
    "01_catastrophic_forgetting": (
        "1 · Catastrophic forgetting",
        ("loss", "sgd_step", "average_accuracy", "forgetting"),
    ),
    "02_agem": ("2 · A-GEM", ("project", "agem_step")),
    "03_ogd": (
        "3 · Orthogonal gradient descent",
        ("model_gradient", "project_out", "add_to_basis", "project_off_span"),
    ),
    "04_clustering_memory": ("4 · The cluster memory", ("nearest", "add")),
    "05_task_agnostic": ("5 · Task-agnostic learning", ("ta_agem_step", "ta_ogd_step", "capstone")),
}


def place() -> Path:
    """The file: ``TACL_PROGRESS``, or one in the user's own folder for such things."""
    named = os.environ.get("TACL_PROGRESS")
    if named:
        return Path(named)
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "tacl" / "progress.json"


def done() -> dict[str, list[str]]:
    """What was done, by kind. A file that cannot be read counts as nothing done."""
    try:
        found = json.loads(place().read_text(encoding="utf-8"))
        return {kind: [str(name) for name in found[kind]] for kind in ("exercise", "question")}
    except (OSError, ValueError, KeyError, TypeError, RuntimeError):
        return {"exercise": [], "question": []}


def note(kind: str, name: str) -> None:
    """Remember it. Where nothing can be written nothing is remembered: a lesson must not stop for that."""
    found = done()
    if name in found[kind]:
        return
    found[kind].append(name)
    try:
        write_whole(place(), lambda path: path.write_text(json.dumps(found, indent=1), encoding="utf-8"))
    except (OSError, RuntimeError, TaclError):
        return


def forget() -> None:
    """Start again from nothing."""
    place().unlink(missing_ok=True)


class Page:
    """The progress page of lesson 0; a notebook shows it as a table."""

    def _repr_html_(self) -> str:
        found, rows = done(), []
        for lesson, (title, exercises) in LESSONS.items():
            marks = " ".join(
                f'<span style="white-space:nowrap">{"☑" if name in found["exercise"] else "☐"} '
                f"<code>{html.escape(name)}</code></span>"
                for name in exercises
            )
            answered = sum(name.startswith(f"{lesson}/") for name in found["question"])
            rows.append(
                f'<tr><td style="text-align:left"><a href="{lesson}.ipynb">{html.escape(title)}</a></td>'
                f'<td style="text-align:left">{marks}</td><td>{answered}</td></tr>'
            )
        titles = ("lesson", "written by you", "questions answered")
        head = "".join(f'<th style="text-align:left">{title}</th>' for title in titles)
        return f"<table><tr>{head}</tr>{''.join(rows)}</table>"

    def __repr__(self) -> str:
        found = done()
        return f"Written: {', '.join(found['exercise']) or 'nothing yet'}. Questions right: {len(found['question'])}."


def page() -> Page:
    """What was done in each lesson."""
    return Page()

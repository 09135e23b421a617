"""``make release``: what students get, without solutions, hidden tests and marking."""

import re
import shutil
from pathlib import Path
from typing import Literal

import nbformat

from tacl_lib import __version__
from tacl_lib.errors import TaclError
from tacl_lib.places import INSTALLED, PROJECT
from tacl_lib.teaching.coursework.platforms import feedback_zip
from tacl_lib.teaching.coursework.source import ProblemSet, read_sets
from tacl_lib.teaching.coursework.variants import STUDENTS, class_of, varied, write_register
from tacl_lib.teaching.coursework.versions import release

Hints = Literal["shown", "costed", "held"]

#: of the project; of tacl_lib, all but the folder with the marking
KEPT = ("LICENSE", "Makefile", "README.md", "environment.yml", "pyproject.toml", "notebooks", "tacl_lib", "tools/setup")
LEFT_OUT = ("__pycache__", ".ipynb_checkpoints", "coursework")

_HINTS = re.compile(r"(?:<details>\n<summary>Hint \d: .*?</details>\n*)+", re.S)
_INSTEAD = {
    "costed": "*Stuck? Three hints wait for you with your lecturer. Each that you ask for costs one mark.*",
    "held": "*Stuck? Ask your lecturer, who has three hints.*",
}


def write_bundle(root: Path, folder: Path, hints: Hints = "shown", with_sets: bool = True) -> list[Path]:
    """The student's folder, made anew; and, where hints are not in it, a page of them for the lecturer beside it."""
    if folder.exists() and any(folder.iterdir()) and not (folder / "coursework").is_dir():
        raise TaclError(f"{folder} is not empty and was not made by `make release`; name another folder.")
    shutil.rmtree(folder, ignore_errors=True)
    for name in KEPT:
        source, target = root / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if not source.exists() and INSTALLED:  # a folder of a lecturer who installed the kit has less in it
            source = PROJECT / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns(*LEFT_OUT))
        elif source.exists():
            shutil.copyfile(source, target)
    made = []
    if INSTALLED:  # what a checkout brings along, students install as well
        folder.joinpath("requirements.txt").write_text(f"tacl-lib=={__version__}\n", encoding="utf-8")
    for of in read_sets(root / "coursework" / "source"):
        path = folder / "coursework" / of.path.name
        path.parent.mkdir(exist_ok=True)
        if with_sets:
            path.write_text(with_hints(of, hints), encoding="utf-8")
            made.append(path)
        if hints != "shown":
            page = folder.with_name(f"{folder.name}_hints_{of.path.stem}.md")
            page.write_text(hints_of(of), encoding="utf-8")
            made.append(page)
    if not with_sets:
        page = folder / "coursework" / "README.md"
        page.write_text(
            "Your lecturer gives you the problem sets, each with numbers of your own: put them here.\n",
            encoding="utf-8",
        )
    return made


def write_variants(root: Path, folder: Path, class_list: Path, hints: Hints = "shown") -> list[Path]:
    """A folder for each student of a class with their notebooks; for platforms also a zip of each set."""
    students = class_of(class_list)
    variants = write_register(folder, students)
    made = [folder / STUDENTS]
    for of in read_sets(root / "coursework" / "source"):
        pages = []
        for student in students:
            path = folder / _folder_of(student.name) / of.path.name
            path.parent.mkdir(exist_ok=True)
            path.write_text(with_hints(varied(of, variants.of(student)), hints), encoding="utf-8")
            pages.append((student, path))
        if all(student.prefix for student in students):
            zipped = folder / f"{of.path.stem}.zip"
            zipped.write_bytes(feedback_zip(pages, of.path.name))
            made.append(zipped)
    return made


def _folder_of(name: str) -> str:
    return re.sub(r"[^\w .@()',-]", "-", name)


def with_hints(of: ProblemSet, hints: Hints) -> str:
    """The student's notebook, with hints or with where to ask for them."""
    notebook = nbformat.reads(release(of), as_version=4)
    for cell in notebook.cells:
        if hints != "shown" and "<summary>Hint 1" in cell.source:
            cell.source = _HINTS.sub(_INSTEAD[hints], cell.source)
        elif hints != "shown":
            cell.source = cell.source.replace("- Stuck? Open the hints, one after another.\n", "")
    return nbformat.writes(notebook, version=4) + "\n"


def hints_of(of: ProblemSet) -> str:
    """All hints of a set, for the lecturer to give away one by one."""
    lines = [f"# Hints: {of.title}"]
    for exercise in of.exercises:
        lines += ["", f"## Exercise {exercise.number} · {exercise.title}"]
        text = next(cell.source for cell in exercise.cells if "<summary>Hint 1" in cell.source)
        for found in re.finditer(r"<summary>(Hint \d: .*?)</summary>\n\n(.*?)\n\n</details>", text, re.S):
            lines += ["", f"**{found[1]}.** {found[2]}"]
    return "\n".join(lines) + "\n"

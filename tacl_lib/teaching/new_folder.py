"""A folder of your own, if you installed the kit:  tacl new FOLDER [--lecturer]

It gets your copies of the notebooks, the problem sets and a page of commands. Run anywhere inside it, these write to
its results, figures and build folders. Nothing is ever overwritten: after an update, the same command adds new files.
"""

import argparse
import shutil
from collections.abc import Sequence
from pathlib import Path

from tacl_lib.errors import TaclError
from tacl_lib.files import writable, write_whole
from tacl_lib.places import INSTALLED, MARK, NOTEBOOKS, PACKAGE, PROJECT
from tacl_lib.teaching.my_notebooks import MyNotebooks

PAGE = """# Your folder for TACL

From anywhere in this folder:

| type | to get |
|---|---|
| `tacl lab` | your copies of the notebooks, in `my_notebooks`, opened in JupyterLab |
| `tacl reproduce` | the experiments, reduced, and a report in `build/quick/report.html` |
| `tacl figure` | the names of all figures; `tacl figure NAME` draws one from stored runs |
| `tacl run --help` | one run with your settings |
| `tacl new .` | the new files of an update; your files stay as they are |

Where a page says `make lab`, type `tacl lab`; likewise for `data`, `figure`, `fresh`, `grade`, `release`, `reproduce`,
`slides`, `status` and `verify`. `PROFILE=paper` becomes `--profile paper`: the paper's own settings.
The problem sets are in `coursework`. Your runs go to `results`, figures to `figures`, reports to `build`. Files in
`tacl_lib` are copies for reading: Python uses the installed library.
"""
LECTURER = """
For lecturers: `coursework/README.md` explains how to release and mark problem sets (`tacl release`, `tacl grade`;
`pip install 'tacl-lib[instructor]'`), `notebooks/teaching.md` plans a course of three weeks (`tacl slides`). Solutions
and marking schemes are in `coursework` too: give students the output of `tacl release`, not this folder.
"""


def lay_out(folder: Path, lecturer: bool = False, project: Path = PROJECT) -> list[str]:
    """Add missing files to a folder. Returns a line for each file that is outdated but was left alone."""
    if folder.exists() and not folder.is_dir():
        raise TaclError(f"{folder} is a file; name another folder.")
    if folder.exists() and any(folder.iterdir()) and not (folder / MARK).is_file():
        raise TaclError(f"{folder} is not empty and was not made by tacl new; name another folder.")
    if folder.absolute().is_relative_to(PACKAGE if INSTALLED else project):
        raise TaclError(f"{folder} lies inside the kit; name a folder outside.")
    writable(folder)
    kept = (notebooks := MyNotebooks(project, folder.absolute())).bring()
    sets = project / "coursework"
    copies = {path: f"coursework/{path.name}" for path in sorted((sets / "release").glob("*/*.ipynb"))}
    if lecturer:
        pages = [NOTEBOOKS / "teaching.md", *sorted((NOTEBOOKS / "teaching").glob("*.md"))]
        notebooks.bring_linked(pages)
        found = [path for path in sorted(sets.rglob("*")) if path.is_file() and ".ipynb_checkpoints" not in path.parts]
        copies = {path: path.relative_to(project) for path in [*pages, *found]}
    for source, name in copies.items():
        if not (folder / name).exists():
            write_whole(folder / name, lambda path, source=source: shutil.copyfile(source, path))
    for name, text in (("README.md", PAGE + LECTURER * lecturer), (MARK, "A folder made by tacl new.\n")):
        if not (folder / name).exists():
            write_whole(folder / name, lambda path, text=text: path.write_text(text, encoding="utf-8"))
    return kept


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="tacl new", description="Create a folder with notebooks and coursework.")
    parser.add_argument("folder", type=Path, help="a new folder, or an existing one, to which missing files are added")
    parser.add_argument("--lecturer", action="store_true", help="with solutions, marking schemes and plans of meetings")
    options = parser.parse_args(arguments)
    kept = lay_out(options.folder, options.lecturer)
    print(*kept, f"{options.folder} is ready. Next:  cd {options.folder}  and  tacl lab", sep="\n")

"""A folder of your own, for somebody who installed the kit:  tacl new FOLDER [--lecturer]

It gets your copies of the notebooks, the problem sets and a page that says what to type. From anywhere inside it, what
you make goes to its results, figures and build folders. Nothing that is there is ever overwritten: called again after
an update, it brings what is missing.
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

| type | and you get |
|---|---|
| `tacl lab` | your copies of the notebooks, in `my_notebooks`, opened in JupyterLab |
| `tacl reproduce` | the experiments, reduced, and a report in `build/quick/report.html` |
| `tacl figure` | the names of all figures; `tacl figure NAME` makes one from stored runs |
| `tacl run --help` | one run with your settings |
| `tacl new .` | what an update of the kit has brought; your files stay as they are |

Where a page says `make lab`, type `tacl lab`; so with `data`, `figure`, `fresh`, `grade`, `release`, `reproduce`,
`slides`, `status` and `verify`. `PROFILE=paper` becomes `--profile paper`: the paper's own settings.
The problem sets are in `coursework`. Your runs go to `results`, figures to `figures`, reports to `build`. Files in
`tacl_lib` are copies for reading: Python uses the installed library.
"""
LECTURER = """
For lecturers: `coursework/README.md` says how problem sets are released and marked (`tacl release`, `tacl grade`;
`pip install 'tacl-lib[instructor]'`), `notebooks/teaching.md` plans a course of three weeks (`tacl slides`). Solutions
and marking schemes are in `coursework` too: hand out what `tacl release` writes, not this folder.
"""


def lay_out(folder: Path, lecturer: bool = False, project: Path = PROJECT) -> list[str]:
    """Bring what is missing into a folder; sentences on what is older there and was left as it is."""
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
    parser = argparse.ArgumentParser(prog="tacl new", description="Make a folder with notebooks and coursework.")
    parser.add_argument("folder", type=Path, help="a new one, or one made before: it gets what is missing")
    parser.add_argument("--lecturer", action="store_true", help="with solutions, marking schemes and plans of meetings")
    options = parser.parse_args(arguments)
    kept = lay_out(options.folder, options.lecturer)
    print(*kept, f"{options.folder} is ready. Next:  cd {options.folder}  and  tacl lab", sep="\n")

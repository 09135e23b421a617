"""Build the notebooks of the lessons from their sources:  tacl lessons [--solved FOLDER]"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from tacl_lib.errors import TaclError
from tacl_lib.places import INSTALLED, NOTEBOOKS
from tacl_lib.teaching.lessons.build import notebook, written


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="tacl lessons", description=__doc__.split(":")[0])
    parser.add_argument("--solved", type=Path, metavar="FOLDER", help="write them solved, into this folder")
    solved = parser.parse_args(arguments).solved
    if INSTALLED and not solved:
        raise TaclError("an installed kit has its notebooks already; name a folder with --solved FOLDER.")
    target = solved or NOTEBOOKS
    target.mkdir(parents=True, exist_ok=True)
    for source in sorted((NOTEBOOKS / "source").glob("*.md")):
        path = target / f"{source.stem}.ipynb"
        path.write_text(written(notebook(source, solved=solved is not None)), encoding="utf-8")
        print(path.name)

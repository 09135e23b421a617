"""The notebooks of the lessons from their sources:  python -m tacl_lib.teaching.lessons [--solved FOLDER]"""

import argparse
from pathlib import Path

from tacl_lib.teaching.lessons.build import notebook, written

NOTEBOOKS = Path(__file__).parents[3] / "notebooks"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tacl_lib.teaching.lessons", description=__doc__.split(":")[0])
    parser.add_argument("--solved", type=Path, metavar="FOLDER", help="write them solved, into this folder")
    solved = parser.parse_args().solved
    target = solved or NOTEBOOKS
    target.mkdir(parents=True, exist_ok=True)
    for source in sorted((NOTEBOOKS / "source").glob("*.md")):
        path = target / f"{source.stem}.ipynb"
        path.write_text(written(notebook(source, solved=solved is not None)), encoding="utf-8")
        print(path.name)


if __name__ == "__main__":
    main()

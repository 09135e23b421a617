"""Your own copies of the notebooks, in a folder that git ignores, and JupyterLab on top of them:

    tacl lab           copies what is missing and opens JupyterLab   (make lab)
    tacl fresh NAME    gets a fresh copy of a notebook               (make fresh)

Nobody's work is ever lost: a fresh copy leaves yours beside it, and a notebook of which there is a newer version is
replaced only where you have changed no cell.
"""

import argparse
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from tacl_lib.errors import TaclError, unknown_name
from tacl_lib.files import write_whole

ROOT = Path(__file__).parents[2]
FOLDER = "my_notebooks"
FIRST = "00_start_here.ipynb"
GIVEN = ".given.json"  #: what the cells of each notebook were when it was copied


class MyNotebooks:
    """The notebooks of a project and a user's copies of them."""

    def __init__(self, root: Path = ROOT):
        self.originals, self.folder = root / "notebooks", root / FOLDER
        if not (self.originals / FIRST).exists():
            raise TaclError(f"there are no notebooks in {root}; lessons are part of the project's checkout.")

    def bring(self) -> list[str]:
        """Copy what is missing, bring unchanged copies up to date; a sentence for each that is left as it is."""
        self.folder.mkdir(exist_ok=True)
        given, kept = self._given(), []
        for original in sorted(self.originals.glob("*.ipynb")):
            name, own = original.name, self.folder / original.name
            newest = _cells(original)
            if not own.exists():
                self._copy(name, given)
            elif given.get(name) != newest and (mine := _cells(own)) != newest:
                if mine is not None and mine == given.get(name):
                    self._copy(name, given)
                else:
                    kept.append(f"There is a newer {name}. Yours is kept; to get the new one: make fresh NAME={name}")
        return kept

    def fresh(self, name: str) -> Path | None:
        """Bring a fresh copy of a notebook; answers where yours went, or None where there was none."""
        name = name if name.endswith(".ipynb") else f"{name}.ipynb"
        names = [path.name for path in sorted(self.originals.glob("*.ipynb"))]
        if name not in names:
            raise unknown_name("notebook", name, names)
        own, kept = self.folder / name, None
        if own.exists():
            kept = own.with_name(f"{own.stem}_{datetime.now():%Y-%m-%d_%H-%M-%S}.ipynb")
            own.rename(kept)
        self.folder.mkdir(exist_ok=True)
        self._copy(name, self._given())
        return kept

    def _copy(self, name: str, given: dict[str, str]) -> None:
        write_whole(self.folder / name, lambda path: shutil.copyfile(self.originals / name, path))
        given[name] = _cells(self.originals / name)
        text = json.dumps(given, indent=1)
        write_whole(self.folder / GIVEN, lambda path: path.write_text(text, encoding="utf-8"))

    def _given(self) -> dict[str, str]:
        try:
            known = json.loads((self.folder / GIVEN).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return known if isinstance(known, dict) else {}


def _cells(path: Path) -> str | None:
    """A digest of what stands in the cells, whatever they put out; None for a file that is no notebook."""
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        content = [(cell["cell_type"], "".join(cell["source"])) for cell in cells]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def jupyterlab(root: Path, options: Sequence[str] = ()) -> list[str]:
    """The command that opens JupyterLab: all of the project is its root, so that links to code and results work."""
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={root}"]
    command.append(f"--LabApp.default_url=/lab/tree/{FOLDER}/{FIRST}")
    if hasattr(os, "geteuid") and os.geteuid() == 0:  # in a container, as a rule; Jupyter needs this option there
        command.append("--allow-root")
    return [*command, *options]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="tacl lab", description=__doc__.split("\n")[0], allow_abbrev=False)
    parser.add_argument(
        "--fresh",
        metavar="NAME",
        nargs="?",
        const="",
        help="get a fresh copy of a notebook, e.g. 02_agem, and do no more",
    )
    options, of_jupyterlab = parser.parse_known_args(arguments)
    notebooks = MyNotebooks()
    if options.fresh is not None:
        if not options.fresh:
            raise TaclError("say which notebook, e.g. tacl fresh 02_agem, or make fresh NAME=02_agem.")
        kept = notebooks.fresh(options.fresh)
        print(f"{FOLDER}/{Path(options.fresh).stem}.ipynb is fresh." + (f" Yours is kept as {kept.name}." * bool(kept)))
        return
    for sentence in notebooks.bring():
        print(sentence)
    print(f"Your notebooks are in {FOLDER}; git leaves that folder alone. JupyterLab opens in the browser; if it does")
    print("not, open the address below that begins with http://127.0.0.1. Ctrl-C twice ends it.", flush=True)
    os.execv(sys.executable, jupyterlab(ROOT, of_jupyterlab))

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
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path

from tacl_lib.errors import TaclError, unknown_name
from tacl_lib.files import write_whole
from tacl_lib.places import HOME, OWN_NOTEBOOKS, PACKAGE, PROJECT, command

FOLDER = OWN_NOTEBOOKS.name
FIRST = "00_start_here.ipynb"
GIVEN = ".given.json"  #: what the cells of each notebook were when it was copied


class MyNotebooks:
    """The notebooks of a project and a user's copies of them."""

    def __init__(self, root: Path = PROJECT, home: Path | None = None):
        """root: of the project; home: where the copies go, None for a folder in the project itself."""
        self.root, self.home = root, home or root
        self.originals, self.folder = root / "notebooks", self.home / FOLDER
        if not (self.originals / FIRST).exists():
            raise TaclError(f"there are no notebooks in {root}; install the kit again.")

    def bring(self) -> list[str]:
        """Copy what is missing, bring unchanged copies up to date; a sentence for each that is left as it is."""
        self.folder.mkdir(parents=True, exist_ok=True)
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
                    how = f"{command('make fresh NAME=', 'tacl fresh ')}{name}"
                    kept.append(f"There is a newer {name}. Yours is kept; to get the new one: {how}")
        self.bring_linked(self.originals.glob("*.ipynb"))
        return kept

    def bring_linked(self, pages: Iterable[Path]) -> None:
        """Copies of what pages of the project link to, where these links lead when the pages are read at home."""
        if self.home == self.root:
            return
        for name in linked(self.root, pages):
            source = (PACKAGE.parent if name.startswith("tacl_lib/") else self.root) / name
            if source.is_file() and not (self.home / name).exists():
                write_whole(self.home / name, lambda path, source=source: shutil.copyfile(source, path))

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


_LINK = re.compile(r"\]\((?!https?:|#|/)([^)\s#]+\.(?:md|py|png|gif|svg))(?:#[^)]*)?\)")


def linked(root: Path, pages: Iterable[Path]) -> list[str]:
    """The files that pages of a project link to, and those that these link to, by their names in the project."""
    waiting, found = list(pages), {}
    for page in waiting:  # which grows
        for link in _LINK.findall(page.read_text(encoding="utf-8")) if page.is_file() else ():
            name = os.path.normpath(page.relative_to(root).parent / link).replace(os.sep, "/")
            if name not in found and not name.startswith(".."):
                found[name] = None
                waiting += [root / name] * name.endswith(".md")
    return list(found)


def _cells(path: Path) -> str | None:
    """A digest of what stands in the cells, whatever they put out; None for a file that is no notebook."""
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        content = [(cell["cell_type"], "".join(cell["source"])) for cell in cells]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def jupyterlab(root: Path, options: Sequence[str] = ()) -> list[str]:
    """The command that opens JupyterLab: all of the folder is its root, so that links to code and results work."""
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
    notebooks = MyNotebooks(home=HOME)
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
    os.execv(sys.executable, jupyterlab(HOME, of_jupyterlab))

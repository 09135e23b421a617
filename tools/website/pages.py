"""What the pages are made of: the project's Markdown and executed notebooks, staged where Sphinx reads them.

Every file keeps its place, so that links between pages stay as they are. A link to a file that is no page becomes a
download, and one to a folder plain text.
"""

import re
import shutil
from collections.abc import Iterable
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from website import live
from website.badges import address, badges
from website.execution import ROOT

HERE = Path(__file__).parent
#: folders and files of the project whose Markdown is part of the site
TEXTS = (
    "README.md",
    "CONTRIBUTING.md",
    "LIBRARY.md",
    "CHANGELOG.md",
    "coursework/README.md",
    "figures/paper/README.md",
    "notebooks/*.md",
    "notebooks/teaching/*.md",
    "results/reference/*.md",
    "results/reference/beyond/README.md",
)
LESSONS = "notebooks/*.ipynb"
COURSEWORK = "coursework/release/*/*.ipynb"  #: what students get: no solutions, no marking schemes
_LINK = re.compile(r"(?P<image>!?)\[(?P<text>(?:!\[[^\]]*\]\([^)]*\)|[^\]\[]|\[[^\]]*\])*)\]\((?P<path>[^)\s]+)\)")
_PAGE = re.compile(r'(href="(?![a-z]+:)[^"#]+)\.(?:ipynb|md)"')  # in HTML that a cell wrote
_RAW = re.compile(r'\b(?P<name>src|href)="(?P<path>(?![a-z]+:)[^"#]+)"')
_CODE = re.compile(r"(```.*?```|`[^`\n]+`)", re.S)


def stage(into: Path, notebooks: dict[Path, NotebookNode]) -> None:
    """Write all that Sphinx reads."""
    for folder in (into, into.parent / "extra"):
        shutil.rmtree(folder, ignore_errors=True)
    (into.parent / "extra").mkdir(parents=True)
    texts = sorted({path for pattern in TEXTS for path in ROOT.glob(pattern)})
    pages = {path.resolve() for path in (*texts, *notebooks)}
    for path in texts:
        _write(into, path, _linked(path.read_text(encoding="utf-8"), path, pages, into))
    for path, made in notebooks.items():
        _write(into, path, nbformat.writes(_shown(made, path, pages, into)))
    for path in HERE.glob("*.md"):
        shutil.copy(path, into / path.name)
    static = into / "_static"
    shutil.copytree(HERE / "static", static, dirs_exist_ok=True)
    for script in live.SCRIPTS:
        shutil.copy(script, static)
    _reference(into / "reference")


def _write(into: Path, path: Path, text: str) -> None:
    there = into / path.relative_to(ROOT)
    there.parent.mkdir(parents=True, exist_ok=True)
    there.write_text(text, encoding="utf-8")


def _linked(text: str, page: Path, pages: Iterable[Path], into: Path) -> str:
    """Markdown with links that lead somewhere; the files that they lead to are staged."""
    text = _RAW.sub(lambda found: _in_html(found, page, pages, into), text)
    parts = _CODE.split(text)
    return "".join(part if number % 2 else _links(part, page, pages, into) for number, part in enumerate(parts))


def _in_html(found: re.Match, page: Path, pages: Iterable[Path], into: Path) -> str:
    """A link inside HTML, which Sphinx leaves alone: to the page, or to a file that is copied to the same place."""
    there = (page.parent / found["path"]).resolve()
    if there in pages:
        return f'{found["name"]}="{found["path"].rpartition(".")[0]}.html"'
    if there.is_file() and there.is_relative_to(ROOT):
        copied = into.parent / "extra" / there.relative_to(ROOT)
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(there, copied)
    return found[0]


def _links(text: str, page: Path, pages: Iterable[Path], into: Path) -> str:
    def kept(found: re.Match) -> str:
        inner = _links(found["text"], page, pages, into) if "](" in found["text"] else found["text"]
        path = found["path"].partition("#")[0]
        whole = f"{found['image']}[{inner}]({found['path']})"
        if not path or re.match(r"[a-z]+:", path):
            return whole
        there = (page.parent / path).resolve()
        if there in pages:
            return whole
        if not there.is_file() or not there.is_relative_to(ROOT):
            return inner
        if not found["image"] and there.name.endswith(".ipynb"):
            return inner  # a notebook that is no page (solutions, sources) is no download either
        copied = into / there.relative_to(ROOT)
        copied.parent.mkdir(parents=True, exist_ok=True)
        if there.suffix == ".parquet":
            return inner
        shutil.copy(there, copied)
        return whole

    return _LINK.sub(kept, text)


def _shown(made: NotebookNode, path: Path, pages: Iterable[Path], into: Path) -> NotebookNode:
    """A notebook whose widgets are replaced by what needs no kernel."""
    states = made.metadata.pop("widgets", {}).get("application/vnd.jupyter.widget-state+json", {}).get("state", {})
    folder = into / "_static" / "live"
    for cell in made.cells:
        if cell.cell_type == "markdown":
            cell.source = _linked(cell.source, path, pages, into)
        elif cell.cell_type == "code":
            cell.outputs = [each for each in cell.outputs if not _noise(each)]
            for output in cell.outputs:
                _without_kernel(output, states, folder)
                if "text/html" in output.get("data", {}):
                    output.data["text/html"] = _PAGE.sub(r'\1.html"', output.data["text/html"])
            if cell.metadata.get("jupyter", {}).get("source_hidden"):
                cell.metadata["tags"] = [*cell.metadata.get("tags", []), "hide-input"]
    if elsewhere := badges(address(), str(path.relative_to(ROOT))):
        made.cells.insert(1, nbformat.v4.new_markdown_cell(elsewhere))
    return made


def _noise(output: NotebookNode) -> bool:
    return output.output_type == "stream" and output.name == "stderr" and "it/s" in output.text


def _without_kernel(output: NotebookNode, states: dict, folder: Path) -> None:
    data = output.get("data", {})
    view = data.pop("application/vnd.jupyter.widget-view+json", None)
    alt = data.get("text/plain", "")
    if view is None:
        if "image/png" in data:
            output.metadata = {"image/png": {"alt": alt}} | output.metadata
        return
    made = live.from_widget(states, view["model_id"])
    if made is not None:
        shown = live.element(made, folder, alt)
        data.clear()
        data["text/html"] = shown
    elif "image/png" in data:
        png = data["image/png"].replace("\n", "")
        data.clear()
        data["text/html"] = live.still(png, alt)


def _reference(folder: Path) -> None:
    """A page for each room of the library, with what its docstrings say."""
    package = ROOT / "tacl_lib"
    folder.mkdir(parents=True)
    rooms = [path for path in sorted(package.iterdir()) if (path / "__init__.py").exists()]
    order = re.findall(r"^\| `(\w+)` \|", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.M)
    rooms.sort(key=lambda path: order.index(path.name) if path.name in order else len(order))
    names = []
    for room in rooms:
        modules = sorted(room.rglob("*.py"), key=lambda path: (len(path.parts), path))
        _modules(folder / f"{room.name}.rst", f"tacl_lib.{room.name}", modules)
        names.append(room.name)
    _modules(folder / "top.rst", "tacl_lib", [path for path in sorted(package.glob("*.py")) if path.stem != "__main__"])
    listed = "\n".join(f"   {name}" for name in ["top", *names])
    title = "The library, module by module"
    text = (
        f"{title}\n{'=' * len(title)}\n\nMade from the docstrings. Data flows from the rooms above to those below.\n\n"
    )
    (folder / "index.rst").write_text(f"{text}.. toctree::\n   :maxdepth: 1\n\n{listed}\n", encoding="utf-8")


def _modules(page: Path, title: str, modules: list[Path]) -> None:
    lines = [title, "=" * len(title), ""]
    for path in modules:
        if path.name == "__main__.py":
            continue
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name != title:
            lines += [name, "-" * len(name), ""]
        lines += [f".. automodule:: {name}", ""]
    page.write_text("\n".join(lines), encoding="utf-8")

"""Links that open the kit elsewhere, made from one setting: the address under [project.urls] in pyproject.toml.

    python tools/website/badges.py    writes them into README.md

A fork sets its own address there; without one no link is shown anywhere. They are words, not images, so that no page
asks another host for anything.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
START, END = "<!-- badges -->", "<!-- /badges -->"
_GITHUB = re.compile(r"https://github\.com/(?P<name>[\w.-]+/[\w.-]+?)(?:\.git)?/?")


def address() -> str:
    """Where this copy of the project lives; empty where nobody has said so."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project.get("urls", {}).get("Repository", "")


def badges(where: str, notebook: str = "") -> str:
    """The links as Markdown, for the project or for one notebook, e.g. ``"notebooks/02_agem.ipynb"``."""
    if not where:
        return ""
    links = {"Source": where if not notebook else f"{where.rstrip('/')}/blob/HEAD/{notebook}"}
    if found := _GITHUB.fullmatch(where):
        name, first = found["name"], notebook or "notebooks/00_start_here.ipynb"
        links["Open in Colab"] = f"https://colab.research.google.com/github/{name}/blob/HEAD/{first}"
        links["Open in Codespaces"] = f"https://codespaces.new/{name}"
        if not notebook:
            links["Tests"] = f"https://github.com/{name}/actions"
    return " · ".join(f"[{text}]({link})" for text, link in links.items())


def filled(text: str, where: str) -> str:
    """A page with the links between its markers."""
    before, start, rest = text.partition(START)
    _, end, after = rest.partition(END)
    if not start or not end:
        sys.exit(f"badges: README.md has no markers {START} … {END}.")
    return f"{before}{START}\n{badges(where)}\n{END}{after}"


def main() -> None:
    readme = ROOT / "README.md"
    readme.write_text(filled(readme.read_text(encoding="utf-8"), address()), encoding="utf-8")
    print(badges(address()) or "no address under [project.urls] Repository in pyproject.toml: no links are shown.")


if __name__ == "__main__":
    main()

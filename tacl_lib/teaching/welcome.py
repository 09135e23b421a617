"""Is everything here? The first notebook asks, and is answered in words that tell a beginner what to do.

Set-up asks as well: ``python -m tacl_lib.teaching.welcome``, with ``--quick`` without importing. Only the standard
library is imported at the top: the question must have an answer where all else is missing.
"""

import importlib
import os
import re
import sys
from collections.abc import Iterable
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from tacl_lib.errors import TaclError
from tacl_lib.places import command

OLDEST = (3, 11)  #: Python, as in pyproject.toml
REPAIR = command(
    "Close JupyterLab, type “make repair” in the folder of the kit, then “make lab”.",
    "Close JupyterLab, type “pip install --force-reinstall tacl-lib”, then “tacl lab”.",
)

#: What every lesson needs, by the name under which Python imports it.
PACKAGES = {
    "numpy": "arrays",
    "torch": "networks",
    "sklearn": "the digits",
    "pandas": "tables",
    "pyarrow": "stored runs",
    "matplotlib": "figures",
    "seaborn": "their looks",
    "PIL": "images",
    "ipywidgets": "sliders and buttons",
    "plotly": "interactive charts",
    "anywidget": "brings such charts into the notebook",
}
#: What make lab and make reproduce need besides.
TOOLS = ("torchvision", "scipy", "pooch", "filelock", "distributed", "tqdm", "ipykernel", "jupyterlab")
TOOLS += ("nbformat", "papermill", "jinja2", "cryptography", "psutil")
#: The halves of widgets that live in the browser: JupyterLab takes them from folders of these names.
BROWSER_PARTS = {"@jupyter-widgets/jupyterlab-manager": "sliders and buttons", "anywidget": "interactive charts"}


class Finding(NamedTuple):
    """One thing that was looked at."""

    good: bool
    text: str  #: what it is, or what to do

    def __str__(self) -> str:
        return f"{'✓' if self.good else '✗'} {self.text}"


def findings() -> list[Finding]:
    """Everything that the lessons need: the kernel, packages, and the browser's half of widgets."""
    broken = {package: why for package in PACKAGES if (why := import_error(package))}
    found = [python_finding(sys.version_info[:3])]
    found += [
        Finding(False, f"{package} ({PACKAGES[package]}) cannot be imported: {why}. {REPAIR}")
        for package, why in broken.items()
    ]
    if not broken:
        found.append(Finding(True, f"All packages can be imported: {', '.join(PACKAGES)}."))
    folders = _extension_folders()
    for part, purpose in BROWSER_PARTS.items():
        there = any(Path(folder, part).is_dir() for folder in folders)
        missing = f"is missing: {purpose} will not appear. {REPAIR}"
        found.append(Finding(there, f"The browser's half of {part} {'is installed.' if there else missing}"))
    return found


def import_error(package: str) -> str:
    """Why a package cannot be imported; empty if it can. Only trying tells: an installed one may be broken."""
    try:
        importlib.import_module(package)
    except Exception as error:  # a broken package may raise anything
        return " ".join(str(error).split()) or type(error).__name__
    return ""


def python_finding(version: tuple[int, ...]) -> Finding:
    """Whether the kernel's Python is new enough."""
    told = f"The kernel runs Python {'.'.join(map(str, version))}"
    oldest = ".".join(map(str, OLDEST))
    if version >= OLDEST:
        return Finding(True, f"{told}.")
    return Finding(
        False, f"{told}, but {oldest} or newer is needed: install one, then “make lab PYTHON=python{oldest}”."
    )


def device_sentence() -> str:
    """What networks are trained on."""
    import torch

    if torch.cuda.is_available():
        return f"Device: {torch.cuda.get_device_name()}. Large experiments use it; lessons do without."
    return "Device: the processor. That is all that lessons need."


def data_sentences() -> list[str]:
    """Which datasets are at hand. Nothing is fetched or read for that, except the embedded digits."""
    from tacl_lib.data import available, cache, load

    digits = load("digits")
    count = f"{len(digits.train_labels):,} + {len(digits.test_labels)}"
    sentences = [f"digits: {count} images, {digits.source}; all lessons use it."]
    kept = {path.stem for path in cache.folder().glob("*.json")}  # a dataset's record is written last
    for name in available():
        if name != "digits":
            sentences.append(
                f"{name}: " + ("fetched before, ready." if name in kept else "not fetched yet, not needed now.")
            )
    if os.environ.get("TACL_DATA"):
        sentences.append("The folder that TACL_DATA names is looked into first.")
    return sentences


def check() -> None:
    """Print what was found; a TaclError if something is missing that the lessons need."""
    found = findings()
    _print(map(str, found))
    bad = sum(not finding.good for finding in found)
    if bad:
        raise TaclError(f"fix the {bad} marked ✗ above, then run this cell again.")
    _print(["", device_sentence(), "", *data_sentences(), "", "You have everything you need."])


def missing_packages() -> list[str]:
    """The requirements of the kit that are not installed, a line each: a look that takes no time."""
    missing = []
    try:
        needed = metadata.requires("tacl-lib") or []
    except metadata.PackageNotFoundError:
        return ["the kit itself: not installed"]
    for requirement in needed:
        name = re.match(r"[\w.-]+", requirement)[0]
        if "extra ==" not in requirement and next(iter(metadata.distributions(name=name)), None) is None:
            missing.append(f"{name}: not installed")
    return missing


def broken_parts() -> list[str]:
    """What keeps this environment from working, a line each; all packages are imported for that."""
    bad = [f"{name}: {why}" for name in (*PACKAGES, *TOOLS) if (why := import_error(name))]
    folders = _extension_folders()
    there = [part for part in BROWSER_PARTS if any(Path(folder, part).is_dir() for folder in folders)]
    return bad + [f"{part}: not installed" for part in BROWSER_PARTS if part not in there]


def _extension_folders() -> list[str]:
    if find_spec("jupyter_core") is None:
        return []
    from jupyter_core.paths import jupyter_path

    return jupyter_path("labextensions")


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        print(line)


if __name__ == "__main__":
    wrong = missing_packages() or ([] if "--quick" in sys.argv else broken_parts())
    _print(wrong)
    sys.exit(bool(wrong))

"""Is everything here? The first notebook asks, and is answered in words that tell a beginner what to do.

Only the standard library is imported at the top: the question must have an answer where all else is missing.
"""

import os
import sys
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from tacl_lib.errors import TaclError

OLDEST = (3, 11)  #: Python, as in pyproject.toml
AGAIN = "Close JupyterLab and start it with “make lab” in the folder of the kit: that installs what is missing."

#: Packages that every lesson needs, and what for.
PACKAGES = {
    "torch": "networks",
    "matplotlib": "figures",
    "ipywidgets": "sliders and buttons",
    "plotly": "charts that move",
    "anywidget": "brings such charts into the notebook",
}
#: The halves of widgets that live in the browser: JupyterLab takes them from folders of these names.
BROWSER_PARTS = {"@jupyter-widgets/jupyterlab-manager": "sliders and buttons", "anywidget": "charts that move"}


class Finding(NamedTuple):
    """One thing that was looked at."""

    good: bool
    text: str  #: what it is, or what to do

    def __str__(self) -> str:
        return f"{'✓' if self.good else '✗'} {self.text}"


def findings() -> list[Finding]:
    """Everything that the lessons need: the kernel, packages, and the browser's half of widgets."""
    found = [python_finding(sys.version_info[:3])]
    for package, purpose in PACKAGES.items():
        there = find_spec(package) is not None
        found.append(
            Finding(there, f"{package} ({purpose}) is " + ("installed." if there else f"not installed. {AGAIN}"))
        )
    folders = _extension_folders()
    for part, purpose in BROWSER_PARTS.items():
        there = any(Path(folder, part).is_dir() for folder in folders)
        missing = f"missing: you will see still pictures instead of {purpose}. {AGAIN}"
        found.append(Finding(there, f"The browser's half of {part} is " + ("installed." if there else missing)))
    return found


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
    sentences = [f"digits: {count} pictures, {digits.source}; all lessons use it."]
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
        raise TaclError(f"please mend the {bad} marked ✗ above, then run this cell again.")
    _print(["", device_sentence(), "", *data_sentences(), "", "All that you need is here."])


def _extension_folders() -> list[str]:
    if find_spec("jupyter_core") is None:
        return []
    from jupyter_core.paths import jupyter_path

    return jupyter_path("labextensions")


def _print(lines: Iterable[str]) -> None:
    print("\n".join(lines))

"""Where things are: what the project ships, which an installed kit only reads, and the folder that your work goes to.

In a checkout both are the checkout. An installed kit (a wheel) has the project's notebooks, coursework and reference
runs inside the package, in ``tacl_lib/project``, and never writes there. Your results, figures and build folders are

1. in the folder that ``TACL_HOME`` names,
2. else in the nearest folder above the present one that ``tacl new`` has made,
3. else in the checkout, or, where there is none, in the present folder.

This is found out once, when the kit is imported: a program that changes its folder later does not scatter its results.
"""

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
MARK = ".tacl"  #: a file that marks a folder of somebody's work


def _project() -> Path:
    """The checkout that the package lies in, or what a wheel brought along."""
    above = PACKAGE.parent
    return above if (above / "notebooks" / "source").is_dir() else PACKAGE / "project"


def home(environment: dict[str, str], present: Path, project: Path) -> Path:
    """The folder of the user's work."""
    if environment.get("TACL_HOME"):
        return (present / Path(environment["TACL_HOME"]).expanduser()).absolute()
    for folder in (present, *present.parents):
        if (folder / MARK).is_file():
            return folder
    return present if PACKAGE in project.parents else project


def _present() -> Path:
    try:
        return Path.cwd()
    except OSError:  # the folder was removed meanwhile
        return Path.home()


PROJECT = _project()  #: notebooks, coursework, figures and reference runs of the project
INSTALLED = PACKAGE in PROJECT.parents  #: from a wheel: nothing in PROJECT is written to
HOME = home(os.environ, _present(), PROJECT)  #: the user's work

RESULTS, FIGURES, BUILD = HOME / "results", HOME / "figures", HOME / "build"  #: what the user makes
REFERENCE = PROJECT / "results" / "reference"  #: runs at the paper's settings that are part of the project
NOTEBOOKS = PROJECT / "notebooks"
OWN_NOTEBOOKS = HOME / "my_notebooks"


def coursework() -> Path:
    """The problem sets: those in the user's folder, where a lecturer has them there, else the project's."""
    own = HOME / "coursework"
    return own if (own / "source").is_dir() else PROJECT / "coursework"


def command(checkout: str, installed: str) -> str:
    """What to type: a checkout has a Makefile, an installed kit has ``tacl`` alone."""
    return installed if INSTALLED else checkout

"""Where things are: the files of the project, which an installed kit only reads, and the folder for your own work.

In a checkout, both are the checkout. An installed kit (a wheel) has the project's notebooks, coursework and reference
runs inside the package, in ``tacl_lib/project``, and never writes there. Your results, figures and build folders are

1. in the folder named by ``TACL_HOME``,
2. else in the nearest folder made by ``tacl new``, from the current one upwards,
3. else in the checkout or, if there is none, in the current folder.

This is decided once, when the kit is imported: a program that changes its folder later does not scatter its results.
"""

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
MARK = ".tacl"  #: a file that marks a user's folder


def _project() -> Path:
    """The checkout that contains the package, or the files that came with a wheel."""
    above = PACKAGE.parent
    return above if (above / "notebooks" / "source").is_dir() else PACKAGE / "project"


def home(environment: dict[str, str], present: Path, project: Path) -> Path:
    """The folder for the user's work."""
    if environment.get("TACL_HOME"):
        return (present / Path(environment["TACL_HOME"]).expanduser()).absolute()
    for folder in (present, *present.parents):
        if (folder / MARK).is_file():
            return folder
    return present if PACKAGE in project.parents else project


def _present() -> Path:
    try:
        return Path.cwd()
    except OSError:  # the folder has been removed
        return Path.home()


PROJECT = _project()  #: notebooks, coursework, figures and reference runs of the project
INSTALLED = PACKAGE in PROJECT.parents  #: from a wheel: PROJECT is read-only
HOME = home(os.environ, _present(), PROJECT)  #: the user's work

RESULTS, FIGURES, BUILD = HOME / "results", HOME / "figures", HOME / "build"  #: the user's
REFERENCE = PROJECT / "results" / "reference"  #: the project's runs at the paper's settings
NOTEBOOKS = PROJECT / "notebooks"
OWN_NOTEBOOKS = HOME / "my_notebooks"


def coursework() -> Path:
    """The problem sets: the lecturer's own, if the user's folder has any, else the project's."""
    own = HOME / "coursework"
    return own if (own / "source").is_dir() else PROJECT / "coursework"


def command(checkout: str, installed: str) -> str:
    """The command to type: a checkout has a Makefile, an installed kit only ``tacl``."""
    return installed if INSTALLED else checkout

"""One JupyterLab and one browser for all tests of this folder.

They end with the folder's last test: while playwright is alive it owns the event loop of the main thread.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .lab import Lab, running_jupyterlab
from .notebook import Notebook

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# --disable-gpu leaves WebGL to the software renderer, which the 3-D figures need.
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-unsafe-swiftshader",
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A browser, a server and a kernel on two busy cores are late at times: a test may try again, twice."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.flaky(reruns=2))


def _missing(reason: str) -> None:
    """Skip, or fail where the tests are required to run."""
    if os.environ.get("TACL_REQUIRE_BROWSER") == "1":
        pytest.fail(f"TACL_REQUIRE_BROWSER=1, but {reason}.", pytrace=False)
    pytest.skip(f"{reason}.")


def chromium() -> str:
    """The path of a browser."""
    named = os.environ.get("TACL_CHROMIUM")
    found = [shutil.which(name) for name in ([named] if named else ["chromium", "chromium-browser", "google-chrome"])]
    path = next(filter(None, found), None)
    if path is None:
        _missing(f"there is no browser {named}" if named else "there is no Chromium; name one in TACL_CHROMIUM")
    return path


@pytest.fixture(scope="package")
def browser() -> Iterator["Browser"]:
    """A browser without a window."""
    path = chromium()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _missing("playwright is not installed; it is in the extra [browser]")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield found
        found.close()


@pytest.fixture(scope="package")
def lab(tmp_path_factory: pytest.TempPathFactory, browser: "Browser") -> Iterator[Lab]:
    """A running JupyterLab with an empty root folder, and a browser in which to open notebooks."""
    with running_jupyterlab(tmp_path_factory.mktemp("jupyterlab")) as server:
        yield Lab(server, browser)


@pytest.fixture
def open_notebook(lab: Lab) -> Iterator[Callable[[list[str] | Path], Notebook]]:
    """``open_notebook(["1 + 1", …])`` or ``open_notebook(path)``: a notebook in which all cells have been run.

    A module whose tests share a notebook makes its own fixture with ``with lab.open(…) as notebook``.
    """
    with ExitStack() as stack:
        yield lambda source: stack.enter_context(lab.open(source))

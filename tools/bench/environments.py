"""Environments of contenders that the kit does not depend on."""

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

from bench.processes import last_line
from tacl_lib.errors import TaclError


def prepared(environment: Path, package: str) -> Path:
    """The Python of an environment that has a package; it is made where it is missing."""
    windows = sys.platform == "win32"
    python = environment.resolve() / ("Scripts" if windows else "bin") / ("python.exe" if windows else "python")
    stamp = environment / "installed"
    if stamp.exists():
        return python
    print(f"installing {package} into {environment}, once (about a minute)", file=sys.stderr)
    venv.create(environment, clear=True, symlinks=not windows)
    paths = {"base": str(environment.resolve()), "platbase": str(environment.resolve())}
    packages = Path(sysconfig.get_path("purelib", "venv", vars=paths))
    # The packages of this environment can be seen from there, so torch is not fetched a second time, and
    # both sides run the same torch; pip counts them as installed and adds what is missing.
    (packages / "of_the_kit.pth").write_text(sysconfig.get_path("purelib") + "\n")
    log = environment / "install.log"
    with log.open("w") as output:
        command = [python, "-m", "pip", "install", "--disable-pip-version-check", package]
        failed = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, check=False).returncode
    if failed:
        raise TaclError(f"{package} could not be installed ({last_line(log)}).")
    stamp.touch()
    return python

"""Avalanche as a contender: its environment, and the process that makes its steps."""

import subprocess
import sys
import sysconfig
import venv
from contextlib import contextmanager
from pathlib import Path

import torch

from bench.measure import Contender
from bench.processes import last_line, process
from tacl_lib.errors import TaclError

VERSION = "0.6.0"
ENVIRONMENT = Path("build") / "avalanche-venv"
METHOD = (
    "Avalanche: AGEMPlugin on the Naive strategy with SGD in a process of its own that takes its turn in each "
    "round; only training iterations of the second experience count, from before_training_iteration to "
    "after_training_iteration (reference batch of 10 included, training data loader, evaluation and loggers not)."
)


@contextmanager
def avalanche(environment: Path = ENVIRONMENT):
    """The contender, with ``versions`` of its environment; a `TaclError` says why it cannot be had."""
    python = _prepared(environment)
    # -P keeps the folder of the script, with modules of the kit, out of its imports.
    command = [python, "-P", Path(__file__).with_name("avalanche_side.py").resolve()]
    with process("Avalanche", command, environment / "bench.log") as (versions, ask):

        def block(count: int) -> float:
            return ask({"threads": torch.get_num_threads(), "steps": count})["seconds"]

        yield Contender("avalanche", block), versions


def _prepared(environment: Path) -> Path:
    """The Python of an environment that has Avalanche; it is made where it is missing."""
    windows = sys.platform == "win32"
    python = environment.resolve() / ("Scripts" if windows else "bin") / ("python.exe" if windows else "python")
    stamp = environment / "installed"
    if stamp.exists():
        return python
    print(f"installing avalanche-lib {VERSION} into {environment}, once (about a minute)", file=sys.stderr)
    venv.create(environment, clear=True, symlinks=not windows)
    paths = {"base": str(environment.resolve()), "platbase": str(environment.resolve())}
    packages = Path(sysconfig.get_path("purelib", "venv", vars=paths))
    # The packages of this environment can be seen from there, so torch is not fetched a second time, and
    # both sides run the same torch; pip counts them as installed and adds what is missing.
    (packages / "of_the_kit.pth").write_text(sysconfig.get_path("purelib") + "\n")
    log = environment / "install.log"
    with log.open("w") as output:
        command = [python, "-m", "pip", "install", "--disable-pip-version-check", f"avalanche-lib=={VERSION}"]
        failed = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, check=False).returncode
    if failed:
        raise TaclError(f"avalanche-lib {VERSION} could not be installed ({last_line(log)}).")
    stamp.touch()
    return python

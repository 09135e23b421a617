"""Avalanche as a contender: its environment, and the process that makes its steps."""

import json
import subprocess
import sys
import sysconfig
import venv
from contextlib import contextmanager
from pathlib import Path

import torch

from tacl_lib.bench.measure import Contender
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
    log = environment / "bench.log"
    with log.open("w") as errors:
        # -P keeps the folder of the script, with modules of the kit, out of its imports.
        process = subprocess.Popen(
            [python, "-P", Path(__file__).with_name("avalanche_side.py").resolve()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )

    def answer() -> dict:
        line = process.stdout.readline()
        if not line:
            raise TaclError(f"Avalanche stopped ({_last_line(log)}).")
        return json.loads(line)

    def block(count: int) -> float:
        request = {"threads": torch.get_num_threads(), "steps": count}
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        return answer()["seconds"]

    try:
        versions = answer()
        yield Contender("avalanche", block), versions
    finally:
        process.stdin.close()  # the other side ends by itself then
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
        process.stdout.close()


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
        raise TaclError(f"avalanche-lib {VERSION} could not be installed ({_last_line(log)}).")
    stamp.touch()
    return python


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1].strip() if lines else "no reason given"

"""Avalanche as a contender, and as a home of the kit's plugins: its environment, and the processes in it."""

import os
from contextlib import contextmanager
from pathlib import Path

import torch

from bench.environments import prepared
from bench.measure import Contender
from bench.processes import process
from tacl_lib.places import PROJECT

VERSION = "0.6.0"
ENVIRONMENT = Path("build") / "avalanche-venv"
METHOD = (
    "Avalanche: AGEMPlugin on the Naive strategy with SGD in a process of its own that takes its turn in each "
    "round; only training iterations of the second experience count, from before_training_iteration to "
    "after_training_iteration (reference batch of 10 included, training data loader, evaluation and loggers not)."
)


@contextmanager
def avalanche(environment: Path = ENVIRONMENT):
    """The contender, with ``versions`` of its environment; a `TaclError` says why it is not available."""
    python = prepared(environment, f"avalanche-lib=={VERSION}")
    # -P keeps the folder of the script, with modules of the kit, out of its imports.
    command = [python, "-P", Path(__file__).with_name("avalanche_side.py").resolve()]
    with process("Avalanche", command, environment / "bench.log") as (versions, ask):

        def block(count: int) -> float:
            return ask({"threads": torch.get_num_threads(), "steps": count})["seconds"]

        yield Contender("avalanche", block), versions


def experiences(count: int, environment: Path = ENVIRONMENT) -> tuple[dict, dict]:
    """Seconds of steps of the kit's TA-A-GEM plugin, early and after so many experiences; and the versions there."""
    python = prepared(environment, f"avalanche-lib=={VERSION}")
    command = [python, "-P", Path(__file__).with_name("experiences_side.py").resolve()]
    here = os.environ | {"PYTHONPATH": str(PROJECT)}
    with process("Avalanche", command, environment / "experiences.log", here) as (versions, ask):
        return ask({"experiences": count}), versions

"""JAX as a contender: its environment, and the process that makes its steps."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.environments import prepared
from bench.measure import Contender
from bench.processes import process

VERSION = "0.10.2"
ENVIRONMENT = Path("build") / "jax-venv"
METHOD = (
    "JAX: the same steps for all seeds by vmap, many steps in one call by lax.scan, compiled by jit; images and memory "
    "are in place before the clock starts; one thread."
)


@contextmanager
def jax(sizes: tuple[int, ...], runs: int, batch: int, environment: Path = ENVIRONMENT) -> Iterator:
    """Contenders by method, and ``versions`` of their environment; a `TaclError` says why there are none."""
    python = prepared(environment, f"jax=={VERSION}")
    # -P keeps the folder of the script, with modules of the kit, out of its imports.
    script = Path(__file__).with_name("jax_side.py").resolve()
    command = [python, "-P", script, json.dumps({"sizes": sizes, "runs": runs, "batch": batch})]
    with process("JAX", command, environment / "bench.log") as (versions, ask):

        def contender(method: str) -> Contender:
            return Contender("jax", lambda count: ask({"method": method, "steps": count})["seconds"], runs)

        yield contender, versions

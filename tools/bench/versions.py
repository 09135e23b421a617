"""Steps per second of every method, in an earlier version of the engine and now:

    PYTHONPATH=tools python -m bench.versions COMMIT

Both versions run in processes of their own that take turns, with one thread, on the same images of the paper's two
sizes, grey and coloured. The numbers go to ``figures/engine.json``, from which the page of evidence takes its table.
"""

import argparse
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from bench import measure
from bench.processes import process
from bench.rows import BATCH, RUNS, SIZES, image_batches, images_or_like
from tacl_lib.core.learners import settings_of
from tacl_lib.errors import TaclError
from tacl_lib.files import write_whole
from tacl_lib.names import METHODS
from tacl_lib.places import PROJECT as ROOT
from tacl_lib.report.engine_speed import FILE, caption, table
from tacl_lib.training.record import commit as of_project

SIDE = Path(__file__).with_name("version_side.py")


IMAGES = "mnist", "cifar10"  #: grey and coloured, for both widths of the first layer


def compared(commit: str, effort: measure.Effort, methods: tuple[str, ...] = tuple(METHODS)) -> dict:
    """Run-steps per second of the methods at ``commit`` and now, and their ratio, at both widths."""
    circumstances = measure.circumstances()
    with tempfile.TemporaryDirectory() as folder:
        before = _unpacked(commit, Path(folder) / "before")
        widths = dict(_at_one_width(name, before, effort, methods) for name in IMAGES)
    return {
        "circumstances": circumstances,
        "before": _git("rev-parse", "--short", commit).strip(),
        "now": of_project(),
        "runs": RUNS,
        "batch": BATCH,
        "hidden": SIZES[1:],
        "widths": widths,
    }


def _at_one_width(name: str, before: Path, effort: measure.Effort, methods: tuple[str, ...]) -> tuple[str, dict]:
    """The number of inputs, and the rows of all methods."""
    dataset, which = images_or_like(name)
    batches, rows = before.with_name(f"{name}.pt"), {}
    x, y = (torch.stack(part) for part in zip(*image_batches(dataset), strict=True))
    torch.save([x, y], batches)
    with _version("before", before, batches) as old, _version("now", ROOT, batches) as new:
        for method in methods:
            print(f"measuring {method}, {x.shape[-1]:,} inputs", file=sys.stderr)
            times = measure.race([_contender("before", old, method), _contender("now", new, method)], effort)
            rows[method] = measure.compared(times["now"], times["before"])
    return str(x.shape[-1]), {"images": which, "rows": rows}


@contextmanager
def _version(title: str, tree: Path, batches: Path) -> Iterator:
    environment = os.environ | {"PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1"}
    # -P keeps the folder of the script, with modules of this version, out of its imports.
    settings = {method: settings_of(method) for method in METHODS}
    command = [sys.executable, "-P", SIDE, batches, json.dumps(SIZES[1:]), json.dumps(settings)]
    with process(f"the version {title}", command, batches.with_name(f"{title}.log"), environment) as (_, ask):
        yield ask


def _contender(name: str, ask, method: str) -> measure.Contender:
    return measure.Contender(name, lambda count: ask({"learner": method, "steps": count})["seconds"], RUNS)


def _unpacked(commit: str, folder: Path) -> Path:
    archive = _git("archive", commit, "tacl_lib", text=False)
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder, filter="data")
    return folder


def _git(*arguments: str, text: bool = True) -> str | bytes:
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=text)
    except OSError as error:
        raise TaclError(f"earlier versions come from git, which cannot be run here ({error}).") from error
    if done.returncode:
        reason = done.stderr if text else done.stderr.decode()
        raise TaclError(f"git {arguments[0]} failed: {reason.strip().splitlines()[-1]}")
    return done.stdout


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.versions", description=__doc__.splitlines()[0])
    parser.add_argument("commit", help="of the earlier version")
    parser.add_argument("--quick", action="store_true", help="short and rough; prints only")
    options = parser.parse_args(arguments)
    try:
        found = compared(options.commit, measure.QUICK if options.quick else measure.FULL)
        if not options.quick:
            write_whole(FILE, lambda part: part.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8"))
    except TaclError as error:
        sys.exit(f"tacl: {error}")
    print(table(found), caption(found), sep="\n\n")


if __name__ == "__main__":
    main()

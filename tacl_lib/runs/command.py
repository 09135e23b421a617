"""A run from the command line:  tacl run --dataset fashion_mnist --split class --learner ta_agem

Every field of `RunSpec` is an option. A learner's own settings follow ``--set``, e.g. ``--set reference_batch=256``, a
network's ``--set-network``, e.g. ``--network resnet --set-network width=8``. One parquet file per seed goes to
``--out``; a run that was stopped resumes where it stopped.
"""

import argparse
import ast
import dataclasses
import re
import sys
from pathlib import Path

import numpy as np

from tacl_lib.core.metrics import summary
from tacl_lib.engine.networks import MLP
from tacl_lib.errors import TaclError
from tacl_lib.files import writable
from tacl_lib.runs import RunSpec, run
from tacl_lib.runs.spec import DEFAULT_SEEDS


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="tacl run", description="Train one learner on one stream of tasks.")
    for field in dataclasses.fields(RunSpec):
        if field.name not in ("learner_settings", "network_settings"):
            default = field.default
            parser.add_argument(f"--{field.name.replace('_', '-')}", default=default, help=f"default: {default}")
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="settings of the learner")
    parser.add_argument("--set-network", nargs="*", default=[], metavar="NAME=VALUE", help="settings of the network")
    parser.add_argument("--seeds", nargs="*", type=int, default=list(DEFAULT_SEEDS), help=f"default: {DEFAULT_SEEDS}")
    parser.add_argument("--out", type=Path, help="folder for the records; without it nothing is stored")
    options = vars(parser.parse_args(arguments))
    seeds, out, settings = tuple(options.pop("seeds")), options.pop("out"), options.pop("set")
    shape = options.pop("set_network")
    try:
        given = {name: _value(text) for name, text in options.items()}
        if isinstance(given["hidden"], int):
            given["hidden"] = (given["hidden"],)
        spec = RunSpec(**given, learner_settings=_pairs(settings), network_settings=_pairs(shape))
        others = [] if spec.network == MLP else [spec.network, *shape]
        stem = "-".join([spec.experiment, spec.dataset, spec.split, spec.learner, *others, *settings])
        # Settings become part of file names: no slashes, and not too long for a disk.
        stem = re.sub(r"[^\w.=-]", "_", stem)[:150] + f"-{spec.name()}"
        checkpoint = None if out is None else out / f"{stem}.checkpoint"
        if out is not None:
            writable(out)

        def deliver(records):
            for record in records if out is not None else ():
                record.write(out / f"{stem}-seed{record.seed}.parquet")

        records = run(spec, seeds, checkpoint=checkpoint, deliver=deliver)
    except (KeyboardInterrupt, SystemExit):
        sys.exit("run: stopped; " + ("run the same command again to continue." if out else "nothing was stored."))
    results = [summary(record.accuracy, record.seen) for record in records]
    for name in results[0]:
        values = [result[name] for result in results]
        spread = np.std(values, ddof=1) if len(values) > 1 else 0  # over runs, as in the tables
        print(f"{name:20s} {np.mean(values):.3f} ± {spread:.3f}   {' '.join(f'{v:.3f}' for v in values)}")
    print(f"{'wall time':20s} {records[0].info['wall_seconds_of_stack']:.0f} s for {len(seeds)} runs in one stack")


def _pairs(texts: list[str]) -> dict[str, object]:
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise TaclError(f"settings are given as NAME=VALUE, not {text!r}.")
        found[name] = _value(value)
    return found


def _value(text: object) -> object:
    """A number, tuple, True, False or None; anything else is a word."""
    try:
        return ast.literal_eval(text) if isinstance(text, str) else text
    except (ValueError, SyntaxError, MemoryError, RecursionError):  # the last two: endless brackets
        return text

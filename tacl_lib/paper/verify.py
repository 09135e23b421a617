"""Rerun stored runs here, and compare: ``tacl verify``, or ``make verify N=3`` or ``RUN=hash``.

On the same machine, with the same versions, a rerun is identical. Elsewhere the last bits of its weights may differ,
and with them the results on a few test images. This command reports how far the numbers differ, possible reasons, and
whether any comparison with the paper would change.
"""

import argparse
import random
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tacl_lib.core.metrics import summary
from tacl_lib.errors import TaclError
from tacl_lib.names import METRICS
from tacl_lib.paper.compare import NEAR, make_cells
from tacl_lib.runs import RunSpec, run
from tacl_lib.runs.cost import work
from tacl_lib.runs.grid import Job
from tacl_lib.runs.spec import DEFAULT_SEEDS
from tacl_lib.runs.store import REFERENCE, Store
from tacl_lib.training.record import Record

CHEAP = 0.25  #: runs are drawn from this share of the shortest ones


class Verified(NamedTuple):
    """A stored run compared with its rerun."""

    spec: RunSpec
    seed: int
    different: int  #: accuracies that are not equal to the last bit
    of: int
    furthest: float  #: the largest difference of an accuracy
    changed: dict[str, float]  #: by metric, the change of the run's number
    reasons: list[str]  #: the differences between the circumstances of the two
    verdict_changes: bool  #: whether a comparison with the paper would change

    def line(self) -> str:
        spec = self.spec
        what = f"{spec.name()}-{self.seed} ({spec.experiment} {spec.dataset} {spec.split} {spec.learner})"
        if not self.different:
            return f"{what}: identical, all {self.of} accuracies"
        numbers = ", ".join(f"{name.replace('_', ' ')} {change:+.5f}" for name, change in self.changed.items())
        why = "; ".join(self.reasons) or "none is recorded; the circumstances are the same"
        verdict = "changes" if self.verdict_changes else "does not change"
        return (
            f"{what}: {self.different} of {self.of} accuracies differ, by at most {self.furthest:.4f}\n"
            f"    {numbers}\n    possible reasons: {why}\n    the comparison with the paper {verdict}"
        )


def choose(store: Store, count: int, names: Sequence[str], seed: int | None = None) -> list[tuple[RunSpec, int]]:
    """The runs whose file names begin with one of the names, or some of the cheap ones at random."""
    stored = [(spec, number) for spec, number, _ in store.descriptions()]
    if names:
        found = [(spec, number) for spec, number in stored if f"{spec.name()}-{number}".startswith(tuple(names))]
        if not found:
            raise TaclError(
                f"there is no run {' or '.join(names)} in {store.folder}; a run's file name begins with its hash."
            )
        return found
    if not stored:
        raise TaclError(f"there are no runs in {store.folder} to verify.")
    stored.sort(key=lambda of: work(Job(of[0], (of[1],))))
    cheap = stored[: max(count, int(len(stored) * CHEAP))]
    return random.Random(seed).sample(cheap, min(count, len(cheap)))


def verify(store: Store, spec: RunSpec, seed: int, again: Callable[[RunSpec, int], Record]) -> Verified:
    """Compare a stored run with its rerun. again: reruns a spec and seed."""
    old, new = store.read(spec, seed), again(spec, seed)
    apart = np.abs(np.nan_to_num(old.accuracy, nan=-1.0) - np.nan_to_num(new.accuracy, nan=-1.0))
    before, after = (summary(record.accuracy, record.seen) for record in (old, new))
    return Verified(
        spec,
        seed,
        int((apart > 0).sum()),
        int((~np.isnan(old.accuracy)).sum()),
        float(apart.max()),
        {name: after[name] - before[name] for name in METRICS},
        differing(old.info, new.info),
        _agreement(store, spec, seed, before) != _agreement(store, spec, seed, after),
    )


def differing(old: dict, new: dict) -> list[str]:
    """The differences between two records' circumstances that may change bits. Early records lack some."""
    lines = []
    for name in ("cpu", "instructions", "blas", "threads", "device", "noise", "commit", "machine"):
        if name in new and old.get(name) != new[name]:
            lines.append(f"{name} {old.get(name, 'not recorded')} → {new[name]}")
    versions = old.get("versions", {}), new.get("versions", {})
    lines += [f"{n} {versions[0].get(n, '?')} → {v}" for n, v in versions[1].items() if versions[0].get(n) != v]
    return lines


def _agreement(store: Store, spec: RunSpec, seed: int, numbers: dict[str, float]) -> list:
    """How a run's cells compare with the paper, with these numbers for the run and the stored ones for all others."""
    runs = store.summaries([(spec, sorted({*DEFAULT_SEEDS, seed}))])
    for name, value in numbers.items():
        runs.loc[runs["seed"] == seed, name] = value
    cells = make_cells(runs)
    cells = cells[(cells["runs"] > 0) & cells["paper"].notna()]
    return [cells["verdict"].tolist(), *((cells["difference"].abs() <= near).tolist() for near in NEAR)]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="tacl verify", description=__doc__.split("\n")[0])
    parser.add_argument("runs", nargs="*", metavar="RUN", help="hashes of runs, as in their file names")
    parser.add_argument("--count", type=int, default=3, help="if no run is named: how many of the short ones")
    parser.add_argument("--seed", type=int, help="random seed for choosing runs; default: new each time")
    options = parser.parse_args(arguments)
    store = Store(REFERENCE)
    if options.count < 1:
        raise TaclError(f"--count must be at least 1, not {options.count}.")
    found = []
    for spec, seed in choose(store, options.count, options.runs, options.seed):
        found.append(verify(store, spec, seed, lambda spec, seed: run(spec, (seed,))[0]))
        print(found[-1].line(), flush=True)
    same = sum(not one.different for one in found)
    print(f"{same} of {len(found)} identical; {sum(one.verdict_changes for one in found)} comparisons would change.")

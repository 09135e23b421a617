"""Measure speed and memory against plain implementations:  python -m bench

The table is printed; a whole run also goes to ``figures/bench.json``, from which ``--show`` prints it again and
``--write-readme`` fills the README. A part (``--quick``, ``--only``, ``--no-avalanche``) goes to ``build``, so that
it never takes the place of a whole run.
"""

import argparse
import sys
from pathlib import Path

import torch

from bench import measure, operations, report, stored
from bench.rows import BATCH, BENCHES, RUNS, SIZES, rows_of
from tacl_lib.errors import TaclError, unknown_name

NAMES = (*BENCHES, "stored")


def measured(names: tuple[str, ...], effort: measure.Effort, notes: list[str]) -> dict:
    """All numbers of a run, as they go to the file."""
    circumstances = measure.circumstances()
    torch.manual_seed(0)  # first weights and noise of the plain contenders
    rows = []
    for name in names:
        if name in BENCHES:
            print(f"measuring {name}", file=sys.stderr)
            rows += rows_of(name, effort, notes)
    found = None
    if "stored" in names:
        print("measuring stored", file=sys.stderr)
        found = stored.measured(effort)
    return {
        "circumstances": circumstances,
        "runs": RUNS,
        "batch": BATCH,
        "rounds": effort.rounds,
        "seconds": effort.seconds,
        "threads": list(measure.THREADS),
        "rows": rows,
        "stored": found,
        "operations": operations.measured(SIZES, RUNS, BATCH),
        "notes": notes,
    }


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure speed and memory.")
    parser.add_argument("--quick", action="store_true", help="short and rough")
    parser.add_argument("--only", nargs="+", metavar="NAME", help=f"some of: {', '.join(NAMES)}")
    parser.add_argument("--no-avalanche", action="store_true", help="leave out what needs avalanche-lib")
    parser.add_argument("--show", action="store_true", help="print the table of the last whole run; measure nothing")
    parser.add_argument("--write-readme", action="store_true", help="put the last whole run into README.md")
    parser.add_argument("--readme", type=Path, default=Path("README.md"), help="default: README.md")
    parser.add_argument("--out", type=Path, help="folder of bench.json and the plot; default: figures, or build")
    options = parser.parse_args(arguments)
    try:
        _obey(options)
    except TaclError as error:
        sys.exit(f"tacl: {error}")


def _obey(options: argparse.Namespace) -> None:
    if options.show or options.write_readme:
        bench = report.read((options.out or Path("figures")) / "bench.json")
        if options.show:
            print(report.table(bench))
        if options.write_readme:
            report.write_readme(options.readme, bench)
        return
    for name in options.only or ():
        if name not in NAMES:
            raise unknown_name("part of the bench", name, NAMES)
    names, notes = tuple(name for name in NAMES if name in (options.only or NAMES)), []
    for name in ("agem", "experiences") if options.no_avalanche else ():
        if name in names:
            names = tuple(other for other in names if other != name)
            notes.append(f"{name} was left out, as --no-avalanche asks.")
    effort = measure.QUICK if options.quick else measure.FULL
    whole = names == NAMES and not options.quick
    out = options.out or Path("figures" if whole else "build")
    bench = measured(names, effort, notes) | {"whole": whole}
    report.write(out / "bench.json", bench)
    if bench["stored"]:
        stored.draw(bench["stored"], out)
    print(report.table(bench))


if __name__ == "__main__":
    main()

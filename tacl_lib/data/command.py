"""`tacl data [NAME ...]`: fetch every available dataset, and show where it was found."""

import argparse
import sys
import warnings

from tacl_lib.data import available, load
from tacl_lib.errors import TaclError

HEAD = ("dataset", "source", "images (train + test)", "verified by")


def main(arguments: list[str] | None = None) -> int:
    """Load each dataset, going on after failures, and print a table. Returns 1 if a named dataset, or digits, fails."""
    parser = argparse.ArgumentParser(prog="tacl data", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(available())}; none: all")
    parser.add_argument("--folder", help="a folder with prepared files (else TACL_DATA)")
    options = parser.parse_args(arguments)
    rows, remarks, failed = [], [], set()
    for name in options.names or available():
        try:
            with warnings.catch_warnings():
                warnings.showwarning = lambda message, *_: print(f"warning: {message}", file=sys.stderr)
                dataset = load(name, folder=options.folder)
        except TaclError as error:
            failed.add(name)
            rows.append((name, "not found", "-", "reasons below"))
            remarks.append(f"{name}: {error}")
            continue
        count = f"{len(dataset.train_labels):,} + {len(dataset.test_labels):,}"
        rows.append((name, dataset.source, count, dataset.verified))
        if dataset.note:
            remarks.append(f"{name}: {dataset.note}.")
    print(table(rows), "", *remarks, sep="\n")
    needed = set(options.names) or {"digits"}  # datasets named by the user must be available
    return 1 if needed & failed else 0


def table(rows: list[tuple[str, ...]]) -> str:
    """The rows below their head, in columns as wide as their widest cell."""
    widths = [max(len(row[i]) for row in (HEAD, *rows)) for i in range(len(HEAD))]
    lines = [HEAD, tuple("-" * width for width in widths), *rows]
    return "\n".join(
        " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )

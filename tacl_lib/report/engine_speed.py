"""The speed of the engine as the bench measured it last, for the page of evidence."""

import json

from tacl_lib.places import PROJECT

FILE = PROJECT / "figures" / "engine.json"  #: written by ``python -m bench.versions``


def stored() -> dict | None:
    """The numbers of the last whole measurement; None where there is none."""
    return json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else None


def table(found: dict) -> str:
    """Markdown: a row for each method."""
    lines = ["| method | before | now | ratio |", "|---|---|---|---|"]
    for method, row in found["rows"].items():
        lines.append(f"| `{method}` | {row['theirs']:,.0f} | {row['ours']:,.0f} | {row['ratio']['median']:.2f}× |")
    return "\n".join(lines)


def caption(found: dict) -> str:
    where, sizes = found["circumstances"], "-".join(map(str, found["sizes"]))
    return (
        f"Run-steps per second with one thread, {found['runs']} stacked runs, {sizes}, batches of {found['batch']} "
        f"({found['images']}): an earlier version of the engine (commit {found['before']}) and commit {found['now']}, "
        f"in turns on one machine ({where['cpu']}, torch {where['versions']['torch']}, {where['date']}; "
        f"load of the machine before: {where['load_before']}). A ratio is the median of those within a round, and not "
        "the quotient of the two medians beside it. "
        f"`python -m bench.versions {found['before']}` measures them again."
    )

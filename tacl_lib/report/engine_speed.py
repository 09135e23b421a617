"""The speed of the engine as the bench measured it last, for the page of evidence."""

import json

from tacl_lib.places import PROJECT

FILE = PROJECT / "figures" / "engine.json"  #: written by ``python -m bench.versions``


def stored() -> dict | None:
    """The numbers of the last whole measurement; None where there is none."""
    return json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else None


def table(found: dict) -> str:
    """Markdown: a row for each method, three columns for each number of inputs."""
    widths = found["widths"]
    heads = [f"{what}, {int(width):,} inputs" for width in widths for what in ("before", "now", "ratio")]
    lines = [f"| method | {' | '.join(heads)} |", f"|---|{'---|' * len(heads)}"]
    for method in next(iter(widths.values()))["rows"]:
        rows = [of["rows"][method] for of in widths.values()]
        cells = [f"{row['theirs']:,.0f} | {row['ours']:,.0f} | {row['ratio']['median']:.2f}×" for row in rows]
        lines.append(f"| `{method}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def caption(found: dict) -> str:
    where, hidden = found["circumstances"], "-".join(map(str, found["hidden"]))
    images = " and ".join(dict.fromkeys(of["images"] for of in found["widths"].values()))
    return (
        f"Run-steps per second with one thread, {found['runs']} stacked runs, layers of {hidden} behind the inputs, "
        f"batches of {found['batch']} ({images}): an earlier version of the engine (commit {found['before']}) and "
        f"commit {found['now']}, in turns on one machine ({where['cpu']}, torch {where['versions']['torch']}, "
        f"{where['date']}; load of the machine before: {where['load_before']}). A ratio is the median of those within "
        "a round, and not the quotient of the two medians beside it. "
        f"`python -m bench.versions {found['before']}` measures them again."
    )

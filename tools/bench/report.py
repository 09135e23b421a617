"""From the measured numbers to Markdown: the table of a run, and the short block of the README."""

import json
from pathlib import Path

from tacl_lib.errors import TaclError
from tacl_lib.files import write_whole
from tacl_lib.names import METHODS
from tacl_lib.paper.markdown import replaced_block


def number(value: float) -> str:
    """Three figures that mean something, without exponents."""
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3
    return f"{value:,.{digits}f}"


def verdict(row: dict, count: str) -> str:
    """ "meets" or "below" (for limits "meets" or "above"), or nothing where there is no bar."""
    if row["bar"] is None or count not in row.get("judged", [count]):
        return ""
    ratio = row["cells"][count]["ratio"]["median"]
    if row.get("at_most"):
        return "meets" if ratio <= row["bar"] else "above"
    return "meets" if ratio >= row["bar"] else "below"


def bar(row: dict) -> str:
    if row["bar"] is None:
        return "–"
    return f"{'at most' if row.get('at_most') else 'at least'} {row['bar']:g}{_sign(row)}"


def ratio(row: dict, count: str) -> str:
    """Median, quartiles and verdict of one cell."""
    cell = row["cells"].get(count) or row["cells"].get("any")
    if cell is None:
        return "–"
    shown = cell["ratio"]
    text = f"**{number(shown['median'])}{_sign(row)}**"
    if shown["low"] != shown["high"]:
        text += f" ({number(shown['low'])}–{number(shown['high'])})"
    return f"{text} {verdict(row, count if count in row['cells'] else 'any')}".strip()


def table(bench: dict) -> str:
    """All rows, ratios first, then absolute numbers with their units; circumstances and notes below."""
    counts = [str(count) for count in bench["threads"]]
    heads = [f"{c} thread{'s' if c != '1' else ''}" for c in counts]
    lines = [
        _line(["what", "against", *(f"ratio, {h}" for h in heads), "bar", *(f"what / against, {h}" for h in heads)]),
        _line(["---"] * (3 + 2 * len(counts))),
    ]
    for row in bench["rows"]:
        ratios, values = ([f(row, c) for c in counts] for f in (ratio, _absolute))
        lines.append(_line([row["ours"], row["theirs"] or "–", *ratios, bar(row), *values]))
    parts = ["\n".join(lines)]
    if bench.get("stored"):
        parts.append(_stored_table(bench["stored"]))
    if bench.get("operations"):
        parts.append(_operations(bench))
    parts.append(_footer(bench))
    return "\n\n".join(parts)


def _operations(bench: dict) -> str:
    counts = ", ".join(f"{METHODS[name].title} {count}" for name, count in bench["operations"].items())
    return f"Operations that a step of {bench['runs']} stacked runs asks of a GPU: {counts}."


def readme_block(bench: dict) -> str:
    """The short table between the markers of the README: ratios at one and at two threads, and the bar."""
    counts = [str(count) for count in bench["threads"]]
    heads = [f"{c} thread{'s' if c != '1' else ''}" for c in counts]
    lines = [_line(["what", "against", *heads, "bar"]), _line(["---"] * (3 + len(counts)))]
    for row in bench["rows"]:
        cells = [_short(row, count) for count in counts]
        lines.append(_line([row["ours"], row["theirs"] or "–", *cells, bar(row)]))
    circumstances = bench["circumstances"]
    text = (
        f"{bench['runs']} stacked runs, 784-200-200-10, batches of {bench['batch']}; median of "
        f"{bench['rounds']} rounds in which the contenders took turns. {circumstances['cpu']}, "
        f"{circumstances['cores']} cores, torch {circumstances['versions']['torch']}, {circumstances['date']}."
    )
    exponent = (bench.get("stored") or {}).get("exponent", {}).get("ogd")
    if exponent is not None:
        sizes = [point["stored"] for point in bench["stored"]["points"]]
        text += f" From {sizes[0]} to {sizes[-1]} stored gradients a step of OGD costs n^{exponent:.2f}."
    asked = [f" {_operations(bench)}"] if bench.get("operations") else []
    return "\n".join([*lines, "", "".join([text, *asked]), *missed(bench)])


def missed(bench: dict) -> list[str]:
    """A sentence on the bars, which the project sets itself: which of them are not met, and with how many threads."""
    parts = []
    for row in bench["rows"]:
        counts = [count for count in row["cells"] if verdict(row, count) in ("below", "above")]
        if counts:
            with_threads = f" with {' and '.join(counts)} thread{'s' if counts != ['1'] else ''}"
            parts.append(row["ours"] + ("" if "any" in counts else with_threads))
    if not parts:
        return []
    sentence = f"Bars are what the project asks of itself. Not met here: {'; '.join(parts)}."
    return ["", " ".join([sentence, *_reasons(bench)])]


def _reasons(bench: dict) -> list[str]:
    """How much of the processor's peak both sides reach where a bar is not met, and how much the bar would take."""
    found = [row for row in bench["rows"] if row.get("peak") and verdict(row, "1") == "below"]
    if not found:
        return []
    shares = []
    for row in found:
        ours, theirs = (row["gflop"] * row["cells"]["1"][side] / row["peak"] for side in ("ours", "theirs"))
        shares.append(f"{row['ours']}: {ours:.0%} here, {theirs:.0%} there, and {theirs * row['bar']:.0%} for the bar")
    most = f"{found[0]['peak']:,.0f} billion operations a second with one thread"
    return [
        f"Products of matrices alone, as shares of what this processor can do at best ({most}): {'; '.join(shares)}."
    ]


def write_readme(readme: Path, bench: dict) -> None:
    """Replace what stands between the markers of a README, and nothing else."""
    if not bench["whole"]:
        raise TaclError("these numbers are of a part of the bench or a quick one; measure all of it for the README.")
    text = readme.read_text(encoding="utf-8") if readme.exists() else ""
    written = replaced_block(text, "bench", readme_block(bench))
    write_whole(readme, lambda part: part.write_text(written, encoding="utf-8"))


def read(path: Path) -> dict:
    """The numbers of an earlier run."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise TaclError(f"{path} does not exist yet; measure first, without --show or --write-readme.") from None
    except ValueError as error:
        raise TaclError(f"{path} is not whole JSON ({error}); measure again.") from error


def write(path: Path, bench: dict) -> None:
    text = json.dumps(bench, indent=1, ensure_ascii=False) + "\n"
    write_whole(path, lambda part: part.write_text(text, encoding="utf-8"))


def _sign(row: dict) -> str:
    return row.get("ratio_unit", "× less" if row.get("fewer") else "×")


def _short(row: dict, count: str) -> str:
    cell = row["cells"].get(count) or row["cells"].get("any")
    return "–" if cell is None else f"{number(cell['ratio']['median'])}{_sign(row)}"


def _absolute(row: dict, count: str) -> str:
    cell = row["cells"].get(count) or row["cells"].get("any")
    if cell is None:
        return "–"
    values = [number(cell[side]) for side in ("ours", "theirs") if side in cell]
    return f"{' / '.join(values)} {row['unit']}"


def _stored_table(stored: dict) -> str:
    lines = [_line(["stored gradients", "dense / OGD", "OGD, ms", "dense, ms"]), _line(["---"] * 4)]
    for point in stored["points"]:
        ours, dense = point["ogd"]["median"], (point.get("dense") or {}).get("median")
        others = ("–", "too large") if dense is None else (f"**{number(dense / ours)}×**", number(dense))
        lines.append(_line([str(point["stored"]), others[0], number(ours), others[1]]))
    fits = ", ".join(f"{name} n^{value:.2f}" for name, value in stored["exponent"].items())
    return "\n".join(
        [*lines, "", f"Cost of one run's step, one thread, nothing replaced; fitted: {fits or 'nothing'}."]
    )


def _footer(bench: dict) -> str:
    facts = bench["circumstances"]
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    lines = [
        f"{facts['cpu']}, {facts['cores']} cores, {facts['memory_gb']} GB, {facts['system']}; {versions}; "
        f"{facts['date']}.",
        f"{bench['runs']} stacked runs, batch {bench['batch']}; median (quartiles) of {bench['rounds']} rounds in "
        f"which contenders took turns, {bench['seconds']:g} s a block.",
    ]
    if (facts["load_before"] or 0) > 0.5:
        lines.append(f"The machine was not quiet: its load was {facts['load_before']} before the run.")
    lines += dict.fromkeys(row["note"] for row in bench["rows"] if row.get("note"))
    return "\n".join(f"- {line}" for line in [*lines, *bench["notes"]])


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"

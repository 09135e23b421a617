"""Tables as plain text: CSV and Markdown."""

import re

from tacl_lib.report.tables.layout import ABSENT
from tacl_lib.report.tables.table import Cell, Table


def to_csv(table: Table) -> str:
    """Comment lines with #, then the numbers in full precision.

    Read it back with ``pandas.read_csv(path, comment="#", na_values="–")``.
    """
    said = [*filter(None, [table.notice]), table.caption, *table.footnotes]
    comments = "".join(f"# {' '.join(line.split())}\n" for line in said)
    # A # inside a field would be taken for a comment by readers that do not look at quotes.
    data = table.data.map(lambda value: value.replace("#", "no. ") if isinstance(value, str) else value)
    return comments + data.to_csv(index=False, na_rep=ABSENT, lineterminator="\n")


def to_markdown(table: Table, deviation: bool = False) -> str:
    """A Markdown table; task-aware rows are in italics, since Markdown has no grey.

    deviation: add the standard deviations.
    """
    lines = [f"**{_escaped(table.notice)}**", ""] if table.notice else []
    lines += [_escaped(table.full_caption()), ""]
    lines.append(_line(_escaped(text) for text in table.flat_head()))
    lines.append(_line(":---" if column in table.text_columns else "---:" for column in range(len(table.head))))
    lines += [_line(_cell(cell, row.grey, deviation) for cell in row.cells) for row in table.rows]
    lines += ["", *(f"- {_escaped(note)}" for note in table.footnotes)] if table.footnotes else []
    return "\n".join(lines) + "\n"


def _line(cells) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(cell: Cell, grey: bool, deviation: bool) -> str:
    text = _escaped(f"{cell.text} {cell.deviation}" if deviation and cell.deviation else cell.text)
    mark = "**" if cell.bold else "*" if grey else ""
    return f"{mark}{text}{mark}"


def _escaped(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", " ".join(text.split()))

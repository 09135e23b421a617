"""Tables in HTML that need nothing but themselves: the style is inside, for a notebook or a file."""

from html import escape

from tacl_lib.report.tables.table import Cell, Table

# Jupyter's own colours where there are any, else the browser's for the user's light or dark scheme.
_STYLE = """\
.tacl{--paper:var(--jp-layout-color0,Canvas);--ink:var(--jp-ui-font-color0,CanvasText);--grey:#767676;
color-scheme:light dark;background:var(--paper);color:var(--ink);font:14px/1.4 system-ui,sans-serif}
.tacl .scroll{overflow:auto;max-height:85vh}
.tacl table{border-collapse:separate;border-spacing:0;font-variant-numeric:tabular-nums;margin:0}
.tacl caption{caption-side:bottom;text-align:left;padding:.5em 0;max-width:60em}
.tacl th,.tacl td{padding:.2em .6em;text-align:right;white-space:nowrap;background:var(--paper);color:inherit}
.tacl.settings td:last-child{white-space:normal;min-width:16em}
.tacl .text{text-align:left}
.tacl thead th{text-align:center;font-weight:600}
.tacl thead tr:last-child th{border-bottom:1px solid var(--grey)}
.tacl tbody td{font-weight:400}
.tacl tbody td.bold{font-weight:700}
.tacl tbody th{font-weight:500;text-align:left}
.tacl tr>:first-child{position:sticky;left:0;z-index:1;border-right:1px solid var(--grey)}
.tacl .first{border-left:1px solid var(--grey)}
.tacl tr.grey>*{color:var(--grey)}
.tacl tr.line>*{border-top:1px solid var(--grey)}
.tacl small{display:block;font-size:.75em;font-weight:400}
.tacl .notice{border:2px solid #d97706;padding:.4em .7em;margin:0 0 .6em;font-weight:700}
.tacl ul{margin:.3em 0;padding-left:1.3em}"""


def to_html(table: Table, deviation: bool = False, page: bool = False) -> str:
    """A table for ``IPython.display.HTML``, or a whole page.

    deviation: show the standard deviations in a second line; without it they show when the pointer rests on a number.
    """
    notice = f'<p class="notice">{escape(table.notice)}</p>\n' if table.notice else ""
    bold_notice = f"<strong>{escape(table.notice)}.</strong> " if table.notice else ""
    notes = "".join(f"<li>{escape(note)}</li>" for note in table.footnotes)
    fragment = (
        f'<div class="tacl {table.kind}">\n{notice}<style>\n{_STYLE}\n</style>\n<div class="scroll"><table>\n'
        f"<caption>{bold_notice}{escape(table.caption)}</caption>\n"
        f"<thead>\n{_head(table)}</thead>\n<tbody>\n{_body(table, deviation)}</tbody>\n</table></div>\n"
        + (f"<ul>{notes}</ul>\n" if notes else "")
        + "</div>\n"
    )
    if not page:
        return fragment
    title = escape(f"{table.notice}: {table.name}" if table.notice else table.name)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><title>{title}</title></head>\n'
        f"<body>\n{fragment}</body>\n</html>\n"
    )


def _head(table: Table) -> str:
    rows = ""
    if table.groups:
        spans = (
            f'<th colspan="{span}"{_class(number and "first")}>{escape(text)}</th>'
            for number, (text, span) in enumerate(table.groups)
        )
        rows += f"<tr>{''.join(spans)}</tr>\n"
    starts = _starts(table)
    cells = (
        f'<th scope="col"{_class(number in starts and "first")}>{escape(text)}</th>'
        for number, text in enumerate(table.head)
    )
    return f"{rows}<tr>{''.join(cells)}</tr>\n"


def _body(table: Table, deviation: bool) -> str:
    starts, rows = _starts(table), ""
    for row in table.rows:
        cells = "".join(
            _cell(table, cell, number, number in starts, deviation) for number, cell in enumerate(row.cells)
        )
        rows += f"<tr{_class(row.grey and 'grey', row.line and 'line')}>{cells}</tr>\n"
    return rows


def _cell(table: Table, cell: Cell, number: int, first: bool, deviation: bool) -> str:
    if number == 0:
        return f'<th scope="row">{escape(cell.text)}</th>'
    small = f"<small>{escape(cell.deviation)}</small>" if deviation and cell.deviation else ""
    hint = f' title="{escape(cell.hint)}"' if cell.hint else ""
    classes = _class(cell.bold and "bold", first and "first", number in table.text_columns and "text")
    return f"<td{classes}{hint}>{escape(cell.text)}{small}</td>"


def _starts(table: Table) -> set[int]:
    """The columns with which a group begins."""
    starts, column = set(), 0
    for _, span in table.groups:
        starts.add(column)
        column += span
    return starts - {0}


def _class(*names: str | bool | int) -> str:
    chosen = " ".join(name for name in names if isinstance(name, str))
    return f' class="{chosen}"' if chosen else ""

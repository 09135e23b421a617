"""Tables in LaTeX, built as the paper builds its own: plain tabular, groups of columns, grey rows below a line."""

import re

from tacl_lib.report.tables.table import Cell, Row, Table

PACKAGES = ("xcolor", "graphicx", "longtable")  #: what a document needs to show these tables

_SETTINGS_COLUMNS = r"l|p{0.2\linewidth}|p{0.2\linewidth}|p{0.35\linewidth}"
_SPECIAL = {character: f"\\{character}" for character in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "–": "--",
    "…": r"\ldots{}",
    "≠": r"$\neq$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "·": r"$\cdot$",
    "°": r"$^\circ$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "→": r"$\rightarrow$",
    "−": "$-$",
    "†": r"$^\dagger$",
    "ä": r"\"a",
}
_ESCAPES = str.maketrans(_SPECIAL)


def to_latex(table: Table, deviation: bool = False) -> str:
    """LaTeX source of a floating table (a longtable for the comparisons, which are longer than a page).

    deviation: add the standard deviations in small type.
    """
    body = _long(table, deviation) if table.kind == "comparison" else _floating(table, deviation)
    first = [f"% {table.notice}"] if table.notice else []
    return "\n".join([*first, f"% needs \\usepackage{{{','.join(PACKAGES)}}}", *body]) + "\n"


def escaped(text: str) -> str:
    """Text that LaTeX prints as it is, with opening and closing quotation marks."""
    return re.sub(r'"([^"]*)"', r"``\1''", " ".join(text.split())).translate(_ESCAPES)


def _floating(table: Table, deviation: bool) -> list[str]:
    result = table.kind == "result"
    columns = "|".join("c" * span for _, span in table.groups) if result else _SETTINGS_COLUMNS
    return [
        r"\begin{table*}",
        r"\centering",
        *([f"{{\\bfseries {escaped(table.notice)}\\par}}\\smallskip"] if table.notice else []),
        # Fifteen columns of numbers are made to fit the page, with deviations or without.
        r"\resizebox{\textwidth}{!}{" if result else r"\scalebox{0.75}{",
        f"\\begin{{tabular}}{{{columns}}}",
        *_head(table),
        *_rows(table, deviation),
        r"\end{tabular}",
        "}",
        *(f"\\par{{\\footnotesize {escaped(note)}\\par}}" for note in table.footnotes),
        f"\\caption{{{_caption(table)}}}",
        f"\\label{{tab:tacl_{table.name}}}",
        r"\end{table*}",
    ]


def _long(table: Table, deviation: bool) -> list[str]:
    # Every page repeats the notice: a page that is taken out still says that it is reduced. \rlap hides its width
    # from longtable, which would give it to the last column.
    notice = f"\\rlap{{\\parbox{{0.95\\linewidth}}{{\\bfseries {escaped(table.notice)}}}}}"
    again = [_line([f"\\multicolumn{{{len(table.head)}}}{{l}}{{{notice}}}"])] if table.notice else []
    return [
        r"{\scriptsize\setlength{\tabcolsep}{2pt}",
        r"\begin{longtable}{lll|rrr|r|l}",
        *again,
        f"\\caption{{{_caption(table)}}}\\label{{tab:tacl_{table.name}}}\\\\",
        *_head(table),
        r"\endfirsthead",
        *again,
        *_head(table),
        r"\endhead",
        *_rows(table, deviation),
        r"\end{longtable}",
        *(f"{{\\footnotesize {escaped(note)}\\par}}" for note in table.footnotes),
        "}",
    ]


def _caption(table: Table) -> str:
    notice = f"\\textbf{{{escaped(table.notice)}.}} " if table.notice else ""
    return notice + escaped(table.caption)


def _head(table: Table) -> list[str]:
    lines = []
    if table.groups:
        last = len(table.groups) - 1
        spans = [
            f"\\multicolumn{{{span}}}{{{'c' if number == last else 'c|'}}}{{{escaped(text)}}}" if text else ""
            for number, (text, span) in enumerate(table.groups)
        ]
        lines.append(_line(spans))
    return [*lines, _line(escaped(text) for text in table.head), r"    \hline"]


def _rows(table: Table, deviation: bool) -> list[str]:
    lines = []
    for row in table.rows:
        if row.line:
            lines.append(r"    \hline")
        lines.append(_line(_cell(cell, row, deviation) for cell in row.cells))
    return lines


def _cell(cell: Cell, row: Row, deviation: bool) -> str:
    text = escaped(cell.text)
    if text[:1] in ("+", "-") and text[1:2].isdigit():
        text = f"${text}$"  # a minus sign, not a hyphen
    text = f"\\textbf{{{text}}}" if cell.bold else text
    text += f" {{\\tiny {escaped(cell.deviation)}}}" if deviation and cell.deviation else ""
    return f"\\color{{gray}}{text}" if row.grey else text


def _line(cells) -> str:
    return f"    {' & '.join(cells)} \\\\"

"""Tables of results, comparisons with the paper and settings, as CSV, LaTeX, Markdown and HTML."""

from tacl_lib.report.tables.html import to_html
from tacl_lib.report.tables.latex import to_latex
from tacl_lib.report.tables.layout import comparison_table, result_table, result_tables, table_of_settings
from tacl_lib.report.tables.table import Cell, Row, Table
from tacl_lib.report.tables.text import to_csv, to_markdown
from tacl_lib.report.tables.writing import all_tables, write_tables

__all__ = [
    "Cell",
    "Row",
    "Table",
    "all_tables",
    "comparison_table",
    "result_table",
    "result_tables",
    "table_of_settings",
    "to_csv",
    "to_html",
    "to_latex",
    "to_markdown",
    "write_tables",
]

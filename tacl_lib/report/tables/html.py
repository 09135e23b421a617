"""Tables in HTML that need nothing but themselves: the style is inside, for a notebook or a file."""

from tacl_lib.report.rendering import render, stylesheet
from tacl_lib.report.tables.table import Table


def to_html(table: Table, deviation: bool = False, page: bool = False, brief: bool = False) -> str:
    """A table for ``IPython.display.HTML``, or a whole page.

    brief: only title and numbers, where notice, caption and footnotes are said once for several tables.
    deviation: show the standard deviations in a second line; without it they show when the pointer rests on a number.
    """
    template = "table_page.html" if page else "table.html"
    return render(template, table=table, deviation=deviation, styles=stylesheet("table.css"), brief=brief)

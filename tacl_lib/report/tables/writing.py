"""All tables into a folder."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pandas as pd

from tacl_lib.files import write_whole
from tacl_lib.names import EXPERIMENTS, METRICS
from tacl_lib.paper.settings import SETTINGS
from tacl_lib.report.tables.html import to_html
from tacl_lib.report.tables.latex import to_latex
from tacl_lib.report.tables.layout import comparison_table, result_table, table_of_settings
from tacl_lib.report.tables.table import Table
from tacl_lib.report.tables.text import to_csv, to_markdown
from tacl_lib.runs.spec import RunSpec


def all_tables(
    cells: pd.DataFrame,
    *,
    reduced: str | None = None,
    reasons: Mapping[str, str] | None = None,
    notes: Mapping[str, str] | None = None,
    specs: Mapping[str, RunSpec] | None = None,
) -> list[Table]:
    """The six result tables, each with its comparison, then the three tables of settings.

    cells, reduced, reasons, notes: as for `result_table`. specs: whose settings each table of settings prints, see
    `specs_of_settings`; None is the defaults.
    """
    shared = {"reduced": reduced, "reasons": reasons, "notes": notes}
    results = [
        make(cells, experiment, metric, **shared)
        for experiment in EXPERIMENTS
        for metric in METRICS
        for make in (result_table, comparison_table)
    ]
    notice = results[0].notice or None  # cells may be marked as reduced where no text was given
    return results + [table_of_settings(name, (specs or {}).get(name), reduced=notice) for name in SETTINGS]


def write_tables(
    cells: pd.DataFrame,
    folder: Path | str,
    *,
    reduced: str | None = None,
    reasons: Mapping[str, str] | None = None,
    notes: Mapping[str, str] | None = None,
    specs: Mapping[str, RunSpec] | None = None,
    deviation: bool = False,
) -> list[Path]:
    """Write every table in every format into a folder, and say where: ``<name>.csv``, ``.tex``, ``.md``, ``.html``.

    deviation: show standard deviations beside the means (CSV comparisons always have them).
    """
    formats = {
        "csv": to_csv,
        "tex": partial(to_latex, deviation=deviation),
        "md": partial(to_markdown, deviation=deviation),
        "html": partial(to_html, deviation=deviation, page=True),
    }
    paths = []
    for table in all_tables(cells, reduced=reduced, reasons=reasons, notes=notes, specs=specs):
        for suffix, render in formats.items():
            path, text = Path(folder) / f"{table.name}.{suffix}", render(table)
            write_whole(path, lambda temporary, text=text: temporary.write_text(text, encoding="utf-8", newline="\n"))
            paths.append(path)
    return paths

"""What the paper printed, as data, and our results beside it.

In: stored runs. Out: cells (ours, the paper's, the difference), claims with a verdict, readings of open settings.
May import: data, core, engine, training, runs. Imported by: report, teaching.
"""

from tacl_lib.paper.claims import findings
from tacl_lib.paper.compare import NEAR, PAPER_RUNS, TOLERANCE, VERDICTS, agreement, by_method, counts, make_cells
from tacl_lib.paper.judging import USUAL, Finding, published_runs
from tacl_lib.paper.published import (
    CITATION,
    DATASETS,
    EXPERIMENTS,
    METHODS,
    METRICS,
    SPLITS,
    TASK_AWARE,
    methods_in,
    published,
)
from tacl_lib.paper.settings import SETTINGS, settings_table, specs_of_settings

__all__ = [
    "CITATION",
    "DATASETS",
    "EXPERIMENTS",
    "METHODS",
    "METRICS",
    "NEAR",
    "PAPER_RUNS",
    "SETTINGS",
    "SPLITS",
    "TASK_AWARE",
    "TOLERANCE",
    "USUAL",
    "VERDICTS",
    "Finding",
    "agreement",
    "by_method",
    "counts",
    "findings",
    "make_cells",
    "methods_in",
    "published",
    "published_runs",
    "settings_table",
    "specs_of_settings",
]

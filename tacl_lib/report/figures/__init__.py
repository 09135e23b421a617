"""Static figures for print and the web, each drawn from records alone and carrying an alternative text."""

from tacl_lib.report.figures.agreement import heat_map, scatter
from tacl_lib.report.figures.diagrams import clustering_diagram, strategy_diagram
from tacl_lib.report.figures.overview import overview_figure, overview_halves
from tacl_lib.report.figures.picture import Picture, alt_of, save
from tacl_lib.report.figures.readings import readings_figure
from tacl_lib.report.figures.results import result_figure
from tacl_lib.report.figures.study import study_figure
from tacl_lib.report.figures.timeline import timeline_figure

__all__ = [
    "Picture",
    "alt_of",
    "clustering_diagram",
    "heat_map",
    "overview_figure",
    "overview_halves",
    "readings_figure",
    "result_figure",
    "save",
    "scatter",
    "strategy_diagram",
    "study_figure",
    "timeline_figure",
]

"""The report at the end of a reproduction: one self-contained HTML page."""

from collections.abc import Sequence
from pathlib import Path

from tacl_lib.errors import TaclError
from tacl_lib.files import write_whole
from tacl_lib.paper.compare import make_cells
from tacl_lib.paper.open_settings import chosen
from tacl_lib.paper.paper_runs import Evidence
from tacl_lib.paper.published import CITATION, in_order
from tacl_lib.paper.readings import PAPER
from tacl_lib.paper.settings import SETTINGS, specs_of_settings
from tacl_lib.report.figures import style
from tacl_lib.report.gallery import DIAGRAMS, IN_PAIRS, Gallery
from tacl_lib.report.live import GAP, GUESSING, PAPER_ALIKE, in_kind
from tacl_lib.report.rendering import allowed, picture, render, stylesheet
from tacl_lib.report.summary import Shown, summary_of
from tacl_lib.report.tables import Table, result_tables, table_of_settings
from tacl_lib.report.times import Times, circumstances_of
from tacl_lib.runs.grid import Job, table_jobs
from tacl_lib.runs.profiles import Profile
from tacl_lib.runs.store import ReadOnce, Store
from tacl_lib.runs.together import Together

__all__ = ["Times", "write_report"]


def write_report(
    build: Path, profile: Profile, jobs: Sequence[Job], missing: dict[str, str], store: Store, times: Times
) -> Path:
    """Gather what the reference runs and these runs show, the settings, machine, times and what is missing.

    jobs: everything that the reproduction was to run. missing: datasets that are not available → why.
    """
    styles = stylesheet("table.css", "report.css")
    specs = specs_of_settings(profile)
    page = render(
        "report.html",
        profile=profile,
        citation=CITATION,
        styles=styles,
        policy=allowed(styles),
        paper=paper_part(Together(store.folder)),
        live=live_part(profile, jobs, store) if profile.reduction else None,
        missing={style.DATASETS.get(name, name): reason for name, reason in missing.items()},
        settings=[table_of_settings(name, specs[name]) for name in SETTINGS],
        open_settings=chosen(PAPER),
        circumstances=circumstances_of(build, jobs, store, times),
        times=times,
    )
    path = build / "report.html"
    write_whole(path, lambda part: part.write_text(page, encoding="utf-8"))
    return path


def paper_part(store: Together) -> dict | None:
    """What the runs at the paper's settings show: the reference runs and the user's own; None if there are none."""
    try:
        evidence = Evidence(store)
    except TaclError:
        return None
    gallery = Gallery(PAPER, evidence.store)
    shown = {"reasons": {}, "beside": True, "own": evidence.own, "notes": evidence.store.notes(evidence.jobs)}
    tables = result_tables(evidence.cells, **shown)
    return {
        **summary_of(evidence),
        "tables": tables,
        "notes": _notes(tables),
        "figures": _shown(gallery),
        "waiting": [gallery.title(name) for name in gallery.waiting],
        "judged": evidence.judged(),
        "own": sorted(evidence.own),
    }


def live_part(profile: Profile, jobs: Sequence[Job], store: Store) -> dict:
    """What the reduced runs of this machine show, and whether they show the paper's findings in kind."""
    datasets, methods = (
        list(dict.fromkeys(getattr(job.spec, kind) for job in jobs)) for kind in ("dataset", "learner")
    )
    store = ReadOnce(store.folder)
    of_tables = table_jobs(profile, datasets, methods)
    runs = store.summaries(of_tables)
    cells = make_cells(runs, reduced=profile.reduction)
    there = in_order(runs["dataset"], style.DATASETS)
    gallery = Gallery(profile, store, datasets=there, methods=methods, seeds=profile.seeds)
    gallery.reduced = None  # one banner says it for all of them
    tables = result_tables(cells, datasets=there, notes=store.notes(of_tables))
    return {
        "tables": tables,
        "notes": _notes(tables),
        "rules": in_kind(runs, gallery.study_runs(), gallery.study_dataset),
        "figures": _shown(gallery, width=1100),
        "seeds": len(profile.seeds),
        "gap": GAP,
        "paper_alike": PAPER_ALIKE,
        "guessing": GUESSING,
    }


def _notes(tables: Sequence[Table]) -> list[str]:
    """What the tables say of data that is not the published set, once."""
    return sorted({note for table in tables for note in table.footnotes if note.startswith("†")})


def _shown(gallery: Gallery, **how) -> list[Shown]:
    """The result figures and those of the study that there are runs for."""
    drawn = [name for name in gallery.drawn if name not in (*DIAGRAMS, *IN_PAIRS)]
    figures = ((name, gallery.draw(name)) for name in drawn)
    return [
        Shown(name, gallery.title(name), ((picture(figure, **how), figure.alt),), gallery.own(name))
        for name, figure in figures
    ]

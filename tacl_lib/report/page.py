"""The report at the end of a reproduction: one self-contained HTML page."""

import base64
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from pathlib import Path

import mistune
import pandas as pd

from tacl_lib.core.record import circumstances
from tacl_lib.errors import TaclError
from tacl_lib.files import write_whole
from tacl_lib.paper import CITATION, SETTINGS, agreement, make_cells, specs_of_settings
from tacl_lib.paper.evidence import details, opening
from tacl_lib.paper.paper_runs import Evidence
from tacl_lib.report.tables import comparison_table, result_table, table_of_settings, to_html
from tacl_lib.runs.grid import EXPERIMENTS, Job, table_jobs
from tacl_lib.runs.profiles import Profile
from tacl_lib.runs.store import METRICS, REFERENCE, Store

_LONG_AGO = "2000-01-01T00:00:00+00:00"  #: for records made before they said when

_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:78rem;margin:2rem auto;padding:0 1rem;color:#1b1b1b;background:#fff}
h1,h2{line-height:1.2}h2{margin-top:2.5rem;border-bottom:1px solid #ccc}img{max-width:100%;height:auto}
.notice{border:2px solid #d97706;padding:.5rem .8rem;font-weight:700}figure{margin:1.5rem 0}
figcaption{color:#555;font-size:.9em}table.plain{border-collapse:collapse}
table.plain td,table.plain th{padding:.15rem .7rem;text-align:left;border-bottom:1px solid #ddd}
nav a{margin-right:1rem}.wide{overflow-x:auto}.wide td{vertical-align:top}
.claims table{font-size:.88em}.claims td:first-child{min-width:14rem}
.claims td:nth-child(5):nth-last-child(2),.claims td:nth-child(6){min-width:23rem}
"""


@dataclass
class Times:
    """When the parts of a reproduction began and ended, in UTC."""

    begun: datetime
    runs_over: datetime | None = None  #: the notebooks that run experiments were through
    over: datetime | None = None  #: tables and figures as well
    workers: int = 1  #: jobs that could be done at once

    def overhead(self, run_seconds: float) -> float:
        """Seconds that papermill, kernels and Dask took beyond the runs, which had ``workers`` to share them."""
        return (self.runs_over - self.begun).total_seconds() - run_seconds / self.workers


def write_report(build: Path, figures: Path, profile: Profile, jobs: Sequence[Job], store: Store, times: Times) -> Path:
    """Gather tables, figures, settings, machine, times and what was not run into ``build/report.html``.

    figures: folder of the pictures. jobs: everything that the reproduction was to run.
    """
    plan = json.loads((build / "plan.json").read_text(encoding="utf-8"))
    reduced = f"REDUCED ({profile.reduction})" if profile.reduction else None
    of_tables = table_jobs(profile, [job.spec.dataset for job in jobs], [job.spec.learner for job in jobs])
    cells = make_cells(store.summaries(of_tables), reduced=reduced, reasons=plan["missing"])
    specs = specs_of_settings(profile)
    sections = {
        "Summary": _summary(cells, reduced, plan["missing"]),
        "Tables": _tables(cells, reduced, plan["missing"], store.notes(of_tables)),
        "Figures": _figures(figures),
        "Settings": "".join(to_html(table_of_settings(name, specs[name], reduced=reduced)) for name in SETTINGS),
        "What holds of the paper": _claims(store if profile.name == "paper" else Store(REFERENCE)),
        "Machine and times": _times(build, jobs, store, times),
    }
    links = "".join(f'<a href="#{_anchor(title)}">{escape(title)}</a>' for title in sections)
    body = "".join(f'<h2 id="{_anchor(t)}">{escape(t)}</h2>\n{text}\n' for t, text in sections.items())
    title = f"TACL: reproduction, profile {profile.name}"
    notice = f'<p class="notice">{escape(reduced)}: not comparable with the paper.</p>' if reduced else ""
    page = (
        f'<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head>\n'
        f"<body>\n<h1>{escape(title)}</h1>\n{notice}\n<p>{escape(CITATION)}</p>\n<nav>{links}</nav>\n{body}</body></html>\n"
    )
    path = build / "report.html"
    write_whole(path, lambda part: part.write_text(page, encoding="utf-8"))
    return path


def _summary(cells: pd.DataFrame, reduced: str | None, missing: dict[str, str]) -> str:
    line = agreement(cells, at_paper_settings=reduced is None)
    parts = [f"<p>{escape(line[0].upper() + line[1:])}.</p>"]
    if missing:
        rows = "".join(f"<li><b>{escape(name)}</b>: {escape(reason)}</li>" for name, reason in missing.items())
        parts.append(f"<p>Datasets that could not be had:</p><ul>{rows}</ul>")
    deviating = cells[cells["verdict"] == "deviates"]
    if len(deviating):
        counts = (
            deviating.groupby(["experiment", "metric", "dataset"]).size().rename("cells that deviate").reset_index()
        )
        parts.append("<p>Where ours and the paper's differ by more than the tolerance:</p>" + _plain(counts))
    unrun = cells[cells["verdict"] == "not run"].groupby(["experiment", "dataset"]).size().rename("cells not run")
    if len(unrun):
        parts.append("<p>Not run:</p>" + _plain(unrun.reset_index()))
    return "".join(parts)


def _tables(cells: pd.DataFrame, reduced: str | None, missing: dict[str, str], notes: dict[str, str]) -> str:
    parts = []
    for experiment in EXPERIMENTS:
        for metric in METRICS:
            given = {"reduced": reduced, "reasons": missing, "notes": notes}
            parts.append(to_html(result_table(cells, experiment, metric, **given)))
            comparison = to_html(comparison_table(cells, experiment, metric, **given))
            parts.append(f"<details><summary>ours, paper, difference, verdict</summary>{comparison}</details>")
    return "\n".join(parts)


def _figures(folder: Path) -> str:
    parts = []
    for image in sorted(folder.glob("*.png")):
        alt = image.with_suffix(".alt.txt")
        text = alt.read_text(encoding="utf-8") if alt.exists() else image.stem
        data = base64.b64encode(image.read_bytes()).decode()
        caption = image.stem.replace("_", " ")
        parts.append(
            f'<figure><img alt="{escape(text)}" src="data:image/png;base64,{data}">'
            f"<figcaption>{escape(caption)}</figcaption></figure>"
        )
    return "\n".join(parts)


def _claims(store: Store) -> str:
    """Runs at the paper's settings: the user's, if this is the paper's profile, else the reference runs."""
    try:
        evidence = Evidence(store)
    except TaclError as error:
        return f"<p>{escape(str(error))}</p>"
    which = "the reference runs that come with the project" if store.is_reference else "these runs"
    more = "More: every number and how to make it again, open settings, differences, what was tried"
    return (
        f"<p>From {which}, at the paper's settings.</p>"
        f'<div class="wide claims">{_from_markdown(opening(evidence))}</div>'
        f'<details><summary>{more}</summary><div class="wide">{_from_markdown(details(evidence))}</div></details>'
    )


def _from_markdown(text: str) -> str:
    """Our own Markdown, which may have line breaks as tags, as a part of the report."""
    html = mistune.create_markdown(escape=False, plugins=["table"])(text)
    # One level down, as the report has headings of its own.
    html = re.sub(r"<(/?)h([23])>", lambda tag: f"<{tag[1]}h{int(tag[2]) + 1}>", html)
    html = html.replace("<table>", '<table class="plain">')
    return re.sub(r"<a [^>]*>(.*?)</a>", r"\1", html)  # the report may lie where its neighbours are not


def _times(build: Path, jobs: Sequence[Job], store: Store, times: Times) -> str:
    """Where the hours went, and what papermill and Dask cost on top."""
    import nbformat  # here, as it takes seconds and is needed last

    rows, devices = [], set()
    for job in jobs:
        records = store.records(*job)
        if records:
            info = records[0].info
            devices.add(info["device"])
            now = datetime.fromisoformat(info.get("finished", _LONG_AGO)) >= times.begun.replace(microsecond=0)
            rows.append((job.spec.learner, info["wall_seconds_of_stack"], len(records), now))
    frame = pd.DataFrame(rows, columns=["method", "seconds", "runs", "now"])
    by_method = frame.groupby("method")[["seconds", "runs"]].sum().round(1).reset_index()
    notebooks = {}
    for path in sorted(build.glob("*.ipynb")):
        notebooks[path.stem] = nbformat.read(path, 4).metadata.get("papermill", {}).get("duration")
    facts = circumstances(", ".join(sorted(devices)))
    versions = ", ".join(f"{name} {number}" for name, number in facts["versions"].items())
    listing = pd.DataFrame([(n, f"{d:.0f}") for n, d in notebooks.items() if d], columns=["notebook", "seconds"])
    fresh = frame.loc[frame["now"], "seconds"].sum()
    whole, drawing = ((times.over - since).total_seconds() for since in (times.begun, times.runs_over))
    return (
        f"<p>Made on {times.over.astimezone():%Y-%m-%d %H:%M %Z} on {escape(facts['machine'])}, device "
        f"{escape(facts['device'])}; commit {escape(facts['commit'])}; {escape(versions)}.</p>"
        f"<p>This reproduction took {whole:.0f} s. Runs of this call: {fresh:.0f} s of workers' time, shared by "
        f"{times.workers} at once; runs that were there before: {frame['seconds'].sum() - fresh:.0f} s. "
        f"<b>Overhead of papermill, kernels and Dask: {times.overhead(fresh):.0f} s</b> beyond the runs' share; "
        f"tables and figures: {drawing:.0f} s.</p>"
        f"{_plain(by_method)}<p>Notebooks, from start to end:</p>{_plain(listing)}"
    )


def _plain(frame: pd.DataFrame) -> str:
    return frame.to_html(index=False, border=0, classes="plain")


def _anchor(title: str) -> str:
    return title.lower().replace(" ", "-")

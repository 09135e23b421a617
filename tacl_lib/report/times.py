"""Where the time of a reproduction went, and on which machine."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pandas as pd

from tacl_lib.names import title
from tacl_lib.runs.grid import Job
from tacl_lib.runs.store import Store
from tacl_lib.training.record import circumstances

_LONG_AGO = "2000-01-01T00:00:00+00:00"  #: for records made before they said when


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


def circumstances_of(build: Path, jobs: Sequence[Job], store: Store, times: Times) -> dict:
    """Machine, versions, and seconds by method and notebook."""
    runs = _seconds(jobs, store, times)
    fresh = runs.loc[runs["now"], "seconds"].sum()
    facts = circumstances(", ".join(sorted(set(runs["device"]))))
    by_method = runs.groupby("method", sort=False)[["seconds", "runs"]].sum()
    return {
        "made": f"{times.over.astimezone():%Y-%m-%d %H:%M %Z}",
        "facts": facts,
        "by_method": [(title("method", name), row["seconds"], row["runs"]) for name, row in by_method.iterrows()],
        "notebooks": _notebooks(build),
        "whole": (times.over - times.begun).total_seconds(),
        "drawing": (times.over - times.runs_over).total_seconds(),
        "running": (times.runs_over - times.begun).total_seconds(),
        "fresh": fresh,
        "before": runs["seconds"].sum() - fresh,
        "overhead": times.overhead(fresh),
    }


def _seconds(jobs: Sequence[Job], store: Store, times: Times) -> pd.DataFrame:
    """A row for each job that has runs: method, device, seconds of its stack, runs, and whether this call made it."""
    rows = []
    for job in jobs:
        records = store.records(*job)
        if records:
            info = records[0].info
            now = datetime.fromisoformat(info.get("finished", _LONG_AGO)) >= times.begun.replace(microsecond=0)
            device, seconds = info.get("device", "not recorded"), info.get("wall_seconds_of_stack", 0.0)
            rows.append((job.spec.learner, device, seconds, len(records), now))
    return pd.DataFrame(rows, columns=["method", "device", "seconds", "runs", "now"]).astype({"now": bool})


def _notebooks(build: Path) -> list[tuple[str, float]]:
    import nbformat  # here, as it takes seconds and is needed last

    about = {path.stem: nbformat.read(path, 4).metadata.get("papermill", {}) for path in sorted(build.glob("*.ipynb"))}
    return [(name, found["duration"]) for name, found in about.items() if found.get("duration")]

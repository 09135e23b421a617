"""`make status`: which runs are done, running and missing, and how long the rest will take."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from filelock import FileLock, Timeout

from tacl_lib.runs.cost import seconds
from tacl_lib.runs.grid import Job
from tacl_lib.runs.store import Store

SIGNS = {"done": "●", "running": "◐", "begun": "◌", "missing": "·"}


def state_of(job: Job, store: Store) -> str:
    """done, running (somebody holds its lock), begun (a checkpoint waits) or missing."""
    if not store.missing(job.spec, job.seeds):
        return "done"
    if any(_held(store.lock(job.spec, seed)) for seed in job.seeds):
        return "running"
    return "begun" if store.checkpoint(job.spec, job.seeds).exists() else "missing"


def _held(lock: Path) -> bool:
    """Whether a process holds a lock. In a folder that cannot be written to nobody does."""
    if not lock.exists():
        return False
    try:
        with FileLock(lock, timeout=0):
            return False
    except Timeout:
        return True
    except OSError:
        return False


def status_table(jobs: Sequence[Job], store: Store) -> str:
    """The grid as text: a row for each experiment, dataset and split, a sign for each method."""
    states = {job: state_of(job, store) for job in jobs}
    methods = list(dict.fromkeys(job.spec.learner for job in jobs))
    rows: dict[tuple, dict[str, str]] = defaultdict(lambda: defaultdict(str))
    for job, state in states.items():
        # The study runs one learner several times in a row: one sign each.
        rows[job.spec.experiment, job.spec.dataset, job.spec.split][job.spec.learner] += SIGNS[state]
    lines = [f"{'experiment':12}{'dataset':15}{'split':13}" + "".join(f"{method:>14}" for method in methods)]
    for (experiment, dataset, split), signs in rows.items():
        cells = "".join(f"{signs[method] or '–':>14}" for method in methods)
        lines.append(f"{experiment:12}{dataset:15}{split:13}{cells}")
    counts = {state: sum(s == state for s in states.values()) for state in SIGNS}
    hours = sum(seconds(job) for job, state in states.items() if state != "done") / 3600
    lines.append("")
    lines.append("   ".join(f"{SIGNS[state]} {state} {count}" for state, count in counts.items()))
    lines.append(f"left: about {hours:.1f} hours of one core")
    return "\n".join(lines)

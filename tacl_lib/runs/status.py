"""`make status`: which runs are done, running and missing (`forecast` estimates how long the rest will take)."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from filelock import FileLock, Timeout

from tacl_lib.runs.grid import Job
from tacl_lib.runs.store import Store

#: reference: not run here, but among the project's reference runs
SIGNS = {"done": "●", "reference": "○", "running": "◐", "begun": "◌", "missing": "·"}


def state_of(job: Job, store: Store, reference: Store | None = None) -> str:
    """done, reference, running (a process holds its lock), begun (there is a checkpoint) or missing."""
    missing = store.missing(*job)
    if not missing:
        return "done"
    if any(_is_held(store.lock(job.spec, seed)) for seed in job.seeds):
        return "running"
    if reference is not None and not reference.missing(job.spec, missing):
        return "reference"
    return "begun" if store.checkpoint(*job).exists() else "missing"


def states_of(jobs: Sequence[Job], store: Store, reference: Store | None = None) -> dict[Job, str]:
    return {job: state_of(job, store, reference) for job in jobs}


def _is_held(lock: Path) -> bool:
    """Whether a process holds a lock. In a read-only folder none can."""
    if not lock.exists():
        return False
    try:
        with FileLock(lock, timeout=0):
            return False
    except Timeout:
        return True
    except OSError:
        return False


def status_table(states: Mapping[Job, str]) -> str:
    """The grid as text: a row for each experiment, dataset and split, with a sign for each method."""
    methods = list(dict.fromkeys(job.spec.learner for job in states))
    rows: dict[tuple, dict[str, str]] = defaultdict(lambda: defaultdict(str))
    for job, state in states.items():
        # The study has several jobs with one learner in a row: one sign each.
        rows[job.spec.experiment, job.spec.dataset, job.spec.split][job.spec.learner] += SIGNS[state]
    lines = [f"{'experiment':12}{'dataset':15}{'split':13}" + "".join(f"{method:>14}" for method in methods)]
    for (experiment, dataset, split), signs in rows.items():
        cells = "".join(f"{signs[method] or '–':>14}" for method in methods)
        lines.append(f"{experiment:12}{dataset:15}{split:13}{cells}")
    counts = {state: sum(s == state for s in states.values()) for state in SIGNS}
    return "\n".join([*lines, "", "   ".join(f"{SIGNS[state]} {state} {count}" for state, count in counts.items())])

"""From what a user has (a log, a record, nothing) to a history that can be played."""

import torch

from tacl_lib.core.streams import Stream
from tacl_lib.core.tasks import Tasks, make_tasks
from tacl_lib.data import load
from tacl_lib.errors import TaclError
from tacl_lib.runs.running import tasks_of
from tacl_lib.runs.spec import spec_from
from tacl_lib.teaching.widgets.filling import Filling
from tacl_lib.teaching.widgets.history import MemoryHistory
from tacl_lib.training.events import EventLog
from tacl_lib.training.record import Record

DEMO = "demo"


def history_of(source: EventLog | Record | str | None, tasks: Tasks | None = None, run: int = 0) -> MemoryHistory:
    """The history of a log with its tasks, of a record, or of the demonstration."""
    if isinstance(source, str) and source == DEMO:
        return demonstration()
    if source is None:
        raise TaclError("there is no finished run to play; run it first, or resume an interrupted one.")
    if isinstance(source, EventLog):
        if tasks is None:
            raise TaclError("an event log names samples by their rows only; give the tasks of the run as well.")
        return _with_arrivals(MemoryHistory(source, tasks, run))
    if isinstance(source, Record):
        return _of_record(source, tasks, run)
    raise TaclError(f"a player needs an event log or a record, not {type(source).__name__}.")


def _of_record(record: Record, tasks: Tasks | None, run: int) -> MemoryHistory:
    if record.events is None:
        raise TaclError("this run kept no event log, as its method has no clusters; take a run of TA-A-GEM or TA-OGD.")
    spec = record.info.get("spec")
    if tasks is None:
        if spec is None:
            raise TaclError("this record does not say how its tasks were made; give the tasks as well.")
        known = spec_from(spec)
        tasks, run = tasks_of(known, load(known.dataset, progress=False), (record.seed,)), 0
    settings = (spec or {}).get("learner_settings", {})
    return _with_arrivals(
        MemoryHistory(
            record.events,
            tasks,
            run,
            steps=int(record.epochs["steps"].sum()),
            policy=settings.get("policy", "clustering"),
            of_gradients=(spec or {}).get("learner") == "ta_ogd",
        )
    )


def _with_arrivals(history: MemoryHistory) -> MemoryHistory:
    if not len(history.log):
        raise TaclError("nothing entered this memory: the run was interrupted before the first sample was stored.")
    return history


def demonstration() -> MemoryHistory:
    """A small memory, filled from the embedded digits in about a second; no training is needed for it."""
    tasks = make_tasks(load("digits"), "class")
    stream = Stream(tasks, epochs=4)
    filling = Filling(stream, ("clustering",), clusters=20, cluster_size=4, pool_per_class=False)
    with torch.inference_mode():
        filling.advance(stream.steps)
    return MemoryHistory(filling.logs()[0], tasks, steps=stream.steps)

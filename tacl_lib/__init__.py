"""TACL: clustering-based, task-agnostic continual learning, to learn from and to reproduce.

Data flows one way through the rooms, and a room imports only from those before it:

    plain       each method of the paper literally, in one short file: where to start reading
    data        a name in, verified images out
    core        tasks, streams, memory, learners, metrics: the algorithms, as the paper has them
    engine      the same, fast: stacked networks, outer products, pools
    training    a learner and a stream in, records out: the loop, the log of a memory, checkpoints
    runs        which runs there are, and how they are executed and stored
    paper       the published numbers and claims, and how our runs compare
    report      tables, figures, report, reproduction
    teaching    widgets, checks, coursework

The names below are those that researchers need; everything else is in the rooms.
"""

__version__ = "0.1.0"

#: name → its module. Imported on first use, because most programs need only a few.
_PUBLIC = {
    "load": "tacl_lib.data",
    "make_tasks": "tacl_lib.core.tasks",
    "Stream": "tacl_lib.core.streams",
    "Mlp": "tacl_lib.engine.mlp",
    "ModuleNetwork": "tacl_lib.engine.module_network",
    "make_network": "tacl_lib.engine.networks",
    "register_network": "tacl_lib.engine.networks",
    "ClusterMemory": "tacl_lib.core.memory",
    "Learner": "tacl_lib.core.learners",
    "make_learner": "tacl_lib.core.learners",
    "register_learner": "tacl_lib.core.learners",
    "register_policy": "tacl_lib.core.memory",
    "train": "tacl_lib.training",
    "summary": "tacl_lib.core.metrics",
    "RunSpec": "tacl_lib.runs",
    "run": "tacl_lib.runs",
    "Store": "tacl_lib.runs.store",
    "TaclError": "tacl_lib.errors",
}
__all__ = sorted(_PUBLIC)


def __getattr__(name: str):
    if name not in _PUBLIC:
        raise AttributeError(f"module 'tacl_lib' has no attribute {name!r}; it offers {', '.join(__all__)}.")
    from importlib import import_module

    return getattr(import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return [*globals(), *_PUBLIC]

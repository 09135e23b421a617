"""From a learner and a stream to records: the training loop, its measurements, and its checkpoints.

In: a learner of `core` with its networks, and a stream. Out: a `Record` of each run, with the log of its memory. Only
here are memories and true tasks brought together: the stream knows the tasks, and the log keeps them for figures.
`avalanche` has plugins for training in Avalanche's loop instead.
May import: core, engine. Imported by: runs, paper, report, teaching.
"""

from tacl_lib.training.events import EventLog
from tacl_lib.training.loop import train
from tacl_lib.training.record import Record, read_record

__all__ = ["EventLog", "Record", "read_record", "train"]

"""From a learner and a stream to records: the loop, what it writes down, and what survives when it is stopped.

In: a learner of `core` with its networks, and a stream. Out: a `Record` of each run, and the log of its memory. Only
here do true tasks meet a memory: the stream knows them, and the log keeps them for figures.
The loop may also be another one: `avalanche` has plugins for it.
May import: core, engine. Imported by: runs, paper, report, teaching.
"""

from tacl_lib.training.events import EventLog
from tacl_lib.training.loop import train
from tacl_lib.training.record import Record, read_record

__all__ = ["EventLog", "Record", "read_record", "train"]

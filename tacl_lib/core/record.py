"""The record of one run: what was measured after each epoch, and in which circumstances."""

import json
import os
import platform
import subprocess
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from tacl_lib import __version__
from tacl_lib.core.memory import EventLog, Geometry
from tacl_lib.errors import TaclError
from tacl_lib.files import write_whole

_PARQUET = {"compression": "zstd", "write_page_checksum": True}  # a flipped bit is noticed when it is read
#: A log of 120,000 arrivals takes a third of the room: steps go up one by one, and rows are nearly all different.
_PARQUET_OF_EVENTS = _PARQUET | {
    "use_dictionary": ["cluster", "slot", "task_in", "task_out"],
    "column_encoding": {"step": "DELTA_BINARY_PACKED", "row": "BYTE_STREAM_SPLIT"},
}


class DamagedFile(TaclError):
    """A result file that is there and can be read, but does not hold a record."""

    def __init__(self, path: Path, reason: str):
        super().__init__(f"the result file {path} is damaged ({reason}); delete it and run again.")


@dataclass(frozen=True)
class Record:
    """One run, epoch by epoch. E epochs, T tasks."""

    seed: int
    epochs: pd.DataFrame  #: E rows: epoch, task, next_task, first_step, steps, loss, rate, projected
    accuracy: np.ndarray  #: float64 ``[E, T]``, on test data; NaN where not tested
    seen: np.ndarray  #: bool ``[E, T]``, tasks of which samples had been shown
    memory: np.ndarray  #: int64 ``[E, T]``, members of the memory by true task
    events: EventLog | None = None
    diverged_at: int | None = None  #: the step whose loss was not finite, if there was one
    info: dict = field(default_factory=dict)  #: settings, versions, device, wall time: see `circumstances`

    def write(self, path: Path) -> None:
        """Write as parquet, whole or not at all; the event log goes into a second file beside it."""
        about = {"seed": self.seed, "diverged_at": self.diverged_at, "info": self.info}
        if self.events is not None:
            about["geometry"] = list(self.events.geometry)
            events = pa.table(self.events.columns())
            # First the log, then the record: a record that is there is complete.
            write_whole(_events_path(path), lambda temporary: pq.write_table(events, temporary, **_PARQUET_OF_EVENTS))
        table = pa.Table.from_pandas(self._frame(), preserve_index=False)
        table = table.replace_schema_metadata({**(table.schema.metadata or {}), b"tacl": json.dumps(about)})
        write_whole(path, lambda temporary: pq.write_table(table, temporary, **_PARQUET))

    def _frame(self) -> pd.DataFrame:
        columns = {
            f"{name}_{task}": values[:, task]
            for name, values in (("accuracy", self.accuracy), ("seen", self.seen), ("memory", self.memory))
            for task in range(values.shape[1])
        }
        return pd.concat([self.epochs, pd.DataFrame(columns)], axis=1)


def read_record(path: Path) -> Record:
    """Read what `Record.write` wrote."""
    try:
        table = pq.read_table(path, page_checksum_verification=True)
        about = json.loads(table.schema.metadata[b"tacl"])
        frame = table.to_pandas()
        events = None
        if "geometry" in about:
            log = pq.read_table(_events_path(path), page_checksum_verification=True)
            columns = {name: log.column(name).to_numpy() for name in log.column_names}
            events = EventLog(Geometry(*about["geometry"]), **_as_arrays(columns))
        tasks = sum(name.startswith("accuracy_") for name in frame)
        blocks = {
            name: frame[[f"{name}_{task}" for task in range(tasks)]].to_numpy()
            for name in ("accuracy", "seen", "memory")
        }
        epochs = frame[[name for name in frame if name.rpartition("_")[0] not in blocks]]
        return Record(
            about["seed"], epochs, **blocks, events=events, diverged_at=about["diverged_at"], info=about["info"]
        )
    except FileNotFoundError as error:
        if Path(path).exists():
            raise DamagedFile(path, f"there is no result file {_events_path(path)} with its events") from error
        raise TaclError(f"there is no result file {path}; run it again.") from error
    except (OSError, pa.ArrowException, LookupError, TypeError, ValueError) as error:
        raise _what_is_wrong(path, error) from error


def read_about(path: Path) -> tuple[int, dict]:
    """Seed and circumstances of a stored run, without its numbers: enough to know what a store holds."""
    try:
        about = json.loads(pq.read_schema(path).metadata[b"tacl"])
        return about["seed"], about["info"]
    except (OSError, pa.ArrowException, LookupError, TypeError, ValueError) as error:
        raise _what_is_wrong(path, error) from error


def circumstances(device: object, **more: object) -> dict:
    """When, with which versions and commit and on what machine a result was made, to be stored with it."""
    return {
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {name: version(name) for name in ("torch", "numpy", "numba", "pandas", "pyarrow")}
        | {"python": platform.python_version(), "tacl": __version__},
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "device": str(device),
        "commit": commit(),
        **more,
    }


@cache
def commit() -> str:
    """The commit of the project, with a + where files were changed since; "unknown" outside a checkout.

    Asked once in a process, by `train` before the first step: what is committed during a long run is not what runs.
    """
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty=+", "--abbrev=12"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "unknown"


def _what_is_wrong(path: Path, error: Exception) -> TaclError:
    """An error with a number comes from the system: rights, the disk, the network; it says nothing of the file."""
    if getattr(error, "errno", None):
        return TaclError(f"the result file {path} cannot be read ({_first_line(error)}); mend that and try again.")
    return DamagedFile(path, _first_line(error))


def _events_path(path: Path) -> Path:
    return path.with_name(f"{path.stem}.events.parquet")


def _as_arrays(columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    types = {"step": np.int32, "row": np.int32}
    return {name: np.array(values, types.get(name, np.int16)) for name, values in columns.items()}


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no details'}"

"""The record of a run: its measurements after each epoch, and the circumstances."""

import hashlib
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
import torch

from tacl_lib import __version__, places
from tacl_lib.core.memory import Geometry
from tacl_lib.errors import TaclError
from tacl_lib.files import write_whole
from tacl_lib.training.events import EMPTY, EventLog

_PARQUET = {"compression": "zstd", "write_page_checksum": True}  # reveals flipped bits on reading
#: Saves two thirds of the space for a log of 120,000 arrivals: steps go up one by one, and nearly all rows differ.
_PARQUET_OF_EVENTS = _PARQUET | {
    "use_dictionary": ["cluster", "slot", "task_in", "task_out"],
    "column_encoding": {"step": "DELTA_BINARY_PACKED", "row": "BYTE_STREAM_SPLIT"},
}


#: The columns of `Record.epochs`.
EPOCHS = {"epoch", "task", "next_task", "first_step", "steps", "loss", "rate", "projected"}


class DamagedFile(TaclError):
    """A result file that can be read but does not hold a valid record."""

    def __init__(self, path: Path, reason: str):
        super().__init__(f"the result file {path} is damaged ({reason}); delete it and rerun.")


@dataclass(frozen=True)
class Record:
    """One run, epoch by epoch. E epochs, T tasks."""

    seed: int
    epochs: pd.DataFrame  #: E rows: epoch, task, next_task, first_step, steps, loss, rate, projected
    accuracy: np.ndarray  #: float64 ``[E, T]``, on test data; NaN where not tested
    seen: np.ndarray  #: bool ``[E, T]``, tasks from which samples had been shown
    memory: np.ndarray  #: int64 ``[E, T]``, the memory's members by true task
    events: EventLog | None = None
    diverged_at: int | None = None  #: the first step without a finite loss, if any
    info: dict = field(default_factory=dict)  #: settings, versions, device, wall time: see `circumstances`

    def write(self, path: Path) -> None:
        """Write a parquet file, whole or not at all; the event log goes into a second file beside it."""
        about = {"seed": self.seed, "diverged_at": self.diverged_at, "info": self.info, "digest": self.digest()}
        if self.events is not None:
            about["geometry"] = list(self.events.geometry)
            events = pa.table(self.events.columns())
            # The log first, then the record: every record on the disk is complete.
            write_whole(_events_path(path), lambda temporary: pq.write_table(events, temporary, **_PARQUET_OF_EVENTS))
        table = pa.Table.from_pandas(self._frame(), preserve_index=False)
        text = json.dumps(about).encode()
        metadata = {b"tacl": text, b"tacl-sha256": hashlib.sha256(text).hexdigest().encode()}
        table = table.replace_schema_metadata({**(table.schema.metadata or {}), **metadata})
        write_whole(path, lambda temporary: pq.write_table(table, temporary, **_PARQUET))

    def digest(self) -> str:
        """SHA-256 of the measured numbers, to the last bit; all NaN count as equal."""
        columns = {f"epochs {name}": self.epochs[name].to_numpy() for name in self.epochs}
        columns |= {"accuracy": self.accuracy, "seen": self.seen, "memory": self.memory}
        if self.events is not None:
            columns |= {"geometry": np.array(self.events.geometry), **self.events.columns()}
        found = hashlib.sha256()
        for name, values in columns.items():
            if values.dtype.kind == "f":
                values = np.where(np.isnan(values), np.nan, values)
            found.update(f"{name} {values.dtype.str} {values.shape}\n".encode())
            found.update(np.ascontiguousarray(values).tobytes())
        return found.hexdigest()

    def first_task_share(self) -> float:
        """The first task's share of the memory when training ends; 0 if nothing is stored."""
        return float(self.memory[-1, 0] / max(self.memory[-1].sum(), 1))

    def _frame(self) -> pd.DataFrame:
        columns = {
            f"{name}_{task}": values[:, task]
            for name, values in (("accuracy", self.accuracy), ("seen", self.seen), ("memory", self.memory))
            for task in range(values.shape[1])
        }
        return pd.concat([self.epochs, pd.DataFrame(columns)], axis=1)


def read_record(path: Path) -> Record:
    """Read what `Record.write` wrote, and check that it has not changed since."""
    try:
        table = pq.read_table(path, page_checksum_verification=True)
        about = _about(path, table.schema)
        frame = table.to_pandas()
        events = None
        if "geometry" in about:
            log = pq.read_table(_events_path(path), page_checksum_verification=True)
            columns = {name: log.column(name).to_numpy() for name in log.column_names}
            events = EventLog(Geometry(*about["geometry"]), **_as_arrays(columns))
            _expect_digest(_events_path(path))
        tasks = sum(name.startswith("accuracy_") for name in frame)
        blocks = {
            name: frame[[f"{name}_{task}" for task in range(tasks)]].to_numpy()
            for name in ("accuracy", "seen", "memory")
        }
        epochs = frame[[name for name in frame if name.rpartition("_")[0] not in blocks]]
        record = Record(
            about["seed"], epochs, **blocks, events=events, diverged_at=about["diverged_at"], info=about["info"]
        )
        _check(record, about.get("digest"))
        return record
    except FileNotFoundError as error:
        if Path(path).exists():
            raise DamagedFile(path, f"the file {_events_path(path)} with its events is missing") from error
        raise TaclError(f"there is no result file {path}; rerun it.") from error
    except READING_ERRORS as error:
        raise _what_is_wrong(path, error) from error


def read_about(path: Path) -> tuple[int, dict]:
    """Seed and circumstances of a stored run, without its numbers: enough to list a store."""
    try:
        about = _about(path, pq.read_schema(path))
        return about["seed"], about["info"]
    except READING_ERRORS as error:
        raise _what_is_wrong(path, error) from error


def carries_digest(path: Path) -> bool:
    """Whether a result file contains its own digest; those of the first versions do not."""
    return b"tacl-sha256" in (pq.read_schema(path).metadata or {})


#: Whatever reading a bad file may raise.
READING_ERRORS = (
    OSError,
    pa.ArrowException,
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    RecursionError,
    OverflowError,
)


def _about(path: Path, schema: pa.Schema) -> dict:
    """A file's description of its run. Older files contain no digest; the project's are in its list of digests."""
    text, digest = schema.metadata[b"tacl"], schema.metadata.get(b"tacl-sha256")
    about = json.loads(text)
    if digest is None and "digest" not in about:
        _expect_digest(path)
    elif digest is None or hashlib.sha256(text).hexdigest().encode() != digest:
        raise ValueError("its description has changed since it was written")
    if type(about["seed"]) is not int or about["seed"] < 0 or not isinstance(about["info"], dict):
        raise ValueError("it has no valid description of its run")
    return about


def _check(record: Record, written: str | None) -> None:
    """Raise a ValueError unless types, shapes and ranges are those of a record.

    written: its digest, if it has one; then the numbers are as written, and their range is not checked.
    """
    if written not in (None, record.digest()):
        raise ValueError("its numbers have changed since they were written")
    accuracy, tasks, epochs = record.accuracy, record.accuracy.shape[1], record.epochs
    if not tasks or not len(epochs) or not EPOCHS >= set(epochs) >= {"epoch", "task"}:
        raise ValueError(f"it holds {len(epochs)} epochs of {tasks} tasks with {', '.join(epochs)}")
    kinds = [block.dtype.kind for block in (accuracy, record.seen, record.memory)]
    if kinds != ["f", "b", "i"] or any(epochs[name].dtype.kind not in "if" for name in epochs):
        raise ValueError("its columns have the wrong types")
    if (record.memory < 0).any() or list(epochs["epoch"]) != list(range(len(epochs))):
        raise ValueError("its epochs or counts are impossible")
    if written is None and ((accuracy < 0) | (accuracy > 1)).any():
        raise ValueError("an accuracy is not between 0 and 1")
    if record.diverged_at is not None and (type(record.diverged_at) is not int or record.diverged_at < 0):
        raise ValueError(f"no run can diverge at step {record.diverged_at!r}")
    if record.events is not None:
        _check_events(record.events, tasks)


def _check_events(events: EventLog, tasks: int) -> None:
    clusters = events.geometry.pools * events.geometry.clusters
    limits = {"cluster": clusters, "slot": events.geometry.size, "task_in": tasks, "task_out": tasks}
    for name, values in events.columns().items():
        lowest = EMPTY if name == "task_out" else 0
        if len(values) and (values.min() < lowest or values.max() >= limits.get(name, np.inf)):
            raise ValueError(f"the log of its memory has an impossible {name}")


def circumstances(device: object, **more: object) -> dict:
    """When, with which versions and commit, and on what machine a run was executed, to be stored with it."""
    return {
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {name: version(name) for name in ("torch", "numpy", "pandas", "pyarrow")}
        | {"python": platform.python_version(), "tacl": __version__},
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        # These may change the last bits: see the table in the README.
        "cpu": cpu(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "blas": "MKL" if torch.backends.mkl.is_available() else "another",
        "device": str(device),
        "commit": commit(),
        **more,
    }


@cache
def cpu() -> str:
    """The model of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown"


@cache
def commit() -> str:
    """The project's commit, with a + if files have changed since; "unknown" outside a checkout.

    Looked up once per process, by `train` before the first step: commits during a long run are not the code that runs.
    """
    if places.INSTALLED:  # a surrounding repository would be someone else's
        return "unknown"
    command = ["git", "-C", str(places.PROJECT), "describe", "--always", "--dirty=+", "--abbrev=12"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "unknown"


def _what_is_wrong(path: Path, error: Exception) -> TaclError:
    """The error to report. One with an errno comes from the system (permissions, disk, network), not from the file."""
    if getattr(error, "errno", None):
        return TaclError(f"the result file {path} cannot be read ({_first_line(error)}); fix this and try again.")
    return DamagedFile(path, _first_line(error))


def _expect_digest(path: Path) -> None:
    """Raise a ValueError if the list beside a file (see tools/digests.py) has another digest for it."""
    known = _digests(path.parent).get(path.name)
    if known is not None and known != hashlib.sha256(path.read_bytes()).hexdigest():
        raise ValueError("its digest differs from the one in digests.json")


@cache
def _digests(folder: Path) -> dict[str, str]:
    """SHA-256 of the files in a folder that do not contain their own."""
    manifest = folder / "digests.json"
    try:
        return dict(json.loads(manifest.read_text(encoding="utf-8"))) if manifest.exists() else {}
    except (ValueError, TypeError) as error:
        raise TaclError(f"{manifest} is damaged; get a fresh copy of the project.") from error


def _events_path(path: Path) -> Path:
    return path.with_name(f"{path.stem}.events.parquet")


def _as_arrays(columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    types = {"step": np.int32, "row": np.int32}
    return {name: np.array(values, types.get(name, np.int16)) for name, values in columns.items()}


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no details'}"

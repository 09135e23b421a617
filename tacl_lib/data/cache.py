"""The cache folder: one prepared file for each dataset, written whole or not at all, and verified on each use.

`mnist.arrays` holds four arrays in NumPy's own format, one after the other; `mnist.json` beside it holds their SHA-256
(against damage) and their origin. Only the digests in the catalog decide whether they are the true ones. The JSON is
removed first and written last, so that a dataset counts as present only if both files are complete. Unfinished files
are kept in `mnist.part/`.
"""

import errno
import hashlib
import json
import os
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pooch
from filelock import FileLock

from tacl_lib.data.catalog import CATALOG
from tacl_lib.data.dataset import Dataset, checked
from tacl_lib.errors import TaclError

ARRAYS = ("train_images", "train_labels", "test_images", "test_labels")
# Errors of a disk that cannot be written to; a broken connection has other numbers, or none.
DISK_TROUBLE = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EROFS,
    errno.EACCES,
    errno.EPERM,
    errno.ENOTDIR,
    errno.EEXIST,
    errno.EIO,
    errno.ENAMETOOLONG,
}

UNKNOWN_COPY = "shapes, types and label range (the kit has no digest of this cached copy)"
Stamp = list[list]  # [path, size, modification time] of each file that a copy was made from


class CacheError(TaclError):
    """The cache folder cannot be used."""


def folder() -> Path:
    """The cache folder: `TACL_CACHE`, or the platform's usual place."""
    chosen = Path(os.environ.get("TACL_CACHE") or pooch.os_cache("tacl"))
    try:
        return chosen.expanduser()
    except RuntimeError as error:
        raise CacheError(f"the cache folder {chosen} lies in the home of an unknown user.") from error


def stamp(files: list[Path]) -> Stamp:
    """Identifies files in a user's folder, to notice if they have changed since they were read."""
    facts = ((path.resolve(), path.stat()) for path in files)
    return [[str(path), fact.st_size, fact.st_mtime_ns] for path, fact in facts]


def made_from(name: str) -> Stamp | None:
    """The stamp of the user's files that the cached copy was made from, if any."""
    story = _story(name)
    return story.get("made_from") if story else None


def read(name: str) -> Dataset | None:
    """The cached dataset, if it is there and complete. Needs neither a lock nor the right to write."""
    story = _story(name)
    if story is None:
        return None
    try:
        with _arrays_path(name).open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != story["sha256"]:
                return None
            file.seek(0)
            arrays = [np.lib.format.read_array(file, allow_pickle=False) for _ in ARRAYS]
        told = {key: str(story[key]) for key in ("source", "verified", "note")}
        return _trusted(checked(Dataset(name, *arrays, **told), name))
    except (FileNotFoundError, ValueError, KeyError, TaclError, MemoryError):
        return None
    except OSError as error:  # no right to read, or a failing disk: a fresh copy would not help
        raise CacheError(
            f"cannot read {_arrays_path(name)} ({error.strerror}): fix its permissions, or set the environment "
            "variable TACL_CACHE to another folder."
        ) from error


def pixels(dataset: Dataset) -> str:
    """SHA-256 of all images and labels, whatever file they came from."""
    found = hashlib.sha256()
    for key in ARRAYS:
        array = np.ascontiguousarray(getattr(dataset, key), np.uint8)
        found.update(f"{array.shape}".encode())
        found.update(array.tobytes())
    return found.hexdigest()


def _trusted(dataset: Dataset) -> Dataset | None:
    """A copy that the kit can vouch for. The record beside it proves nothing: whoever can write one can write both."""
    info, found = CATALOG.get(dataset.name), pixels(dataset)
    if info is None or (found in info.pixels and info.pixels[found] in dataset.note):
        return dataset
    if info.only_these or found in info.pixels:
        return None
    return replace(dataset, verified=UNKNOWN_COPY)


class Slot:
    """One dataset's place in the cache, while this process alone may write to it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.work = folder() / f"{name}.part"  # for downloads; removed on leaving the slot

    def read(self) -> Dataset | None:
        """The dataset, if it is complete; a damaged copy is removed, with a warning."""
        dataset = read(self.name)
        if dataset is None and _story_path(self.name).exists():
            path = _arrays_path(self.name)
            warnings.warn(
                f"{path} is damaged (its checksum or record does not match); deleting it and fetching it again.",
                stacklevel=4,
            )
            self._clear()
        return dataset

    def write(self, dataset: Dataset, made_from: Stamp | None = None) -> None:
        """Store a dataset: both files are written elsewhere first, then renamed, the record last."""
        arrays, record = self.work / "arrays", self.work / "record"
        with arrays.open("wb") as file:
            out = _HashingFile(file)
            for key in ARRAYS:
                array = getattr(dataset, key)
                small = array.astype(np.uint8) if key.endswith("labels") else array
                np.lib.format.write_array(out, np.ascontiguousarray(small), allow_pickle=False)
        story: dict = {key: getattr(dataset, key) for key in ("source", "verified", "note")}
        story |= {"sha256": out.hash.hexdigest(), "made_from": made_from}
        record.write_text(json.dumps(story, indent=1), encoding="utf-8")
        self._clear()
        os.replace(arrays, _arrays_path(self.name))
        os.replace(record, _story_path(self.name))

    def _clear(self) -> None:
        _story_path(self.name).unlink(missing_ok=True)
        _arrays_path(self.name).unlink(missing_ok=True)


@contextmanager
def writing(name: str) -> Iterator[Slot]:
    """Reserve the dataset's place: other processes wait, and then find what this one has written.

    Raises a CacheError if the folder cannot be written to.
    """
    slot = Slot(name)
    try:
        folder().mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise _unwritable(error) from error
    try:
        with FileLock(folder() / f"{name}.lock"):
            # A process that was killed left this folder behind: nobody else can be using it.
            shutil.rmtree(slot.work, ignore_errors=True)
            slot.work.mkdir()
            try:
                yield slot
            finally:
                shutil.rmtree(slot.work, ignore_errors=True)
    except OSError as error:
        if error.errno not in DISK_TROUBLE:
            raise
        raise _unwritable(error) from error


def _unwritable(error: Exception) -> CacheError:
    reason = os.strerror(error.errno) if getattr(error, "errno", None) else error
    return CacheError(
        f"cannot write to the cache folder {folder()} ({reason}): free some space, fix its permissions, "
        "or set the environment variable TACL_CACHE to another folder."
    )


class _HashingFile:
    """A file that hashes what is written. NumPy treats it as a stream and calls `write`, whose errors name their cause
    ("no space left on device"); its own fast path only reports how many bytes are missing."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.hash = hashlib.sha256()

    def write(self, data: bytes) -> int:
        self.hash.update(data)
        return self._file.write(data)


def _story(name: str) -> dict | None:
    try:
        story = json.loads(_story_path(name).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return story if isinstance(story, dict) else None


def _arrays_path(name: str) -> Path:
    return folder() / f"{name}.arrays"


def _story_path(name: str) -> Path:
    return folder() / f"{name}.json"

"""Atomic writes: a file is complete, or it is not there."""

import errno
import os
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tacl_lib.errors import TaclError


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Let ``write`` fill a temporary file beside ``path``, then rename it: readers never see half a file.

    A full or read-only disk raises a `TaclError`; the old file, if any, stays.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(temporary)
        # On the disk before it gets its name, so that a power cut cannot leave an empty file.
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException as error:
        with suppress(OSError):  # if the folder itself is at fault, it is named below
            temporary.unlink(missing_ok=True)
        # torch reports a failed write as a RuntimeError that mentions writing.
        if isinstance(error, OSError) or (isinstance(error, RuntimeError) and "writ" in str(error)):
            raise TaclError(f"{path} could not be written: {_reason(error)}.") from error
        raise


def writable(*folders: Path) -> None:
    """Create missing folders, or raise a TaclError if one cannot be written to; then none is created."""
    made = []
    for folder in folders:
        probe = folder / f".{uuid.uuid4().hex}.part"
        try:
            if not folder.exists():
                folder.mkdir(parents=True)
                made.append(folder)
            probe.touch()
            probe.unlink()
        except (OSError, ValueError) as error:  # ValueError: the name contains a null character
            for empty in made:
                with suppress(OSError):
                    empty.rmdir()
            raise TaclError(f"{folder} cannot be written to: {_reason(error)}.") from error


def sweep(folder: Path, seconds: float = 3600) -> None:
    """Remove the half-written files of processes that were killed; no file takes this long to write."""
    for part in Path(folder).rglob(".*.part"):
        with suppress(OSError):
            if time.time() - part.stat().st_mtime > seconds:
                part.unlink()


def _reason(error: Exception) -> str:
    known = {
        errno.ENOSPC: "the disk is full; free some space and run the same command again",
        errno.EDQUOT: "your disk quota is used up; free some space and run the same command again",
        errno.EROFS: "the folder is read-only; choose another one",
        errno.EACCES: "the folder does not let you write; choose another one",
        errno.ENAMETOOLONG: "the name is too long; choose a shorter one",
        errno.EEXIST: "a part of the path is a file, not a folder; choose another one",
        errno.ENOTDIR: "a part of the path is a file, not a folder; choose another one",
    }
    number = getattr(error, "errno", None)
    return known.get(number) or str(error)

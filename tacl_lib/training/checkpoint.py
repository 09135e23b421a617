"""Stopping a run at any moment, and resuming it exactly there.

A checkpoint has a line that identifies it, a line with the SHA-256 of the rest, and the rest, as saved by torch.
Without the digest, a single flipped bit on the disk would silently change the numbers.
"""

import hashlib
import io
import shutil
import signal
import threading
import time
import warnings
from pathlib import Path

import torch

from tacl_lib.errors import TaclError
from tacl_lib.files import write_whole

FIRST_LINE = b"TACL checkpoint, SHA-256 of what follows the next line:\n"


class Checkpoint:
    """A file with the last state of a training; with None as its path, nothing is kept."""

    def __init__(self, path: Path | None, every_seconds: float, belongs_to: str):
        """belongs_to: identifies the training; another training's file is refused."""
        if path is not None and not isinstance(path, (str, Path)):
            raise TaclError(f"checkpoint must be the path of a file, not {path!r}.")
        self.path = None if path is None else Path(path)
        if self.path is not None and any(folder.is_file() for folder in self.path.parents):
            raise TaclError(f"the checkpoint {self.path} would lie inside a file; choose another path.")
        self.every_seconds, self.belongs_to = every_seconds, belongs_to
        self._last = time.monotonic()

    def due(self) -> bool:
        """Whether it is time to save again."""
        return self.path is not None and time.monotonic() - self._last >= self.every_seconds

    def save(self, state: dict) -> None:
        """Save a state of tensors, numbers, strings, lists and dicts. If the disk is full, only warn."""
        self._last = time.monotonic()
        if self.path is None:
            return
        try:
            # Via memory, so that a full disk raises an OSError; torch's own writer raises something else.
            buffer = io.BytesIO()
            torch.save({"of": self.belongs_to, "state": state}, buffer)
            content = sealed(buffer.getvalue())
            write_whole(self.path, lambda part: part.write_bytes(content))
        except TaclError as error:
            warnings.warn(f"no checkpoint was saved; the run continues without one: {error}", stacklevel=2)

    def load(self, device: torch.device) -> dict | None:
        """The saved state, or None."""
        if self.path is None or not self.path.exists():
            return None
        try:
            content = self.path.read_bytes()
        except OSError as error:  # permissions, or a missing disk: the file itself may be good
            raise TaclError(f"the checkpoint {self.path} cannot be read ({error.strerror}); try again.") from error
        try:
            # Only tensors and plain values: nothing in the file is executed.
            content = torch.load(io.BytesIO(unsealed(content)), map_location=device, weights_only=True)
            owner, state = content["of"], content["state"]
        except torch.cuda.OutOfMemoryError as error:
            raise TaclError(
                f"the checkpoint {self.path} does not fit into the GPU's free memory; free some."
            ) from error
        except Exception as error:
            self.set_aside(error)
            return None
        if owner != self.belongs_to:
            raise TaclError(f"the checkpoint {self.path} belongs to another run; delete it or choose another file.")
        return state

    def set_aside(self, error: Exception) -> None:
        """Rename an unusable file, and warn that the run starts over."""
        aside = self.path.with_suffix(".damaged")
        self.path.replace(aside)
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        warnings.warn(
            f"the checkpoint {self.path} is damaged or from another version ({reason}); it was renamed to "
            f"{aside.name}, and the run starts from the beginning.",
            stacklevel=3,
        )

    def keep_good(self, seed: int) -> Path | None:
        """Keep a copy of the file, as the last good state of a run that has since diverged."""
        if self.path is None or not self.path.exists():
            return None
        good = self.path.with_name(f"{self.path.stem}.seed{seed}-last-good{self.path.suffix}")
        try:
            write_whole(good, lambda part: shutil.copy2(self.path, part))
        except TaclError:
            return None
        return good

    def remove(self) -> None:
        """Remove the file of a finished run."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)
            for part in self.path.parent.glob(f".{self.path.name}.*.part"):  # left by a kill during a save
                part.unlink(missing_ok=True)


def sealed(content: bytes) -> bytes:
    """The content with the lines that `unsealed` checks."""
    return FIRST_LINE + hashlib.sha256(content).hexdigest().encode() + b"\n" + content


def unsealed(file: bytes) -> bytes:
    """The sealed content; a TaclError if a single bit of the file has changed."""
    start = len(FIRST_LINE) + 65
    content = memoryview(file)[start:]
    if file[:start] != FIRST_LINE + hashlib.sha256(content).hexdigest().encode() + b"\n":
        known = file.startswith(FIRST_LINE)
        raise TaclError("its digest does not match" if known else "it has no digest")
    return bytes(content)


class StopSignals:
    """While active, SIGINT and SIGTERM only set `received`, so that no step is interrupted."""

    def __init__(self):
        self.received: int | None = None
        self._before: dict = {}

    def __enter__(self) -> "StopSignals":
        if threading.current_thread() is threading.main_thread():  # elsewhere Python forbids it
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._note)
        return self

    def _note(self, number, frame) -> None:
        self.received = number

    def __exit__(self, *exception) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def stop(self) -> None:
        """End the program as the signal would have done."""
        if self.received == signal.SIGTERM:
            raise SystemExit(128 + signal.SIGTERM)
        raise KeyboardInterrupt

"""A process for one submission, shut off from everything that it could read, change or outlive: bubblewrap."""

import json
import os
import selectors
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import tacl_lib
from tacl_lib.errors import TaclError
from tacl_lib.teaching.checks import limits
from tacl_lib.teaching.coursework import wire

#: what is copied inside; worker runs there only, and imports the other two from beside itself
INSIDE = (Path(__file__).with_name("worker.py"), Path(wire.__file__), Path(limits.__file__))
NOBODY = 65534
#: what a submission may use
LIMITS = {
    "RLIMIT_DATA": 3 * 2**30,
    "RLIMIT_FSIZE": 64 * 2**20,
    "RLIMIT_NPROC": 64,
    "RLIMIT_NOFILE": 256,
    "RLIMIT_CORE": 0,
}
SCRATCH = 64 * 2**20  #: bytes of files that it may write; they are gone afterwards
LONGEST_LINE = 64 * 2**20  #: bytes of one answer
START = 120.0  #: seconds until Python and NumPy are there, on a busy machine
TOO_LONG = "it took too long"

UNPROTECTED = (
    "submissions ran unprotected, with your rights: they could read and write your files, the gradebook and the "
    "solutions among them. Install bubblewrap (on Debian: apt-get install bubblewrap), on Linux."
)


class Gone(Exception):
    """The process ended, or did not answer in time; the message says which."""


@dataclass(frozen=True)
class Protection:
    """How processes are started: with bubblewrap, or not."""

    bubblewrap: str | None
    why_not: str = ""

    @property
    def note(self) -> str | None:
        return None if self.bubblewrap else f"{self.why_not}: {UNPROTECTED}"


def protection() -> Protection:
    """What is available here. Refuses to go on where submissions would run as root."""
    found = _probe(shutil.which("bwrap"))
    if found.bubblewrap is None and hasattr(os, "geteuid") and os.geteuid() == 0:
        raise TaclError(
            f"{found.why_not}, and marking as root would give submissions the rights of root. Install it (on Debian: "
            "apt-get install bubblewrap), or mark as another user."
        )
    return found


@cache
def _probe(bubblewrap: str | None) -> Protection:
    if bubblewrap is None:
        return Protection(None, "bubblewrap is not installed")
    tried = subprocess.run([*_walls(bubblewrap), "--", sys.executable, "-c", ""], capture_output=True, text=True)
    if tried.returncode == 0:
        return Protection(bubblewrap)
    reason = (tried.stderr.strip().splitlines() or ["no reason given"])[-1]
    return Protection(None, f"bubblewrap does not work here ({reason})")


def _walls(bubblewrap: str) -> list[str]:
    """Python and the system's libraries to read, a small place to write, and nothing else: no net, no other process."""
    command = [bubblewrap, "--die-with-parent", "--new-session", "--hostname", "marking"]
    command += ["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    if os.geteuid() != 0:  # root's process becomes nobody by itself, see worker
        command += ["--unshare-user", "--uid", str(NOBODY), "--gid", str(NOBODY)]
    command += ["--ro-bind", "/usr", "/usr"]
    for place in map(Path, ("/bin", "/lib", "/lib64", "/sbin")):
        if place.is_symlink():
            command += ["--symlink", os.readlink(place), str(place)]
        elif place.exists():
            command += ["--ro-bind", str(place), str(place)]
    command += ["--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"]
    command += ["--proc", "/proc", "--dev", "/dev", "--perms", "1777", "--size", str(SCRATCH), "--tmpfs", "/tmp"]
    prefixes = sorted({sys.base_prefix, sys.prefix})
    for prefix in prefixes:
        for above in reversed(Path(prefix).parents[:-1]):
            command += ["--perms", "0755", "--dir", str(above)]
        command += ["--ro-bind", prefix, prefix]
    kit = Path(tacl_lib.__file__).parent
    for hidden in (kit, kit.parent / "coursework", kit.parent / "tests"):
        if hidden.is_dir() and any(hidden.is_relative_to(prefix) for prefix in ("/usr", *prefixes)):
            command += ["--tmpfs", str(hidden)]
    return [*command, "--chdir", "/tmp"]


class Process:
    """A worker, and the lines that go to and fro."""

    def __init__(self, protected: Protection) -> None:
        self._place = tempfile.TemporaryDirectory(prefix="marking-")
        for path in INSIDE:
            shutil.copyfile(path, Path(self._place.name) / path.name)
        os.chmod(self._place.name, 0o755)
        self._process = subprocess.Popen(
            self._command(protected),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=self._environment(),
            cwd=self._place.name,
            start_new_session=True,
        )
        self._rest = b""
        os.set_blocking(self._process.stdout.fileno(), False)
        try:
            self.receive(START)
        except Gone:
            self.close()
            raise TaclError("the process that runs submissions did not start; is this Python whole?") from None

    def _command(self, protected: Protection) -> list[str]:
        inside = "/marking" if protected.bubblewrap else self._place.name
        run = [sys.executable, "-s", "-E", "-B", f"{inside}/worker.py"]
        if not protected.bubblewrap:
            return run
        return [*_walls(protected.bubblewrap), "--ro-bind", self._place.name, inside, "--", *run]

    def _environment(self) -> dict[str, str]:
        threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMEXPR")}
        return {
            "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
            "HOME": "/tmp",
            "LANG": "C.UTF-8",
            "MPLBACKEND": "Agg",
            "MARKING_LIMITS": json.dumps(LIMITS),
            **threads,
        }

    def send(self, message: dict) -> None:
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise Gone("it ended") from None

    def receive(self, seconds: float) -> dict:
        """The next line; raises Gone where none comes in time."""
        end = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._rest:
                if not selector.select(max(end - time.monotonic(), 0)):
                    raise Gone(TOO_LONG)
                part = self._process.stdout.read(2**20)
                if not part:
                    raise Gone("it ended")
                self._rest += part
                if len(self._rest) > LONGEST_LINE:
                    raise Gone("it gives more than can be read")
        line, _, self._rest = self._rest.partition(b"\n")
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict):
            raise Gone("it gives what cannot be read")
        return message

    def close(self) -> None:
        """End it, and with it whatever it started: they share a process namespace."""
        with self._process as process:
            process.kill()
        self._place.cleanup()

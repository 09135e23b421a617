"""A time limit for a block of code. Standard library only: marking uses it where the kit is not available."""

import contextlib
import signal
import threading
import time
from collections.abc import Iterator

#: as long may imports take that a block makes, on top of its own time
IMPORTS = 60.0
#: how many times as long it may take where the machine is busy with other things, or where the block waits
BUSY = 5


class OutOfTimeError(BaseException):
    """Not an Exception, so that a student's ``except Exception`` does not catch it."""


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Stop the block after so many seconds, where the platform can (not on Windows, not in a thread).

    Imports do not count: one that is cut short cannot be repeated in the same process. Neither does the time in which
    the processor works for others.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return
    latest = time.monotonic() + IMPORTS
    begun = time.monotonic(), time.process_time()

    def stop(_, frame) -> None:
        nonlocal begun
        now = time.monotonic(), time.process_time()
        if _is_importing(frame) and now[0] < latest:
            begun = now
        elif now[1] - begun[1] >= 0.9 * seconds or now[0] - begun[0] >= BUSY * seconds:
            raise OutOfTimeError

    before = signal.signal(signal.SIGALRM, stop)
    # Again and again: a bare ``except:`` in the loop would swallow the first one.
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.2)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _is_importing(frame) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False

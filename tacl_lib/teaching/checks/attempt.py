"""Calling a student's function so that nothing it does harms the check: it may stop, loop or change its input."""

import contextlib
import copy
import io
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tacl_lib.teaching.checks.compare import same


@dataclass(frozen=True)
class Outcome:
    """What a call gave: a value, or a trouble in words."""

    value: object = None
    trouble: str | None = None
    kind: str | None = None  #: of the trouble: stub, loop, changed, or the name of an exception


def attempt(function: Callable, arguments: dict[str, object], seconds: float) -> Outcome:
    """Call with copies of the arguments, at most so many seconds."""
    given = copy.deepcopy(arguments)
    try:
        # Warnings and stderr are swallowed: nbgrader gives no marks to a test cell that wrote there.
        with _time_limit(seconds), warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            value = function(*given.values())
    except NotImplementedError:
        return Outcome(trouble="it is not written yet: put your code in place of the line that raises", kind="stub")
    except _OutOfTimeError:
        trouble = f"it did not end within {seconds:g} seconds: is there a loop whose condition stays true?"
        return Outcome(trouble=trouble, kind="loop")
    except (Exception, SystemExit) as error:
        name = type(error).__name__
        return Outcome(trouble=f"it stopped with {name}: {str(error) or 'no message'}", kind=name)
    for name in given:
        if not same(given[name], arguments[name], 0.0):
            return Outcome(value, f"it changes its input `{name}` in place: work on a copy of it", "changed")
    return Outcome(value)


class _OutOfTimeError(BaseException):
    """Not an Exception, so that a student's ``except Exception`` does not catch it."""


@contextlib.contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Stop the block after so many seconds, where the platform can (not on Windows, not in a thread)."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_):
        raise _OutOfTimeError

    before = signal.signal(signal.SIGALRM, stop)
    # Again and again: a bare ``except:`` in the loop would swallow the first one.
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.2)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

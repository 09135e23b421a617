"""Calling a student's function so that nothing it does harms the check: it may stop, loop or change its input."""

import contextlib
import copy
import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass

from tacl_lib.teaching.checks.compare import same
from tacl_lib.teaching.checks.limits import OutOfTimeError, time_limit


class Refused(Exception):
    """Raised by what calls a student's function: its message is all that is to be said of the answer."""


@dataclass(frozen=True)
class Outcome:
    """What a call gave: a value, or a trouble in words."""

    value: object = None
    trouble: str | None = None
    kind: str | None = None  #: of the trouble: stub, loop, changed, fickle, refused, or the name of an exception

    @classmethod
    def of_error(cls, name: str, message: str, seconds: float) -> "Outcome":
        """What is said of a call that ended with an exception."""
        if name == "NotImplementedError":
            return cls(trouble="it is not written yet: put your code in place of the line that raises", kind="stub")
        if name == OutOfTimeError.__name__:
            trouble = f"it did not end within {seconds:g} seconds: is there a loop whose condition stays true?"
            return cls(trouble=trouble, kind="loop")
        return cls(trouble=f"it stopped with {name}: {message or 'no message'}", kind=name)

    @classmethod
    def of_change(cls, value: object, name: str) -> "Outcome":
        """What is said of a call that gave a value, but spoilt what it was given."""
        return cls(value, f"it changes its input `{name}` in place: work on a copy of it", "changed")


def attempt(function: Callable, arguments: dict[str, object], seconds: float) -> Outcome:
    """Call with copies of the arguments, at most so many seconds."""
    if hasattr(function, "attempt"):  # it runs in a process of its own, and its answers come from there
        return function.attempt(arguments, seconds)
    given = copy.deepcopy(arguments)
    try:
        # Warnings and stderr are swallowed: nbgrader gives no marks to a test cell that wrote there.
        with time_limit(seconds), warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            value = function(*given.values())
    except Refused as error:
        return Outcome(trouble=str(error), kind="refused")
    except (Exception, SystemExit, OutOfTimeError) as error:
        return Outcome.of_error(type(error).__name__, str(error), seconds)
    for name in given:
        if not same(given[name], arguments[name], 0.0):
            return Outcome.of_change(value, name)
    return Outcome(value)

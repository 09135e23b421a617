"""The exception that the kit raises for user errors, and how a command ends when told to stop."""

import signal
import threading


class TaclError(Exception):
    """An error that the user can fix. The message says in one sentence what is wrong and what to do."""


def unknown_name(kind: str, name: object, valid: object) -> TaclError:
    """The error for an unknown name. It lists the valid ones."""
    return TaclError(f"unknown {kind} {name!r}; choose one of: {', '.join(map(str, valid))}.")


def refuse_second(known: dict, kind: str, name: str, value: object) -> None:
    """Raise if another object is already registered under this name. Running a notebook cell again is allowed.

    This does not import plugins: those loaded later find the name taken.
    """

    def place(thing: object) -> tuple:
        return getattr(thing, "__module__", None), getattr(thing, "__qualname__", None)

    if dict.__contains__(known, name) and place(dict.__getitem__(known, name)) != place(value):
        raise TaclError(f"the {kind} {name!r} is already registered; choose another name.")


def terminate_as_interrupt() -> None:
    """Make SIGTERM, as sent by a batch system or service, end a command like Ctrl-C."""
    if threading.current_thread() is threading.main_thread():  # Python forbids it in other threads
        signal.signal(signal.SIGTERM, signal.default_int_handler)

"""The one exception that the kit raises on purpose, and how a command that is told to stop ends."""

import signal
import threading


class TaclError(Exception):
    """Something a user can fix: the message is one sentence on what is wrong and what to do."""


def unknown_name(kind: str, name: object, valid: object) -> TaclError:
    """An error for a name that is not in a list, which it shows."""
    return TaclError(f"unknown {kind} {name!r}; choose one of: {', '.join(map(str, valid))}.")


def refuse_second(known: dict, kind: str, name: str, value: object) -> None:
    """A name means one thing. What a notebook defines again, by running a cell again, takes the place of itself.

    Only what is there already is looked at: plugins that are named later find the name taken.
    """

    def place(thing: object) -> tuple:
        return getattr(thing, "__module__", None), getattr(thing, "__qualname__", None)

    if dict.__contains__(known, name) and place(dict.__getitem__(known, name)) != place(value):
        raise TaclError(f"the {kind} {name!r} is registered already; choose another name.")


def terminate_as_interrupt() -> None:
    """SIGTERM, of a batch system or a service, ends a command as Ctrl-C does."""
    if threading.current_thread() is threading.main_thread():  # elsewhere Python forbids it
        signal.signal(signal.SIGTERM, signal.default_int_handler)

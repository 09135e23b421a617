"""The one exception that the kit raises on purpose, and how commands end when they are stopped."""

import signal
import threading
from collections.abc import Mapping


class TaclError(Exception):
    """Something that the user can fix: the message says in one sentence what is wrong and what to do."""


def unknown_name(kind: str, name: object, valid: object) -> TaclError:
    """The error for an unknown name; it lists the valid ones."""
    return TaclError(f"unknown {kind} {name!r}; choose one of: {', '.join(map(str, valid))}.")


def shortened(value: object) -> str:
    """A value in one line of at most 80 characters, for messages."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:80]}…"


def refuse_second(known: Mapping, kind: str, name: str, value: object) -> None:
    """Refuse a name that is taken; but a notebook cell that is run again may redefine its own.

    Does not load any plugins: those loaded later will find the name taken.
    """
    known = getattr(known, "known", known)  # of a `plugins.Registry`

    def place(thing: object) -> tuple:
        return getattr(thing, "__module__", None), getattr(thing, "__qualname__", None)

    if name in known and place(known[name]) != place(value):
        raise TaclError(f"the {kind} {name!r} is already registered; choose another name.")


def terminate_as_interrupt() -> None:
    """Make SIGTERM, as sent by batch systems and services, end a command like Ctrl-C."""
    if threading.current_thread() is threading.main_thread():  # elsewhere Python forbids it
        signal.signal(signal.SIGTERM, signal.default_int_handler)

"""What the system says of who listens where."""

from contextlib import suppress

import psutil


def listening(process: psutil.Process | None = None) -> set[tuple[str, int]]:
    """Where a process, this one unless told, and all that it started listen."""
    first, found = process or psutil.Process(), set()
    with suppress(psutil.NoSuchProcess):
        for each in (first, *first.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                found |= {tuple(c.laddr) for c in each.net_connections("inet") if c.status == psutil.CONN_LISTEN}
    return found

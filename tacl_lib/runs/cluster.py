"""The workers that execute jobs: processes on this machine, or a Dask cluster of the user's.

A Dask worker executes whatever it is sent, so anyone who may talk to it can run code here. Workers on this machine
listen on loopback only and speak TLS with a key that is made for one run and is never written to disk: other users of
the machine are refused as well.
"""

import ipaddress
import os
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import product
from urllib.parse import urlsplit

import dask
import torch
from distributed import Client, Nanny, Scheduler, Security, SpecCluster, Status

from tacl_lib.errors import TaclError

LOOPBACK = "127.0.0.1"  #: where scheduler, nannies and workers on this machine listen: nobody outside can reach them
#: On a busy machine an answer may take minutes. A process that died is noticed at once whatever these say.
PATIENT = {"distributed.comm.timeouts.connect": "10 minutes", "distributed.comm.timeouts.tcp": "10 minutes"}
#: For the scheduler and workers of this machine: no worker is given up for being slow, and no page is served.
LOCAL = {
    "distributed.scheduler.worker-ttl": None,
    # A cluster drops a worker that is not back by then, its nanny too; on a busy machine a start takes minutes.
    "distributed.deploy.lost-worker-timeout": "1 day",
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}
_WARNED = "TACL_WARNED_OF_PLAIN_TCP"  #: in the environment, so that notebooks do not repeat the warning


class Persistent(Nanny):
    """A nanny whose worker may be killed even while it starts: Dask's own would give up, and with it the cluster."""

    STARTS = 10  #: one after the other

    async def instantiate(self) -> Status:
        status = Status.failed
        for _ in range(self.STARTS):
            with suppress(Exception):  # that its process died; the reason is in the log
                status = await super().instantiate()
            if status == Status.running or self.status in (Status.closing, Status.closed, Status.closing_gracefully):
                break
        return status

    async def close(self, timeout: float = 5, reason: str = "nanny-close") -> str:
        """Close, but for a start that failed: another one follows."""
        return "OK" if reason == "nanny-instantiate-failed" else await super().close(timeout=timeout, reason=reason)


@contextmanager
def workers(cluster: str | None = None) -> Iterator[str]:
    """The address of a Dask scheduler: the given one, or a cluster on this machine for as long as it is needed.

    Here they are `local_workers`.
    While the cluster exists, this process and those that it starts (kernels of notebooks) hold its key.
    """
    if cluster:
        with connected(cluster):
            _warn_of_plain_tcp(cluster)
        yield cluster
        return
    security = Security.temporary()
    with handed_on(security), _in_environment(PATIENT), dask.config.set(LOCAL), _local(security) as local:
        yield local.scheduler_address


def local_workers() -> list[dict[str, str]]:
    """The environment of each process that works on this machine, one job at a time.

    Without a GPU: one for each core, with one thread, as two processes do more with small networks than two threads.
    With GPUs: several share each one, ``TACL_JOBS_PER_GPU`` of them, as a single one leaves it idle between its many
    small operations; by default as many as there are cores to feed it, and 8 at most.
    """
    gpus, cores = torch.cuda.device_count(), _cores()
    if not gpus:
        return [{"OMP_NUM_THREADS": "1"}] * cores
    wanted = os.environ.get("TACL_JOBS_PER_GPU") or str(min(max(cores // gpus, 1), 8))
    if not wanted.isdecimal() or not 1 <= int(wanted) <= 64:
        raise TaclError(f"TACL_JOBS_PER_GPU must be a whole number from 1 to 64, not {wanted!r}.")
    return [{"CUDA_VISIBLE_DEVICES": str(gpu), "OMP_NUM_THREADS": "1"} for gpu in range(gpus)] * int(wanted)


def _local(security: Security) -> SpecCluster:
    """A scheduler and its workers on this machine."""
    everywhere = {"host": LOOPBACK, "protocol": "tls", "security": security}
    worker = everywhere | {"nthreads": 1, "memory_limit": 0, "silence_logs": "CRITICAL"}
    specs = {n: {"cls": Persistent, "options": worker | {"env": env}} for n, env in enumerate(local_workers())}
    # A port of its own for the (empty) pages: the usual one may be taken by another reproduction.
    scheduler = everywhere | {"dashboard": False, "dashboard_address": f"{LOOPBACK}:0", "port": 0}
    try:
        return SpecCluster(
            workers=specs,
            scheduler={"cls": Scheduler, "options": scheduler},
            security=security,
            silence_logs="CRITICAL",  # a killed worker needs no message: another one takes over its job
        )
    except RuntimeError as error:
        raise TaclError("the workers could not be started, perhaps because memory ran out; try again.") from error


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """A client of a scheduler; one sentence where none answers."""
    try:
        client = Client(address)
    except Exception as error:  # wrong addresses and wrong keys make Dask raise nearly anything
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise TaclError(
            f"no Dask scheduler answers at {address} ({said}); start one, check its TLS settings, or leave CLUSTER out."
        ) from error
    with client:
        yield client


def count_workers(cluster: str) -> int:
    """How many jobs the workers of a scheduler can do at once, at least 1."""
    with connected(cluster) as client:
        return max(1, sum(client.nthreads().values()))


def handed_on(security: Security) -> AbstractContextManager[None]:
    """Give a key that lies in memory to this process and to those that it starts, as Dask's own settings."""
    settings = {"distributed.comm.require-encryption": "True", "distributed.comm.tls.ca-file": security.tls_ca_file}
    for role, part in product(("scheduler", "worker", "client"), ("cert", "key")):
        settings[f"distributed.comm.tls.{role}.{part}"] = getattr(security, f"tls_{role}_{part}")
    return _in_environment(settings)


@contextmanager
def _in_environment(settings: dict[str, str]) -> Iterator[None]:
    """Dask settings for this process and, through the environment, for those that it starts."""
    names = {f"DASK_{name.replace('.', '__').replace('-', '_').upper()}": value for name, value in settings.items()}
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(names)
    try:
        with dask.config.set({name: dask.config.interpret_value(value) for name, value in settings.items()}):
            yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def _warn_of_plain_tcp(cluster: str) -> None:
    """Once: anyone who can reach a scheduler without TLS can run code on its workers."""
    parts = urlsplit(cluster if "://" in cluster else f"tcp://{cluster}")
    if parts.scheme == "tcp" and not _is_loopback(parts.hostname) and _WARNED not in os.environ:
        os.environ[_WARNED] = "1"
        warnings.warn(
            f"{cluster} is not encrypted: anyone who reaches that scheduler can run code on its workers; use TLS "
            "(tls://, see the README) unless the network is yours alone.",
            stacklevel=4,
        )


def _is_loopback(host: str | None) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

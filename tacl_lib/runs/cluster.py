"""The workers that execute jobs: processes on this machine, or the user's Dask cluster.

A Dask worker executes whatever it is sent, so anyone who can reach it can run code here. Workers on this machine listen
on loopback only and use TLS, with a key that is created for one run and never written to disk; so other users of the
machine are kept out, too.
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

LOOPBACK = "127.0.0.1"  #: scheduler, nannies and workers on this machine listen here: unreachable from outside
#: On a busy machine an answer may take minutes. A dead process is noticed at once all the same.
PATIENT = {"distributed.comm.timeouts.connect": "10 minutes", "distributed.comm.timeouts.tcp": "10 minutes"}
#: For the scheduler and workers on this machine: slow workers are not given up, and no dashboard is served.
LOCAL = {
    "distributed.scheduler.worker-ttl": None,
    # A cluster drops a worker, with its nanny, that has not come back by then; on a busy machine a start takes minutes.
    "distributed.deploy.lost-worker-timeout": "1 day",
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    # Dask lets workers give back memory at every chance; a training step then waits for the same pages again and again,
    # up to a third of its time. None leaves it to the system.
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None,
}
_WARNED = "TACL_WARNED_OF_PLAIN_TCP"  #: set in the environment, so that notebooks do not repeat the warning


class Persistent(Nanny):
    """A nanny that survives its worker being killed at start-up: Dask's own would give up, and the cluster with it."""

    STARTS = 10  #: attempts

    async def instantiate(self) -> Status:
        status = Status.failed
        for _ in range(self.STARTS):
            with suppress(Exception):  # its process died; the log has the reason
                status = await super().instantiate()
            if status == Status.running or self.status in (Status.closing, Status.closed, Status.closing_gracefully):
                break
        return status

    async def close(self, timeout: float = 5, reason: str = "nanny-close") -> str:
        """Close, but not after a failed start: another attempt follows."""
        return "OK" if reason == "nanny-instantiate-failed" else await super().close(timeout=timeout, reason=reason)


@contextmanager
def workers(cluster: str | None = None) -> Iterator[str]:
    """The address of a Dask scheduler: the given one, or a temporary cluster of `local_workers`.

    While that cluster exists, this process and those it starts (kernels of notebooks) hold its key.
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
    """The environment of each worker process on this machine; each executes one job at a time.

    Without a GPU: one single-threaded process per core, because with small networks two processes do more than two
    threads. With GPUs: ``TACL_JOBS_PER_GPU`` processes share each, because a single one leaves it idle between its many
    small operations; by default as many as there are cores to feed it, but at most 8.
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
    # A free port for the (empty) dashboard: the usual one may be taken by another reproduction.
    scheduler = everywhere | {"dashboard": False, "dashboard_address": f"{LOOPBACK}:0", "port": 0}
    try:
        return SpecCluster(
            workers=specs,
            scheduler={"cls": Scheduler, "options": scheduler},
            security=security,
            silence_logs="CRITICAL",  # no message for a killed worker: another one takes over its job
        )
    except RuntimeError as error:
        raise TaclError("the workers could not be started, perhaps for lack of memory; try again.") from error


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """A client of a scheduler; a TaclError if none answers."""
    try:
        client = Client(address)
    except Exception as error:  # wrong addresses and wrong keys make Dask raise nearly anything
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise TaclError(
            f"no Dask scheduler answers at {address} ({why}); start one, check its TLS settings, or leave CLUSTER out."
        ) from error
    with client:
        yield client


def count_workers(cluster: str) -> int:
    """How many jobs the scheduler's workers can execute at once, at least 1."""
    with connected(cluster) as client:
        return max(1, sum(client.nthreads().values()))


def handed_on(security: Security) -> AbstractContextManager[None]:
    """Pass a key held in memory to this process and those it starts, as Dask settings."""
    settings = {"distributed.comm.require-encryption": "True", "distributed.comm.tls.ca-file": security.tls_ca_file}
    for role, part in product(("scheduler", "worker", "client"), ("cert", "key")):
        settings[f"distributed.comm.tls.{role}.{part}"] = getattr(security, f"tls_{role}_{part}")
    return _in_environment(settings)


@contextmanager
def _in_environment(settings: dict[str, str]) -> Iterator[None]:
    """Apply Dask settings to this process and, through the environment, to those it starts."""
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
    """Warn once: anyone who can reach a scheduler without TLS can run code on its workers."""
    parts = urlsplit(cluster if "://" in cluster else f"tcp://{cluster}")
    if parts.scheme == "tcp" and not _is_loopback(parts.hostname) and _WARNED not in os.environ:
        os.environ[_WARNED] = "1"
        warnings.warn(
            f"{cluster} is not encrypted: anyone who can reach that scheduler can run code on its workers; use TLS "
            "(tls://, see the README) unless nobody else is on the network.",
            stacklevel=4,
        )


def _is_loopback(host: str | None) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

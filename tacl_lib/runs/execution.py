"""Where jobs are executed: on this machine's cores or GPUs, or on any Dask cluster.

A job may be killed at any moment: it goes on from its checkpoint, here or on another worker. Two
reproductions that share a folder do not repeat each other's work: a lock per job (a spec and its seeds) makes one wait.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
from distributed import Client, Nanny, Scheduler, SpecCluster, as_completed
from filelock import FileLock
from tqdm.auto import tqdm

from tacl_lib.errors import TaclError
from tacl_lib.runs import run
from tacl_lib.runs.cost import seconds
from tacl_lib.runs.grid import Job
from tacl_lib.runs.store import Store

LOOPBACK = "127.0.0.1"  #: where scheduler, nannies and workers on this machine listen: nobody outside can reach them


def do(job: Job, folder: Path | str, progress: bool = False) -> None:
    """Execute a job unless its results are there already, and put them into the store."""
    store = Store(folder)
    checkpoint = store.checkpoint(job.spec, job.seeds)
    checkpoint.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(checkpoint.with_suffix(".lock")):
        seeds = store.missing(job.spec, job.seeds)
        if not seeds:
            return
        if checkpoint.exists():  # stopped in the middle of this very stack: finish it as it was begun
            seeds = job.seeds
        else:
            checkpoint = store.checkpoint(job.spec, seeds)

        def deliver(records):
            store.write(job.spec, records)

        run(job.spec, tuple(seeds), checkpoint=checkpoint, progress=progress, deliver=deliver)


@contextmanager
def workers(cluster: str | None = None) -> Iterator[str]:
    """The address of a Dask scheduler: the given one, or a cluster on this machine for as long as it is needed.

    Here a worker is one process per GPU, or one per core where there is no GPU; each runs one job at a time.
    """
    if cluster:
        try:
            Client(cluster, timeout="20s").close()
        except (OSError, ValueError) as error:
            raise TaclError(
                f"no Dask scheduler answers at {cluster} ({error}); start one or leave CLUSTER out."
            ) from error
        yield cluster
        return
    gpus = torch.cuda.device_count()
    # One thread a process: the networks are small, so two processes do more than two threads.
    environments = [{"CUDA_VISIBLE_DEVICES": str(gpu)} for gpu in range(gpus)] or [
        {"OMP_NUM_THREADS": "1"} for _ in range(_cores())
    ]
    specs = {
        number: {
            "cls": Nanny,
            "options": {"nthreads": 1, "env": env, "memory_limit": 0, "silence_logs": "ERROR", "host": LOOPBACK},
        }
        for number, env in enumerate(environments)
    }
    scheduler = {"cls": Scheduler, "options": {"dashboard": False, "port": 0, "host": LOOPBACK}}
    with SpecCluster(workers=specs, scheduler=scheduler, silence_logs="ERROR") as local:
        yield local.scheduler_address


def count_workers(cluster: str) -> int:
    """How many jobs the workers of a scheduler can do at once, at least 1."""
    with Client(cluster, timeout="20s") as client:
        return max(1, sum(client.nthreads().values()))


def execute(jobs: Sequence[Job], folder: Path | str, cluster: str | None = None, progress: bool = True) -> None:
    """Execute jobs, the long ones first; those that are in the store already cost nothing.

    cluster: address of a Dask scheduler; None starts workers on this machine.
    """
    folder, store = Path(folder).absolute(), Store(folder)
    waiting = [job for job in jobs if store.missing(job.spec, job.seeds)]
    if not waiting:
        return
    waiting.sort(key=seconds, reverse=True)
    with workers(cluster) as address, Client(address) as client, _bar(waiting, progress) as bar:
        # Dask itself gives a job to another worker when its worker dies; an error would only be repeated.
        futures = {
            client.submit(do, job, folder, key=f"{job.spec.name()}-{job.seeds}-{folder}"): job for job in waiting
        }
        failed = {}
        for future in as_completed(futures):
            job = futures[future]
            bar.update(seconds(job))
            if future.status != "finished":
                failed[job] = future.exception() if future.status == "error" else "it was cancelled."
                if "could not be written" in str(failed[job]):  # a full disk would fail all the others as well
                    client.cancel(list(futures))
                    break
        if failed:
            job, error = next(iter(failed.items()))
            raise TaclError(
                f"{len(failed)} of {len(waiting)} jobs failed, first {job}: {error} What is finished is stored; "
                "the same command goes on from here."
            ) from (error if isinstance(error, BaseException) else None)


def _bar(jobs: Sequence[Job], progress: bool) -> tqdm:
    layout = "{l_bar}{bar}| {n:.0f}/{total:.0f} s of estimated work [{elapsed}<{remaining}]"
    return tqdm(total=sum(map(seconds, jobs)), desc="runs", bar_format=layout, disable=not progress)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

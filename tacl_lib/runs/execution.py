"""Executing jobs, each once, even if processes are killed, stopped or slow.

A job that was killed resumes from its checkpoint, on this or another worker. Processes that share a folder do not
repeat each other's work: locks, one per run (a spec and a seed), make one wait for the other.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from distributed import Client, as_completed
from distributed.comm import CommClosedError
from distributed.scheduler import KilledWorker
from filelock import FileLock, Timeout
from tqdm.auto import tqdm

from tacl_lib import plugins
from tacl_lib.errors import TaclError
from tacl_lib.runs import run
from tacl_lib.runs.cluster import connected, workers
from tacl_lib.runs.cost import work
from tacl_lib.runs.grid import Job
from tacl_lib.runs.store import Store

#: After this many rounds in a row in which all remaining jobs were lost, the jobs are at fault, not their workers.
MAX_LOST_ROUNDS = 3
GOES_ON = "Finished runs are stored; run the same command again to continue."


def run_job(job: Job, folder: Path | str, progress: bool = False, own: Sequence[str] = ()) -> None:
    """Execute a job and store its runs, unless they are stored already. own: the user's plugins."""
    plugins.add(own)
    store = Store(folder)
    if not store.missing(job.spec, job.seeds):  # without a lock: the folder may be read-only
        return
    with _alone(job, store):
        seeds = store.missing(job.spec, job.seeds)
        if not seeds:
            return
        store.sweep(job.spec, job.seeds)
        checkpoint = store.checkpoint(job.spec, job.seeds)
        if checkpoint.exists():  # this very stack was interrupted: finish it as it was begun
            seeds = job.seeds
        else:
            checkpoint = store.checkpoint(job.spec, seeds)

        def deliver(records):
            store.write(job.spec, records)

        run(job.spec, tuple(seeds), checkpoint=checkpoint, progress=progress, deliver=deliver)


@contextmanager
def _alone(job: Job, store: Store) -> Iterator[None]:
    """Hold the locks of all runs of a job. They are taken in the order of the seeds, so that jobs cannot deadlock."""
    paths = [store.lock(job.spec, seed) for seed in sorted(job.seeds)]
    with ExitStack() as held:
        try:
            paths[0].parent.mkdir(parents=True, exist_ok=True)
            for path in paths:
                held.enter_context(_locked(FileLock(path), job))
        except OSError as error:
            raise TaclError(
                f"the folder {store.folder} cannot be written to ({error.strerror}); choose another one."
            ) from error
        yield
    if not store.missing(job.spec, job.seeds):  # whoever waits for these locks will find the runs stored
        for path in paths:
            with suppress(OSError):
                path.unlink()


@contextmanager
def _locked(lock: FileLock, job: Job) -> Iterator[None]:
    """Hold a lock; print a line if another process has it."""
    try:
        lock.acquire(timeout=0)
    except Timeout:
        print(f"waiting for another process that is running {job}", file=sys.stderr)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def execute(jobs: Sequence[Job], folder: Path | str, cluster: str | None = None, progress: bool = True) -> None:
    """Execute jobs, the longest first; those already stored cost nothing.

    cluster: address of a Dask scheduler; None starts workers on this machine.
    """
    folder, store = Path(folder).absolute(), Store(folder)
    # The files are read, so that damaged ones are set aside now and run again.
    waiting = [job for job in jobs if len(store.records(*job)) < len(job.seeds)]
    if not waiting:
        return
    waiting.sort(key=work, reverse=True)
    with workers(cluster) as address, _bar(waiting, progress) as bar:
        failed = _rounds(address, waiting, folder, bar)
    if failed:
        job, error = next(iter(failed.items()))
        raise TaclError(f"{len(failed)} of {len(waiting)} jobs failed, first {job}: {error} {GOES_ON}") from error


def _rounds(address: str, jobs: list[Job], folder: Path, bar: tqdm) -> dict[Job, Exception]:
    """Submit jobs until none is lost. Returns those that failed, with their errors.

    A job that was stored but whose message was lost costs nothing the next time.
    """
    failed: dict[Job, Exception] = {}
    lost_rounds = number = 0
    while jobs and not any(map(_concerns_all, failed.values())):
        with connected(address) as client:
            errors, lost = _one_round(client, jobs, folder, bar, number)
        failed |= errors
        lost_rounds = lost_rounds + 1 if len(lost) == len(jobs) else 0
        if lost_rounds == MAX_LOST_ROUNDS:
            return failed | lost
        jobs, number = list(lost), number + 1
    return failed


def _one_round(
    client: Client, jobs: list[Job], folder: Path, bar: tqdm, number: int
) -> tuple[dict[Job, Exception], dict[Job, Exception]]:
    """Submit each job once. Returns the errors of the jobs that failed, and of those that were lost: cancelled, or with
    all workers killed, or with a broken connection. If a worker dies once, Dask gives its job to another one."""
    own = {"own": plugins.given()} if plugins.given() else {}  # a remote worker has another environment
    futures = {
        client.submit(
            run_job, job, folder, **own, key=f"{job.spec.name()}-{job.seeds}-{folder}-{number}", pure=False
        ): job
        for job in jobs
    }
    failed, lost = {}, {}
    for future in as_completed(futures):
        job = futures[future]
        if future.status == "finished":
            bar.update(work(job))
            continue
        error = _error_of(future)
        if isinstance(error, TaclError) or not _is_loss(error):
            bar.update(work(job))
            failed[job] = error
            if _concerns_all(error):
                client.cancel(list(futures))
                break
        else:
            lost[job] = TaclError("its workers were lost repeatedly, perhaps for lack of memory.")
    return failed, lost


def _error_of(future) -> Exception:
    if future.status == "error":
        return future.exception()
    return CommClosedError("it was cancelled")


def _is_loss(error: BaseException) -> bool:
    """Whether an error is not the job's own, but arose on its way to a worker or back."""
    return isinstance(error, (KilledWorker, CommClosedError))


def _concerns_all(error: BaseException) -> bool:
    """Whether all other jobs would fail as well, e.g. because the disk is full."""
    return "could not be written" in str(error) or "cannot be written to" in str(error)


def _bar(jobs: Sequence[Job], progress: bool) -> tqdm:
    layout = "{l_bar}{bar}| of the estimated work [{elapsed}<{remaining}]"
    return tqdm(total=sum(map(work, jobs)), desc="runs", bar_format=layout, disable=not progress)

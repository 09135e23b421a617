"""Jobs on workers: each is done once, whatever is killed, full or missing on the way."""

import contextlib
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from functools import partial

import dask
import distributed
import pytest
from filelock import FileLock
from small_runs import PLAIN, SEEDS, TINY, assert_same

from tacl_lib.errors import TaclError
from tacl_lib.runs import execution, run
from tacl_lib.runs.execution import execute, run_job
from tacl_lib.runs.grid import Job
from tacl_lib.runs.store import Store
from tacl_lib.training import loop

FORK = multiprocessing.get_context("fork")
#: of every kind: with a memory, told of tasks, of a continuous stream
JOBS = [
    Job(TINY, SEEDS),
    Job(PLAIN, SEEDS),
    Job(replace(TINY, experiment="continuous", split="permutation", task_count=3), (1,)),
    Job(replace(PLAIN, learner="agem", learner_settings={"rate": 0.05, "samples_per_task": 5}), SEEDS),
]
PATIENCE = 120  #: seconds to wait for what should take one


@pytest.fixture(scope="module")
def expected():
    """What an undisturbed run gives, by job."""
    made = {}

    def of(job):
        key = job.spec.name(), job.seeds
        if key not in made:
            made[key] = run(*job, progress=False)
        return made[key]

    return of


def until(true, what):
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, f"waited in vain: {what}"
        time.sleep(0.02)


def assert_all_done(jobs, folder, expected):
    store = Store(folder)
    for job in jobs:
        found = store.records(*job)
        assert [record.seed for record in found] == list(job.seeds), str(job)
        for one, other in zip(found, expected(job), strict=True):
            assert_same(one, other)
    assert not list(store.folder.rglob("*.pt")), "a checkpoint was left"
    assert not list(store.folder.rglob("*.part")), "a half-written file was left"


def times(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*.parquet")}


def slow(job, seconds):
    """The same job with so many epochs that it takes at least so long."""
    begun = time.monotonic()
    run(*job, progress=False)
    took = time.monotonic() - begun
    return Job(replace(job.spec, epochs=job.spec.epochs * (1 + int(seconds / took))), job.seeds)


# --- one job ---


@pytest.mark.parametrize("job", JOBS, ids=str)
def test_a_job_is_done_once(job, tmp_path, expected):
    run_job(job, tmp_path)
    assert_all_done([job], tmp_path, expected)
    before = times(tmp_path)
    run_job(job, tmp_path)
    assert times(tmp_path) == before


def test_only_the_seeds_that_are_missing_are_run(tmp_path, expected):
    run_job(Job(TINY, SEEDS[:1]), tmp_path)
    before = times(tmp_path)
    run_job(Job(TINY, SEEDS), tmp_path)
    assert before.items() <= times(tmp_path).items()
    assert_all_done([Job(TINY, SEEDS)], tmp_path, expected)


def test_a_job_goes_on_from_the_checkpoint_of_its_stack(tmp_path, monkeypatch, expected):
    job, count = JOBS[0], [0]
    stop_at, step = 20, loop._Training._one_step

    def counted(self, *arguments):
        step(self, *arguments)
        count[0] += 1
        if count[0] == stop_at:
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(loop._Training, "_one_step", counted)
    with pytest.raises(SystemExit):
        run_job(job, tmp_path)
    assert Store(tmp_path).missing(*job) == list(job.seeds)
    assert Store(tmp_path).checkpoint(*job).exists()
    run_job(job, tmp_path)
    assert count[0] == expected(job)[0].epochs["steps"].sum()
    assert_all_done([job], tmp_path, expected)


def test_a_stack_that_was_killed_while_it_delivered_is_finished_as_it_was_begun(tmp_path, monkeypatch, expected):
    job, write = JOBS[0], Store.write

    def cut(self, spec, records):
        write(self, spec, records[:1])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Store, "write", cut)
        with pytest.raises(KeyboardInterrupt):
            run_job(job, tmp_path)
    assert Store(tmp_path).missing(*job) == [job.seeds[1]]
    run_job(job, tmp_path)
    assert_all_done([job], tmp_path, expected)
    assert Store(tmp_path).read(job.spec, job.seeds[1]).info["runs_in_stack"] == 2


def noting(path, *arguments, **named):
    """`run`, with a line in a file for each call."""
    with open(path, "a") as file:
        file.write(f"{arguments[0].name()} {' '.join(map(str, arguments[1]))}\n")
    return run(*arguments, **named)


def test_two_processes_in_one_folder_do_each_job_once(tmp_path, monkeypatch, expected):
    monkeypatch.setattr(execution, "run", partial(noting, tmp_path / "calls"))
    folder = tmp_path / "results"
    both = [FORK.Process(target=lambda: [run_job(job, folder) for job in JOBS]) for _ in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join(PATIENCE)
        assert process.exitcode == 0
    calls = [line.split()[0] for line in (tmp_path / "calls").read_text().splitlines()]
    assert sorted(calls) == sorted(job.spec.name() for job in JOBS)
    assert_all_done(JOBS, folder, expected)


def test_jobs_survive_being_killed_ten_times(tmp_path, expected):
    """SIGKILL at any moment, and start again: nothing is lost, nothing is damaged, the numbers are the same."""
    jobs = [Job(job.spec, job.seeds) for job in JOBS]
    run_job(jobs[0], tmp_path / "warm")  # what is done once, at the first run, would make the others look slower
    begun = time.monotonic()
    for job in jobs:
        run_job(job, tmp_path / "undisturbed")
    whole, rng = time.monotonic() - begun, random.Random(4)
    folder, killed = tmp_path / "results", 0
    for _ in range(10):
        process = FORK.Process(target=lambda: [run_job(job, folder) for job in jobs])
        process.start()
        process.join(rng.uniform(0, whole / 3))
        killed += process.is_alive()
        process.kill()
        process.join(PATIENCE)
        for path in Store(folder).folder.glob("*.parquet"):
            assert path.stat().st_size > 0
    assert killed >= 1
    for job in jobs:
        run_job(job, folder)
    for path in folder.rglob(".*.part"):
        path.unlink()  # a kill in the middle of a write may leave one; nobody reads it
    assert_all_done(jobs, folder, expected)


# --- on workers ---


def test_workers_give_the_same_bytes_as_a_direct_run(tmp_path, address, expected):
    execute(JOBS, tmp_path, cluster=address, progress=False)
    assert_all_done(JOBS, tmp_path, expected)
    before = times(tmp_path)
    execute(JOBS, tmp_path, cluster=address, progress=False)
    assert times(tmp_path) == before


def test_what_is_finished_needs_no_workers(tmp_path, monkeypatch):
    for job in JOBS:
        run_job(job, tmp_path)
    monkeypatch.setattr(execution, "workers", None)
    execute(JOBS, tmp_path, progress=False)


def test_a_folder_may_be_given_relative_to_where_one_is(tmp_path, address, monkeypatch, expected):
    monkeypatch.chdir(tmp_path)
    execute(JOBS[:1], "results", cluster=address, progress=False)
    assert_all_done(JOBS[:1], tmp_path / "results", expected)


def test_a_job_whose_worker_is_killed_is_done_by_another(tmp_path, address, expected):
    job = slow(JOBS[0], seconds=3)
    store, caught = Store(tmp_path), []

    def call():
        try:
            execute([job], tmp_path, cluster=address, progress=False)
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    until(store.checkpoint(*job).exists, "the job is begun")
    with distributed.Client(address) as client:
        busy = [worker for worker, tasks in client.processing().items() if tasks]
        pids = client.run(os.getpid, workers=busy)
        assert len(pids) == 1
        assert store.missing(*job) == list(job.seeds)
        for pid in pids.values():
            os.kill(pid, signal.SIGKILL)
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert not caught
    assert_all_done([job], tmp_path, expected)


def test_a_job_that_fails_is_named_and_the_others_are_done(tmp_path, address, expected):
    bad = Job(replace(TINY, dataset="nowhere"), SEEDS)
    with pytest.raises(TaclError) as caught:
        execute([bad, *JOBS], tmp_path, cluster=address, progress=False)
    text = str(caught.value)
    assert f"1 of {len(JOBS) + 1} jobs failed" in text
    assert str(bad) in text
    assert "unknown dataset 'nowhere'" in text
    assert "\n" not in text
    for lock in tmp_path.rglob("*.pt"):
        assert bad.spec.name() in lock.name
    assert_all_done(JOBS, tmp_path, expected)


def test_jobs_are_submitted_again_when_the_connection_to_the_scheduler_breaks(tmp_path, address, monkeypatch, expected):
    """As on a machine that is too busy to answer: Dask then calls all jobs of the client cancelled."""
    rounds = []

    def cut(dask_scheduler):
        for comm in dask_scheduler.client_comms.values():
            comm.abort()

    def cut_once(futures):
        rounds.append(len(futures))
        if len(rounds) == 1:
            with contextlib.suppress(Exception), distributed.Client(address) as client:  # its own comm is cut as well
                client.run_on_scheduler(cut)
        return distributed.as_completed(futures)

    monkeypatch.setattr(execution, "as_completed", cut_once)
    execute(JOBS, tmp_path, cluster=address, progress=False)
    assert rounds[0] == len(JOBS)
    assert len(rounds) > 1
    assert_all_done(JOBS, tmp_path, expected)


def test_jobs_that_are_lost_each_time_are_given_up_in_one_sentence(tmp_path, address, monkeypatch):
    rounds = []

    def all_lost(client, jobs, folder, bar, number):
        rounds.append(list(jobs))
        return {}, {job: TaclError("lost.") for job in jobs}

    monkeypatch.setattr(execution, "_one_round", all_lost)
    with pytest.raises(TaclError, match=r"^4 of 4 jobs failed, first .* lost\. .* again to continue\.$"):
        execute(JOBS, tmp_path, cluster=address, progress=False)
    assert len(rounds) == execution.MAX_LOST_ROUNDS
    assert all(sorted(map(str, jobs)) == sorted(map(str, JOBS)) for jobs in rounds)


@pytest.mark.slow
def test_a_job_that_kills_its_workers_is_named_and_the_others_are_done(tmp_path, address, monkeypatch, expected):
    deadly, original = JOBS[2], execution.run_job

    def kill_or_do(job, folder):
        if job == deadly:
            os._exit(1)
        original(job, folder)

    monkeypatch.setattr(execution, "run_job", kill_or_do)
    with distributed.Client(address) as client:  # a worker needs seconds to start again: one death a round is enough
        client.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 0))
    with pytest.raises(TaclError, match=r"1 of 4 jobs failed.*its workers were lost repeatedly") as caught:
        execute(JOBS, tmp_path, cluster=address, progress=False)
    assert str(deadly) in str(caught.value)
    assert "\n" not in str(caught.value)
    with distributed.Client(address) as client:
        client.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 3))
    assert_all_done([job for job in JOBS if job != deadly], tmp_path, expected)


# --- locks ---


def test_waiting_for_another_process_is_said(tmp_path, capfd, expected):
    job, store = JOBS[0], Store(tmp_path)
    store.folder.mkdir(exist_ok=True)
    lock = store.lock(job.spec, job.seeds[1])
    lock.parent.mkdir()
    with FileLock(lock):
        waiter = FORK.Process(target=run_job, args=(job, tmp_path))
        waiter.start()
        said = []
        until(lambda: said.append(capfd.readouterr().err) or "waiting for another process" in "".join(said), "a word")
        assert str(job) in "".join(said)
    waiter.join(PATIENCE)
    assert waiter.exitcode == 0
    assert_all_done([job], tmp_path, expected)


def test_jobs_that_share_a_seed_do_not_run_it_twice(tmp_path, monkeypatch):
    """Their stacks differ, so a lock per stack would let both run it."""
    monkeypatch.setattr(execution, "run", partial(noting, tmp_path / "calls"))
    folder, spec = tmp_path / "results", slow(JOBS[1], seconds=1).spec
    stacks = [(0, 3), (3, 5), (5, 0)]
    both = [FORK.Process(target=run_job, args=(Job(spec, seeds), folder)) for seeds in stacks]
    for process in both:
        process.start()
    for process in both:
        process.join(PATIENCE)
        assert process.exitcode == 0
    ran = [int(seed) for line in (tmp_path / "calls").read_text().splitlines() for seed in line.split()[1:]]
    assert sorted(ran) == [0, 3, 5]


def test_what_a_dead_process_left_half_written_is_swept(tmp_path, expected):
    job, store = JOBS[0], Store(tmp_path)
    left = [
        tmp_path / f".{job.spec.name()}-0.parquet.0123.part",
        tmp_path / f".{job.spec.name()}-3.events.parquet.0123.part",
        tmp_path / "unfinished" / f".{store.checkpoint(*job).name}.0123.part",
    ]
    other = tmp_path / f".{PLAIN.name()}-0.parquet.0123.part"  # somebody may be writing it
    (tmp_path / "unfinished").mkdir()
    for path in [*left, other]:
        path.write_bytes(b"half")
    run_job(job, tmp_path)
    assert [path.name for path in tmp_path.rglob("*.part")] == [other.name]
    assert not list(tmp_path.rglob("*.lock"))
    other.unlink()
    assert_all_done([job], tmp_path, expected)


@pytest.mark.parametrize("nowhere", ["tcp://127.0.0.1:9", "no address", "ftp://127.0.0.1:9"])
def test_an_address_where_nobody_answers_is_one_sentence(tmp_path, monkeypatch, nowhere):
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
        pytest.raises(TaclError, match=r"no Dask scheduler answers at .*leave CLUSTER out") as caught,
    ):
        execute(JOBS[:1], tmp_path, cluster=nowhere, progress=False)
    assert nowhere in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.fixture
def small_disk(tmp_path):
    if sys.platform != "linux":
        pytest.skip("a small disk is made of a tmpfs, which only Linux has")
    place = tmp_path / "disk"
    place.mkdir()
    try:
        made = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)], capture_output=True, text=True
        )
    except FileNotFoundError:
        pytest.skip("there is no command mount")
    if made.returncode:
        pytest.skip(f"this user may not mount a small disk: {made.stderr.strip()}")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=False)


def test_a_full_disk_is_one_sentence_and_with_more_room_it_goes_on(small_disk, address, expected):
    folder = small_disk / "results"
    jobs = [*JOBS, *(Job(replace(PLAIN, epochs=epochs), SEEDS) for epochs in (3, 4, 5))]
    with pytest.raises(TaclError) as caught:
        execute(jobs, folder, cluster=address, progress=False)
    assert "disk" in str(caught.value)
    assert "run the same command again to continue" in str(caught.value)
    assert "\n" not in str(caught.value)
    store = Store(folder)
    with contextlib.suppress(FileNotFoundError):  # a job that was under way may still tidy up
        assert not [path for path in folder.glob("*.damaged")]
    for job in jobs:
        done = [seed for seed in job.seeds if seed not in store.missing(job.spec, [seed])]
        for seed in done:  # would warn if it were damaged
            at = job.seeds.index(seed)
            assert_same(store.read(job.spec, seed), expected(job)[at])
    assert any(store.missing(*job) for job in jobs)
    subprocess.run(["mount", "-o", "remount,size=16m", str(small_disk)], check=True)
    execute(jobs, folder, cluster=address, progress=False)
    assert_all_done(jobs, folder, expected)

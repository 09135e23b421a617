"""Kill, stop and damage, and count what was lost:  make torture  (an hour or two)

1. Single runs: at a random moment the process is sent KILL, TERM or INT, or is stopped and continued, and then the run
   is started again; in the end the record must be that of an undisturbed run, to the last bit.
2. Reproductions: the same to the main process, a worker, a nanny or a notebook's kernel.
3. A busy machine: 200 jobs on 8 workers while every core is kept busy and workers are killed in turn; each job must be
   stored, and have been run once.
4. Bits: 200 are flipped in checkpoints and 200 in result files; no number may change without a word.

Prints a table of what was tried and what was lost, and ends with 1 if anything was.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import psutil
import torch

from tacl_lib.errors import TaclError
from tacl_lib.runs import RunSpec, cluster, run
from tacl_lib.runs.execution import execute, run_job
from tacl_lib.runs.grid import Job, all_jobs
from tacl_lib.runs.profiles import PROFILES
from tacl_lib.runs.store import Store
from tacl_lib.training.record import Record, read_record

SIGNALS = ("KILL", "TERM", "INT", "STOP and CONT")
SPEC = RunSpec("digits", hidden=(16,), epochs=6, train_limit=40, test_limit=20)
SINGLE = [
    Job(replace(SPEC, learner="ta_agem", learner_settings={"clusters": 3}), (0, 3)),
    Job(replace(SPEC, learner="ta_ogd", learner_settings={"clusters": 6}), (1,)),
    Job(replace(SPEC, learner="agem", learner_settings={"samples_per_task": 5}, split="rotation", epochs=3), (0,)),
    Job(replace(SPEC, learner="sgd", experiment="continuous"), (0, 1, 2)),
]
CHOICE = ["--profile", "smoke", "--datasets", "digits", "--methods", "sgd", "ta_agem", "--seeds", "0"]
Row = tuple[str, str, int, int]  # what, how, tried, lost


def same(one: Record, other: Record) -> bool:
    """The measured numbers agree to the last bit."""
    return one.digest() == other.digest()


def hit(process: psutil.Process, how: str, rng: random.Random) -> bool:
    """Send a signal; whoever is stopped goes on a little later. False: the process had ended before."""
    with suppress(psutil.NoSuchProcess):
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        for place, name in enumerate(how.split(" and ")):
            if place:
                time.sleep(rng.uniform(0.1, 2))
            process.send_signal(getattr(signal, f"SIG{name}"))
        return True
    return False


def single_runs(tries: int, rng: random.Random) -> list[Row]:
    """Each job is disturbed several times in one folder, then finished and compared."""
    fork, tried, lost = get_context("fork"), Counter(), Counter()
    wanted = {job: run(*job, progress=False) for job in SINGLE}
    begun = time.monotonic()
    for job in SINGLE:
        run(*job, progress=False)
    usual = (time.monotonic() - begun) / len(SINGLE)
    while tried.total() < tries:
        job = rng.choice(SINGLE)
        with tempfile.TemporaryDirectory() as folder:
            for how in rng.choices(SIGNALS, k=min(4, tries - tried.total())):
                process = fork.Process(target=_quietly, args=(job, folder))
                process.start()
                time.sleep(rng.uniform(0, usual))
                tried[how] += hit(psutil.Process(process.pid), how, rng)
                if how == "STOP and CONT":
                    process.join(rng.uniform(0, usual))
                    process.kill()
                process.join()
            _quietly(job, folder)
            found = Store(folder).records(*job)
            fine = len(found) == len(job.seeds) and all(map(same, found, wanted[job]))
            rest = [path.name for path in Path(folder).rglob("*") if path.suffix in (".part", ".pt", ".damaged")]
            lost[how] += not fine or bool(rest)
        _say(f"single runs: {tried.total()} of {tries} hit, {lost.total()} lost")
    return [("a single run", how, tried[how], lost[how]) for how in SIGNALS]


def _quietly(job: Job, folder: str) -> None:
    with suppress(KeyboardInterrupt):
        run_job(job, folder)


def reproductions(tries: int, rng: random.Random) -> list[Row]:
    """A reproduction is disturbed again and again until it has ended well; then its runs are compared."""
    jobs = all_jobs(PROFILES["smoke"], ["digits"], ["sgd", "ta_agem"], [0])
    wanted = {job: run(*job, progress=False) for job in jobs}
    tried, lost = Counter(), Counter()
    victims = [(who, how) for who in ("main process", "worker", "nanny", "kernel") for how in SIGNALS]
    while tried.total() < tries:
        with tempfile.TemporaryDirectory() as folder:
            places = [f"--{name}={folder}/{name}" for name in ("results", "build", "figures")]
            command = [sys.executable, "-m", "tacl_lib.report.reproduce", *CHOICE, *places]
            some = min(5, tries - tried.total())
            order = [victims[(tried.total() + number) % len(victims)] for number in range(some)]
            for who, how in order:
                process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                tried[who, how] += _disturb(process, who, how, rng)
                process.wait()
            ended = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            store = Store(f"{folder}/results")
            found = [store.records(*job) for job in jobs]
            wrong = [
                str(job) for job, of in zip(jobs, found, strict=True) if len(of) != 1 or not same(*of, *wanted[job])
            ]
            wrong += map(str, [*Path(folder).glob("results/**/*.pt"), *Path(folder).glob("results/**/.*.part")])
            if ended.returncode or wrong:
                _say(f"lost after {order}: code {ended.returncode}, wrong: {wrong}, said: {ended.stderr[-2000:]}")
                lost[order[-1]] += 1
        _say(f"reproductions: {tried.total()} of {tries} hit, {lost.total()} lost")
    return [(f"a reproduction: {who}", how, tried[who, how], lost[who, how]) for who, how in victims if tried[who, how]]


def _disturb(process: subprocess.Popen, who: str, how: str, rng: random.Random) -> bool:
    """Wait for the first child of that kind, a moment more, and hit one of those that live then."""
    main = psutil.Process(process.pid)
    while process.poll() is None:
        if _victims(main, who):
            time.sleep(rng.uniform(0, 15))
            found = _victims(main, who)
            if found and hit(rng.choice(found), how, rng):
                return True
        time.sleep(0.1)
    return False


def _victims(main: psutil.Process, who: str) -> list[psutil.Process]:
    """Workers are spawned by multiprocessing; their nannies live in the main process, one thread for all."""
    if who in ("main process", "nanny"):
        return [main]
    mark = {"worker": "spawn_main", "kernel": "ipykernel"}[who]
    found = []
    with suppress(psutil.NoSuchProcess):
        for child in main.children(recursive=True):
            with suppress(psutil.Error):
                if any(mark in word for word in child.cmdline()):
                    found.append(child)
    return found


def busy_machine(rounds: int, rng: random.Random, jobs: int = 200, workers: int = 8) -> list[Row]:
    """Each job must be stored, once, with the numbers of an undisturbed run."""
    rows = []
    todo = [Job(replace(SPEC, learner="sgd", epochs=2), (seed,)) for seed in range(jobs)]
    wanted = [run(*job, progress=False)[0] for job in todo if rounds]
    for number in range(rounds):
        loads = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count())]
        killed, written, over = [], set(), threading.Event()
        with tempfile.TemporaryDirectory() as folder:
            killer = threading.Thread(target=_kill_in_turn, args=(Path(folder), over, killed, written, rng))
            killer.start()
            try:
                cluster._cores = lambda: workers
                execute(todo, folder, progress=False)
            except TaclError as error:
                _say(str(error))
            finally:
                over.set()
                killer.join()
                for load in loads:
                    load.kill()
            written |= _versions(Path(folder))
            found = [Store(folder).records(*job) for job in todo]
            fine = sum(len(one) == 1 and same(one[0], other) for one, other in zip(found, wanted, strict=True))
        again = len(written) - len({name for name, *_ in written})
        _say(f"round {number + 1}: {fine} of {jobs} stored, {again} twice, {len(killed)} workers killed")
        what = f"{jobs} jobs, {workers} workers, {len(killed)} killed, round {number + 1}"
        rows.append((what, "KILL", jobs, jobs - fine + again))
    return rows


def _versions(folder: Path) -> set[tuple[str, int, int]]:
    """The results that are there; one that was written again has another inode or time."""
    return {(path.name, path.stat().st_ino, path.stat().st_mtime_ns) for path in folder.glob("*.parquet")}


def _kill_in_turn(folder: Path, over: threading.Event, killed: list, written: set, rng: random.Random) -> None:
    """Kill a worker whenever some more jobs are stored: that often however slow the machine is."""
    patience = 0
    while not over.wait(0.5):
        seen = _versions(folder)
        written |= seen
        stored = len(seen)
        workers = _victims(psutil.Process(), "worker")
        if stored >= patience and workers:
            victim = min(workers, key=lambda process: process.create_time())  # the oldest: each has its turn
            hit(victim, "KILL", rng)
            killed.append(victim.pid)
            patience = stored + rng.randint(10, 40)


def bits(tries: int, rng: random.Random) -> list[Row]:
    """A flipped bit is noticed, or changes no number."""
    job, lost = SINGLE[0], Counter()
    (wanted, *_) = run(*job, progress=False)
    with tempfile.TemporaryDirectory() as folder:
        path, saved = Path(folder) / "record.parquet", Path(folder) / "run.pt"
        wanted.write(path)
        parts = [path, path.with_name("record.events.parquet")]
        for number in range(tries):
            part = parts[number % 2]
            good = part.read_bytes()
            _flip(part, rng)
            with suppress(TaclError):
                found = read_record(path)
                lost["result file"] += not same(found, wanted) or found.info != wanted.info
            part.write_bytes(good)
        _leave_checkpoint(job, saved)
        good = saved.read_bytes()
        for _ in range(tries):
            saved.write_bytes(good)
            _flip(saved, rng)
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                (found, *_) = run(*job, progress=False, checkpoint=saved)
            lost["checkpoint"] += not same(found, wanted) or not said
        _say(f"bits: {tries} of a checkpoint and {tries} of a result file flipped, {lost.total()} lost")
    return [(f"a {what}", "one flipped bit", tries, lost[what]) for what in ("checkpoint", "result file")]


def _leave_checkpoint(job: Job, path: Path) -> None:
    """Run a job until it has been interrupted in the middle."""
    process = get_context("fork").Process(target=run, args=job, kwargs={"progress": False, "checkpoint": path})
    process.start()
    while not path.exists():
        time.sleep(0.01)
    time.sleep(0.1)
    process.terminate()
    process.join()


def _say(text: str) -> None:
    """Beside the table, for who waits for it."""
    print(text, file=sys.stderr, flush=True)


def _flip(path: Path, rng: random.Random) -> None:
    content = np.frombuffer(path.read_bytes(), np.uint8).copy()
    content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    path.write_bytes(content.tobytes())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--single", type=int, default=100)
    parser.add_argument("--reproductions", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--bits", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)  # as many as a worker has: two would change the last bits of what is compared
    rng = random.Random(options.seed)
    parts: list[tuple[Callable, int]] = [(bits, options.bits), (single_runs, options.single)]
    parts += [(busy_machine, options.rounds), (reproductions, options.reproductions)]
    rows: list[Row] = []
    print("| what | how | tried | lost |\n|---|---|---|---|", flush=True)
    for part, tries in parts:
        for row in part(tries, rng) if tries else ():
            rows.append(row)
            print(f"| {' | '.join(map(str, row))} |", flush=True)
    lost = sum(row[3] for row in rows)
    print(f"\n{sum(row[2] for row in rows)} tried, {lost} lost")
    sys.exit(lost > 0)


if __name__ == "__main__":
    main()

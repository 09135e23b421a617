"""A whole reproduction, killed on the way, beside another one, and what it leaves.

One story, told once for all tests, since a reproduction takes half a minute: a reproduction is killed in the middle;
then two work in the same folders, one of them is killed while runs are made, the other one goes on; when it has all
runs, a third joins. `make test-slow` tells a longer one: TACL_TEST_KILLS are killed, most of them at random moments.
"""

import csv
import html
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import nbformat
import papermill
import psutil
import pytest
from nbclient.exceptions import DeadKernelError
from small_runs import assert_same
from sockets import listening

from tacl_lib.errors import TaclError
from tacl_lib.report import reproduce
from tacl_lib.report.page import Times
from tacl_lib.runs import run
from tacl_lib.runs.grid import all_jobs, study_jobs
from tacl_lib.runs.profiles import PROFILES, profile_named
from tacl_lib.runs.store import METRICS, Store

CHOICE = ["--profile", "smoke", "--methods", "sgd", "ta_agem", "--seeds", "0"]
JOBS = all_jobs(PROFILES["smoke"], ["digits"], ["sgd", "ta_agem"], [0])
KILLS = int(os.environ.get("TACL_TEST_KILLS", "2"))
PATIENCE = 900  #: seconds to wait for what should take a minute


class Story(NamedTuple):
    """What became of it."""

    results: Path
    build: Path
    figures: Path
    ended: list  #: exit code and stderr of each reproduction that was not killed
    versions: dict  #: file → how often a record was written
    killed_at: list  #: how many records there were at each kill
    sockets: set  #: where its processes listened


class Started:
    """A reproduction in a process group of its own."""

    def __init__(self, room: Path, environment: dict, *more: str):
        self.log = (room / f"log {time.monotonic_ns()}").open("w+")
        command = [sys.executable, "-m", "tacl_lib", "reproduce", *CHOICE, *more]
        command += ["--results", str(room / "results"), "--build", str(room / "build")]
        command += ["--figures", str(room / "figures")]
        how = {"env": environment, "start_new_session": True, "cwd": Path(reproduce.__file__).parent.parent}
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log, **how)

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def said(self) -> str:
        self.log.seek(0)
        return self.log.read()


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    found = dict(os.environ) | {"TACL_OFFLINE": "all", "TACL_CACHE": str(tmp_path_factory.mktemp("cache"))}
    found.pop("TACL_DATA", None)
    found["OMP_NUM_THREADS"] = "1"
    if found.pop("PYTHONDONTWRITEBYTECODE", None):  # then every process would compile all that it imports
        found["PYTHONPYCACHEPREFIX"] = str(tmp_path_factory.mktemp("pycache"))
    return found


@pytest.fixture(scope="module")
def story(tmp_path_factory, environment):
    room = tmp_path_factory.mktemp("reproduction")
    results, rng = room / "results", random.Random(3)
    versions, killed_at, alive, sockets = {}, [], [], set()

    def records():
        found = [path for path in results.glob("*-0.parquet")]
        for path in found:
            about = path.stat()
            versions.setdefault(path.name, set()).add((about.st_ino, about.st_mtime_ns))
        return len(found)

    def until(true, watched):
        end, look = time.monotonic() + PATIENCE, 0
        while not true():
            assert time.monotonic() < end, "waited in vain"
            if time.monotonic() > look:
                sockets.update(listening(psutil.Process(watched.process.pid)))
                look = time.monotonic() + 1
            if watched.process.poll() is not None:  # ended, well or not
                return
            time.sleep(0.01)

    def start():
        alive.append(Started(room, environment, "--datasets", "mnist", "digits"))
        return alive[-1]

    def stop(one):
        one.kill()
        alive.remove(one)
        killed_at.append(records())

    try:
        one = start()
        until(lambda: records() >= 1, one)  # in the middle
        stop(one)
        for _ in range(KILLS - 2):  # anywhere: as it starts, between runs, in a run, as it draws
            one = start()
            time.sleep(rng.uniform(0.5, 14))
            stop(one)
        other, one = start(), start()
        already = records()
        until(lambda: records() > already or already == len(JOBS), one)
        time.sleep(rng.uniform(0, 0.3))
        stop(one)
        until(lambda: records() == len(JOBS), other)
        last = start()  # it also sweeps up what the killed ones left
        until(lambda: records() < 0, other)
        until(lambda: records() < 0, last)
        ended = [(each.process.returncode, each.said()) for each in (other, last)]
        yield Story(results, room / "build" / "smoke", room / "figures" / "smoke", ended, versions, killed_at, sockets)
    finally:
        for each in alive:
            if each.process.poll() is None:
                each.kill()


def test_reproductions_that_share_a_folder_end_well(story):
    for code, said in story.ended:
        assert code == 0, said
        assert "Traceback" not in said, said
        assert "report.html" in said


def test_somebody_was_killed_in_the_middle(story):
    assert len(story.killed_at) == KILLS
    assert story.killed_at == sorted(story.killed_at)  # nothing that was finished is lost
    assert 0 < story.killed_at[0] < len(JOBS)


def test_nobody_outside_this_machine_can_reach_it(story):
    """Workers, nannies, scheduler, and the kernels of notebooks: all that listened while it ran."""
    assert len(story.sockets) > 6 + 2 * 5  # a kernel has five
    assert {host for host, _ in story.sockets} == {"127.0.0.1"}


def test_each_run_was_stored_once(story):
    """By two reproductions at once and a third one after them."""
    assert set(story.versions) == {f"{job.spec.name()}-0.parquet" for job in JOBS}
    assert {name: len(seen) for name, seen in story.versions.items()} == dict.fromkeys(story.versions, 1)
    unfinished = story.results / "unfinished"
    assert not list(unfinished.glob("*.pt"))
    assert not list(story.results.glob("*.damaged"))


@pytest.mark.parametrize("job", JOBS, ids=lambda job: f"{job.spec.name()}")
def test_the_numbers_are_those_of_an_undisturbed_run(story, job):
    (found,) = Store(story.results).records(*job)
    (wanted,) = run(*job, device="cpu" if found.info["device"] == "cpu" else None, progress=False)
    assert_same(found, wanted)


def test_notebooks_are_kept_with_their_output(story):
    names = {path.stem for path in story.build.glob("*.ipynb")}
    assert names == {"disjoint-digits", "continuous-digits", "clustering-study", "tables-and-figures"}
    for name in names:
        notebook = nbformat.read(story.build / f"{name}.ipynb", 4)
        code = [cell for cell in notebook.cells if cell.cell_type == "code"]
        assert all(cell.execution_count for cell in code), name
        outputs = [output for cell in code for output in cell.outputs]
        assert not [output for output in outputs if output.output_type == "error"], name
        assert [output for output in outputs if "image/png" in output.get("data", {})], name


def test_there_are_all_tables_in_all_formats(story):
    files = [path for path in (story.build / "tables").iterdir()]
    assert len(files) == 60
    assert {path.suffix for path in files} == {".csv", ".tex", ".md", ".html"}
    for path in files:
        assert "REDUCED" in path.read_text(encoding="utf-8"), path.name


def test_there_are_figures_with_texts(story):
    figures = story.figures
    names = {path.stem for path in figures.glob("*.png")}
    assert {"disjoint_digits", "continuous_digits", "study_accuracy", "clusters_rate_1"} <= names
    assert "disjoint_mnist" not in names  # nothing is drawn for data that is not there
    assert names == {path.stem for path in figures.glob("*.svg")}
    for name in names:
        assert (figures / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert len((figures / f"{name}.alt.txt").read_text(encoding="utf-8")) > 40


def test_the_report_needs_nothing_but_itself(story):
    page = (story.build / "report.html").read_text(encoding="utf-8")
    for address in re.findall(r"""\b(?:src|href|srcset|action)\s*=\s*["']?([^"'\s>]+)""", page):
        assert address.startswith(("#", "data:")), address[:80]
    assert not re.search(r"url\(\s*['\"]?(?!data:|#)|@import|<script|<link|<iframe", page)
    anchors = set(re.findall(r'href="#([^"]+)"', page))
    assert anchors
    assert anchors <= set(re.findall(r'\bid="([^"]+)"', page))


def test_the_report_says_once_that_it_is_reduced_and_what_is_missing(story):
    page = html.unescape((story.build / "report.html").read_text(encoding="utf-8"))
    reduction = profile_named("smoke", [0]).reduction
    assert reduction.endswith(", 1 seed")  # as it was asked for, not the two of the profile
    assert page.count(f"A demonstration, not a reproduction: {reduction}.") == 1
    assert page.count("MNIST is not available from any source") == 1
    assert "TACL_OFFLINE=all" in page
    assert json.loads((story.build / "plan.json").read_text())["missing"].keys() == {"mnist"}
    assert "MNIST is not available" in (story.build / "tables" / "disjoint_forgetting.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("experiment", ["disjoint", "continuous"])
@pytest.mark.parametrize("metric", METRICS)
def test_the_report_has_the_numbers_of_the_tables(story, experiment, metric):
    page = (story.build / "report.html").read_text(encoding="utf-8")
    live = page[page.index('id="live"') : page.index('id="settings"')]
    label = f"{experiment} {metric.replace('_', ' ')}"
    (own,) = re.findall(rf'aria-label="{label}"><table>.*?</table>', live, re.DOTALL)
    text = (story.build / "tables" / f"{experiment}_{metric}.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))
    assert {"SGD", "TA-A-GEM"} <= {row["method"] for row in rows}
    for row in rows:
        if row["method"] in ("SGD", "TA-A-GEM"):
            (shown,) = re.findall(rf"<tr[^>]*>\s*<t[hd][^>]*>{row['method']}</t[hd]>.*?</tr>", own, re.DOTALL)
            for split in ("perm", "rot", "class"):
                assert f"{float(row[f'digits {split}']):.3f}" in shown, (row["method"], split)


def test_a_dataset_that_cannot_be_had_is_said_at_once(story):
    for _, said in story.ended:
        assert "mnist is left out: MNIST is not available" in said


def test_status_after_the_end(story, capsys):
    names = ["--results", str(story.results)]
    reproduce.main(["--status", *CHOICE, *names])
    said = capsys.readouterr().out
    assert f"● done {len(JOBS)}   ○ reference 0   ◐ running 0   ◌ begun 0   · missing 0" in said
    assert said.endswith("left: nothing\n")


def test_status_before_the_start(tmp_path, capsys):
    reproduce.main(["--status", "--profile", "smoke", "--results", str(tmp_path / "results")])
    said = capsys.readouterr().out
    assert "● done 0" in said
    assert "· missing 41" in said
    assert re.search(r"left: about \d+\.\d (hours|minutes) of one core", said)
    assert re.search(r"measured just now, in \d+ s on .+: a few steps of each kind of run \(\d+: ", said)
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (papermill.PapermillExecutionError(0, 1, "x", "TaclError", "no web.", []), "no web. (in "),
        (DeadKernelError("died"), "perhaps because memory ran out"),
    ],
    ids=["error", "dead kernel"],
)
def test_a_notebook_that_fails_is_one_sentence(error, words, tmp_path, monkeypatch):
    def fails(*_, **__):
        raise error

    monkeypatch.setattr(papermill, "execute_notebook", fails)
    with pytest.raises(TaclError) as caught:
        reproduce._execute("06_experiment", tmp_path / "copy.ipynb", {})
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_first_failure_keeps_the_others_from_starting(tmp_path, monkeypatch):
    """The second notebook is under way when the first has failed; it may end, and no third one begins."""
    begun, cancelled = [], threading.Event()

    def execute(name, *_):
        begun.append(name)
        if name == "0":
            raise TaclError("no.")
        assert cancelled.wait(PATIENCE)

    shutdown = reproduce.ThreadPoolExecutor.shutdown

    def shut(pool, *arguments, **named):
        shutdown(pool, wait=False, cancel_futures=named.get("cancel_futures", False))
        cancelled.set()

    monkeypatch.setattr(reproduce, "AT_ONCE", 1)
    monkeypatch.setattr(reproduce, "_execute", execute)
    monkeypatch.setattr(reproduce.ThreadPoolExecutor, "shutdown", shut)
    with pytest.raises(TaclError, match="no"):
        reproduce._execute_all([(str(n), str(n), {}) for n in range(9)], tmp_path, [], Store(tmp_path))
    assert begun[0] == "0"
    assert set(begun) <= {"0", "1"}


def test_no_dataset_at_all_is_an_error(monkeypatch, capsys):
    def none(name):
        raise TaclError(f"no {name}.")

    monkeypatch.setattr(reproduce, "load", none)
    with pytest.raises(TaclError, match=r"none of the datasets is available: no mnist\."):
        reproduce.make_plan(PROFILES["smoke"], ["mnist"], ("sgd",), (0,))
    assert "mnist is left out: no mnist." in capsys.readouterr().err


def test_no_study_is_run_where_none_is_planned(monkeypatch, tmp_path):
    """Without TA-A-GEM among the methods its study is not among the jobs either."""
    called = []
    monkeypatch.setattr(reproduce, "_execute_all", lambda notebooks, *_: called.extend(n[0] for n in notebooks))
    monkeypatch.setattr(reproduce, "_execute", lambda *_: None)
    monkeypatch.setattr(reproduce, "write_report", lambda *_: tmp_path / "report.html")
    plan = reproduce.make_plan(PROFILES["smoke"], ["digits"], ("sgd",), (0,))
    reproduce.reproduce(plan, *(tmp_path / name for name in ("results", "build", "figures")), cluster=None)
    planned = {job.spec.name() for job in plan.jobs}
    studied = {job.spec.name() for job in study_jobs(plan.profile, plan.study_dataset, plan.seeds)}
    assert called == ["06_experiment"] * 2
    assert not studied & planned


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        (["--profile", "huge"], "unknown profile 'huge'; choose one of: smoke, quick, paper"),
        (["--methods", "sdg"], "unknown method 'sdg'; choose one of"),
        (["--datasets", "mnits"], "unknown dataset 'mnits'; choose one of"),
        (["--datasets", "mnits", "digits"], "unknown dataset 'mnits'; choose one of"),
        (["--seeds", "0", "0"], "seeds must be distinct"),
        (["--seeds", "-1"], "seeds must be distinct whole numbers from 0 on"),
        (["--results", "x" * 300], "cannot be written to: the name is too long"),
        (["--build", "/dev/null/build"], "cannot be written to: a part of the path is a file"),
        (["--status", "--results", "x" * 300], "cannot be read (File name too long); choose another folder"),
        (["--status", "--profile", "huge"], "unknown profile 'huge'"),
        (["--status", "--methods", "sdg"], "unknown method 'sdg'"),
        (["--status", "--datasets", "mnits"], "unknown dataset 'mnits'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_one_sentence_before_anything_is_run(wrong, expected, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(reproduce, "reproduce", lambda *_: pytest.fail("it was begun"))
    folders = [f"--{name}={tmp_path / name}" for name in ("results", "build") if f"--{name}" not in wrong]
    profile = [] if "--profile" in wrong else ["--profile", "smoke"]
    with pytest.raises(SystemExit) as ended:
        reproduce.main([*profile, *wrong, *folders])
    assert isinstance(ended.value.code, str)  # Python prints a text on stderr and exits with 1
    assert expected in ended.value.code
    assert "\n" not in ended.value.code
    assert not list(tmp_path.iterdir())


def test_only_what_is_to_be_written_must_be_writable(monkeypatch, tmp_path):
    """Finished runs on a disk that is read-only give their report all the same."""
    asked, begun = [], []
    monkeypatch.setattr(reproduce, "writable", lambda *folders: asked.append({folder.name for folder in folders}))
    monkeypatch.setattr(reproduce, "reproduce", lambda *_: begun.append(True))
    words = [*CHOICE, *(f"--{name}={tmp_path / name}" for name in ("results", "build", "figures"))]
    reproduce.main(words)
    (tmp_path / "results").mkdir()
    monkeypatch.setattr(Store, "missing", lambda *_: [])
    reproduce.main(words)
    assert asked == [{"results", "build", "figures"}, {"build", "figures"}]
    assert len(begun) == 2


def test_bad_input_ends_with_code_1(environment):
    command = [sys.executable, "-m", "tacl_lib", "reproduce", "--profile", "huge"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == "reproduce: unknown profile 'huge'; choose one of: smoke, quick, paper.\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_answered_with_a_sentence(number, monkeypatch, tmp_path):
    monkeypatch.setattr(reproduce, "reproduce", lambda *_: signal.raise_signal(number))
    before = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(SystemExit, match=r"^reproduce: stopped; finished runs are stored, .* to continue\.$"):
            reproduce.main([*CHOICE, *(f"--{name}={tmp_path / name}" for name in ("results", "build", "figures"))])
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ there")
@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_ctrl_c_ends_all_of_it(number, tmp_path, environment):
    """Kernels are in sessions of their own: they must not outlive what started them."""
    started = Started(tmp_path, environment)
    end = time.monotonic() + PATIENCE
    kernels = []
    while len(kernels) < 2 and time.monotonic() < end and started.process.poll() is None:
        time.sleep(0.2)
        children = psutil.Process(started.process.pid).children(recursive=True)
        kernels = [child for child in children if any("ipykernel" in word for word in _command(child))]
    assert len(kernels) >= 2, started.said()
    others = psutil.Process(started.process.pid).children(recursive=True)
    started.process.send_signal(number)
    assert started.process.wait(PATIENCE) == 1
    assert "stopped; finished runs are stored" in started.said()
    assert "Traceback" not in started.said()
    _, alive = psutil.wait_procs(others, timeout=PATIENCE)
    assert alive == []


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def test_the_report_gives_the_overhead_as_one_number(story):
    page = (story.build / "report.html").read_text(encoding="utf-8")
    assert re.search(r"Overhead of papermill, kernels and Dask: -?\d+ s", page)


def test_overhead_is_what_the_runs_do_not_explain():
    """100 s until the runs were over, 120 s of work shared by two workers."""
    begun = datetime(2030, 1, 1, tzinfo=UTC)
    times = Times(begun, begun + timedelta(seconds=100), begun + timedelta(seconds=130), workers=2)
    assert times.overhead(120.0) == 40.0

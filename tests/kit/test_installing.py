"""How the kit is installed: the lock file of the reference runs, builds for a CPU, the lowest versions, citing it."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import archive
import pytest
import yaml
from packaging.requirements import Requirement

from tacl_lib.runs.store import REFERENCE, Store

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "tools" / "reference.lock"


@pytest.fixture(scope="module")
def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def locked() -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9_.-]+)==(\S+)", LOCK.read_text(encoding="utf-8"), re.M))


def test_the_lock_file_holds_every_requirement_within_its_bounds(project, locked):
    for line in project["dependencies"]:
        wanted = Requirement(line)
        assert wanted.name in locked, f"{wanted.name} is not locked"
        assert wanted.specifier.contains(locked[wanted.name]), f"{wanted}: {locked[wanted.name]} is locked"


def test_the_lock_file_names_no_host_and_has_digests_for_everything(locked):
    text = LOCK.read_text(encoding="utf-8")
    entries = re.split(r"^(?=[a-z0-9_.-]+==)", text, flags=re.M)[1:]
    assert len(entries) == len(locked) > 100
    assert [entry.split()[0] for entry in entries if not re.search(r"--hash=sha256:[0-9a-f]{64}", entry)] == []
    assert re.findall(r"https?://\S+|--\S*(?:index|find-links)\S*", text) == []


def test_the_locked_versions_are_those_of_the_reference_runs(locked):
    found = {
        (name, info["versions"][name])
        for _, _, info in Store(REFERENCE).descriptions()
        for name in ("torch", "numpy", "numba", "pandas", "pyarrow")
        if name in info["versions"]
    }
    assert found == {(name, locked[name]) for name in ("torch", "numpy", "numba", "pandas", "pyarrow")}


def _set_up(folder: Path, offered: dict[str, list[str]], **environment) -> tuple[str, str]:
    """What set-up does in an environment whose pip knows only these builds: what it said, and pip's and uv's calls."""
    (folder / "bin").mkdir(parents=True)
    calls = folder / "calls"
    python = folder / "bin" / "python"
    python.write_text(
        f"""#!/bin/sh
echo "$*" >>{calls}
case "$*" in
"-c "*find_spec*) exit 1 ;;
"-c "*) exit 0 ;;
*"index versions"*) case "$*" in
    *torchvision) echo "Available versions: {", ".join(offered["torchvision"])}" ;;
    *) echo "Available versions: {", ".join(offered["torch"])}" ;; esac ;;
*"install --quiet"*) exit {0 if "uv" in offered else 1} ;;
esac
"""
    )
    uv = folder / "bin" / "uv"
    uv.write_text(
        f"""#!/bin/sh
echo "uv $*" >>{calls}
case "$*" in *torch-backend*torch*) exit {offered.get("uv", [1])[0]} ;; esac
"""
    )
    for tool in (python, uv):
        tool.chmod(0o755)
    settings = {"PYTHON": sys.executable, "PATH": "/usr/bin:/bin"} | environment
    command = [ROOT / "tools" / "setup", folder, "none"]
    done = subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, text=True, timeout=60)
    return done.stdout + done.stderr, calls.read_text()


NO_GPU = pytest.mark.skipif(
    sys.platform != "linux" or any(Path(f"/dev/{name}").exists() for name in ("nvidia0", "nvidiactl", "kfd", "dxg")),
    reason="a GPU is here, so that nobody looks for builds for a CPU.",
)


@NO_GPU
def test_builds_for_a_cpu_are_taken_where_both_are_offered(tmp_path):
    both = {"torch": ["2.15.0", "2.13.0+cpu", "2.12.0+cpu"], "torchvision": ["0.29.2", "0.28.0+cpu"]}
    said, calls = _set_up(tmp_path / "both", both)
    assert "PyTorch for a CPU" in said
    assert "install --disable-pip-version-check torch==2.13.0+cpu torchvision==0.28.0+cpu\n" in calls
    assert re.search(r"torch==2\.13\.0\+cpu torchvision==0\.28\.0\+cpu -e \.$", calls, re.M)  # and they stay


@NO_GPU
def test_builds_for_a_cpu_are_left_out_where_one_of_them_is_not_offered(tmp_path):
    said, calls = _set_up(tmp_path / "one", {"torch": ["2.15.0", "2.13.0+cpu"], "torchvision": ["0.29.2"]})
    assert "about 6 GB" in said
    assert "+cpu" not in calls
    assert re.search(r"install --disable-pip-version-check -e \.$", calls, re.M)


@NO_GPU
def test_pytorch_s_own_index_comes_first_and_is_asked_once(tmp_path):
    offered = {"torch": ["2.13.0+cpu"], "torchvision": ["0.28.0+cpu"]}
    said, calls = _set_up(tmp_path / "answers", offered | {"uv": [0]})
    assert "PyTorch for a CPU" in said
    assert "index versions" not in calls
    assert re.search(r"^uv .*--torch-backend cpu -e \.$", calls, re.M)
    said, calls = _set_up(tmp_path / "silent", offered | {"uv": [1]})
    assert calls.count("--torch-backend") == 1
    assert "torch==2.13.0+cpu" in calls


def test_whoever_wants_the_default_builds_gets_them_and_a_wrong_word_is_named(tmp_path):
    both = {"torch": ["2.13.0+cpu"], "torchvision": ["0.28.0+cpu"]}
    _, calls = _set_up(tmp_path / "default", both, TACL_TORCH="default")
    assert "+cpu" not in calls
    said, _ = _set_up(tmp_path / "wrong", both, TACL_TORCH="gpu")
    assert "TACL_TORCH is 'gpu'; it may be auto, cpu or default." in said


def test_the_citation_has_the_version_and_the_paper(project):
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["version"] == project["version"]
    assert cited["license"] == project["license"]
    paper = cited["preferred-citation"]
    assert paper["identifiers"][0]["value"].removeprefix("arXiv:") in project["urls"]["Paper"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for author in paper["authors"]:
        assert author["family-names"] in readme


def test_the_containers_and_the_workflow_call_commands_that_exist():
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text(encoding="utf-8"))
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
    steps = [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    called = re.findall(r"make ([a-z-]+)", "\n".join([container["postCreateCommand"], *steps]))
    assert {"setup", "reproduce", "site"} <= set(called)
    assert [name for name in called if not re.search(rf"^[a-z -]*\b{name}\b[a-z -]*:", makefile, re.M)] == []
    assert ".ci/run" in steps
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def _uv() -> str:
    found = shutil.which("uv") or str(Path(sys.executable).with_name("uv"))
    if not Path(found).exists():
        pytest.skip("uv is not installed.")
    return found


def _run(command: list, **more) -> subprocess.CompletedProcess:
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, **more)


def _or_skip(done: subprocess.CompletedProcess) -> None:
    if done.returncode and re.search(r"connect|fetch|network|timed out|dns", done.stderr, re.I):
        pytest.skip(f"no package registry answers: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.network
def test_the_lock_file_can_be_installed(tmp_path):
    """Every file that it names is there, with one of its digests."""
    _or_skip(_run([_uv(), "venv", "--python", "3.11", tmp_path / "venv"]))
    target = ["--python", tmp_path / "venv" / "bin" / "python"]
    _or_skip(_run([_uv(), "pip", "install", *target, "--dry-run", "--require-hashes", "-r", LOCK]))


@pytest.mark.slow
@pytest.mark.network
def test_the_lowest_versions_that_pyproject_allows_can_train_and_show(tmp_path):
    venv = tmp_path / "venv"
    _or_skip(_run([_uv(), "venv", "--python", "3.11", venv]))
    python = venv / "bin" / "python"
    _or_skip(_run([_uv(), "pip", "install", "--python", python, "--resolution", "lowest-direct", ROOT]))
    code = (
        "import torch; from importlib.metadata import version; print(version('torch'), version('numpy'))\n"
        "from tacl_lib.runs import RunSpec, run\n"
        "from tacl_lib.teaching import widgets\n"
        "for learner in ('sgd', 'sgd_lr_adapt', 'bgd', 'agem', 'ogd', 'ta_agem', 'ta_ogd'):\n"
        "    spec = RunSpec(dataset='digits', split='class', learner=learner, epochs=2, train_limit=60, hidden=(8,))\n"
        "    print(learner, *run(spec, seeds=(0,), progress=False)[0].accuracy.shape)\n"
        "print(len(widgets.memory_player()._repr_mimebundle_()[0]['image/png']) > 10_000)\n"
    )
    done = _run([python, "-c", code], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    versions, *learners, shown = done.stdout.splitlines()
    assert versions.split() == ["2.4.0", "1.26.0"]
    assert len(learners) == 7
    assert shown == "True"


def test_the_archive_holds_what_its_checksums_and_its_description_say(tmp_path):
    if _run(["git", "rev-parse", "HEAD"], cwd=ROOT).returncode:
        pytest.skip("not a git checkout")
    made = archive.write(tmp_path)
    with zipfile.ZipFile(made) as opened:
        opened.extractall(tmp_path / "out")
        names = set(opened.namelist())
    folder = tmp_path / "out"
    listed = [line.split("  ", 1) for line in (folder / "SHA256SUMS").read_text(encoding="utf-8").splitlines()]
    assert {name for _, name in listed} | {"SHA256SUMS", "ro-crate-metadata.json"} == names
    assert [n for digest, n in listed if hashlib.sha256((folder / n).read_bytes()).hexdigest() != digest] == []
    graph = {e["@id"]: e for e in json.loads((folder / "ro-crate-metadata.json").read_text(encoding="utf-8"))["@graph"]}
    parts = {part["@id"] for part in graph["./"]["hasPart"]}
    assert parts == {name for _, name in listed}
    assert all(graph[name]["sha256"] == digest for digest, name in listed)
    assert {"LICENSE", "CITATION.cff", "pyproject.toml"} <= parts
    assert sum(name.startswith("results/reference/") for name in parts) > 100
    before = made.read_bytes()
    assert archive.write(tmp_path).read_bytes() == before

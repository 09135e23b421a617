"""The set-up: what conda users get, what make offers, what CONTRIBUTING promises."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml
from examples import example, printed_by
from PIL import Image

import tacl_lib
from tacl_lib.data.embedded import digits

ROOT = Path(__file__).parents[2]
CONDA_NAMES = {"pytorch": "torch"}


@pytest.fixture(scope="module")
def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_environment_yml_names_the_same_requirements(project):
    listed = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    plain = [entry for entry in listed if isinstance(entry, str)]
    conda = set()
    for entry in plain:
        name, bounds = re.fullmatch(r"([a-z0-9-]+)(.*)", entry).groups()
        conda.add(CONDA_NAMES.get(name, name) + bounds)
    python = f"python{project['requires-python']}"
    assert conda == {*project["dependencies"], *project["optional-dependencies"]["test"], python, "pip", "make"}
    assert {"pip": ["-e ."]} in listed


def test_every_requirement_is_bounded_on_both_sides(project):
    requirements = [r for group in (project["dependencies"], *project["optional-dependencies"].values()) for r in group]
    assert [r for r in requirements if not re.search(r">=.*,<", r)] == []


def test_installed_version_is_the_library_s(project):
    assert tacl_lib.__version__ == project["version"] == version("tacl-lib")


def test_make_alone_lists_the_targets():
    listing = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for target in ("setup", "repair", "lab", "fresh", "data", "reproduce", "test", "bench", "clean"):
        assert re.search(rf"make {target}\s+\S", listing), f"make {target} is not explained"


@pytest.fixture
def installed(tmp_path):
    """An environment that was set up for tests: its Python is this one."""
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    (tmp_path / ".installed-test").touch()
    return tmp_path


def set_up(*arguments):
    environment = {"PYTHON": "no-such-python", "PATH": "/usr/bin:/bin"}
    command = [ROOT / "tools" / "setup", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


def test_set_up_that_is_done_is_not_done_again(installed):
    """The second call must neither create nor install: a python that does not exist is never asked for."""
    for extras in ("test", "none"):
        done = set_up(installed, extras)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("task", ["", "check"])
def test_set_up_does_not_trust_its_stamp(installed, task):
    """A package that is gone is named, and set-up begins anew (here: and stops, as it finds no Python)."""
    (installed / "sitecustomize.py").write_text(_WITHOUT_PLOTLY)
    python = installed / "bin" / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{installed}" exec "{sys.executable}" "$@"\n')
    done = set_up(installed, "test", *([task] if task else []))
    assert f"the environment in {installed} is damaged:\nplotly: " in done.stdout
    assert done.stderr.startswith("set-up stopped: no 'no-such-python' found")


_WITHOUT_PLOTLY = """
import importlib.metadata, sys

sys.modules["plotly"] = None
_real = importlib.metadata.distributions
importlib.metadata.distributions = lambda **which: () if which.get("name") == "plotly" else _real(**which)
"""


def test_repair_installs_also_where_all_seems_well(installed):
    assert "no 'no-such-python' found" in set_up(installed, "none", "repair").stderr


def test_set_up_says_in_one_sentence_what_is_missing(tmp_path):
    setup = [ROOT / "tools" / "setup", str(tmp_path / "venv"), "none"]
    environment = {"PYTHON": "no-such-python", "PATH": "/usr/bin:/bin"}
    failed = subprocess.run(setup, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert failed.returncode == 1
    assert failed.stderr.startswith("set-up stopped: no 'no-such-python' found")
    assert len(failed.stderr.splitlines()) == 1


ROOMS = ["plain", "data", "core", "engine", "training", "runs", "paper", "report", "teaching"]
SHARED = {"errors", "files", "names", "places", "plugins"}


def test_a_room_imports_what_its_docstring_says_and_never_a_later_one():
    """Data flows one way; the order is that of CONTRIBUTING. `plain` imports nothing, not even what all rooms share."""
    package = ROOT / "tacl_lib"
    assert {path.parent.name for path in package.glob("*/__init__.py")} == set(ROOMS)
    assert {path.stem for path in package.glob("*.py")} == SHARED | {"__init__", "__main__"}
    may, used_by = {}, {}
    for number, room in enumerate(ROOMS):
        said = ast.get_docstring(ast.parse((package / room / "__init__.py").read_text(encoding="utf-8")))
        assert re.search(r"\bIn: .*\bOut: ", said, re.S), f"{room} must say what comes in and what goes out"
        lists = re.search(r"^May import: ([^.]+)\. Imported by: ([^.]+)\.", said, re.M).groups()
        may[room], used_by[room] = ({*listed.split(", ")} - {"nothing"} for listed in lists)
        assert may[room] <= set(ROOMS[:number]), f"{room} must not import later rooms"
        imported = set().union(*map(_imported_rooms, (package / room).rglob("*.py"))) - {room}
        assert imported - SHARED == may[room], f"{room} imports other rooms than its docstring says"
        assert room != "plain" or not imported
    assert used_by == {room: {other for other in ROOMS if room in may[other]} for room in ROOMS}


def _imported_rooms(path: Path) -> set[str]:
    """The rooms of the library that a module imports from, however it says so."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports are not followed here"
            found |= {f"tacl_lib.{a.name}" for a in node.names} if node.module == "tacl_lib" else {node.module}
    return {name.split(".")[1] for name in found if name.startswith("tacl_lib.")} - {"__version__"}


def test_imports_are_found_however_they_are_written(tmp_path):
    module = tmp_path / "module.py"
    module.write_text(
        "import tacl_lib.data\nfrom tacl_lib import paper as p, __version__\nimport os\n"
        "def later():\n    from tacl_lib.report.tables.text import to_csv\n"
    )
    assert _imported_rooms(module) == {"data", "paper", "report"}


#: what a test adds to an example, so that it prints something
POLICY_USED = """
import torch
from tacl_lib.core.memory import Geometry, sample_memory
memory = sample_memory(1, 1, Geometry(2, 3, 2), "least_used_cluster")
for n, pool in enumerate([0, 0, 0, 0, 0, 1, 0]):
    label = torch.tensor([pool])
    print(memory.add((torch.tensor([[float(n)]]), label), label, torch.zeros(1)).cluster.item(), end=" ")
"""
NETWORK_USED = """
from tacl_lib import RunSpec, run
settings = dict(epochs=1, train_limit=20, test_limit=20, network="wide", network_settings={"units": 30})
print(run(RunSpec("digits", "class", **settings), (0,), progress=False)[0].info["spec"]["network_settings"])
"""


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """What the examples of CONTRIBUTING and README print."""
    programs = {name: example("CONTRIBUTING.md", name) for name in ("policy", "network", "learner")}
    programs |= {name: example("README.md", name) for name in ("memory", "module")}
    programs["policy"] += POLICY_USED
    programs["network"] += NETWORK_USED
    return printed_by(programs, tmp_path_factory.mktemp("examples"))


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("policy", r"0 1 2 0 1 3 2 "),  # it looks at the newcomer's pool
        ("network", r"\{'units': 30\}\n"),
        ("learner", r"\d \{'average_accuracy': 0\.\d+.*\n\d \{'average_accuracy': 0\.\d+.*\n"),
        ("memory", r"1\d\d samples are remembered\.\n"),
        ("module", r"0 \{'average_acc.*\n1 \{'average_acc.*\n"),
    ],
)
def test_the_examples_of_contributing_and_readme_work(printed, name, wanted):
    assert re.fullmatch(wanted, printed[name]), printed[name]


def test_the_dataset_of_contributing_can_be_trained_on(tmp_path):
    """From PNG files to numbers, by the command that stands there."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("<!-- example: dataset -->")[1]
    (tmp_path / "my_data.py").write_text(example("CONTRIBUTING.md", "dataset"))
    own = digits()
    for part, images, labels in (
        ("train", own.train_images, own.train_labels),
        ("test", own.test_images, own.test_labels),
    ):
        for number in range(120):
            path = tmp_path / "my_data" / part / f"class {labels[number]}" / f"{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(images[number, ..., 0]).save(path)
    command = re.search(r"^tacl (run --plugin my_data.py .*)$", text, re.M)[1]
    few = ["--epochs", "1", "--hidden", "8,", "--seeds", "0"]
    done = subprocess.run(
        [sys.executable, "-m", "tacl_lib", *command.split(), *few], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"^average_accuracy\s+0\.\d+", done.stdout, re.M), done.stdout


def test_no_path_of_a_machine_and_no_registry_in_the_project():
    """Neither a home folder nor a package registry's host belongs into a shared file."""
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if tracked.returncode:
        pytest.skip("not a git checkout")
    # Written in pieces, so that this file does not name what it forbids.
    places = [
        "/home/" + r"\w+/",
        "/ro" + "ot/",
        "/Users/" + r"\w+/",
        "/wo" + "rk/",
        "pypi" + r"\.org",
        r"registry\." + "npmjs",
    ]
    forbidden = re.compile("|".join(places))
    hits = []
    for name in filter(None, tracked.stdout.split("\0")):
        path = ROOT / name
        if path.suffix in {".png", ".parquet"} or not path.exists():
            continue
        hits += [f"{name}: {match}" for match in forbidden.findall(path.read_text(errors="replace"))]
    assert hits == []

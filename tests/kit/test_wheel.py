"""The kit as a wheel, in an empty environment and an empty folder: all that a checkout offers, and nothing written
into the package."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tacl_lib import places

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.slow, pytest.mark.network]


def called(command, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **more)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


class Installed:
    """A wheel of this checkout in an environment of its own."""

    def __init__(self, folder: Path, uv: str):
        self.work, self.bin, self.wheels = folder / "work", folder / "venv" / "bin", folder / "wheels"
        self.work.mkdir()
        called([uv, "venv", "-q", "--python", sys.executable, folder / "venv"])
        install = [uv, "pip", "install", "-q", "--python", self.bin / "python"]
        asked = subprocess.run([*map(str, install), "--refresh-package=setuptools", "setuptools"], capture_output=True)
        if asked.returncode:
            pytest.skip(f"no package registry answers: {asked.stderr.decode().strip()[-200:]}")
        called([uv, "build", "-q", "--wheel", "--out-dir", self.wheels, self._source(folder / "source")])
        (self.wheel,) = self.wheels.glob("tacl_lib-*.whl")
        called([*install, self.wheel])
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("TACL_", "PYTHON"))}
        self.environment = kept | {"XDG_CACHE_HOME": str(folder / "cache"), "TACL_OFFLINE": "all"}
        self.package = Path(self.python("import tacl_lib; print(tacl_lib.__path__[0])").strip())

    @staticmethod
    def _source(folder: Path) -> Path:
        """The files of the project alone, without what was built or run here."""
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True
        )
        if listed.returncode:
            pytest.skip("not a git checkout")
        for name in filter(None, listed.stdout.decode().split("\0")):
            if (ROOT / name).exists():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / name, folder / name)
        return folder

    def tacl(self, *arguments, folder=None):
        return called([self.bin / "tacl", *arguments], cwd=folder or self.work, env=self.environment)

    def python(self, code, folder=None):
        return called([self.bin / "python", "-c", code], cwd=folder or self.work, env=self.environment)

    def contents(self) -> dict[str, str]:
        """Digests of all files of the package; Python's own compiled modules do not count."""
        files = (path for path in self.package.rglob("*") if path.is_file() and path.suffix != ".pyc")
        return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture(scope="module")
def kit(tmp_path_factory):
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    if uv is None:
        pytest.skip("uv is not installed; pip alone would take minutes")
    made = Installed(tmp_path_factory.mktemp("wheel"), uv)
    before = made.contents()
    yield made
    assert made.contents() == before, "something was written into the installed package"


def test_it_lies_outside_the_checkout_and_is_small_enough_for_a_registry(kit):
    assert not kit.package.is_relative_to(ROOT)
    assert kit.wheel.stat().st_size < 90_000_000  # a registry takes 100 MB


def test_reference_runs_came_along(kit):
    assert kit.tacl("evidence") == (places.REFERENCE / "README.md").read_text(encoding="utf-8") + "\n"


def test_a_smoke_reproduction_writes_into_the_folder(kit):
    said = kit.tacl("reproduce", "--profile", "smoke", "--methods", "sgd", "bgd", "ta_agem", "ta_ogd", "--seeds", "0")
    report = kit.work / "build" / "smoke" / "report.html"
    assert str(report) in said
    assert "TA-A-GEM" in report.read_text(encoding="utf-8")
    assert {path.name for path in kit.work.iterdir()} == {"build", "figures", "results"}
    assert " 0 " in kit.tacl("status", "--profile", "smoke", "--methods", "sgd", "--seeds", "0")


def test_figures_of_the_paper_are_drawn_from_the_reference_runs(kit):
    kit.tacl("figure", "disjoint_mnist", "--profile", "paper")
    png = kit.work / "figures" / "paper" / "disjoint_mnist.png"
    assert png.stat().st_size > 50_000


def test_widgets(kit):
    said = kit.python(
        "from tacl_lib.teaching import widgets\n"
        "print(widgets.forgetting_explorer().source.value)\n"
        "player = widgets.memory_player()\n"
        "print(type(player).__name__, widgets.loss_landscape(['sgd'])._esm is not None)\n"
    )
    assert "reference runs" in said
    assert "MemoryPlayer True" in said


def test_a_folder_of_one_s_own_and_its_notebooks(kit, tmp_path):
    mine = tmp_path / "mine"
    kit.tacl("new", mine, "--lecturer")
    names = {path.name for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert {path.name for path in (mine / "my_notebooks").glob("*.ipynb")} == names
    run = "import papermill, sys; papermill.execute_notebook(*sys.argv[1:3], kernel_name='python3', progress_bar=False)"
    for name in ("00_start_here", "06_experiment", "08_tables_and_figures"):
        notebook = mine / "my_notebooks" / f"{name}.ipynb"
        called(
            [kit.bin / "python", "-c", run, notebook, tmp_path / "executed.ipynb"],
            cwd=notebook.parent,
            env=kit.environment | {"TACL_PROFILE": "smoke"},
        )
    assert len(list((mine / "results").glob("*-0.parquet"))) >= 7
    kit.tacl("release", folder=mine)
    student = mine / "build" / "student"
    assert (student / "requirements.txt").read_text() == "tacl-lib==0.1.0\n"
    assert "solution" not in "".join(path.name for path in student.rglob("*"))

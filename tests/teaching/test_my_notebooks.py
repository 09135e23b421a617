"""Students' own copies: nothing of theirs is ever lost, nothing of the project's is ever out of reach."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import nbformat
import pytest

from tacl_lib.errors import TaclError
from tacl_lib.teaching import my_notebooks
from tacl_lib.teaching.my_notebooks import FIRST, FOLDER, MyNotebooks

ROOT = Path(__file__).parents[2]


def notebook(path: Path, text: str) -> None:
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text)]), path)


def text_of(path: Path) -> str:
    return nbformat.read(path, as_version=4).cells[0].source


@pytest.fixture
def project(tmp_path) -> Path:
    (tmp_path / "notebooks").mkdir()
    for name in (FIRST, "02_agem.ipynb"):
        notebook(tmp_path / "notebooks" / name, "x = 1")
    return tmp_path


def test_copies_are_brought_once_and_work_in_them_stays(project):
    mine = MyNotebooks(project)
    assert mine.bring() == []
    own = project / FOLDER / "02_agem.ipynb"
    assert own.read_bytes() == (project / "notebooks" / "02_agem.ipynb").read_bytes()
    notebook(own, "x = 2  # my idea")
    assert mine.bring() == []
    assert text_of(own) == "x = 2  # my idea"


def test_a_newer_version_replaces_only_what_was_not_touched(project):
    mine = MyNotebooks(project)
    mine.bring()
    first, own = project / FOLDER / FIRST, project / FOLDER / "02_agem.ipynb"
    notebook(own, "x = 2")
    ran = json.loads(first.read_text())
    ran["cells"][0] |= {"execution_count": 1, "outputs": []}  # was run, but no cell was changed
    first.write_text(json.dumps(ran))
    for name in (FIRST, "02_agem.ipynb"):
        notebook(project / "notebooks" / name, "x = 1  # better explained")
    (said,) = mine.bring()
    assert "newer 02_agem.ipynb" in said
    assert "make fresh NAME=02_agem.ipynb" in said
    assert (text_of(first), text_of(own)) == ("x = 1  # better explained", "x = 2")
    notebook(own, "x = 1  # better explained")  # by hand
    assert mine.bring() == []


@pytest.mark.parametrize("given", ["not JSON", "[]", '{"02_agem.ipynb": 7}'])
def test_without_a_memory_of_what_was_given_nothing_is_replaced(project, given):
    mine = MyNotebooks(project)
    mine.bring()
    (project / FOLDER / my_notebooks.GIVEN).write_text(given)
    notebook(project / FOLDER / "02_agem.ipynb", "x = 2")
    (project / FOLDER / FIRST).write_text("no notebook at all")
    assert len(mine.bring()) == 2
    assert text_of(project / FOLDER / "02_agem.ipynb") == "x = 2"
    assert (project / FOLDER / FIRST).read_text() == "no notebook at all"


@pytest.mark.parametrize("name", ["02_agem", "02_agem.ipynb"])
def test_a_fresh_copy_keeps_yours_beside_it(project, name):
    mine = MyNotebooks(project)
    assert mine.fresh(name) is None  # there was none
    own = project / FOLDER / "02_agem.ipynb"
    notebook(own, "x = 2")
    kept = mine.fresh(name)
    assert (text_of(own), text_of(kept)) == ("x = 1", "x = 2")
    assert mine.bring() == []


def test_an_unknown_notebook_is_one_sentence(project):
    with pytest.raises(TaclError, match=r"unknown notebook '7\.ipynb'; choose one of: 00_start_here"):
        MyNotebooks(project).fresh("7")
    with pytest.raises(TaclError, match="there are no notebooks"):
        MyNotebooks(project / "elsewhere")


def test_jupyterlab_has_the_project_as_its_root_and_opens_the_first_lesson(monkeypatch):
    command = my_notebooks.jupyterlab(ROOT, ["--no-browser"])
    assert f"--ServerApp.root_dir={ROOT}" in command
    assert f"--LabApp.default_url=/lab/tree/{FOLDER}/{FIRST}" in command
    assert command[-1] == "--no-browser"
    for user, allowed in ((0, True), (1000, False)):
        monkeypatch.setattr(os, "geteuid", lambda user=user: user)
        assert ("--allow-root" in my_notebooks.jupyterlab(ROOT)) == allowed


def test_links_of_the_notebooks_work_from_the_copies():
    """One level below the project's root, as the originals are."""
    assert len(Path(FOLDER).parts) == len(Path("notebooks").parts) == 1


def test_git_leaves_the_copies_alone():
    if not (ROOT / ".git").exists() or not shutil.which("git"):
        pytest.skip("no checkout of git")
    asked = subprocess.run(["git", "check-ignore", f"{FOLDER}/{FIRST}"], cwd=ROOT, capture_output=True, text=True)
    assert asked.stdout.strip() == f"{FOLDER}/{FIRST}"

"""Links that open the kit elsewhere: a fork says its address once."""

import re
from pathlib import Path

import pytest
from website import badges, pages
from website.execution import ROOT

FORK = "https://github.com/someone/their-copy"


def test_the_readme_has_the_links_of_the_address_in_pyproject():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert badges.filled(text, badges.address()) == text


def test_without_an_address_nothing_is_shown():
    assert badges.badges("") == badges.badges("", "notebooks/02_agem.ipynb") == ""


@pytest.mark.parametrize("where", [FORK, FORK + "/", FORK + ".git"])
def test_a_fork_s_links_lead_to_the_fork(where):
    links = dict(re.findall(r"\[(.+?)\]\((.+?)\)", badges.badges(where, "notebooks/02_agem.ipynb")))
    name = "someone/their-copy"
    assert (
        links["Open in Colab"] == f"https://colab.research.google.com/github/{name}/blob/HEAD/notebooks/02_agem.ipynb"
    )
    assert links["Open in Codespaces"] == f"https://codespaces.new/{name}"
    assert "![" not in badges.badges(where)  # an image would be asked of another host


def test_a_host_that_colab_does_not_know_gets_a_link_to_the_source_only():
    assert badges.badges("https://git.example.org/tacl") == "[Source](https://git.example.org/tacl)"


def test_the_address_comes_from_pyproject_and_reaches_readme_and_lessons(tmp_path, monkeypatch, capsys):
    (tmp_path / "pyproject.toml").write_text(f'[project]\nname = "x"\n[project.urls]\nRepository = "{FORK}"\n')
    (tmp_path / "README.md").write_text(f"# T\n\n{badges.START}\n\n{badges.END}\n\nmore\n")
    monkeypatch.setattr(badges, "ROOT", tmp_path)
    badges.main()
    written = (tmp_path / "README.md").read_text()
    assert f"[Source]({FORK})" in written
    assert written.endswith(f"{badges.END}\n\nmore\n")
    assert badges.filled(written, badges.address()) == written
    lesson = ROOT / "notebooks" / "02_agem.ipynb"
    shown = pages._shown(pages.nbformat.read(lesson, 4), lesson, set(), Path(tmp_path))
    assert f"github/someone/their-copy/blob/HEAD/{lesson.relative_to(ROOT)}" in shown.cells[1].source


def test_a_readme_without_markers_is_named():
    with pytest.raises(SystemExit, match="has no markers"):
        badges.filled("# T\n", FORK)

"""The first notebook's question: what it says where something is missing or broken."""

import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

from tacl_lib.data import Dataset, available, cache
from tacl_lib.errors import TaclError
from tacl_lib.teaching import welcome

ROOT = Path(__file__).parents[2]


@pytest.fixture
def browser_folder(tmp_path, monkeypatch) -> Path:
    """The only folder of labextensions; empty."""
    folder = tmp_path / "labextensions"
    monkeypatch.setattr(welcome, "_extension_folders", lambda: [str(folder)])
    return folder


def test_all_is_well_here(capsys):
    welcome.check()
    said = capsys.readouterr().out
    assert "✗" not in said
    assert said.count("✓") == 2 + len(welcome.BROWSER_PARTS)
    assert said.rstrip().endswith("You have everything you need.")
    assert welcome.missing_packages() == []


def test_a_package_that_is_installed_but_broken_is_named_with_what_to_do(tmp_path, monkeypatch, capsys):
    """Only importing tells: the files of this one are where they should be."""
    (tmp_path / "shattered").mkdir()
    (tmp_path / "shattered" / "__init__.py").write_text("raise OSError('a file is\\ncut off')")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(welcome, "PACKAGES", {"shattered": "nothing", "tacl_gone": "less"})
    with pytest.raises(TaclError, match="fix the 2 marked ✗"):
        welcome.check()
    first, second = [line for line in capsys.readouterr().out.splitlines() if line.startswith("✗")]
    assert re.match(r"✗ shattered \(nothing\) cannot be imported: a file is cut off\. .*“make repair”", first)
    assert "No module named 'tacl_gone'" in second


def test_set_up_hears_of_packages_that_are_gone_or_broken(monkeypatch, browser_folder):
    real = metadata.distributions
    monkeypatch.setattr(
        metadata, "distributions", lambda **which: [] if which.get("name") == "anywidget" else real(**which)
    )
    assert welcome.missing_packages() == ["anywidget: not installed"]
    monkeypatch.setattr(welcome, "PACKAGES", {"tacl_gone": ""})
    monkeypatch.setattr(welcome, "TOOLS", ())
    parts = [f"{part}: not installed" for part in welcome.BROWSER_PARTS]
    assert welcome.broken_parts() == ["tacl_gone: No module named 'tacl_gone'", *parts]


def test_set_up_s_question_is_answered_where_nothing_is_installed():
    """Without site-packages: what it imports at first must be the standard library alone."""
    command = [sys.executable, "-S", "-m", "tacl_lib.teaching.welcome", "--quick"]
    asked = subprocess.run(command, cwd=ROOT, env={}, capture_output=True, text=True)
    assert (asked.returncode, asked.stderr) == (1, "")
    assert asked.stdout.splitlines()  # what is missing, a line each
    assert [line for line in asked.stdout.splitlines() if not line.endswith(": not installed")] == []


def test_every_requirement_of_the_kit_is_imported():
    """What is new in pyproject must be looked at as well."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = {re.match(r"[\w-]+", requirement)[0] for requirement in project["dependencies"]}
    names = {{"scikit-learn": "sklearn", "pillow": "PIL"}.get(name, name) for name in names}
    assert {*welcome.PACKAGES, *welcome.TOOLS} == names


def test_widgets_without_their_browser_half_are_found(browser_folder):
    parts = {f.text: f.good for f in welcome.findings() if "browser's half" in f.text}
    assert len(parts) == 2
    assert not any(parts.values())
    assert all("will not appear" in text and "make repair" in text for text in parts)
    for part in welcome.BROWSER_PARTS:
        (browser_folder / part).mkdir(parents=True)
    assert all(finding.good for finding in welcome.findings())


def test_an_old_python_is_told_what_is_needed():
    assert not welcome.python_finding((3, 10, 4)).good
    assert "3.10.4, but 3.11 or newer" in welcome.python_finding((3, 10, 4)).text
    assert welcome.python_finding((3, 11, 0)).good
    required = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    assert required == f">={'.'.join(map(str, welcome.OLDEST))}"


def test_datasets_are_told_without_fetching_any(tmp_path, monkeypatch):
    monkeypatch.setenv("TACL_CACHE", str(tmp_path))
    monkeypatch.delenv("TACL_DATA", raising=False)
    before = dict(line.split(": ", 1) for line in welcome.data_sentences())
    assert list(before) == ["digits", *(name for name in available() if name != "digits")]
    assert before["digits"].startswith("1,541 + 256 images")
    assert before["mnist"] == "not fetched yet, not needed now."
    assert list(tmp_path.iterdir()) == []  # looking leaves nothing behind

    images, labels = np.zeros((2, 28, 28, 1), np.uint8), np.zeros(2, np.int64)
    with cache.writing("mnist") as slot:
        slot.write(Dataset("mnist", images, labels, images, labels))
    after = dict(line.split(": ", 1) for line in welcome.data_sentences())
    assert after["mnist"] == "fetched before, ready."
    assert after["cifar10"] == before["cifar10"]

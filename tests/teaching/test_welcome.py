"""The first notebook's question: what it says where something is missing."""

import re
import tomllib
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
    assert said.count("✓") == 1 + len(welcome.PACKAGES) + len(welcome.BROWSER_PARTS)
    assert said.rstrip().endswith("All that you need is here.")


def test_a_missing_package_is_named_with_what_to_do(monkeypatch, capsys):
    monkeypatch.setattr(welcome, "find_spec", lambda name: None if name == "anywidget" else object())
    with pytest.raises(TaclError, match="the 1 marked ✗"):
        welcome.check()
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("✗")]
    assert re.match(r"✗ anywidget .* is not installed\. .*“make lab”", line)


def test_widgets_without_their_browser_half_are_found(browser_folder):
    parts = {f.text: f.good for f in welcome.findings() if "browser's half" in f.text}
    assert len(parts) == 2
    assert not any(parts.values())
    assert all("still pictures" in text and "make lab" in text for text in parts)
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
    assert before["digits"].startswith("1,541 + 256 pictures")
    assert before["mnist"] == "not fetched yet, not needed now."
    assert list(tmp_path.iterdir()) == []  # looking leaves nothing behind

    images, labels = np.zeros((2, 28, 28, 1), np.uint8), np.zeros(2, np.int64)
    with cache.writing("mnist") as slot:
        slot.write(Dataset("mnist", images, labels, images, labels))
    after = dict(line.split(": ", 1) for line in welcome.data_sentences())
    assert after["mnist"] == "fetched before, ready."
    assert after["cifar10"] == before["cifar10"]

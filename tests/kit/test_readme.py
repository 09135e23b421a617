"""The README: its generated blocks are what the stored runs say, and its links lead somewhere."""

import re
from datetime import datetime
from pathlib import Path

import pytest

from tacl_lib.errors import TaclError
from tacl_lib.paper.calibration import AS_RUN, FORMER_TA_AGEM
from tacl_lib.paper.markdown import block, replaced_block
from tacl_lib.paper.paper_runs import Evidence
from tacl_lib.paper.readings import others
from tacl_lib.report.evidence import FIGURES, LARGEST, pages, short
from tacl_lib.report.summary import overview
from tacl_lib.runs import command as command_line
from tacl_lib.runs.store import REFERENCE, Store

ROOT = Path(__file__).parents[2]
NUMBERS = REFERENCE / "numbers.md"
READINGS = REFERENCE / "readings.md"
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PAGES += [*sorted(REFERENCE.glob("*.md")), FIGURES / "README.md"]


def test_evidence_is_made_from_the_reference_runs():
    """A number that somebody typed, or that is older than the runs, is found here."""
    evidence = Evidence(Store(REFERENCE))
    assert block((ROOT / "README.md").read_text(encoding="utf-8"), "evidence").strip() == short(evidence)
    for name, text in pages(evidence).items():
        assert (REFERENCE / name).read_text(encoding="utf-8") == text, f"{name} is out of date: make evidence"


def test_the_papers_figures_are_small_and_have_alt_texts():
    names = {path.stem for path in FIGURES.glob("*.svg")}
    assert {"overview", "agreement", "scatter", "method_strategy"} <= names
    assert names == {path.stem for path in FIGURES.glob("*.png")}
    assert names == {path.name.removesuffix(".alt.txt") for path in FIGURES.glob("*.alt.txt")}
    assert sum(path.stat().st_size for path in FIGURES.iterdir()) < LARGEST
    page = (FIGURES / "README.md").read_text(encoding="utf-8")
    for name in names:
        assert f"]({name}.png)]({name}.svg)" in page


def test_every_printed_command_makes_the_runs_that_it_stands_beside(monkeypatch):
    """Each row's command is given to the command line, which must ask for the very runs of that row."""
    asked = []

    def ask(spec, seeds, **_):
        asked.append((spec.name(), seeds))
        raise TaclError("asked.")

    monkeypatch.setattr(command_line, "run", ask)
    text = "".join(path.read_text(encoding="utf-8") for path in (NUMBERS, READINGS))
    rows = re.findall(r"^\|.*\| (\d) (?:\| `[0-9a-f]{16}` )?\|[^|]*\| `(--dataset .*)` \|$", text, re.MULTILINE)
    evidence = Evidence(Store(REFERENCE))
    of_no_study = len(others(evidence.store).splitlines()) - 2
    of_study = [records for study in (AS_RUN, FORMER_TA_AGEM) for records in evidence.study(study).values()]
    assert len(rows) == len(evidence.records) + sum(map(bool, of_study)) + of_no_study
    stored = {spec.name(): seeds for spec, seeds in Store(REFERENCE).catalogue().items()}
    for runs, options in rows:
        with pytest.raises(TaclError, match="asked"):
            command_line.main(options.split())
        name, seeds = asked.pop()
        assert set(stored[name]) == set(seeds), options
        assert len(seeds) == int(runs), options


def test_reference_runs_say_where_they_come_from():
    runs = list(Store(REFERENCE).runs())
    files = [path for path in REFERENCE.glob("*-*.parquet") if not path.name.endswith(".events.parquet")]
    assert len(runs) == len(files) > 0  # none is damaged, misnamed or of another version
    for spec, record in runs:
        assert record.info["wall_seconds_of_stack"] > 0
        assert record.info["versions"]["torch"]
        assert record.info["machine"]
        assert datetime.fromisoformat(record.info["finished"])
        assert re.fullmatch(r"[0-9a-f]{7,}\+?", record.info["commit"])
        assert record.diverged_at is None
        assert spec.train_limit is None


def test_without_reference_runs_there_is_one_sentence(tmp_path):
    with pytest.raises(TaclError, match="there are no runs at the paper's settings"):
        Evidence(Store(tmp_path))


def test_a_block_is_replaced_between_its_markers_only():
    text = "a\n<!-- x -->\nold\n<!-- /x -->\nb <!-- y -->\n"
    assert replaced_block(text, "x", "new\n") == "a\n<!-- x -->\nnew\n<!-- /x -->\nb <!-- y -->\n"
    with pytest.raises(TaclError, match="no markers <!-- z -->"):
        replaced_block(text, "z", "new")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}-{page.name}")
def test_links_and_pictures_exist(page):
    links = re.findall(r"\]\(([^)]+)\)|(?:href|src)=\"([^\"]+)\"", page.read_text(encoding="utf-8"))
    local = [link.split("#")[0] for pair in links for link in pair if link and "://" not in link]
    assert [link for link in local if not (page.parent / link).exists()] == []


def test_every_target_and_notebook_is_in_the_readme():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    targets = re.findall(r"^([a-z]+):.*##", (ROOT / "Makefile").read_text(), re.M)
    unexplained = [target for target in targets if target not in {"help", "lint", "distclean"}]
    assert [target for target in unexplained if f"`make {target}`" not in text] == []
    notebooks = [path.name for path in (ROOT / "notebooks").glob("*.ipynb")]
    assert [name for name in notebooks if f"notebooks/{name}" not in text] == []


def test_the_headline_figure_says_what_its_runs_say():
    """Its alternative text must not be of other runs."""
    alt = (FIGURES / "overview.alt.txt").read_text(encoding="utf-8").strip()
    assert overview(Evidence(Store(REFERENCE))).alt == alt

"""Every table in every format: structure, numbers, marks, and what a reader must be told."""

import io
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from paper_like import PAPER, needs_paper, parsed_from_latex, runs_like_paper

from tacl_lib.errors import TaclError
from tacl_lib.names import DATASETS, EXPERIMENTS, METHODS, METRICS, SPLITS
from tacl_lib.paper.compare import make_cells
from tacl_lib.paper.published import methods_in, published
from tacl_lib.paper.settings import SETTINGS
from tacl_lib.report.tables import (
    all_tables,
    comparison_table,
    result_table,
    table_of_settings,
    to_csv,
    to_html,
    to_latex,
    to_markdown,
    write_tables,
)
from tacl_lib.report.tables.latex import PACKAGES, escaped
from tacl_lib.runs import RunSpec

QUICK = "REDUCED profile quick: 600 images a task, 5 epochs, 2 seeds; not comparable with the paper"
REASON = 'SVHN is not available: "403" from a_b & c at 100% <#1>'
TABLES = [(experiment, metric) for experiment in EXPERIMENTS for metric in METRICS]


@pytest.fixture(scope="module")
def cells():
    """Something like the paper's numbers with some spread, and no SVHN."""
    runs = runs_like_paper(spread=0.01)
    return make_cells(runs[runs["dataset"] != "svhn"], reasons={"svhn": REASON})


@pytest.fixture(scope="module")
def paper_cells():
    """The paper's own tables as if they were ours, its marks included."""
    cells = make_cells(runs_like_paper())
    return cells.assign(bold=cells["paper_bold"])


class Reader(HTMLParser):
    """Rows and cells of an HTML table, and whether every tag is closed."""

    VOID = ("meta", "br")

    def __init__(self, text):
        super().__init__()
        self.open, self.rows, self.parts = [], [], {"thead": [], "tbody": []}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        if tag in self.VOID:
            return
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
            self.parts[next(part for part in ("thead", "tbody") if part in self.open)].append(self.rows[-1])
        if tag in ("td", "th"):
            self.rows[-1].append({"text": "", **dict(attrs)})

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and ("td" in self.open or "th" in self.open):
            self.rows[-1][-1]["text"] += data


def markdown_rows(text):
    """The rows of the one table in a Markdown text: heading, alignment, then the body."""
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows]


def same(left, right):
    """Equal up to the last bits, which some versions of pandas lose when they read a number."""
    return np.allclose(np.asarray(left, float), np.asarray(right, float), rtol=0, atol=1e-14, equal_nan=True)


# The paper's own tables come out again


@needs_paper
def test_latex_gives_the_papers_tables_back(paper_cells):
    ours = parsed_from_latex("\n".join(to_latex(result_table(paper_cells, *names)) for names in TABLES))
    assert ours == parsed_from_latex((PAPER / "paper.tex").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("experiment", "metric"), TABLES)
def test_every_format_has_the_papers_numbers(paper_cells, experiment, metric):
    table = result_table(paper_cells, experiment, metric)
    methods = methods_in(experiment)
    part = published().query("experiment == @experiment and metric == @metric")
    wanted = part["value"].to_numpy().reshape(len(methods), 15)
    bold = part["bold"].to_numpy().reshape(len(methods), 15)

    latex = [line for line in to_latex(table).splitlines() if re.search(r"\d\.\d.* & ", line)]
    markdown = markdown_rows(to_markdown(table))[2:]
    page = Reader(to_html(table)).parts["tbody"]
    data = pd.read_csv(io.StringIO(to_csv(table)), comment="#")
    assert [len(rows) for rows in (latex, markdown, page, data)] == [len(methods)] * 4
    assert data["method"].tolist() == [METHODS[method].title for method in methods]
    assert same(data.iloc[:, 1:], wanted)
    for row in range(len(methods)):
        shown = [f"{value:.3f}" for value in wanted[row]]
        assert re.findall(r"\d\.\d{3}", latex[row]) == shown
        assert [r"\textbf" in cell for cell in latex[row].split("&")[1:]] == list(bold[row])
        assert [cell.strip("*") for cell in markdown[row][1:]] == shown
        assert [cell.startswith("**") for cell in markdown[row][1:]] == list(bold[row])
        assert [cell["text"] for cell in page[row][1:]] == shown
        assert ["bold" in cell.get("class", "").split() for cell in page[row][1:]] == list(bold[row])


def test_task_aware_rows_are_grey_below_a_line(cells):
    table = result_table(cells, "disjoint", "forgetting")
    assert [row.grey for row in table.rows] == [False] * 5 + [True] * 2
    lines = to_latex(table).splitlines()
    assert [r"\color{gray}" in line for line in lines if " & 0." in line or "gray}0." in line] == [False] * 5 + [
        True
    ] * 2
    rules = [number for number, line in enumerate(lines) if line.strip() == r"\hline"]
    assert "OGD" in lines[rules[1] + 1]
    assert len(rules) == 2
    assert to_html(table).count('<tr class="grey') == 2
    assert to_html(table).count("line") >= 1
    assert to_latex(result_table(cells, "continuous", "forgetting")).count(r"\hline") == 1


def test_caption_says_what_it_is(cells):
    caption = result_table(cells, "disjoint", "forgetting").caption
    for words in ("OUR results", "disjoint tasks", "5 runs", "lower is better", "99%", "2309.12078", "Task-aware"):
        assert words in caption
    caption = result_table(cells, "continuous", "average_accuracy").caption
    assert "higher is better" in caption
    assert "Task-aware" not in caption
    none = make_cells(runs_like_paper().iloc[:0])
    assert "no run yet" in result_table(none, "disjoint", "forgetting").caption
    mixed = make_cells(runs_like_paper().query("seed < 2 or dataset == 'mnist'"))
    assert "2 to 5 runs" in result_table(mixed, "disjoint", "forgetting").caption


# Comparisons and settings


def test_comparison(cells):
    table = comparison_table(cells, "disjoint", "average_accuracy")
    assert len(table.rows) == 7 * 15
    rows = Reader(to_html(table)).parts["tbody"]
    assert [cell["text"] for cell in rows[0]][:6] == ["MNIST", "perm", "SGD", "0.842", "5", "0.842"]
    assert [cell["text"] for cell in rows[0]][6:] == ["0.000", "within tolerance"]
    assert [cell["text"] for cell in rows[-1]][3:] == ["–", "0", "0.827", "–", "not run"]
    assert "at most 0.03 apart" in table.caption
    assert len(markdown_rows(to_markdown(table))) == 2 + 105
    assert r"$-" in to_latex(comparison_table(make_cells(runs_like_paper(shift=-0.1)), "disjoint", "forgetting"))


def test_comparison_csv_round_trip(cells):
    table = comparison_table(cells, "continuous", "first_task_accuracy")
    back = pd.read_csv(io.StringIO(to_csv(table)), comment="#", na_values="–")
    assert list(back) == list(cells)
    for name in ("ours", "std", "paper", "difference"):
        assert same(back[name], table.data[name])
    for name in ("dataset", "split", "method", "runs", "bold", "paper_bold", "verdict"):
        assert back[name].tolist() == table.data[name].tolist()


def test_result_csv_round_trip(cells):
    table = result_table(cells, "disjoint", "average_accuracy")
    back = pd.read_csv(io.StringIO(to_csv(table)), comment="#", na_values="–")
    assert list(back) == ["method", *(f"{d.printed} {s.printed}" for d in DATASETS.values() for s in SPLITS.values())]
    part = cells.query("experiment == 'disjoint' and metric == 'average_accuracy'")
    assert same(back.iloc[:, 1:], part["ours"].to_numpy().reshape(7, 15))


@pytest.mark.parametrize("name", SETTINGS)
def test_settings(name):
    table = table_of_settings(name)
    assert len(markdown_rows(to_markdown(table))) == 2 + len(SETTINGS[name].rows)
    assert not table.footnotes
    assert "≠" not in to_html(table)
    assert len(pd.read_csv(io.StringIO(to_csv(table)), comment="#")) == len(table.rows)


def test_settings_that_differ_are_marked():
    table = table_of_settings("ta_ogd", RunSpec(batch_size=50))
    assert r"\textbf{50 $\neq$}" in to_latex(table)
    assert "**50 ≠**" in to_markdown(table)
    assert "50 ≠" in to_html(table)
    assert table.footnotes == ("≠ differs from the paper",)


# What a reader must be told


def test_reduced_is_on_the_face_of_every_rendering(tmp_path):
    cells = make_cells(runs_like_paper(), reduced=QUICK)
    paths = write_tables(cells, tmp_path, reduced=QUICK + ".\n")
    assert len(paths) == 60
    for path in paths:
        text = path.read_text(encoding="utf-8")
        face = {
            ".csv": f"# {QUICK}\n",
            ".tex": f"% {QUICK}\n",
            ".md": f"**{QUICK}**\n",
            ".html": "<!DOCTYPE html>",
        }[path.suffix]
        assert text.startswith(face), path
        if path.suffix == ".tex":
            assert f"\\caption{{\\textbf{{{QUICK}.}}" in text
            assert f"\\bfseries {QUICK}" in text
        if path.suffix == ".md":
            assert f"\n{QUICK}. " in text
        if path.suffix == ".html":
            assert f'<p class="notice">{QUICK}</p>' in text
            assert f"<caption><strong>{QUICK}.</strong>" in text
        assert "within tolerance" not in re.sub("within tolerance means", "", text)


def test_reduced_cells_are_marked_even_without_a_text():
    cells = make_cells(runs_like_paper(), reduced=True)
    assert all(table.notice.startswith("REDUCED") for table in all_tables(cells))


def test_notice_and_verdicts_must_not_contradict(cells):
    with pytest.raises(TaclError, match="reduced=True"):
        result_table(cells, "disjoint", "forgetting", reduced=QUICK)


def test_paper_settings_carry_no_notice(cells):
    assert not any(table.notice for table in all_tables(cells))
    assert 'class="notice"' not in to_html(result_table(cells, "disjoint", "forgetting"))


def test_missing_cells_show_a_dash_and_the_reason(cells):
    table = result_table(cells, "disjoint", "average_accuracy")
    assert f"– SVHN not run: {REASON}" in table.footnotes
    assert all(row.cells[-1].text == "–" for row in table.rows)
    assert escaped(REASON) in to_latex(table)
    assert REASON in to_csv(table)
    assert r"a\_b & c at 100% \<\#1\>" in to_markdown(table)
    assert "a_b &amp; c at 100% &lt;#1&gt;" in to_html(table)
    assert Reader(to_html(table)).parts["tbody"][0][-1]["title"] == REASON


def test_reasons_given_late(cells):
    table = comparison_table(cells, "disjoint", "forgetting", reasons={"svhn": "the web does not answer"})
    assert table.footnotes == ("– SVHN not run: the web does not answer",)
    assert set(table.data.query("dataset == 'svhn'")["reason"]) == {"the web does not answer"}


def test_incomplete_columns_diverged_runs_and_notes():
    runs = runs_like_paper()
    runs = runs[(runs["method"] != "bgd") | (runs["dataset"] != "mnist")]
    runs.loc[(runs["method"] == "sgd") & (runs["seed"] == 1), list(METRICS)] = np.nan
    table = result_table(make_cells(runs), "disjoint", "average_accuracy", notes={"svhn": "crops made again"})
    assert any(note.startswith("– MNIST (3 of 21 cells) not run") for note in table.footnotes)
    assert any("incomplete" in note for note in table.footnotes)
    assert any(note.startswith("diverged") for note in table.footnotes)
    assert "† SVHN: crops made again" in table.footnotes
    assert "SVHN†" in to_html(table)
    assert r"SVHN$^\dagger$" in to_latex(table)
    assert table.rows[0].cells[1].text == "diverged"
    assert "diverged" in to_csv(table)


def test_deviation(cells):
    table = result_table(cells, "disjoint", "average_accuracy")
    assert "0.842 ±0.008" in to_markdown(table, deviation=True)
    assert "±" not in to_markdown(table)
    assert r"{\tiny $\pm$0.008}" in to_latex(table, deviation=True)
    assert "<small>±0.008</small>" in to_html(table, deviation=True)
    plain = Reader(to_html(table)).parts["tbody"][0][1]
    assert plain["text"] == "0.842"
    assert plain["title"] == "0.842 ±0.008, 5 runs"


def test_unknown_names(cells):
    with pytest.raises(TaclError, match="continuous"):
        result_table(cells, "joint", "forgetting")
    with pytest.raises(TaclError, match="average_accuracy"):
        comparison_table(cells, "disjoint", "accuracy")


# Formats


def columns_of(table):
    return len(table.head)


def test_markdown_and_html_have_the_right_shape(cells):
    for table in all_tables(cells):
        rows = markdown_rows(to_markdown(table, deviation=True))
        assert {len(row) for row in rows} == {columns_of(table)}
        for page in (False, True):
            parts = Reader(to_html(table, deviation=True, page=page)).parts
            assert {len(row) for row in parts["tbody"]} == {columns_of(table)}
            assert len(parts["tbody"]) == len(table.rows) == len(rows) - 2
            assert len(parts["thead"]) == 1 + bool(table.groups)
            for row in parts["thead"]:
                assert sum(int(cell.get("colspan", 1)) for cell in row) == columns_of(table)


def test_html_needs_nothing_else(cells):
    for table in all_tables(cells):
        page = to_html(table, page=True)
        assert not re.search(r"<script|<link|src=|url\(|@import", page)
        assert "color-scheme:light dark" in page
        assert "position:sticky" in page


def test_latex_is_balanced(cells):
    noted = {"mnist": "100% of {these} images $cost$ ~5 & more_or_less #1 \\ ^2"}
    for table in all_tables(cells, notes=noted):
        text = to_latex(table, deviation=True)
        bare = re.sub(r"\\[\\{}&%$#_]", "", re.sub(r"^%.*$", "", text, flags=re.MULTILINE))
        assert bare.count("{") == bare.count("}")
        assert bare.count("$") % 2 == 0
        begun = re.findall(r"\\(begin|end)\{([a-z*]+)\}", text)
        stack = []
        for what, name in begun:
            if what == "begin":
                stack.append(name)
            else:
                assert stack.pop() == name
        assert stack == []
        for line in bare.splitlines():
            if " & " in line:
                spans = sum(int(span) - 1 for span in re.findall(r"multicolumn\{(\d+)\}", line))
                assert line.count("&") + spans == columns_of(table) - 1
        width = re.search(r"\\begin\{(?:tabular|longtable)\}\{(.*)\}$", text, re.MULTILINE)[1]
        assert len(re.sub(r"p\{[^}]*\}", "p", width).replace("|", "")) == columns_of(table)


LATEX = next((program for program in ("pdflatex", "tectonic", "xelatex") if shutil.which(program)), None)


@pytest.mark.skipif(LATEX is None, reason="neither pdflatex, tectonic nor xelatex is installed")
def test_latex_compiles(tmp_path):
    cells = make_cells(runs_like_paper(spread=0.01), reduced=True)
    bodies = [to_latex(table, deviation=True) for table in all_tables(cells, notes={"svhn": REASON}, reduced=QUICK)]
    uses = "".join(f"\\usepackage{{{package}}}\n" for package in PACKAGES)
    # Landscape by hand and no floats left over: fifteen tables fill LaTeX's queue otherwise.
    body = "\n\\clearpage\n".join(bodies)
    document = f"\\documentclass{{article}}\n{uses}\\begin{{document}}\n{body}\n\\end{{document}}\n"
    (tmp_path / "all.tex").write_text(document, encoding="utf-8")
    options = [] if LATEX == "tectonic" else ["-interaction=nonstopmode", "-halt-on-error"]
    done = subprocess.run([LATEX, *options, "all.tex"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    if LATEX == "tectonic" and done.returncode and "fetch" in (done.stdout + done.stderr).lower():
        pytest.skip("tectonic could not fetch its packages")
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "all.pdf").stat().st_size > 0


# Files


def test_write_tables(cells, tmp_path):
    paths = write_tables(cells, tmp_path / "new" / "folder")
    stems = [f"{e}_{m}{kind}" for e, m in TABLES for kind in ("", "_comparison")] + [f"settings_{n}" for n in SETTINGS]
    assert [path.name for path in paths] == [f"{stem}.{end}" for stem in stems for end in ("csv", "tex", "md", "html")]
    assert sorted(Path(tmp_path / "new" / "folder").iterdir()) == sorted(paths)  # and nothing half-written
    before = [path.read_bytes() for path in paths]
    assert [path.read_bytes() for path in write_tables(cells, tmp_path / "new" / "folder")] == before


def test_folder_that_cannot_be_written(cells, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(TaclError, match="could not be written"):
        write_tables(cells, tmp_path / "file")

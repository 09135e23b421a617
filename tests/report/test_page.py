"""The report: what it shows, from which runs, and that nothing in it can act or reach out."""

import base64
import hashlib
import re
import shutil
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from paper_like import runs_like_paper
from small_runs import PLAIN

from tacl_lib.paper.compare import make_cells, whole_columns
from tacl_lib.paper.paper_runs import Evidence
from tacl_lib.report import page
from tacl_lib.report.live import in_kind
from tacl_lib.report.page import Times, write_report
from tacl_lib.report.rendering import code
from tacl_lib.report.summary import least_forgetting, unrun
from tacl_lib.runs import run
from tacl_lib.runs.grid import Job, all_jobs
from tacl_lib.runs.profiles import PROFILES
from tacl_lib.runs.store import REFERENCE, Store
from tacl_lib.runs.together import Together
from tacl_lib.training.record import Record

EVIL = "<script>alert(1)</script><img src=x onerror=alert(1)>"
SMOKE = PROFILES["smoke"]


class Tags(HTMLParser):
    """Every tag of a page with its attributes."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


@pytest.fixture(scope="module")
def times():
    begun = datetime(2030, 1, 1, tzinfo=UTC)
    return Times(begun, begun + timedelta(seconds=100), begun + timedelta(seconds=130), workers=2)


@pytest.fixture(scope="module")
def text(tmp_path_factory, times):
    """A report on one run whose file, data and profile say what nobody should believe."""
    room = tmp_path_factory.mktemp("report")
    store = Store(room / "results")
    spec = SMOKE.spec("digits", "class", "disjoint", "sgd")
    for record in run(spec, (0, 1), progress=False):
        record.info.update(commit=EVIL, device=EVIL, machine=EVIL)
        record.info["data"]["note"] = EVIL
        store.write(spec, [record])
    jobs = [Job(spec, (0, 1))]
    return write_report(room, SMOKE, jobs, {"svhn": f"no SVHN {EVIL}"}, store, times).read_text(encoding="utf-8")


def test_nothing_that_a_file_says_becomes_a_tag(text):
    assert "<script" not in text
    assert "onerror=alert" in text  # it is shown, as text
    for _, attributes in Tags(text).found:
        assert not [name for name in attributes if name.startswith("on")]


def test_words_between_backticks_are_code_and_still_only_text(text):
    assert code("as `nn.Linear` & <b>") == "as <code>nn.Linear</code> &amp; &lt;b&gt;"
    assert code("`<i>`") == "<code>&lt;i&gt;</code>"
    assert "`" not in re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL)


def test_the_policy_allows_this_stylesheet_and_pictures_within_and_no_more(text):
    tags = Tags(text).found
    (policy,) = [a["content"] for tag, a in tags if tag == "meta" and a.get("http-equiv") == "Content-Security-Policy"]
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    parts = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert parts == {
        "default-src": "'none'",
        "img-src": "data:",
        "style-src": f"'sha256-{digest}'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    assert not [a for _, a in tags if "style" in a]  # the policy would not let it work
    assert not {"script", "link", "iframe", "object", "form"} & {tag for tag, _ in tags}
    assert all(a["src"].startswith("data:image/") for tag, a in tags if tag == "img")
    assert all(a["href"].startswith("#") for tag, a in tags if tag == "a")


def test_anchors_lead_somewhere_and_names_are_given_once(text):
    tags = Tags(text).found
    names = [a["id"] for _, a in tags if "id" in a]
    assert len(names) == len(set(names))
    assert {a["href"][1:] for tag, a in tags if tag == "a"} <= set(names)


def test_each_picture_has_an_alternative_text(text):
    pictures = [a for tag, a in Tags(text).found if tag == "img"]
    assert pictures
    assert all(len(a["alt"]) > 40 for a in pictures)


def test_it_is_small_enough_to_send(text):
    assert len(text.encode()) < 5_000_000


def test_what_is_reduced_and_what_is_missing_is_said_once(text):
    assert text.count("A demonstration, not a reproduction: ") == 1
    assert "REDUCED" not in re.sub(r'(alt|title)="[^"]*"', "", text)
    assert text.count("no SVHN") == 1


def test_without_any_run_at_the_papers_settings_there_is_still_a_report(tmp_path, monkeypatch, times):
    monkeypatch.setattr(page, "Together", lambda own: Together(own, tmp_path / "nothing"))
    spec = SMOKE.spec("digits", "class", "disjoint", "sgd")
    store = Store(tmp_path / "results")
    store.write(spec, run(spec, (0, 1), progress=False))
    text = write_report(tmp_path, SMOKE, [Job(spec, (0, 1))], {}, store, times).read_text(encoding="utf-8")
    assert "The reference runs (<code>results/reference</code>) are not here." in text
    assert 'id="claims"' not in text
    assert "Run here, just now" in text


def test_runs_of_ones_own_are_marked_among_the_reference_runs(tmp_path):
    spec = PROFILES["paper"].spec("fashion_mnist", "class", "disjoint", "sgd")
    shutil.copy(Store(REFERENCE).path(spec, 0), tmp_path)
    found = Evidence(Together(tmp_path))
    assert found.own == {("disjoint", "fashion_mnist", "class", "sgd")}
    assert len(found.records[("disjoint", "fashion_mnist", "class"), "sgd"]) == 5
    assert Evidence(Together(tmp_path / "none")).own == set()


def test_own_and_reference_runs_are_read_as_one_store(tmp_path):
    own, reference = tmp_path / "own", tmp_path / "reference"
    runs = run(PLAIN, (0, 1, 2), progress=False)
    Store(reference).write(PLAIN, runs[:2])
    mine = Record(0, runs[0].epochs, runs[0].accuracy * 0, runs[0].seen, runs[0].memory, info=runs[0].info)
    Store(own).write(PLAIN, [mine, runs[2]])
    together = Together(own, reference)
    assert together.own_seeds(PLAIN, (0, 1, 2)) == [0, 2]
    assert together.missing(PLAIN, (0, 1, 2, 3)) == [3]
    zero, one, _ = together.records(PLAIN, (0, 1, 2))
    assert np.nansum(zero.accuracy) == 0  # one's own counts first
    assert np.nansum(one.accuracy) > 0
    assert sorted(record.seed for _, record in together.runs()) == [0, 1, 2]
    assert sorted(seed for _, seed, _ in together.descriptions()) == [0, 1, 2]
    assert together.path(PLAIN, 7).parent == own  # what is new goes to the user's
    alone = Together(reference, reference)
    assert alone.own_seeds(PLAIN, (0, 1)) == []
    assert sorted(record.seed for _, record in alone.runs()) == [0, 1]


# The sentences of the first screen


def test_the_method_that_forgets_least_is_of_the_task_agnostic_ones():
    cells = make_cells(runs_like_paper())
    found = {dataset: (method, theirs, whole) for dataset, method, _, theirs, whole in least_forgetting(cells)}
    # read off the paper's table of forgetting
    assert found["Fashion-MNIST"] == ("TA-A-GEM", 0.057, True)
    runs = runs_like_paper()
    runs = runs[(runs["method"] != "bgd") & (runs["dataset"] == "fashion_mnist")]
    ((dataset, method, _, _, whole),) = least_forgetting(make_cells(runs))
    assert (dataset, method, whole) == ("Fashion-MNIST", "TA-A-GEM", False)


def test_what_is_not_run_is_told_in_few_words():
    runs = runs_like_paper()
    assert unrun(make_cells(runs)) == []
    some = runs[(runs["dataset"] != "svhn") & ~((runs["dataset"] == "mnist") & (runs["split"] == "rotation"))]
    assert unrun(make_cells(some)) == ["MNIST disjoint (rotation)", "MNIST continuous (rotation)", "SVHN"]


def test_a_column_is_whole_with_five_runs_of_every_task_agnostic_method():
    runs = runs_like_paper()
    assert whole_columns(make_cells(runs)).all()
    assert whole_columns(make_cells(runs[runs["method"] != "agem"])).all()  # told the tasks, so never bold
    cells = make_cells(runs[(runs["method"] != "bgd") | (runs["seed"] < 4) | (runs["dataset"] != "mnist")])
    assert (whole_columns(cells) == (cells["dataset"] != "mnist")).all()


# Rules for short runs


def of_rule(findings, word):
    (found,) = [found for found in findings if word in found.claim]
    return found


def study_with(clustering, random):
    """Two runs whose memories hold these shares of the first task in the end."""

    def made(share):
        counts = np.array([[100, 0], [round(100 * share), round(100 - 100 * share)]])
        return Record(0, pd.DataFrame(), np.zeros((2, 2)), np.ones((2, 2), bool), counts)

    return {("clustering", 1.0): [made(clustering)], ("random", 1.0): [made(random)]}


def test_the_papers_own_numbers_pass_every_rule():
    for found in in_kind(runs_like_paper(), study_with(0.3, 0.0), "fashion_mnist"):
        assert found.tested
        assert found.held == len(found.tested), found


def test_a_rule_is_asked_only_where_the_papers_gap_is_large():
    findings = in_kind(runs_like_paper(), {}, "fashion_mnist")
    above = [part.numbers.split(":")[0] for part in of_rule(findings, "above SGD").parts]
    assert above == ["MNIST", "Fashion-MNIST"]  # .074 and .124; the others have at most .020
    best = [part.numbers.split(":")[0] for part in of_rule(findings, "best on rotation").parts]
    assert best == ["MNIST", "Fashion-MNIST", "notMNIST", "SVHN"]
    assert of_rule(findings, "Random assignment").verdict == "not tested"


@pytest.mark.parametrize(
    ("rule", "split", "method", "value"),
    [
        ("above SGD", "class", "ta_agem", 0.1),
        ("alike", "permutation", "bgd", 0.36),
        ("best on rotation", "rotation", "agem", 0.1),
    ],
)
def test_runs_that_do_not_show_it_fail_the_rule(rule, split, method, value):
    runs = runs_like_paper()
    runs.loc[(runs["split"] == split) & (runs["method"] == method), "average_accuracy"] = value
    assert of_rule(in_kind(runs, {}, "digits"), rule).held == 0


@pytest.mark.parametrize(("rule", "split"), [("alike", "permutation"), ("best on rotation", "rotation")])
def test_methods_that_have_learned_nothing_yet_show_nothing(rule, split):
    runs = runs_like_paper()
    untaught = (runs["split"] == split) & (runs["dataset"] == "mnist")
    # in the paper's order, but all of them below what the commonest class of SVHN gives
    runs.loc[untaught, "average_accuracy"] *= 0.19 / runs.loc[untaught, "average_accuracy"].max()
    parts = of_rule(in_kind(runs, {}, "digits"), rule).parts
    assert [part.holds for part in parts] == [False] + [True] * (len(parts) - 1)
    assert parts[0].numbers.endswith("; none is better than guessing")


def test_random_assignment_must_lose_more_than_half_of_what_clustering_keeps():
    def held(*shares):
        return of_rule(in_kind(runs_like_paper(), study_with(*shares), "mnist"), "Random assignment").held

    assert held(0.4, 0.1) == 1
    assert held(0.4, 0.3) == 0


def test_the_quick_profile_asks_what_the_rules_need():
    """All methods on all splits with and without boundaries, and the study."""
    jobs = all_jobs(PROFILES["quick"], ["digits"])
    assert {job.spec.learner for job in jobs} == set(make_cells(runs_like_paper())["method"])
    assert len(jobs) == 3 * (7 + 5) + 5

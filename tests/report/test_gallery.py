"""Every figure of the paper by name, from stored runs alone."""

import shutil

import pytest

from tacl_lib import __main__ as tacl
from tacl_lib.errors import TaclError
from tacl_lib.report import gallery
from tacl_lib.report.figures import alt_of
from tacl_lib.report.gallery import Gallery
from tacl_lib.runs.grid import study_jobs
from tacl_lib.runs.profiles import PROFILES
from tacl_lib.runs.store import REFERENCE, Store
from tacl_lib.runs.together import Together


def test_the_papers_gallery_is_complete():
    names = Gallery(PROFILES["paper"], Store(REFERENCE)).names
    datasets = ("mnist", "fashion_mnist", "notmnist", "cifar10", "svhn")
    assert {f"{e}_{d}" for e in ("disjoint", "continuous") for d in datasets} < set(names)
    contents = {"clusters_rate_0_01", "clusters_rate_0_1", "clusters_rate_1", "clusters_clustering", "clusters_random"}
    assert contents | {"study_accuracy", "method_strategy", "method_clustering"} < set(names)
    assert len(names) == len(set(names)) == 18


def test_a_figure_is_drawn_from_reference_runs_and_names_what_is_missing(tmp_path):
    one = Store(REFERENCE).path(PROFILES["paper"].spec("fashion_mnist", "class", "disjoint", "sgd"), 0)
    shutil.copy(one, tmp_path)
    found = Gallery(PROFILES["paper"], Store(tmp_path)).draw("disjoint_fashion_mnist")
    assert "Class split, accuracy after the last epoch: SGD" in alt_of(found)
    assert "Rotation" not in alt_of(found)
    assert len(found.axes) == 3  # one column: nothing is drawn for splits without runs


def test_what_has_no_runs_is_named_and_not_drawn(tmp_path):
    one = Store(REFERENCE).path(PROFILES["paper"].spec("fashion_mnist", "class", "disjoint", "sgd"), 0)
    shutil.copy(one, tmp_path)
    some = Gallery(PROFILES["paper"], Store(tmp_path))
    assert some.drawn == ["method_strategy", "method_clustering", "disjoint_fashion_mnist"]
    assert sorted(some.drawn + some.waiting) == sorted(some.names)
    with pytest.raises(TaclError, match=r"no runs for the figure disjoint_svhn \(profile paper\); run them first"):
        some.draw("disjoint_svhn")


def test_runs_of_ones_own_are_told_apart(tmp_path):
    spec = PROFILES["paper"].spec("fashion_mnist", "class", "disjoint", "sgd")
    together = Gallery(PROFILES["paper"], Together(tmp_path))
    assert together.own("disjoint_fashion_mnist") == ""
    shutil.copy(Store(REFERENCE).path(spec, 0), tmp_path)
    assert together.own("disjoint_fashion_mnist") == "class SGD"
    assert together.own("disjoint_mnist") == ""
    assert Gallery(PROFILES["paper"], Store(tmp_path)).own("disjoint_fashion_mnist") == ""


def test_each_study_figure_reads_its_own_runs(tmp_path, monkeypatch):
    """The store is asked for the jobs of the study of this profile, and of no other."""
    asked = []
    monkeypatch.setattr(Store, "missing", lambda *_: [])
    monkeypatch.setattr(Store, "records", lambda self, spec, seeds: asked.append((spec.name(), tuple(seeds))) or [])
    monkeypatch.setattr(gallery, "timeline_figure", lambda *_, **__: None)
    Gallery(PROFILES["smoke"], Store(tmp_path)).draw("clusters_rate_0_1")
    assert asked == [(job.spec.name(), job.seeds) for job in study_jobs(PROFILES["smoke"], "digits")]


STUDIED = {"Clustering": "clustering", "Random assignment": "random"}


@pytest.mark.parametrize(
    ("name", "rate", "policies"),
    [
        ("clusters_rate_0_01", 0.01, STUDIED),
        ("clusters_rate_0_1", 0.1, STUDIED),
        ("clusters_rate_1", 1.0, STUDIED),
        ("clusters_clustering", 1.0, {"Clustering": "clustering"}),
        ("clusters_random", 1.0, {"Random assignment": "random"}),
    ],
)
def test_each_cluster_figure_shows_its_own_runs(name, rate, policies, tmp_path, monkeypatch):
    shown = {}
    monkeypatch.setattr(Store, "missing", lambda *_: [])
    monkeypatch.setattr(Store, "records", lambda self, spec, seeds: [spec.name()])
    monkeypatch.setattr(gallery, "timeline_figure", lambda panels, **_: shown.update(panels))
    Gallery(PROFILES["smoke"], Store(tmp_path)).draw(name)
    settings = {job.spec.name(): job.spec.learner_settings for job in study_jobs(PROFILES["smoke"], "digits")}
    assert shown.keys() == policies.keys()
    for title, policy in policies.items():
        assert settings[shown[title]].items() >= {"policy": policy, "sampling_rate": rate}.items()


def test_an_unknown_figure_is_one_sentence(tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        tacl.main(["figure", "disjoint_mnits", "--profile", "paper", "--results", str(tmp_path)])
    assert ended.value.code.startswith("figure: unknown figure 'disjoint_mnits'; choose one of: method_strategy")
    with pytest.raises(TaclError, match="unknown figure"):
        Gallery(PROFILES["paper"], Store(tmp_path)).draw("nothing")


def test_the_command_lists_and_writes(tmp_path, capsys):
    gallery.main(["--profile", "smoke", "--results", str(tmp_path)])
    assert "disjoint_digits" in capsys.readouterr().out.splitlines()
    gallery.main(["method_clustering", "--profile", "smoke", "--out", str(tmp_path)])
    written = capsys.readouterr().out.split()
    assert [path.rpartition("/")[2] for path in written] == [
        "method_clustering.png",
        "method_clustering.svg",
        "method_clustering.alt.txt",
    ]
    assert (tmp_path / "method_clustering.png").read_bytes().startswith(b"\x89PNG")

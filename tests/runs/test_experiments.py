"""What a run is called, what the profiles run, and how long it is thought to take."""

import dataclasses
import json
import shlex
import sys

import pytest

from tacl_lib.core.learners import LEARNERS, Learner, make_learner, settings_of
from tacl_lib.core.streams import Stream
from tacl_lib.core.tasks import make_tasks
from tacl_lib.data import load
from tacl_lib.engine.mlp import Mlp
from tacl_lib.errors import TaclError
from tacl_lib.report.reproduce import Plan
from tacl_lib.runs import RunSpec, spec, spec_from
from tacl_lib.runs import command as command_line
from tacl_lib.runs.cost import steps, work
from tacl_lib.runs.grid import EXPERIMENTS, Job, all_jobs, experiment_jobs, study_jobs
from tacl_lib.runs.profiles import METHODS, PAPER_DATASETS, PROFILES, SPLITS, TASK_AWARE, profile_named
from tacl_lib.runs.store import REFERENCE
from tacl_lib.training.record import read_about

#: another value for every field of a spec
CHANGED = {
    "dataset": "mnist",
    "split": "rotation",
    "experiment": "continuous",
    "learner": "sgd",
    "learner_settings": {"clusters": 7},
    "hidden": (200, 201),
    "batch_size": 11,
    "epochs": 21,
    "task_count": 9,
    "degrees_per_task": 20.5,
    "scaling": "standard",
    "initialisation": "he",
    "validation": "whole",
    "interpolation": "nearest",
    "fill": "black",
    "last_task": "pure",
    "counted": "mixed",
    "train_limit": 100,
    "test_limit": 100,
    "network": "cnn",
    "network_settings": {"width": 4},
}


# --- the command that makes a run again ---


@pytest.mark.parametrize("field", CHANGED)
@pytest.mark.parametrize("seeds", [(0, 1, 2, 3, 4), (3,), (1, 0)])
def test_the_command_of_a_spec_asks_for_that_spec(field, seeds, monkeypatch):
    own = RunSpec("fashion_mnist", "rotation", "continuous", "ta_agem")
    spec = dataclasses.replace(own, **{field: CHANGED[field]})
    asked = []
    monkeypatch.setattr(command_line, "run", lambda *given, **_: asked.append(given) or sys.exit())
    with pytest.raises(SystemExit):
        command_line.main(shlex.split(spec.options(seeds)))
    ((found, of),) = asked
    assert (found.name(), of) == (spec.name(), seeds)


def test_a_command_says_only_what_differs_from_the_defaults():
    assert (
        RunSpec("mnist", "class", "disjoint", "sgd").options(range(5)) == "--dataset mnist --split class --learner sgd"
    )
    spec = RunSpec("mnist", learner_settings={"policy": "random", "clusters": None}, hidden=(), last_task="pure")
    assert spec.options([1]) == (
        "--dataset mnist --split class --learner ta_agem --hidden '()' --seeds 1 --set policy=random"
    )


# --- names of runs ---


def test_equal_settings_have_equal_names():
    assert RunSpec().name() == RunSpec().name()
    one, other = {"rate": 0.1, "clusters": 4}, {"clusters": 4, "rate": 0.1}
    assert RunSpec(learner_settings=one).name() == RunSpec(learner_settings=other).name()


@pytest.mark.parametrize("learner", LEARNERS)
def test_defaults_that_are_written_out_do_not_change_the_name(learner):
    bare = RunSpec(learner=learner)
    assert RunSpec(learner=learner, learner_settings=settings_of(learner)).name() == bare.name()
    for name, value in settings_of(learner).items():
        assert RunSpec(learner=learner, learner_settings={name: value}).name() == bare.name(), name


def test_there_is_another_value_for_every_field():
    assert list(CHANGED) == [field.name for field in dataclasses.fields(RunSpec)]


#: fields that matter somewhere only, and where
SOMEWHERE = {
    "last_task": {"experiment": "continuous"},
    "counted": {"experiment": "continuous"},
    "interpolation": {"split": "rotation"},
    "fill": {"split": "rotation"},
}


@pytest.mark.parametrize("field", CHANGED)
def test_any_changed_field_gives_another_name(field):
    spec = RunSpec(**SOMEWHERE.get(field, {}))
    assert dataclasses.replace(spec, **{field: CHANGED[field]}).name() != spec.name()


def test_a_field_without_effect_does_not_change_the_name():
    for field in SOMEWHERE:
        assert dataclasses.replace(RunSpec(), **{field: CHANGED[field]}).name() == RunSpec().name()


def test_runs_from_before_a_setting_keep_their_names():
    """`counted`, `fill` and the network came later than the first stored runs."""
    old = RunSpec(split="rotation", experiment="continuous", last_task="mixed", counted="mixed", fill="black")
    assert not {"counted", "fill", "network", "network_settings"} & set(old.full())
    assert spec_from(old.full()).name() == old.name()


def test_the_customary_scaling_has_the_name_of_what_it_is():
    for dataset, scaling in (("mnist", "standard"), ("fashion_mnist", "symmetric"), ("cifar10", "standard")):
        assert RunSpec(dataset).name() == RunSpec(dataset, scaling=scaling).name()
    # Where 0 is black, it does not matter when an image is rotated.
    turned = [RunSpec(split="rotation", scaling="unit", fill=fill).name() for fill in ("zero", "black")]
    assert turned[0] == turned[1]


@pytest.mark.parametrize("learner", LEARNERS)
def test_any_changed_setting_of_a_learner_gives_another_name(learner):
    names = {RunSpec(learner=learner).name()}
    for name, value in settings_of(learner).items():
        other = (value + 1) if isinstance(value, int | float) and not isinstance(value, bool) else "another"
        names.add(RunSpec(learner=learner, learner_settings={name: other}).name())
    assert len(names) == 1 + len(settings_of(learner))


@pytest.mark.parametrize("field", CHANGED)
def test_a_spec_comes_back_from_its_description_with_its_name(field):
    spec = RunSpec(**SOMEWHERE.get(field, {}))
    given = dataclasses.replace(spec, **{field: CHANGED[field]})
    stored = json.loads(json.dumps(given.full()))
    again = spec_from(stored | {"a field of a later version": 1})
    assert again.name() == given.name()
    assert again.full() == given.full()
    assert again.hidden == given.hidden  # a tuple again


def test_a_new_version_of_a_learner_gives_new_names_to_its_runs_only(monkeypatch):
    before, other = RunSpec(learner="ta_agem").name(), RunSpec(learner="sgd").name()
    monkeypatch.setattr(LEARNERS["ta_agem"], "version", 2)
    assert RunSpec(learner="ta_agem").name() != before
    assert RunSpec(learner="sgd").name() == other


def test_a_younger_setting_of_a_learner_enters_the_name_only_where_it_is_changed():
    plain = RunSpec(learner="ogd")
    assert "ridge" not in plain.full()["learner_settings"]
    assert RunSpec(learner="ogd", learner_settings={"ridge": 1e-6}).name() == plain.name()
    changed = RunSpec(learner="ogd", learner_settings={"ridge": 1e-9})
    assert changed.name() != plain.name()
    assert spec.spec_from(changed.full()).name() == changed.name()


def test_stored_runs_keep_their_names():
    """Each reference run is found under the name that its settings give: 553 of them, and more as they come."""
    paths = [path for path in REFERENCE.glob("*-*.parquet") if not path.name.endswith(".events.parquet")]
    assert len(paths) >= 508
    for path in paths:
        seed, info = read_about(path)
        assert path.stem == f"{spec.spec_from(info['spec']).name()}-{seed}"


def test_a_name_can_be_a_file_name():
    assert RunSpec().name().isalnum()
    assert len(RunSpec().name()) == 16


# --- profiles ---


@pytest.mark.parametrize("dataset", PAPER_DATASETS)
@pytest.mark.parametrize("method", METHODS)
def test_the_paper_profile_has_the_settings_of_the_paper(dataset, method):
    for split in SPLITS:
        full = PROFILES["paper"].spec(dataset, split, "disjoint", method).full()
        learner = full.pop("learner_settings")
        assert full == {
            "dataset": dataset,
            "split": split,
            "experiment": "disjoint",
            "learner": method,
            "hidden": [200, 200],
            "batch_size": 10,
            "epochs": 20,
            "task_count": 10,
            "degrees_per_task": 20.0,
            "scaling": "symmetric" if dataset in ("fashion_mnist", "notmnist") else "standard",
            "initialisation": "torch",
            "validation": "parts",
            "interpolation": "bilinear",
            "last_task": "mixed",
            "train_limit": None,
            "test_limit": None,
        } | ({"fill": "zero"} if split == "rotation" else {})
        later = spec.ABSENT_MEANS_OF_LEARNERS.get(method, {})
        assert learner == {name: value for name, value in settings_of(method).items() if name not in later}
        if method != "bgd":  # it has no rate
            assert learner["rate"] == 1e-3


@pytest.mark.parametrize(("outputs", "pools", "clusters"), [(10, 10, 10), (2, 2, 50)])
def test_the_paper_profile_gives_ta_agem_a_pool_for_each_class(outputs, pools, clusters):
    own = PROFILES["paper"].spec("mnist", "class", "disjoint", "ta_agem").full()["learner_settings"]
    geometry = make_learner("ta_agem", Mlp((0,), (4, outputs)), **own).geometry
    assert (geometry.pools, geometry.clusters, geometry.size) == (pools, clusters, 3)
    assert own["sampling_rate"] == 1.0
    assert own["policy"] == "clustering"


def test_the_paper_profile_gives_ta_ogd_99_clusters_of_3_gradients():
    own = PROFILES["paper"].spec("mnist", "class", "disjoint", "ta_ogd").full()["learner_settings"]
    assert (own["clusters"], own["cluster_size"], own["sampling_rate"]) == (99, 3, 1.0)


def test_the_paper_profile_is_all_of_the_paper():
    paper = PROFILES["paper"]
    assert len(set(paper.seeds)) == 5
    assert paper.datasets == ("mnist", "fashion_mnist", "notmnist", "cifar10", "svhn")
    assert paper.study_dataset == "fashion_mnist"
    assert (paper.run, paper.learners, paper.rate, paper.reduction) == ({}, {}, None, "")


@pytest.mark.parametrize("name", [name for name in PROFILES if name != "paper"])
def test_a_reduced_profile_says_what_it_reduces(name):
    profile, text = PROFILES[name], PROFILES[name].reduction
    assert f"profile {name}" in text
    hidden, epochs = profile.run["hidden"], profile.run["epochs"]
    assert f"{len(hidden)} × {hidden[0]} hidden" in text
    assert f"{epochs} epochs" in text
    assert f"{profile.run['task_count']} tasks" in text
    assert f"{profile.run['train_limit']} images" in text
    assert f"{len(profile.seeds)} seeds" in text
    assert f"learning rate {profile.rate:g}" in text
    if "degrees_per_task" in profile.run:
        assert f"{profile.run['degrees_per_task']:g}°" in text
    if set(profile.datasets) < set(PAPER_DATASETS) | {"digits"} and len(profile.datasets) == 1:
        assert f"{profile.datasets[0]} only" in text


@pytest.mark.parametrize("name", [name for name in PROFILES if name != "paper"])
def test_a_reduced_profile_names_every_learner_whose_memory_it_reduces(name):
    titles = {"bgd": "BGD", "ta_ogd": "TA-OGD", "ta_agem": "TA-A-GEM", "ogd": "OGD", "agem": "A-GEM"}
    for learner, own in PROFILES[name].learners.items():
        changed = {k: v for k, v in own.items() if settings_of(learner)[k] != v}
        for setting, value in changed.items():
            assert titles[learner] in PROFILES[name].reduction, f"{learner}: {setting}"
            assert f"{value:g}" in PROFILES[name].reduction, f"{learner}: {setting}"


def test_a_learner_that_a_profile_does_not_know_has_the_rate_of_the_others(monkeypatch):
    class Stranger(LEARNERS["sgd"]):
        name = "stranger"

    monkeypatch.setitem(LEARNERS, "stranger", Stranger)
    for profile in PROFILES.values():
        specs = [profile.spec("digits", "class", "disjoint", name).full() for name in ("stranger", "sgd")]
        assert specs[0]["learner_settings"] == specs[1]["learner_settings"]
        assert specs[0]["learner_settings"]["rate"] == (profile.rate or 1e-3)
        with_own = profile.spec("digits", "class", "disjoint", "stranger", rate=0.5)
        assert with_own.learner_settings == {"rate": 0.5}
        assert "rate" not in profile.spec("digits", "class", "disjoint", "bgd").learner_settings  # it has none


def test_profiles_have_their_own_names_and_runs():
    for name, profile in PROFILES.items():
        assert profile.name == name
        assert profile_named(name) is profile
    specs = {profile.spec("digits", "class", "disjoint", "ta_agem").name() for profile in PROFILES.values()}
    assert len(specs) == len(PROFILES)


# --- the grid ---


@pytest.mark.parametrize("name", PROFILES)
def test_the_grid_has_all_cells_of_the_paper(name):
    profile = PROFILES[name]
    for dataset in profile.datasets:
        disjoint = experiment_jobs(profile, "disjoint", dataset)
        continuous = experiment_jobs(profile, "continuous", dataset)
        assert (len(disjoint), len(continuous)) == (7 * 3, 5 * 3)
        assert {job.spec.learner for job in disjoint} == set(METHODS)
        assert {job.spec.learner for job in continuous} == set(METHODS) - set(TASK_AWARE)
        assert all(job.seeds == profile.seeds for job in disjoint + continuous)
        assert all(job.spec.dataset == dataset for job in disjoint + continuous)


def test_the_study_has_two_policies_at_three_rates():
    jobs = study_jobs(PROFILES["paper"])
    found = [(job.spec.learner_settings["policy"], job.spec.learner_settings["sampling_rate"]) for job in jobs]
    assert found == [(policy, rate) for policy in ("clustering", "random") for rate in (0.01, 0.1, 1.0)]
    for job in jobs:
        assert (job.spec.dataset, job.spec.split, job.spec.learner) == ("fashion_mnist", "class", "ta_agem")


@pytest.mark.parametrize("name", PROFILES)
def test_no_job_is_there_twice(name):
    profile = PROFILES[name]
    jobs = all_jobs(profile, profile.datasets)
    assert len({(job.spec.name(), job.seeds) for job in jobs}) == len(jobs)
    # the study's clustering at rate 1 is TA-A-GEM as in the tables
    assert len(jobs) == 36 * len(profile.datasets) + 5


@pytest.mark.parametrize("name", PROFILES)
def test_a_job_of_the_tables_is_not_hidden_by_the_study(name):
    """The report leaves out of its tables whatever names a policy."""
    profile = PROFILES[name]
    tables = [job for job in all_jobs(profile, profile.datasets) if "policy" not in job.spec.learner_settings]
    wanted = [job for d in profile.datasets for e in EXPERIMENTS for job in experiment_jobs(profile, e, d)]
    assert {job.spec.name() for job in tables} == {job.spec.name() for job in wanted}


@pytest.mark.parametrize("datasets", [("digits",), ("mnist", "digits"), ("mnist",), ("fashion_mnist", "svhn")])
def test_the_study_is_planned_on_the_dataset_on_which_it_is_run(datasets):
    plan = Plan(PROFILES["quick"], datasets, {}, METHODS, (0,))
    planned = {job.spec.name() for job in plan.jobs}
    run = {job.spec.name() for job in study_jobs(plan.profile, plan.study_dataset, plan.seeds)}
    assert run <= planned


def test_some_methods_and_seeds_can_be_chosen():
    jobs = all_jobs(PROFILES["smoke"], ["digits"], ["sgd", "agem"], [4])
    assert len(jobs) == 3 * 2 + 3 * 1
    assert {job.seeds for job in jobs} == {(4,)}
    assert "seeds 4" in str(jobs[0])
    assert "digits permutation sgd" in str(jobs[0])


@pytest.mark.parametrize(
    ("call", "valid"),
    [
        (lambda: profile_named("huge"), PROFILES),
        (lambda: experiment_jobs(PROFILES["smoke"], "joint", "digits"), EXPERIMENTS),
        (lambda: experiment_jobs(PROFILES["smoke"], "disjoint", "digits", ["sdg"]), LEARNERS),
        (lambda: all_jobs(PROFILES["smoke"], ["digits"], ["sdg"]), LEARNERS),
    ],
)
def test_an_unknown_name_is_answered_with_the_known_ones(call, valid):
    with pytest.raises(TaclError) as caught:
        call()
    assert all(name in str(caught.value) for name in valid)


def test_no_seeds_are_refused():
    with pytest.raises(TaclError, match="at least one seed"):
        all_jobs(PROFILES["smoke"], ["digits"], seeds=[])


# --- cost ---


def real_steps(given: RunSpec) -> int:
    tasks = make_tasks(
        load(given.dataset, progress=False),
        given.split,
        task_count=given.task_count,
        train_limit=given.train_limit,
        test_limit=given.test_limit,
    )
    how = {"batch_size": given.batch_size, "epochs": given.epochs, "last_task": given.last_task}
    return Stream(tasks, given.experiment, **how).steps


@pytest.mark.parametrize("experiment", EXPERIMENTS)
@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize(("limit", "batch"), [(60, 10), (55, 10), (1, 3), (100, 7)])
def test_steps_are_exact_where_a_limit_sets_the_size_of_tasks(experiment, split, limit, batch):
    given = RunSpec("digits", split, experiment, train_limit=limit, batch_size=batch, epochs=3, task_count=4)
    assert steps(given) == real_steps(given)


@pytest.mark.parametrize("experiment", EXPERIMENTS)
@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("more", [{}, {"task_count": 3, "batch_size": 32}, {"train_limit": 10_000}])
def test_steps_are_nearly_right_elsewhere(experiment, split, more):
    """It is an estimate: the sizes of tasks are rounded, and classes are taken to be of one size."""
    given = RunSpec("digits", split, experiment, epochs=4, **more)
    assert steps(given) == pytest.approx(real_steps(given), rel=0.15)


@pytest.mark.parametrize("name", PROFILES)
def test_every_job_takes_some_time(name):
    profile = PROFILES[name]
    jobs = all_jobs(profile, profile.datasets)
    assert all(work(job) > 0 for job in jobs)
    fewer = all_jobs(profile, profile.datasets, seeds=profile.seeds[:1])
    assert sum(map(work, fewer)) < sum(map(work, jobs))


def test_a_dataset_and_a_learner_of_ones_own_have_an_estimate(monkeypatch):
    class Mine(Learner):
        name = "mine_too"

    monkeypatch.setitem(LEARNERS, "mine_too", Mine)
    own = PROFILES["smoke"].spec("mine", "class", "disjoint", "mine_too")
    assert steps(own) > 0
    assert work(Job(own, (0,))) > 0

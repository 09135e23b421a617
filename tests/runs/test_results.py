"""The store of finished runs, and the table that shows what there is."""

import hashlib
import json
import multiprocessing
import os
import random
import shutil
import subprocess
import sys
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from filelock import FileLock
from small_runs import PLAIN, SEEDS, TINY, assert_same

from tacl_lib.core.learners import LEARNERS
from tacl_lib.errors import TaclError
from tacl_lib.runs import cluster, run
from tacl_lib.runs.execution import execute, run_job
from tacl_lib.runs.grid import Job, all_jobs, study_jobs, table_jobs
from tacl_lib.runs.profiles import PROFILES
from tacl_lib.runs.status import SIGNS, state_of, states_of, status_table
from tacl_lib.runs.store import METRICS, REFERENCE, ReadOnce, Store
from tacl_lib.training import record as record_room
from tacl_lib.training.loop import _Training
from tacl_lib.training.record import read_about, read_record


@pytest.fixture(scope="module")
def records():
    return run(TINY, SEEDS, progress=False)


@pytest.fixture
def store(tmp_path, records):
    store = Store(tmp_path / "results")
    store.write(TINY, records)
    return store


# --- the store ---


def test_what_is_written_is_read_again(store, records):
    for record in records:
        assert_same(store.read(TINY, record.seed), record)
        assert store.read(TINY, record.seed).info["spec"] == TINY.full()
    assert [record.seed for record in store.records(TINY, (3, 0, 9))] == [3, 0]


def test_what_is_missing_is_known(store, tmp_path):
    assert store.missing(TINY, SEEDS) == []
    assert store.missing(TINY, (0, 1, 3, 2)) == [1, 2]
    assert store.missing(PLAIN, SEEDS) == list(SEEDS)
    assert store.read(TINY, 1) is None
    nowhere = Store(tmp_path / "nowhere")
    assert nowhere.missing(TINY, SEEDS) == list(SEEDS)
    assert list(nowhere.runs()) == []
    assert nowhere.summaries().empty


def test_a_store_that_reads_once_gives_the_same_and_reads_once(store, monkeypatch):
    once = ReadOnce(store.folder)
    pd.testing.assert_frame_equal(once.summaries([(TINY, SEEDS)]), store.summaries([(TINY, SEEDS)]))
    first = once.read(TINY, SEEDS[0])
    monkeypatch.setattr(Store, "read", lambda *_: pytest.fail("it was read again"))
    assert once.read(TINY, SEEDS[0]) is first


def test_summaries_have_a_row_for_each_run(store, records):
    frame = store.summaries([Job(TINY, (0, 1, 3)), Job(PLAIN, SEEDS)])
    about = ["spec", "another_set", "network"]
    assert list(frame.columns) == ["experiment", "dataset", "split", "method", "seed", *METRICS, *about]
    assert list(frame["seed"]) == [0, 3]
    assert set(frame["spec"]) == {TINY.name()}
    assert tuple(frame.loc[0, ["experiment", "dataset", "split", "method"]]) == (
        "disjoint",
        "digits",
        "class",
        "ta_agem",
    )
    assert frame.loc[0, "average_accuracy"] == pytest.approx(np.nanmean(records[0].accuracy, axis=1).mean())
    everything = store.summaries()
    assert everything.equals(frame)


def truncated(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def emptied(path):
    path.write_bytes(b"")


def garbage(path):
    path.write_bytes(np.random.default_rng(0).bytes(5000))


def zeroed(path):
    path.write_bytes(bytes(path.stat().st_size))


@pytest.mark.parametrize("damage", [truncated, emptied, garbage, zeroed])
@pytest.mark.parametrize("part", ["record", "events"])
def test_a_damaged_file_is_named_set_aside_and_counts_as_missing(store, damage, part):
    path = store.path(TINY, 0)
    damage(path if part == "record" else path.with_name(f"{path.stem}.events.parquet"))
    with pytest.warns(UserWarning, match=r"is damaged .* will be run again") as caught:
        assert [record.seed for record in store.records(TINY, SEEDS)] == [3]
    assert len(caught) == 1
    assert str(path.parent) in str(caught[0].message)
    assert path.with_suffix(".damaged").exists()
    assert store.missing(TINY, SEEDS) == [0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # said once is enough
        assert store.read(TINY, 0) is None
        assert [record.seed for _, record in store.runs()] == [3]


def test_damaged_files_do_not_stop_a_look_at_everything(store):
    garbage(store.path(TINY, 0))
    with pytest.warns(UserWarning, match="is damaged"):
        assert list(store.summaries()["seed"]) == [3]


def test_a_missing_log_of_events_is_named_and_the_run_is_done_again(store, records):
    path = store.path(TINY, 0)
    log = path.with_name(f"{path.stem}.events.parquet")
    log.unlink()
    with pytest.warns(UserWarning, match="will be run again") as caught:
        assert store.read(TINY, 0) is None
    assert log.name in str(caught[0].message)
    assert store.missing(TINY, SEEDS) == [0]
    run_job(Job(TINY, SEEDS), store.folder)
    assert_same(store.read(TINY, 0), records[0])


def test_what_was_damaged_is_done_again_and_only_that(store, records, monkeypatch):
    garbage(store.path(TINY, 0))
    with pytest.warns(UserWarning, match="is damaged"):
        store.read(TINY, 0)
    untouched = store.path(TINY, 3).stat().st_mtime_ns
    monkeypatch.setattr(cluster, "_cores", lambda: 1)
    execute([Job(TINY, SEEDS)], store.folder, progress=False)
    for record in records:
        assert_same(store.read(TINY, record.seed), record)
    assert store.path(TINY, 3).stat().st_mtime_ns == untouched


def test_results_of_another_version_are_not_found(store, monkeypatch):
    monkeypatch.setattr(LEARNERS[TINY.learner], "version", 2)
    assert store.missing(TINY, SEEDS) == list(SEEDS)
    assert store.read(TINY, 0) is None
    assert store.records(TINY, SEEDS) == []
    assert store.summaries([Job(TINY, SEEDS)]).empty


def test_a_look_at_everything_leaves_out_results_of_another_version(store, monkeypatch):
    monkeypatch.setattr(LEARNERS[TINY.learner], "version", 2)
    assert store.summaries().empty


def test_what_was_half_written_is_not_taken_for_a_result(store):
    path = store.path(TINY, 0)
    path.rename(path.with_name(f".{path.name}.0123.part"))
    assert [record.seed for _, record in store.runs()] == [3]
    assert store.missing(TINY, SEEDS) == [0]


# --- what does not belong into a store, or cannot be changed ---


def described(path, change):
    """A record whose description was changed by somebody who knows how to give it a digest."""
    table = pq.read_table(path)
    about = json.loads(table.schema.metadata[b"tacl"])
    change(about)
    text = json.dumps(about).encode()
    metadata = table.schema.metadata | {b"tacl": text, b"tacl-sha256": hashlib.sha256(text).hexdigest().encode()}
    pq.write_table(table.replace_schema_metadata(metadata), path)


ODD = {
    "info is null": lambda about: about.update(info=None),
    "info is a list": lambda about: about.update(info=[1]),
    "no info": lambda about: about.pop("info"),
    "no spec": lambda about: about["info"].pop("spec"),
    "spec is a word": lambda about: about["info"].update(spec="ta_agem"),
    "spec with odd types": lambda about: about["info"]["spec"].update(epochs="many"),
    "spec with a width of None": lambda about: about["info"]["spec"].update(hidden=None),
    "versions in words": lambda about: about["info"].update(versions="new ones"),
    "a version that is none": lambda about: about["info"]["versions"].update(torch=["2", 1]),
    "a day that is none": lambda about: about["info"].update(finished="yesterday"),
    "a time without a zone": lambda about: about["info"].update(finished="2026-01-01T00:00:00"),
    "a time that is a number": lambda about: about["info"].update(finished=3),
    "seconds in words": lambda about: about["info"].update(wall_seconds_of_stack="long"),
    "a commit that is a list": lambda about: about["info"].update(commit=["a", {}]),
    "data in words": lambda about: about["info"].update(data="mine"),
    "a note that is a list": lambda about: about["info"]["data"].update(note=[1]),
    "seed in words": lambda about: about.update(seed="zero"),
    "seed below 0": lambda about: about.update(seed=-1),
    "seed is true": lambda about: about.update(seed=True),
}
ODD_NUMBERS = {
    "diverged in words": lambda about: about.update(diverged_at="late"),
    "other numbers": lambda about: about.update(digest="0" * 64),
    "geometry of two": lambda about: about.update(geometry=[1, 3]),
    "geometry of words": lambda about: about.update(geometry=["a", "b", "c"]),
    "geometry too small": lambda about: about.update(geometry=[1, 1, 1]),
    "no geometry": lambda about: about.pop("geometry"),
}


@pytest.mark.parametrize("change", [*ODD.values(), *ODD_NUMBERS.values()], ids=[*ODD, *ODD_NUMBERS])
def test_an_odd_record_is_named_set_aside_and_does_not_hide_the_others(store, change):
    path = store.path(TINY, 0)
    described(path, change)
    with pytest.warns(UserWarning, match=r"is damaged .* was set aside and will be run again") as caught:
        assert [record.seed for _, record in store.runs()] == [3]
    assert len(caught) == 1
    assert path.with_suffix(".damaged").exists()
    assert store.missing(TINY, SEEDS) == [0]


@pytest.mark.parametrize("change", ODD.values(), ids=ODD.keys())
def test_an_odd_description_does_not_end_a_look_at_the_catalogue(store, change):
    described(store.path(TINY, 0), change)
    with pytest.warns(UserWarning, match="is damaged"):
        assert list(store.catalogue().values()) == [[3]]


def test_no_flipped_bit_of_a_result_changes_what_is_read(store, records):
    """200 bits, one at a time, in a record and in the log of its memory."""
    path, rng, silent = store.path(TINY, 0), random.Random(2), []
    for part in (path, path.with_name(f"{path.stem}.events.parquet")):
        good = part.read_bytes()
        for bit in rng.sample(range(len(good) * 8), 100):
            bad = bytearray(good)
            bad[bit // 8] ^= 1 << bit % 8
            part.write_bytes(bad)
            try:
                found = read_record(path)
            except TaclError:
                continue
            try:
                assert_same(found, records[0])
                assert (found.info, found.diverged_at) == (records[0].info, None)
            except AssertionError:
                silent.append((part.name, bit))
        part.write_bytes(good)
    assert silent == []


def test_no_flipped_bit_of_a_stored_run_is_overlooked(tmp_path):
    """The first runs carry no digest, and must not be touched: the list beside them has their digests."""
    listed = json.loads((REFERENCE / "digests.json").read_text())
    runs = sorted(REFERENCE / name for name in listed if not name.endswith(".events.parquet"))
    shutil.copy(REFERENCE / "digests.json", tmp_path)
    rng = random.Random(1)
    for path in rng.sample(runs, 20):
        for log in REFERENCE.glob(f"{path.stem}.events.parquet"):
            shutil.copy(log, tmp_path)
        bad = bytearray(path.read_bytes())
        (tmp_path / path.name).write_bytes(bad)
        assert read_record(tmp_path / path.name).info["spec"]
        bit = rng.randrange(len(bad) * 8)
        bad[bit // 8] ^= 1 << bit % 8
        (tmp_path / path.name).write_bytes(bad)
        for reader in (read_record, read_about):
            with pytest.raises(TaclError, match="is damaged"):
                reader(tmp_path / path.name)


def test_the_list_of_digests_names_each_stored_file_and_fits():
    listed = json.loads((REFERENCE / "digests.json").read_text())
    for name, digest in listed.items():
        assert hashlib.sha256((REFERENCE / name).read_bytes()).hexdigest() == digest, name
    without = {
        path.name for path in REFERENCE.glob("*.parquet") if b"tacl-sha256" not in (pq.read_schema(path).metadata or {})
    }
    assert without <= listed.keys()
    assert len(listed) >= 553


def test_files_of_others_are_left_alone_and_named_once(store):
    pd.DataFrame({"a": [1]}).to_parquet(store.folder / "my-notes.parquet")
    (store.folder / "notes.txt").write_text("mine")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert len(list(store.runs())) == 2
        assert len(store.catalogue()) == 1
        assert not store.summaries().empty
    assert len(caught) == 1
    assert str(caught[0].message).endswith("not runs of the kit: my-notes.parquet.")
    assert (store.folder / "my-notes.parquet").exists()
    assert not Store(store.folder / "none")
    (store.folder / "other").mkdir()
    shutil.move(store.folder / "my-notes.parquet", store.folder / "other")
    assert not Store(store.folder / "other")


@pytest.fixture
def read_only(store, tmp_path):
    """The store on a disk that cannot be written to."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("only root can mount a read-only disk; rights alone do not bind root")
    store.checkpoint(PLAIN, SEEDS).parent.mkdir()
    store.checkpoint(PLAIN, SEEDS).touch()
    store.lock(PLAIN, SEEDS[0]).touch()
    place = tmp_path / "disk"
    place.mkdir()
    for command in (["mount", "--bind", store.folder, place], ["mount", "-o", "remount,bind,ro", place]):
        if subprocess.run(command, capture_output=True).returncode:
            pytest.skip("this machine does not let a disk be mounted")
    yield Store(place)
    subprocess.run(["umount", "-l", place], check=False)


def test_a_read_only_store_can_be_looked_at(read_only):
    assert len(read_only.summaries()) == 2
    assert state_of(Job(TINY, SEEDS), read_only) == "done"
    assert state_of(Job(PLAIN, SEEDS), read_only) == "begun"
    assert "done 1" in status_table(states_of([Job(TINY, SEEDS)], read_only))
    run_job(Job(TINY, SEEDS), read_only.folder)
    with pytest.raises(TaclError, match="cannot be written to") as caught:
        run_job(Job(PLAIN, SEEDS), read_only.folder)
    assert "\n" not in str(caught.value)


def test_a_damaged_file_in_a_read_only_store_is_left_out(read_only, store):
    truncated(store.path(TINY, 0))
    with pytest.warns(UserWarning, match="is ignored; it could not be set aside"):
        assert list(read_only.summaries()["seed"]) == [3]


# --- status ---


def hold(path, held, free):
    with FileLock(path):
        held.set()
        free.wait(120)


@pytest.fixture
def holder():
    """Holds a lock in another process."""
    context = multiprocessing.get_context("fork")
    started = []

    def start(path):
        held, free = context.Event(), context.Event()
        process = context.Process(target=hold, args=(path, held, free))
        process.start()
        started.append((process, free))
        assert held.wait(60)

    yield start
    for process, free in started:
        free.set()
        process.join(60)


def test_the_state_of_a_job(store, holder):
    other = Job(PLAIN, SEEDS)
    assert state_of(Job(TINY, SEEDS), store) == "done"
    assert state_of(other, store) == "missing"
    checkpoint = store.checkpoint(*other)
    checkpoint.parent.mkdir(exist_ok=True)
    checkpoint.with_suffix(".lock").touch()  # a lock that nobody holds means nothing
    assert state_of(other, store) == "missing"
    checkpoint.touch()
    assert state_of(other, store) == "begun"
    holder(store.lock(other.spec, other.seeds[1]))
    assert state_of(other, store) == "running"
    store.write(PLAIN, run(PLAIN, SEEDS, progress=False))
    assert state_of(other, store) == "done"


def test_a_job_with_one_seed_missing_is_not_done(store):
    assert state_of(Job(TINY, (0, 1)), store) == "missing"


def test_a_look_at_the_status_writes_nothing(tmp_path):
    store = Store(tmp_path / "results")
    table = status_table(states_of([Job(TINY, SEEDS)], store))
    assert "· missing 1" in table
    assert not store.folder.exists()


def test_the_table_has_a_sign_for_each_state(store, holder, tmp_path):
    begun, running = replace(PLAIN, split="rotation"), replace(PLAIN, split="permutation")
    stored = replace(PLAIN, learner="sgd_lr_adapt")
    jobs = [Job(given, SEEDS) for given in (TINY, PLAIN, begun, running, stored)]
    store.checkpoint(begun, SEEDS).parent.mkdir(exist_ok=True)
    store.checkpoint(begun, SEEDS).touch()
    holder(store.lock(running, SEEDS[0]))
    reference = Store(tmp_path / "reference")
    reference.write(stored, run(stored, SEEDS, progress=False))
    lines = status_table(states_of(jobs, store, reference)).splitlines()
    assert lines[0].split() == ["experiment", "dataset", "split", "ta_agem", "sgd", "sgd_lr_adapt"]
    assert [line.split() for line in lines[1:4]] == [
        ["disjoint", "digits", "class", SIGNS["done"], SIGNS["missing"], SIGNS["reference"]],
        ["disjoint", "digits", "rotation", "–", SIGNS["begun"], "–"],
        ["disjoint", "digits", "permutation", "–", SIGNS["running"], "–"],
    ]
    for state in SIGNS:
        assert f"{SIGNS[state]} {state} 1" in lines[-1]


def test_runs_of_the_study_have_a_sign_each(store):
    jobs = study_jobs(PROFILES["smoke"])
    row = status_table(states_of(jobs, store)).splitlines()[1].split()
    assert row == ["disjoint", "digits", "class", SIGNS["missing"] * 6]
    everything = status_table(states_of(all_jobs(PROFILES["smoke"], ["digits"]), store))
    row = next(line for line in everything.splitlines() if line.startswith("disjoint") and " class " in line)
    assert row.split()[3:] == [SIGNS["missing"] * (6 if m == "ta_agem" else 1) for m in everything.split()[3:10]]
    assert "· missing 41" in everything


def test_a_file_that_cannot_be_read_just_now_is_left_alone(store, monkeypatch):
    """Rights, a full table of open files, a network disk: the run itself may be whole."""

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    path = store.path(TINY, 0)
    with monkeypatch.context() as patch:
        patch.setattr("tacl_lib.training.record.pq.read_table", refuse)
        with pytest.raises(TaclError, match=r"cannot be read .*Permission denied"):
            store.read(TINY, 0)
    assert path.exists()
    assert store.read(TINY, 0) is not None


def test_a_record_without_its_log_is_run_again(store):
    store.path(TINY, 0).with_suffix("").with_suffix(".events.parquet").unlink()
    with pytest.warns(UserWarning, match=r"with its events is missing.*set aside"):
        assert store.read(TINY, 0) is None
    assert store.missing(TINY, SEEDS) == [0]


def test_other_data_than_the_published_is_noted(store, records, tmp_path):
    assert list(store.notes([(TINY, SEEDS)])) == ["digits"]  # 8 × 8 pixels
    changed = [replace(record, info=record.info | {"data": {"note": f"copy {record.seed}"}}) for record in records]
    other = Store(tmp_path / "other")
    other.write(TINY, changed)
    assert other.notes([(TINY, SEEDS), (PLAIN, SEEDS)]) == {"digits": "copy 0; in other runs: copy 3"}


def test_tables_show_what_an_earlier_call_has_run(monkeypatch):
    """A reproduction in portions: MNIST first, then Fashion-MNIST; and a method of the user's own."""
    monkeypatch.setitem(LEARNERS, "my_method", LEARNERS["sgd"])
    jobs = table_jobs(replace(PROFILES["paper"], seeds=(0,)), ["digits"], ["my_method"])
    asked = {(job.spec.dataset, job.spec.learner) for job in jobs}
    assert {("mnist", "sgd"), ("svhn", "ogd"), ("digits", "my_method"), ("mnist", "my_method")} <= asked
    assert {job.seeds for job in jobs} == {(0,)}
    assert len(jobs) == len({job.spec.name() for job in jobs})


def test_whole_degrees_have_the_same_name():
    assert replace(TINY, degrees_per_task=20).name() == replace(TINY, degrees_per_task=20.0).name()
    assert replace(TINY, degrees_per_task=20).name() != replace(TINY, degrees_per_task=21).name()


def test_a_learners_rate_of_1_and_of_1_point_0_is_one_setting():
    """The command line reads ``--set sampling_rate=1`` as a whole number."""

    def name(**settings):
        return replace(TINY, learner="ta_agem", learner_settings=settings).name()

    assert name(sampling_rate=1) == name(sampling_rate=1.0) == name()
    assert name(sampling_rate=0.5) != name()
    assert name(reference_batch=10) != name()


def test_the_commit_of_a_run_is_that_of_its_start(monkeypatch):
    """What is committed while a run goes on is not the code that runs."""
    checked_out = ["1111111"]

    def train_while_somebody_commits(training, *given):
        checked_out[0] = "2222222"
        return train(training, *given)

    train = _Training.run
    monkeypatch.setattr(_Training, "run", train_while_somebody_commits)
    monkeypatch.setattr(record_room.subprocess, "run", lambda *_, **__: SimpleNamespace(stdout=checked_out[0]))
    record_room.commit.cache_clear()
    try:
        (found,) = run(PLAIN, (0,), progress=False)
    finally:
        record_room.commit.cache_clear()
    assert checked_out == ["2222222"]
    assert found.info["commit"] == "1111111"

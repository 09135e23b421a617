"""Taking over somebody else's runs: what is whole is taken, what is odd is refused with its reason."""

import json
from dataclasses import replace

import pyarrow.parquet as pq
import pytest
from small_runs import PLAIN, SEEDS, TINY, assert_same

from tacl_lib.errors import TaclError
from tacl_lib.runs import merge as room
from tacl_lib.runs import run
from tacl_lib.runs.merge import REFUSED, TAKEN, THERE, merge
from tacl_lib.runs.store import Store


@pytest.fixture(scope="module")
def records():
    made = {spec: run(spec, SEEDS, progress=False) for spec in (TINY, PLAIN)}
    # Made by committed code: what a checkout with changes makes is refused, see below.
    return {spec: [_changed(r, commit="0123456789ab") for r in of_spec] for spec, of_spec in made.items()}


@pytest.fixture
def theirs(tmp_path, records):
    store = Store(tmp_path / "theirs")
    for spec, of_spec in records.items():
        store.write(spec, of_spec)
    return store


@pytest.fixture
def mine(tmp_path):
    return Store(tmp_path / "mine")


def _changed(record, **info):
    return replace(record, info=record.info | info)


def _answers(theirs, mine, **options):
    return {answer.file: answer for answer in merge(theirs.folder, mine, **options)}


def test_whole_runs_are_taken_once_and_stay_as_they_were(theirs, mine, records):
    first = _answers(theirs, mine, logs="all")
    assert {answer.verdict for answer in first.values()} == {TAKEN}
    assert len(first) == 4
    for spec, of_spec in records.items():
        for record in of_spec:
            assert_same(mine.read(spec, record.seed), record)
    before = {path.name: path.stat().st_mtime_ns for path in mine.folder.iterdir()}
    assert {answer.verdict for answer in _answers(theirs, mine).values()} == {THERE}
    assert {path.name: path.stat().st_mtime_ns for path in mine.folder.iterdir()} == before


def test_the_log_of_one_run_of_a_spec_is_enough(theirs, mine):
    _answers(theirs, mine)
    logs = [mine.read(TINY, seed).events is not None for seed in SEEDS]
    assert logs == [True, False]
    assert _answers(theirs, mine).popitem()[1].verdict == THERE  # without its log it is the same run


def test_other_numbers_for_the_same_run_are_refused(theirs, mine, records):
    other = records[PLAIN][0]
    mine.write(PLAIN, [replace(other, accuracy=other.accuracy * 0.5)])
    answer = _answers(theirs, mine)[f"{PLAIN.name()}-{SEEDS[0]}.parquet"]
    assert answer.verdict == REFUSED
    assert "other numbers" in answer.reason
    assert mine.read(PLAIN, SEEDS[0]).digest() != other.digest()


def _turn_bytes_round(store):
    path = store.path(PLAIN, SEEDS[0])
    data = bytearray(path.read_bytes())
    first_page = slice(4, 60)
    data[first_page] = data[first_page][::-1]
    path.write_bytes(data)


def _rename(store):
    store.path(PLAIN, SEEDS[0]).rename(store.path(PLAIN, 9))


def _drop_the_digest(store):
    path = store.path(PLAIN, SEEDS[0])
    table = pq.read_table(path)
    about = json.loads(table.schema.metadata[b"tacl"])
    del about["digest"]
    pq.write_table(table.replace_schema_metadata({b"tacl": json.dumps(about)}), path)


def _lose_the_log(store):
    path = store.path(TINY, SEEDS[0])
    path.with_name(f"{path.stem}.events.parquet").unlink()


ODD = {
    "turned round": (_turn_bytes_round, PLAIN, SEEDS[0], "damaged"),
    "renamed": (_rename, PLAIN, 9, "renamed"),
    "without a digest": (_drop_the_digest, PLAIN, SEEDS[0], "digest"),
    "without its log": (_lose_the_log, TINY, SEEDS[0], "events"),
}


@pytest.mark.parametrize("case", ODD)
def test_an_odd_file_is_refused_and_the_others_are_taken(case, theirs, mine):
    spoil, spec, seed, reason = ODD[case]
    spoil(theirs)
    answers = _answers(theirs, mine)
    refused = answers.pop(f"{spec.name()}-{seed}.parquet")
    assert refused.verdict == REFUSED
    assert reason in refused.reason
    assert {answer.verdict for answer in answers.values()} == {TAKEN}
    assert mine.read(spec, seed) is None


@pytest.mark.parametrize(
    ("info", "reason"),
    [
        ({"commit": "0123456789ab+"}, "commit"),
        ({"versions": {"torch": "2.4.0"}}, "versions"),
        ({"versions": "2.4.0"}, "versions"),
        ({"spec": PLAIN.full() | {"learner": "nobody"}}, "nobody"),
        ({"spec": PLAIN.full() | {"epochs": 3}}, "renamed"),
        ({"spec": PLAIN.full() | {"epochs": "many"}}, "epochs"),
        ({"spec": 7}, "its entry 'spec'"),
        ({"finished": "yesterday"}, "its entry 'finished'"),
    ],
)
def test_runs_of_unknown_origin_are_refused(info, reason, theirs, mine, records):
    theirs.write(PLAIN, [_changed(records[PLAIN][0], **info)])
    answer = _answers(theirs, mine)[f"{PLAIN.name()}-{SEEDS[0]}.parquet"]
    assert answer.verdict == REFUSED
    assert reason in answer.reason


def test_the_command_says_what_it_took_and_refused(theirs, mine, capsys):
    room.main([str(theirs.folder), "--into", str(mine.folder)])
    assert capsys.readouterr().out.splitlines()[-1] == "4 taken, 0 already there, 0 refused."
    _turn_bytes_round(theirs)
    with pytest.raises(SystemExit) as ended:
        room.main([str(theirs.folder), "--into", str(mine.folder)])
    assert ended.value.code == 1
    assert capsys.readouterr().out.splitlines()[-1] == "0 taken, 3 already there, 1 refused."


def test_a_folder_without_runs_is_named(tmp_path, mine):
    with pytest.raises(TaclError, match="no runs in"):
        list(merge(tmp_path, mine))

"""Records in files: whole, or named as damaged."""

import random
from dataclasses import replace

import pandas as pd
import pytest
import torch
from sentences import one_sentence
from small_training import contents, fill, make, quiet

from tacl_lib.errors import TaclError
from tacl_lib.files import write_whole
from tacl_lib.training.record import Record, read_record

# --- records in files -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ta_agem", "sgd", "agem"])
def test_a_record_survives_its_file(name, tmp_path):
    records = quiet(*make(name), info={"settings": {"hidden": [6], "rate": 0.1, "note": "Größe ×"}})
    for record in records:
        path = tmp_path / "deep" / f"{record.seed}.parquet"
        record.write(path)
        back = read_record(path)
        assert contents([back]) == contents([record])
        assert back.info == record.info
        pd.testing.assert_frame_equal(back.epochs, record.epochs)
        assert (back.events is None) == (record.events is None)
        if record.events is not None:
            assert back.events.geometry == record.events.geometry
    assert len(list(tmp_path.rglob("*"))) == 1 + 3 * (2 if name == "ta_agem" else 1)


def test_a_diverged_record_survives_its_file(tmp_path):
    learner, stream = make()
    learner.network.flat.fill_(torch.nan)
    with pytest.warns(UserWarning, match="not finite"):
        record = quiet(learner, stream)[0]
    record.write(tmp_path / "record.parquet")
    assert contents([read_record(tmp_path / "record.parquet")]) == contents([record])


def test_an_empty_log_survives_its_file(tmp_path):
    """A small sampling rate may store nothing at all."""
    record = quiet(*make("ta_agem", epochs=1, sampling_rate=0.001))[0]
    assert len(record.events) == 0
    record.write(tmp_path / "record.parquet")
    assert contents([read_record(tmp_path / "record.parquet")]) == contents([record])


@pytest.fixture(scope="module")
def record() -> Record:
    return quiet(*make("ta_agem", epochs=1))[0]


@pytest.mark.parametrize("which", ["record.parquet", "record.events.parquet"])
@pytest.mark.parametrize(
    "damage",
    [lambda good: good[:-20], lambda good: good[: len(good) // 2], lambda good: b"", lambda good: b"no parquet " * 99],
    ids=["end missing", "half", "empty", "garbage"],
)
def test_a_damaged_result_file_is_named(which, damage, record, tmp_path):
    record.write(tmp_path / "record.parquet")
    (tmp_path / which).write_bytes(damage((tmp_path / which).read_bytes()))
    with pytest.raises(TaclError, match="damaged") as caught:
        read_record(tmp_path / "record.parquet")
    assert str(tmp_path / "record.parquet") in one_sentence(caught)


def test_any_flipped_bit_is_read_or_reported(record, tmp_path):
    """Whatever a bad disk does to the description of the columns: never an exception that nobody expects."""
    path = tmp_path / "record.parquet"
    replace(record, info={}).write(path)  # without wall time and commit, the file is the same every time
    good, rng, escaped = path.read_bytes(), random.Random(0), set()
    footer = int.from_bytes(good[-8:-4], "little")
    for _ in range(120):
        bad, at = bytearray(good), len(good) - 1 - rng.randrange(footer + 8)
        bad[at] ^= 1 << rng.randrange(8)
        path.write_bytes(bad)
        try:
            read_record(path)
        except TaclError:
            pass
        except Exception as error:
            escaped.add(repr(error))
    assert escaped == set()


@pytest.mark.parametrize("which", ["record.parquet", "record.events.parquet"])
def test_a_missing_result_file_is_named(which, record, tmp_path):
    record.write(tmp_path / "record.parquet")
    (tmp_path / which).unlink()
    with pytest.raises(TaclError, match=r"no result file|is missing") as caught:
        read_record(tmp_path / "record.parquet")
    assert which in one_sentence(caught)


def test_a_table_of_something_else_is_not_a_record(tmp_path):
    pd.DataFrame({"a": [1, 2]}).to_parquet(tmp_path / "other.parquet")
    with pytest.raises(TaclError, match="damaged") as caught:
        read_record(tmp_path / "other.parquet")
    one_sentence(caught)


def test_an_unwritable_place_is_named_and_nothing_is_left(record, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(TaclError, match="could not be written") as caught:
        record.write(tmp_path / "file" / "record.parquet")
    one_sentence(caught)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_full_disk_keeps_the_old_record(record, small_disk):
    path = small_disk / "record.parquet"
    record.write(path)
    before = {p.name: p.read_bytes() for p in small_disk.iterdir()}
    filler = fill(small_disk)
    with pytest.raises(TaclError, match="disk is full") as caught:
        record.write(path)
    one_sentence(caught)
    filler.unlink()
    assert {p.name: p.read_bytes() for p in small_disk.iterdir()} == before


@pytest.mark.parametrize("error", [ValueError("a bug"), KeyboardInterrupt()])
def test_write_whole_keeps_the_old_file(error, tmp_path):
    """Also when the writer fails for a reason that is not the disk's; that reason is not hidden."""
    path = tmp_path / "file"
    write_whole(path, lambda part: part.write_text("old"))

    def writer(part):
        part.write_text("half")
        raise error

    with pytest.raises(type(error)):
        write_whole(path, writer)
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("file", "old")]
    write_whole(path, lambda part: part.write_text("new"))
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("file", "new")]

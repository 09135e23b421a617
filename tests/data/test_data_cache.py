"""The cache: verified on each use, repaired, locked, and clear about disks that refuse."""

import errno
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from data_tools import WHOLE, assert_tiny_mnist, fake_source, found, idx_files, left_in, own_room, put  # noqa: F401 (fixtures)

from tacl_lib.data import cache, load, loading
from tacl_lib.data.catalog import CATALOG
from tacl_lib.errors import TaclError

# the cache, whole and damaged


def test_a_second_load_reads_the_cache(fake, room):
    first, second = load("mnist"), load("mnist")
    assert_tiny_mnist(first)
    assert_tiny_mnist(second)
    assert len(fake.calls) == 1
    assert (second.source, second.verified, second.note) == ("fake source", "by hand", "tiny")
    assert left_in(room) == WHOLE


def cut(path):
    path.write_bytes(path.read_bytes()[:-100])


def emptied(path):
    path.write_bytes(b"")


def flipped(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def removed(path):
    path.unlink()


def record_is_noise(path):
    path.with_suffix(".json").write_text("{")


def record_is_a_list(path):
    path.with_suffix(".json").write_text("[]")


DAMAGES = [cut, emptied, flipped, removed, record_is_noise, record_is_a_list]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_damaged_cache_is_named_and_fetched_again(fake, room, damage):
    load("mnist")
    damage(room / "mnist.arrays")
    with pytest.warns(UserWarning, match=r"mnist\.arrays is damaged"):
        dataset = load("mnist")
    assert_tiny_mnist(dataset)
    assert len(fake.calls) == 2
    assert_tiny_mnist(load("mnist"))
    assert len(fake.calls) == 2


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_damaged_cache_without_a_source_is_removed_and_the_error_lists_what_was_tried(fake, room, damage):
    load("mnist")
    damage(room / "mnist.arrays")
    fake.fail.append(True)
    with (
        pytest.warns(UserWarning, match=r"mnist\.arrays is damaged"),
        pytest.raises(TaclError, match=r"(?s)MNIST is not available.*fake source: the fake source is down.*TACL_DATA"),
    ):
        load("mnist")
    assert left_in(room) == []


def test_arrays_without_a_record_were_never_finished(fake, room):
    load("mnist")
    (room / "mnist.json").unlink()
    assert_tiny_mnist(load("mnist"))
    assert len(fake.calls) == 2


def test_a_pickle_in_the_cache_is_not_run_even_if_its_checksum_fits(fake, room, tmp_path):
    load("mnist")
    np.save(tmp_path / "evil.npy", np.array([{}], object), allow_pickle=True)
    evil = (tmp_path / "evil.npy").read_bytes()
    (room / "mnist.arrays").write_bytes(evil)
    story = json.loads((room / "mnist.json").read_text()) | {"sha256": hashlib.sha256(evil).hexdigest()}
    (room / "mnist.json").write_text(json.dumps(story))
    with pytest.warns(UserWarning, match="damaged"):
        assert_tiny_mnist(load("mnist"))


def test_a_copy_whose_own_record_vouches_for_it_is_not_believed(fake, room):
    """Whoever can write the arrays can write the record as well."""
    load("mnist")
    other = replace(cache.read("mnist"), source="web", verified="md5 of the four files, as published")
    other.train_images[0, 0, 0] ^= 1
    with cache.writing("mnist") as slot:
        slot.write(other)
    assert cache.read("mnist") is None
    with pytest.warns(UserWarning, match="damaged"):
        assert_tiny_mnist(load("mnist"))
    assert len(fake.calls) == 2


def test_a_copy_that_the_kit_does_not_know_says_so(fake):
    """Of some forms nobody has published a digest."""
    assert load("fashion_mnist").verified == "by hand"
    assert load("fashion_mnist").verified == cache.UNKNOWN_COPY
    assert len(fake.calls) == 1


def test_a_known_copy_may_not_hide_what_is_to_be_noted(fake, monkeypatch):
    load("mnist")
    (digest,) = CATALOG["mnist"].pixels
    monkeypatch.setitem(CATALOG, "mnist", replace(CATALOG["mnist"], pixels={digest: "made again"}))
    assert cache.read("mnist") is None


@pytest.mark.parametrize("value", ["~nobody-is-called-so/cache", "x" * 300, "/proc/no/folder"])
def test_an_odd_cache_folder_is_one_sentence(fake, monkeypatch, value):
    monkeypatch.setenv("TACL_CACHE", value)
    with pytest.raises(TaclError, match="cache folder") as caught:
        load("mnist")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", ["~nobody-is-called-so/data", "x" * 300, "/proc/no/folder"])
def test_an_odd_data_folder_is_one_sentence(fake, monkeypatch, value):
    monkeypatch.setenv("TACL_DATA", value)
    with pytest.raises(TaclError, match=r"data folder .* named in TACL_DATA, does not exist") as caught:
        load("mnist")
    assert "\n" not in str(caught.value)


def test_a_record_nested_without_end_is_damage(fake, room):
    load("mnist")
    (room / "mnist.json").write_text("[" * 100_000)
    with pytest.warns(UserWarning, match="damaged"):
        assert_tiny_mnist(load("mnist"))


def test_a_cache_that_may_not_be_read_is_not_taken_for_damaged(fake, room):
    load("mnist")
    (room / "mnist.arrays").unlink()
    (room / "mnist.arrays").mkdir()  # opening it fails, even for root
    with pytest.raises(TaclError, match=r"cannot read .*mnist\.arrays.*TACL_CACHE"):
        load("mnist")


# folders that cannot be written to


def test_a_cache_below_a_file_says_so(fake, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TACL_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(TaclError, match=r"cannot write to the cache folder .*file/cache.*TACL_CACHE"):
        load("mnist")
    assert fake.calls == []


def test_a_cache_that_is_a_file_says_so(fake, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TACL_CACHE", str(tmp_path / "file"))
    with pytest.raises(TaclError, match=r"cannot write to the cache folder .*file .*TACL_CACHE"):
        load("mnist")


def failing(number, after=0):
    """A stand-in for write() whose disk gives up after some calls."""
    count = iter(range(10**9))

    def write(self, data):
        if next(count) >= after:
            raise OSError(number, os.strerror(number))
        self.hash.update(data)
        return self._file.write(data)

    return write


@pytest.mark.parametrize("after", [0, 1, 5])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EDQUOT])
def test_a_full_or_locked_disk_is_one_sentence_and_leaves_nothing(fake, room, monkeypatch, number, after):
    with monkeypatch.context() as patch:
        patch.setattr(cache._HashingFile, "write", failing(number, after))
        with pytest.raises(TaclError, match=os.strerror(number)) as caught:
            load("mnist")
    assert str(room) in str(caught.value)
    assert "TACL_CACHE" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert left_in(room) == []
    assert_tiny_mnist(load("mnist"))


def test_a_disk_that_fills_up_during_a_download_stops_the_search(room, monkeypatch):
    def full(part, progress):
        (part / "half").write_bytes(b"half of a file")
        raise OSError(errno.ENOSPC, "no space")

    asked = []
    monkeypatch.setattr(loading, "sources", lambda spec: [("full", full), ("next", lambda *_: asked.append(1))])
    with pytest.raises(TaclError, match="No space left"):
        load("mnist")
    assert left_in(room) == []
    assert asked == []


def test_a_broken_connection_only_moves_on_to_the_next_source(monkeypatch):
    def broken(part, progress):
        raise ConnectionResetError(errno.ECONNRESET, "reset by peer")

    monkeypatch.setattr(loading, "sources", lambda spec: [("first", broken), ("second", lambda *_: found())])
    assert load("mnist").source == "second"


def test_a_folder_serves_even_if_no_copy_can_be_kept(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TACL_CACHE", str(tmp_path / "file"))
    mine = put(tmp_path / "mine", idx_files())
    with pytest.warns(UserWarning, match="without a cached copy"):
        assert_tiny_mnist(load("mnist", folder=mine))


def test_a_filled_cache_needs_no_right_to_write(fake, monkeypatch):
    load("mnist")

    def refuse(*_, **__):
        raise OSError(errno.EROFS, "read-only")

    monkeypatch.setattr(Path, "mkdir", refuse)
    monkeypatch.setattr(cache, "FileLock", refuse)
    assert_tiny_mnist(load("mnist"))


# several processes

PREAMBLE = """
import sys, time
from pathlib import Path
sys.path.insert(0, {tests!r})
from data_tools import found
from tacl_lib.data import cache, load, loading
from dataclasses import replace
from tacl_lib.data.catalog import CATALOG
CATALOG["mnist"] = replace(CATALOG["mnist"], only_these=False)  # tiny images that the kit does not know
trace = Path({trace!r})
"""

COUNTING = """
def source(part, progress):
    with trace.open("a") as file:
        file.write("asked\\n")
    time.sleep(0.5)  # long enough for the other process to come to the lock
    return found()
loading.sources = lambda spec: [("fake", source)]
print(load("mnist").train_images.sum())
"""

STALLING = """
def stall(self, data, calls=[]):
    calls.append(1)
    self._file.write(data)
    self._file.flush()
    if len(calls) == 2:
        trace.write_text("in the middle")
        time.sleep(600)
loading.sources = lambda spec: [("fake", lambda part, progress: found())]
cache._HashingFile.write = stall
load("mnist")
"""


def start(body, trace):
    code = PREAMBLE.format(tests=str(Path(__file__).parents[1] / "helpers"), trace=str(trace)) + body
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)


def test_two_processes_at_once_end_with_one_copy_fetched_once(tmp_path, room):
    both = [start(COUNTING, tmp_path / "trace") for _ in range(2)]
    said = [process.communicate()[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert said[0] == said[1] == f"{found().train_images.sum()}\n"
    assert (tmp_path / "trace").read_text() == "asked\n"
    assert left_in(room) == WHOLE


@pytest.mark.skipif(os.name != "posix", reason="kill -9 is POSIX")
def test_a_writer_killed_in_the_middle_leaves_nothing_that_looks_whole(tmp_path, room, fake):
    process = start(STALLING, tmp_path / "trace")
    try:
        while not (tmp_path / "trace").exists():
            assert process.poll() is None, "the writer ended before it could be killed"
            time.sleep(0.02)
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert left_in(room) == ["mnist.part"]
    assert cache.read("mnist") is None
    assert_tiny_mnist(load("mnist"))
    assert len(fake.calls) == 1
    assert left_in(room) == WHOLE

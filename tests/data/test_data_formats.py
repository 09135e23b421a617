"""The readers of tacl_lib.data on small files made here, whole, broken and hostile; and the splits."""

import gzip
import io
import json
import os
import pickle
import tarfile
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image
from scipy.io import savemat

from tacl_lib.data import formats, splits
from tacl_lib.errors import TaclError

small_arrays = arrays(np.uint8, st.lists(st.integers(1, 5), min_size=1, max_size=3).map(tuple))


def idx_bytes(array):
    return bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes() + array.tobytes()


def tgz(path, members):
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


# idx


@given(small_arrays)
def test_idx_gives_back_what_was_written(array):
    np.testing.assert_array_equal(formats.read_idx(idx_bytes(array), "file"), array)


@given(small_arrays, st.data())
def test_an_idx_file_cut_anywhere_or_too_long_is_refused(array, data):
    whole = idx_bytes(array)
    cut = data.draw(st.integers(0, len(whole) - 1))
    for broken in (whole[:cut], whole + b"\0"):
        with pytest.raises(TaclError, match="train-images"):
            formats.read_idx(broken, "train-images")


@pytest.mark.parametrize(
    "header",
    [b"\x00\x00\x0d\x01", b"\x01\x00\x08\x01", b"\x00\x00\x08\x00"],
    ids=["floats", "magic", "no axis"],
)
def test_what_is_not_idx_of_bytes_is_refused(header):
    with pytest.raises(TaclError, match="not an idx file"):
        formats.read_idx(header + bytes(8), "file")


def test_a_hostile_idx_header_neither_overflows_nor_allocates():
    # 2^32 * 2^32 would be 0 in 64 bits, which an empty body would then seem to satisfy
    with pytest.raises(TaclError, match="should hold"):
        formats.read_idx(b"\x00\x00\x08\x04" + b"\x80\x00\x00\x00" * 4, "file")


def test_plain_and_gz_files_read_alike_and_a_cut_gz_is_named(tmp_path):
    plain, packed, cut = tmp_path / "a", tmp_path / "a.gz", tmp_path / "cut.gz"
    content = os.urandom(1000)
    plain.write_bytes(content)
    packed.write_bytes(gzip.compress(content))
    cut.write_bytes(gzip.compress(content)[:-20])
    assert formats.file_bytes(plain) == formats.file_bytes(packed) == content
    with pytest.raises(TaclError, match=r"cut\.gz cannot be read"):
        formats.file_bytes(cut)


# CIFAR-10's pickles


def batch_bytes(data, labels, old_names):
    content = pickle.dumps({b"data": data, b"labels": labels, b"batch_label": b"one of one"}, protocol=2)
    new, old = b"cnumpy._core.multiarray", b"cnumpy.core.multiarray"
    return content.replace(new, old) if old_names else content.replace(old, new)


@pytest.mark.parametrize("old_names", [True, False])
def test_cifar_batch_keeps_planes_rows_and_labels(old_names):
    images = np.random.default_rng(0).integers(0, 256, (3, 32, 32, 3), np.uint8)
    flat = images.transpose(0, 3, 1, 2).reshape(3, 3072)
    read, labels = formats.read_cifar_batch(batch_bytes(flat, [3, 0, 9], old_names), "data_batch_1")
    np.testing.assert_array_equal(read, images)
    assert labels.tolist() == [3, 0, 9]
    assert read.dtype == labels.dtype == np.uint8


class Hostile:
    def __init__(self, call, *arguments):
        self.call, self.arguments = call, arguments

    def __reduce__(self):
        return self.call, self.arguments


@pytest.mark.parametrize("call", [os.system, eval, os.mkdir, np.load, getattr], ids=lambda call: call.__name__)
@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_pickle_that_calls_anything_is_refused_and_not_run(tmp_path, call, protocol):
    trace = tmp_path / "trace"
    code = {os.system: f"touch {trace}", eval: f"open({str(trace)!r}, 'w')"}.get(call, str(trace))
    bad = pickle.dumps({b"data": Hostile(call, code), b"labels": [1]}, protocol=protocol)
    with pytest.raises(TaclError, match="which no dataset needs"):
        formats.read_cifar_batch(bad, "data_batch_1")
    assert not trace.exists()


def test_a_pickle_may_not_choose_another_codec():
    import codecs

    bad = pickle.dumps(Hostile(codecs.encode, "abc", "rot13"), protocol=2)
    with pytest.raises(TaclError, match="codec 'rot13' is not permitted"):
        formats.read_cifar_batch(bad, "batch")


@pytest.mark.parametrize(
    ("data", "labels"),
    [
        (np.zeros((2, 3071), np.uint8), [1, 2]),
        (np.zeros((2, 3072), np.float32), [1, 2]),
        (np.zeros((2, 3072), np.uint8), [1]),
        (np.zeros((2, 3072), np.uint8), [1, 256]),
        (np.zeros((1, 3072), np.uint8), [0.5]),
    ],
)
def test_a_pickle_of_other_arrays_is_refused(data, labels):
    with pytest.raises(TaclError, match="data_batch_1"):
        formats.read_cifar_batch(batch_bytes(data, labels, False), "data_batch_1")


@pytest.mark.parametrize(
    "bomb",
    [b"Nr" + b"\xff\xff\xff\x7f" + b".", b"\x80\x04\x8e" + (1 << 40).to_bytes(8, "little") + b"."],
    ids=["store far out", "bytes without end"],
)
def test_a_few_bytes_cannot_claim_gigabytes(bomb):
    with pytest.raises(TaclError, match=r"data_batch_1 cannot be read \((UnpicklingError|ValueError)"):
        formats.read_cifar_batch(bomb, "data_batch_1")


@given(st.binary(max_size=60))
def test_noise_is_never_a_batch(noise):
    with pytest.raises(TaclError, match="batch"):
        formats.read_cifar_batch(noise, "batch")


# sprites, label lists, MATLAB, npz


def png(pixels):
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG")
    return out.getvalue()


def test_a_sprite_holds_one_image_a_row():
    images = np.random.default_rng(1).integers(0, 256, (5, 32, 32, 3), np.uint8)
    np.testing.assert_array_equal(formats.read_sprite(png(images.reshape(5, 1024, 3)), "sprite"), images)


def test_sprites_of_another_width_and_cut_sprites_are_refused():
    with pytest.raises(TaclError, match="1024 pixels wide but is 1000"):
        formats.read_sprite(png(np.zeros((5, 1000, 3), np.uint8)), "sprite")
    whole = png(np.random.default_rng(1).integers(0, 256, (50, 1024, 3), np.uint8))
    with pytest.raises(TaclError, match="sprite cannot be read"):
        formats.read_sprite(whole[: len(whole) // 2], "sprite")


@pytest.mark.parametrize("text", ["{}", "[1, 2", "[1, 0.5]", '["1"]', "[true]", "[300]", "[-1]"])
def test_label_lists_hold_labels_only(text):
    assert formats.read_label_list(json.dumps([1, 2]).encode(), "labels").tolist() == [1, 2]
    with pytest.raises(TaclError, match="labels"):
        formats.read_label_list(text.encode(), "labels")


def test_mat_files_call_the_digit_zero_ten():
    images = np.random.default_rng(2).integers(0, 256, (4, 32, 32, 3), np.uint8)
    out = io.BytesIO()
    savemat(out, {"X": images.transpose(1, 2, 3, 0), "y": np.array([[10], [1], [9], [10]], np.uint8)})
    read, labels = formats.read_svhn_mat(out.getvalue(), "train_32x32.mat")
    np.testing.assert_array_equal(read, images)
    assert labels.tolist() == [0, 1, 9, 0]
    with pytest.raises(TaclError, match=r"train_32x32\.mat cannot be read"):
        formats.read_svhn_mat(out.getvalue()[:3000], "train_32x32.mat")


def test_npz_files_that_need_pickle_or_lack_an_array_are_refused(tmp_path):
    path = tmp_path / "letters.npz"
    np.savez(path, x=np.array([{}], object), y=np.arange(3))
    with pytest.raises(TaclError, match=r"letters\.npz cannot be read.*allow_pickle"):
        formats.read_npz(path, ["x"])
    with pytest.raises(TaclError, match="lacks z"):
        formats.read_npz(path, ["y", "z"])
    assert formats.read_npz(path, ["y"])[0].tolist() == [0, 1, 2]


# archives


def test_members_come_in_the_order_asked_for(tmp_path):
    path = tgz(tmp_path / "a.tgz", {"p/b": b"2", "p/other": b"3", "p/a": b"1"})
    assert formats.tar_members(path, ["p/a", "p/b"], progress=False) == [b"1", b"2"]


@pytest.mark.parametrize("name", ["../evil", "/tmp/evil_of_tacl", "p/../../evil"])
def test_no_path_in_an_archive_reaches_the_disk(tmp_path, monkeypatch, name):
    inner = tmp_path / "inner"
    inner.mkdir()
    monkeypatch.chdir(inner)
    path = tgz(inner / "a.tgz", {name: b"evil", "p/a": b"1"})
    before = sorted(tmp_path.rglob("*"))
    assert formats.tar_members(path, ["p/a"], progress=False) == [b"1"]
    with pytest.raises(TaclError, match="lacks evil"):
        formats.tar_members(path, ["evil"], progress=False)
    assert sorted(tmp_path.rglob("*")) == before
    assert not os.path.exists("/tmp/evil_of_tacl")


def test_links_in_an_archive_are_not_followed(tmp_path):
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        link = tarfile.TarInfo("p/a")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    with pytest.raises(TaclError, match="lacks p/a"):
        formats.tar_members(path, ["p/a"], progress=False)


def test_a_cut_archive_is_named(tmp_path):
    path = tgz(tmp_path / "a.tgz", {"p/a": os.urandom(50_000)})
    path.write_bytes(path.read_bytes()[:20_000])
    with pytest.raises(TaclError, match=r"a\.tgz cannot be read"):
        formats.tar_members(path, ["p/a"], progress=False)


# splits

few_pictures = arrays(
    np.uint8, st.tuples(st.integers(1, 12), st.just(1), st.just(2), st.just(1)), elements=st.integers(0, 2)
)


def as_set(images):
    return {picture.tobytes() for picture in images}


@given(few_pictures, few_pictures)
def test_no_test_image_is_in_train_and_none_is_lost(train, test):
    (kept_train, train_labels), (kept_test, test_labels), removed = splits.distinct(
        (train, np.arange(len(train))), (test, np.arange(len(test)))
    )
    assert not as_set(kept_train) & as_set(kept_test)
    assert as_set(kept_test) == as_set(test)
    assert as_set(kept_train) == as_set(train) - as_set(test)
    assert len(as_set(kept_train)) == len(kept_train)
    assert len(as_set(kept_test)) == len(kept_test)
    assert removed == len(train) + len(test) - len(kept_train) - len(kept_test)
    np.testing.assert_array_equal(train[train_labels], kept_train)  # labels went along
    np.testing.assert_array_equal(test[test_labels], kept_test)


@given(st.permutations(range(28)))
def test_the_split_by_content_does_not_depend_on_the_order(order):
    images = np.arange(28, dtype=np.uint8).reshape(28, 1, 1, 1)
    labels = np.arange(28)
    train, test = splits.by_content(images, labels)
    again_train, again_test = splits.by_content(images[order], labels[order])
    np.testing.assert_array_equal(train[1], again_train[1])
    np.testing.assert_array_equal(test[1], again_test[1])
    assert len(test[1]) == 4
    assert sorted([*train[1], *test[1]]) == list(range(28))
    np.testing.assert_array_equal(train[0].ravel(), train[1])


def test_every_seventh_image_is_a_test_image():
    train, test = splits.every_seventh(np.arange(70).reshape(70, 1, 1, 1), np.arange(70) % 10)
    assert test[0].ravel().tolist() == list(range(6, 70, 7))
    assert set(test[1]) == set(range(10))
    assert len(train[0]) == 60


# --- claims that no dataset makes ---


@pytest.fixture
def small(monkeypatch):
    """Limits that a test can reach."""
    monkeypatch.setattr(formats, "LARGEST", 1 << 16)
    return 1 << 16


def test_a_gzip_bomb_is_refused_before_it_is_unpacked(tmp_path, small):
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(bytes(1 << 26)))
    tracemalloc.start()
    with pytest.raises(TaclError, match=r"bomb\.gz holds more than"):
        formats.file_bytes(path)
    assert tracemalloc.get_traced_memory()[1] < 1 << 22
    tracemalloc.stop()


@pytest.mark.parametrize("wanted", [True, False])
def test_a_member_that_unpacks_to_more_than_a_dataset_is_refused(tmp_path, small, wanted):
    """Also when it only stands in the way of the one that is wanted."""
    path = tmp_path / "a.tgz"
    tgz(path, {"p/a" if wanted else "p/other": bytes(1 << 24), "p/z": b"x"})
    with pytest.raises(TaclError, match="holds more than"):
        formats.tar_members(path, ["p/a"], progress=False)


def npy(shape, content=b"\x01" * 8):
    header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + content


@pytest.mark.parametrize(
    ("shape", "words"), [("(1099511627776,)", "claims 1,099,511,627,776 values"), ("()", "a single number as y")]
)
def test_an_npz_that_claims_a_terabyte_or_holds_a_number_is_refused(tmp_path, shape, words):
    path = tmp_path / "odd.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", npy("(8,)"))
        archive.writestr("y.npy", npy(shape))
    with pytest.raises(TaclError, match=words):
        formats.read_npz(path, ("x", "y"))


def test_an_image_that_claims_to_be_huge_is_refused(small):
    with pytest.raises(TaclError, match="holds more than"):
        formats.read_sprite(png(np.zeros((64, 1024, 3), np.uint8)), "huge.png")


def test_a_list_nested_without_end_is_refused():
    with pytest.raises(TaclError, match="cannot be read"):
        formats.read_label_list(b"[" * 100_000, "labels")

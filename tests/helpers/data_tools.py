"""Shared by the tests of the data room: tiny stand-ins of the datasets, a cache of their own."""

import gzip
import hashlib
import io
import tarfile
from dataclasses import replace

import numpy as np
import pytest

from tacl_lib.data import Dataset, cache, loading
from tacl_lib.data.catalog import CATALOG, IDX_FILES
from tacl_lib.data.forms import Found
from tacl_lib.errors import TaclError

TRAIN, TEST = 30, 10


def idx_bytes(array):
    return bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes() + array.tobytes()


def pictures(seed, count, *shape):
    return np.random.default_rng(seed).integers(0, 256, (count, *shape), np.uint8)


def labels_of(count):
    return (np.arange(count) % 10).astype(np.uint8)


def idx_files(seed=0):
    """The four idx files of a tiny MNIST, by name."""
    arrays = (
        pictures(seed, TRAIN, 28, 28),
        labels_of(TRAIN),
        pictures(seed + 1, TEST, 28, 28),
        labels_of(TEST),
    )
    return {name: idx_bytes(array) for name, array in zip(IDX_FILES, arrays, strict=True)}


def put(folder, files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def packed(files):
    return {f"{name}.gz": gzip.compress(content) for name, content in files.items()}


def tgz_bytes(files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


@pytest.fixture(name="room", autouse=True)
def own_room(tmp_path, monkeypatch):
    """A cache of its own, no network, and tiny specs in place of the real ones. The cache's path."""
    place = tmp_path / "cache"
    monkeypatch.setenv("TACL_CACHE", str(place))
    monkeypatch.setenv("TACL_OFFLINE", "all")
    monkeypatch.delenv("TACL_DATA", raising=False)
    tiny = {"train": TRAIN, "test": TEST, "train_classes": (3,) * 10, "test_classes": (1,) * 10}
    tiny["torchvision"] = ""
    md5 = {name: hashlib.md5(content).hexdigest() for name, content in idx_files().items()}
    for name, spec in list(CATALOG.items()):
        own = {"md5": md5} if name == "mnist" else {"channel_means": (), "md5": {}, "only_these": False}
        own["pixels"] = {cache.pixels(Dataset(name, *found()[:4])): ""} if name == "mnist" else {}
        monkeypatch.setitem(CATALOG, name, replace(spec, **tiny, **own))
    monkeypatch.setattr(loading, "_own", {})
    return place


@pytest.fixture(name="fake")
def fake_source(monkeypatch):
    """One source that works, and the list of the calls to it."""
    calls = []

    def source(part, progress):
        calls.append(part)
        if calls_fail:
            raise TaclError("the fake source is down.")
        return found()

    calls_fail = []
    source.fail = calls_fail
    monkeypatch.setattr(loading, "sources", lambda spec: [("fake source", source)])
    source.calls = calls
    return source


def found():
    return Found(
        pictures(0, TRAIN, 28, 28, 1),
        labels_of(TRAIN),
        pictures(1, TEST, 28, 28, 1),
        labels_of(TEST),
        "by hand",
        "tiny",
    )


def assert_tiny_mnist(dataset):
    np.testing.assert_array_equal(dataset.train_images[..., 0], pictures(0, TRAIN, 28, 28))
    np.testing.assert_array_equal(dataset.test_images[..., 0], pictures(1, TEST, 28, 28))
    assert dataset.train_labels.tolist() == labels_of(TRAIN).tolist()
    assert dataset.test_labels.dtype == np.int64
    assert dataset.train_images.flags.writeable


def left_in(folder):
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".lock") if folder.is_dir() else []


WHOLE = ["mnist.arrays", "mnist.json"]

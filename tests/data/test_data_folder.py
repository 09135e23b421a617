"""Datasets in a folder of the user, in each usual form; own datasets, digits, the command."""

import hashlib
import io
import json
import os
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from data_tools import (  # noqa: F401 (fixtures)
    TEST,
    TRAIN,
    WHOLE,
    assert_tiny_mnist,
    fake_source,
    found,
    idx_bytes,
    idx_files,
    labels_of,
    left_in,
    own_room,
    packed,
    pictures,
    put,
    tgz_bytes,
)
from PIL import Image

from tacl_lib.data import Dataset, available, command, embedded, load, loading, register_dataset
from tacl_lib.data.catalog import CATALOG, CIFAR_BATCHES, IDX_FILES
from tacl_lib.data.forms import SPRITES
from tacl_lib.errors import TaclError

# the user's folder


@pytest.mark.parametrize("below", [".", "MNIST/raw", "mnist", "raw"])
@pytest.mark.parametrize("compress", [True, False])
def test_idx_files_are_found_in_the_usual_places(tmp_path, below, compress):
    files = packed(idx_files()) if compress else idx_files()
    where = put(tmp_path / "mine" / below, files)
    dataset = load("mnist", folder=tmp_path / "mine")
    assert_tiny_mnist(dataset)
    assert dataset.source == f"folder {where}"
    assert "md5" in dataset.verified


def test_tacl_data_points_at_a_folder_too_and_a_copy_is_kept(tmp_path, monkeypatch, room):
    put(tmp_path / "mine", {name.replace("-idx", ".idx"): content for name, content in idx_files().items()})
    monkeypatch.setenv("TACL_DATA", str(tmp_path / "mine"))
    assert_tiny_mnist(load("mnist"))
    monkeypatch.delenv("TACL_DATA")
    again = load("mnist")
    assert_tiny_mnist(again)
    assert str(tmp_path / "mine") in again.source
    assert left_in(room) == WHOLE


def test_the_copy_serves_only_while_the_files_are_the_same(tmp_path, monkeypatch):
    mine = put(tmp_path / "mine", {"svhn.npz": b""})
    arrays = {"train_y": labels_of(TRAIN), "test_y": labels_of(TEST), "test_x": pictures(1, TEST, 32, 32, 3)}
    np.savez(mine / "svhn.npz", train_x=pictures(0, TRAIN, 32, 32, 3), **arrays)
    first = load("svhn", folder=mine)
    with monkeypatch.context() as patch:
        patch.setattr(loading.forms.formats, "read_npz", None)  # would fail if the file were read again
        np.testing.assert_array_equal(load("svhn", folder=mine).train_images, first.train_images)
    np.savez(mine / "svhn.npz", train_x=pictures(7, TRAIN, 32, 32, 3), **arrays)
    os.utime(mine / "svhn.npz", ns=(1, 1))
    np.testing.assert_array_equal(load("svhn", folder=mine).train_images, pictures(7, TRAIN, 32, 32, 3))
    assert "resampling may differ" in first.note


def test_wrong_files_in_the_folder_are_named_and_the_next_source_serves(tmp_path, fake):
    files = idx_files() | {IDX_FILES[0]: idx_files(5)[IDX_FILES[0]]}
    mine = put(tmp_path / "mine", files)
    with pytest.warns(UserWarning, match=r"not taken from .*mine.*train-images.*md5"):
        dataset = load("mnist", folder=mine)
    assert dataset.source == "fake source"
    assert (mine / IDX_FILES[0]).exists()


def test_a_folder_that_is_not_there_is_an_error(tmp_path, monkeypatch, fake):
    with pytest.raises(TaclError, match="nowhere, given as folder, does not exist"):
        load("mnist", folder=tmp_path / "nowhere")
    monkeypatch.setenv("TACL_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(TaclError, match="named in TACL_DATA"):
        load("mnist")


@pytest.mark.parametrize("form", ["batches", "tar", "sprites"])
def test_cifar_in_its_three_forms(tmp_path, monkeypatch, form):
    images, labels = pictures(3, TRAIN + TEST, 32, 32, 3), labels_of(TRAIN + TEST)
    parts = np.split(np.arange(TRAIN + TEST), [6, 12, 18, 24, 30])
    if form == "sprites":
        files = {}
        for name, part in zip(SPRITES, parts, strict=False):
            out = io.BytesIO()
            Image.fromarray(images[part].reshape(-1, 1024, 3)).save(out, "PNG")
            files[f"package/{name}"] = out.getvalue()
        files["package/train_lables.json"] = json.dumps(labels[:TRAIN].tolist()).encode()
        files["package/test_lables.json"] = json.dumps(labels[TRAIN:].tolist()).encode()
        archive = tgz_bytes(files)
        package = replace(CATALOG["cifar10"].package, sha256=hashlib.sha256(archive).hexdigest())
        monkeypatch.setitem(CATALOG, "cifar10", replace(CATALOG["cifar10"], package=package))
        put(tmp_path / "mine", {package.file: archive})
    else:
        planes = images.transpose(0, 3, 1, 2).reshape(-1, 3072)
        files = {
            f"cifar-10-batches-py/{name}": pickle.dumps({b"data": planes[part], b"labels": labels[part].tolist()}, 2)
            for name, part in zip(CIFAR_BATCHES, parts, strict=True)
        }
        if form == "tar":
            put(tmp_path / "mine", {"cifar-10-python.tar.gz": tgz_bytes(files)})
        else:
            put(
                tmp_path / "mine" / "cifar-10-batches-py",
                {Path(name).name: data for name, data in files.items()},
            )
    means = tuple(images[:TRAIN].astype(float).mean(axis=(0, 1, 2)))
    monkeypatch.setitem(CATALOG, "cifar10", replace(CATALOG["cifar10"], channel_means=means))
    dataset = load("cifar10", folder=tmp_path / "mine")
    np.testing.assert_array_equal(dataset.train_images, images[:TRAIN])
    np.testing.assert_array_equal(dataset.test_images, images[TRAIN:])
    assert dataset.test_labels.tolist() == labels[TRAIN:].tolist()


def test_cifar_with_other_channel_means_is_refused(tmp_path, monkeypatch):
    images = pictures(3, TRAIN + TEST, 3072)
    parts = np.split(np.arange(TRAIN + TEST), [6, 12, 18, 24, 30])
    batches = {
        name: pickle.dumps({b"data": images[part], b"labels": [int(i) % 10 for i in part]}, 2)
        for name, part in zip(CIFAR_BATCHES, parts, strict=True)
    }
    put(tmp_path / "mine", batches)
    monkeypatch.setitem(CATALOG, "cifar10", replace(CATALOG["cifar10"], channel_means=(1.0, 2.0, 3.0)))
    with pytest.warns(UserWarning, match="channel means"), pytest.raises(TaclError, match="channel means"):
        load("cifar10", folder=tmp_path / "mine")


# notMNIST


def test_letters_in_idx_form_lose_their_duplicates_from_train_first(tmp_path):
    train, test = pictures(0, TRAIN, 28, 28), pictures(1, TEST, 28, 28)
    train[4], train[5], test[1] = test[0], train[3], test[0]
    arrays = train, labels_of(TRAIN), test, labels_of(TEST)
    put(tmp_path / "notMNIST", {n: idx_bytes(a) for n, a in zip(IDX_FILES, arrays, strict=True)})
    dataset = load("notmnist", folder=tmp_path)
    assert (len(dataset.train_images), len(dataset.test_images)) == (TRAIN - 2, TEST - 1)
    assert dataset.train_labels.tolist() == [i % 10 for i in range(TRAIN) if i not in (4, 5)]
    assert "3 exact duplicates" in dataset.note


def test_letters_that_are_really_digits_are_refused(tmp_path):
    put(tmp_path / "mine", idx_files())
    with pytest.warns(UserWarning, match="is MNIST's, not notMNIST's"), pytest.raises(TaclError):
        load("notmnist", folder=tmp_path / "mine")


def test_the_small_letters_come_last(tmp_path, fake):
    mine = tmp_path / "mine"
    mine.mkdir()
    images = np.concatenate([pictures(2, 70, 28, 28), pictures(2, 7, 28, 28)])
    np.savez(mine / "notmnist_small.npz", x=images, y=labels_of(77))
    fake.fail.append(True)
    small = load("notmnist", folder=mine)
    assert (len(small.train_images), len(small.test_images)) == (60, 10)
    assert "7 exact duplicates" in small.note
    assert len(fake.calls) == 1  # the better source was asked first
    whole = np.concatenate([small.train_images, small.test_images])
    assert len({picture.tobytes() for picture in whole}) == 70
    load("notmnist", folder=mine)
    assert len(fake.calls) == 1  # the copy in the cache serves: no network at each load


# names, own datasets, digits


def own(**changes):
    parts = {
        "train_images": pictures(0, 8, 5, 6, 3),
        "train_labels": np.arange(8),
        "test_images": pictures(1, 2, 5, 6, 3),
        "test_labels": np.array([9, 0], np.uint8),
    }
    return Dataset("whatever", **(parts | changes))


def test_a_dataset_of_ones_own():
    register_dataset("shapes", own)
    dataset = load("shapes")
    assert dataset.name == "shapes"
    assert dataset.test_labels.dtype == np.int64
    assert "shapes" in available()


def test_a_dataset_of_ones_own_may_have_any_number_of_classes():
    register_dataset("shapes", lambda: own(train_labels=np.arange(8) + 30))
    assert load("shapes").train_labels.max() == 37


@pytest.mark.parametrize(
    "changes",
    [
        {"train_images": pictures(0, 8, 5, 6, 3).astype(np.float32)},
        {"train_images": pictures(0, 8, 5, 6)},
        {"train_images": pictures(0, 8, 5, 6, 2)},
        {"train_images": pictures(0, 8, 6, 5, 3)},
        {"train_labels": np.arange(7)},
        {"train_labels": np.arange(8) - 1},
        {"train_labels": np.arange(8) / 2},
        {"test_images": pictures(1, 0, 5, 6, 3), "test_labels": np.arange(0)},
    ],
)
def test_a_bad_dataset_of_ones_own_is_refused(changes):
    register_dataset("shapes", lambda: own(**changes))
    with pytest.raises(TaclError, match="shapes"):
        load("shapes")


def test_a_loader_must_return_a_dataset_and_take_a_free_name():
    register_dataset("shapes", dict)
    with pytest.raises(TaclError, match="must return a Dataset, not dict"):
        load("shapes")
    for name in ("mnist", "digits"):
        with pytest.raises(TaclError, match="under another name"):
            register_dataset(name, own)


def test_unknown_names_get_the_list():
    with pytest.raises(TaclError, match=r"unknown dataset 'mnits'; choose one of: mnist, .*digits"):
        load("mnits")


@pytest.mark.parametrize("table_is_there", [True, False])
def test_digits_need_nothing_and_keep_their_levels(room, monkeypatch, table_is_there):
    from sklearn.datasets import load_digits

    if not table_is_there:  # as if a later scikit-learn kept its table elsewhere
        monkeypatch.setattr(embedded, "find_spec", lambda name: None)
    dataset = load("digits")
    assert dataset.train_images.shape == (1541, 8, 8, 1)
    assert dataset.test_images.shape == (256, 8, 8, 1)
    assert set(dataset.test_labels) == set(range(10))
    assert not room.exists()
    levels = np.unique(dataset.train_images)
    assert levels.tolist() == [int(level * 255 / 16 + 0.5) for level in range(17)]
    theirs = load_digits()
    np.testing.assert_array_equal(np.rint(dataset.test_images[..., 0] * (16 / 255)), theirs.images[6::7])
    np.testing.assert_array_equal(dataset.test_labels, theirs.target[6::7])


def test_other_digits_are_refused(monkeypatch):
    monkeypatch.setattr(embedded, "_rows", lambda: np.zeros((1797, 65), np.uint8))
    with pytest.raises(TaclError, match="reinstall scikit-learn"):
        load("digits")


# the command


def test_the_command_goes_past_failures_and_tells_them(capsys, tmp_path):
    put(tmp_path / "mine", idx_files())
    assert command.main(["--folder", str(tmp_path / "mine")]) == 0
    out, err = capsys.readouterr()
    rows = {line.split(" | ")[0].strip(): line for line in out.splitlines() if " | " in line}
    assert set(rows) >= {"mnist", "fashion_mnist", "notmnist", "cifar10", "svhn", "digits"}
    assert "30 + 10" in rows["mnist"]
    assert "md5" in rows["mnist"]
    assert "not found" in rows["svhn"]
    assert "holds no files of SVHN" in out
    assert "warning: notMNIST was not taken from" in err
    assert command.main(["svhn"]) == 1


def test_the_command_fails_without_digits(monkeypatch, capsys):
    def broken():
        raise TaclError("no scikit-learn.")

    monkeypatch.setattr(loading, "digits", broken)
    assert command.main([]) == 1
    assert "no scikit-learn" in capsys.readouterr().out

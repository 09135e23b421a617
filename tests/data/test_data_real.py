"""The real datasets, from wherever they are available, against what their publishers say of them."""

import hashlib
import os

import numpy as np
import pytest

from tacl_lib.data import load
from tacl_lib.data.catalog import CATALOG, CIFAR_BATCHES, IDX_FILES
from tacl_lib.errors import TaclError


def idx_md5(array):
    """The md5 of the idx file that these images or labels came from, built anew."""
    plain = array[..., 0] if array.ndim == 4 else array.astype(np.uint8)
    header = bytes([0, 0, 8, plain.ndim]) + np.array(plain.shape, ">u4").tobytes()
    return hashlib.md5(header + plain.tobytes()).hexdigest()


MNIST = [
    "6bbc9ace898e44ae57da46a324031adb",
    "a25bea736e30d166cdddb491f175f624",
    "2646ac647ad5339dbf082846283269ea",
    "27ae3e4e09519cfbb04c329615203637",
]
FASHION = [
    "f4a8712d7a061bf5bd6d2ca38dc4d50a",
    "9018921c3c673c538a1fc5bad174d6f9",
    "8181f5470baa50b63fa0f6fddb340f0a",
    "15d484375f8d13e6eb1aabb0c3f46965",
]


@pytest.mark.network
@pytest.mark.parametrize("name", ["mnist", "fashion_mnist", "notmnist", "cifar10", "svhn"])
def test_all_five_datasets_load(name):
    """Where they are available; with TACL_REQUIRE_DATA=1 one that is not is a failure."""
    try:
        dataset = load(name, progress=False)
    except TaclError as error:
        if os.environ.get("TACL_REQUIRE_DATA") == "1":
            raise
        pytest.skip(str(error))
    arrays = dataset.train_images, dataset.train_labels, dataset.test_images, dataset.test_labels
    counts = len(arrays[1]), len(arrays[3])
    assert dataset.train_images.shape[1:] == CATALOG[name].shape
    assert set(dataset.train_labels) == set(dataset.test_labels) == set(range(10))
    if name in ("mnist", "fashion_mnist"):
        assert [idx_md5(array) for array in arrays] == (MNIST if name == "mnist" else FASHION)
    elif name == "cifar10":
        assert counts == (50_000, 10_000)
        means = [dataset.train_images[..., channel].mean(dtype=np.float64) for channel in range(3)]
        assert means == pytest.approx([125.306918046875, 122.950394140625, 113.86538318359375], abs=1e-9)
        assert np.bincount(dataset.test_labels).tolist() == [1000] * 10
    elif name == "svhn":
        assert counts == (73_257, 26_032)
        assert np.bincount(dataset.train_labels)[1] == 13_861
    else:
        in_test = {picture.tobytes() for picture in dataset.test_images}
        in_train = {picture.tobytes() for picture in dataset.train_images}
        assert not in_test & in_train
        assert (len(in_train), len(in_test)) == counts
        small = "small set" in dataset.note
        assert counts == (15_628, 2_604) if small else 60_000 >= counts[0] > 50_000
        assert "duplicates removed" in dataset.note


def test_torchvision_says_where_datasets_are_and_what_their_files_are():
    """The catalog asks it: here are one address and one checksum of each kind, and the mirrors that we add."""
    of = {name: spec.addresses() for name, spec in CATALOG.items()}
    assert of["mnist"][0][3] == "https://ossci-datasets.s3.amazonaws.com/mnist/t10k-labels-idx1-ubyte.gz"
    assert of["mnist"][-1][0] == "https://storage.googleapis.com/cvdf-datasets/mnist/train-images-idx3-ubyte.gz"
    assert of["fashion_mnist"][0][0].startswith("http://fashion-mnist.s3-website.")
    assert of["cifar10"] == [("https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",)]
    assert [url.rsplit("/", 1)[1] for url in of["svhn"][0]] == ["train_32x32.mat", "test_32x32.mat"]
    assert len(of["notmnist"]) == 2
    assert all(len(urls) == len(IDX_FILES) for name in ("mnist", "fashion_mnist", "notmnist") for urls in of[name])
    assert set(CIFAR_BATCHES) <= set(CATALOG["cifar10"].checksums())
    assert CATALOG["cifar10"].checksums()["test_batch"] == "40351d587109b95175f43aff81a1287e"
    assert CATALOG["svhn"].checksums()["train_32x32.mat"] == "e26dedcc434d2e4c54c9b2d4a06d8373"
    assert set(CATALOG["mnist"].checksums()) == set(IDX_FILES)
    assert CATALOG["notmnist"].checksums() == {}

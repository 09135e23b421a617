"""The checks that files must pass before they count as a dataset: published checksums, counts, means."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tacl_lib.data.catalog import CATALOG, DatasetInfo
from tacl_lib.data.formats import reading
from tacl_lib.errors import TaclError


def md5(info: DatasetInfo, name: str, content: bytes, where: Path) -> None:
    """Check that the md5 of an uncompressed file is the published one."""
    digest = hashlib.md5(content, usedforsecurity=False).hexdigest()
    published = info.checksums()
    if published and digest != published[name]:
        raise TaclError(f"{name} of {where} is not {info.title}'s: its md5 is {digest}, not {published[name]}.")
    # A dataset without published checksums must at least not hold a look-alike's images.
    for other in CATALOG.values():
        if not published and "images" in name and digest == other.md5.get(name):
            raise TaclError(f"{name} of {where} is {other.title}'s, not {info.title}'s.")


def archive(info: DatasetInfo, path: Path) -> None:
    """Check that the sha256 of a package's archive is the recorded one."""
    with reading(path), path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != info.package.sha256:
        raise TaclError(f"{path} is not the published package: its sha256 is {digest}.")


def counts(info: DatasetInfo, train: Sequence, test: Sequence, where: Path) -> None:
    """Check shapes, label range and, where it is known, how many images each class has."""
    expected = ((train, info.train, info.train_classes), (test, info.test, info.test_classes))
    for (images, labels), count, classes in expected:
        if images.shape != (count, *info.shape) or labels.shape != (count,):
            raise TaclError(
                f"{where} should hold {count:,} images {info.shape} with labels; it holds {images.shape}, "
                f"{labels.shape}."
            )
        if images.dtype != np.uint8 or labels.dtype.kind not in "iu" or labels.min() < 0 or labels.max() > 9:
            raise TaclError(f"{where} should hold uint8 images with labels 0..9.")
        if classes and tuple(np.bincount(labels, minlength=10)) != classes:
            raise TaclError(f"{where} does not hold as many images of each class as {info.title} has.")


def means(info: DatasetInfo, images: np.ndarray, where: Path) -> None:
    """Check the mean of each colour over the training images `[N, H, W, C]`, an exact sum of integers."""
    if not info.channel_means:
        return
    found = images.sum(axis=(0, 1, 2), dtype=np.int64) / (images.size // images.shape[-1])
    if not np.allclose(found, info.channel_means, rtol=0, atol=1e-9):
        raise TaclError(f"{where} is not {info.title}: its channel means are {found.tolist()}.")

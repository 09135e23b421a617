"""What files must satisfy before they count as a dataset: published checksums, counts, means."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tacl_lib.data.catalog import CATALOG, Spec
from tacl_lib.data.formats import reading
from tacl_lib.errors import TaclError


def md5(spec: Spec, name: str, content: bytes, where: Path) -> None:
    """The md5 of one uncompressed file is the published one."""
    digest = hashlib.md5(content, usedforsecurity=False).hexdigest()
    published = spec.checksums()
    if published and digest != published[name]:
        raise TaclError(f"{name} of {where} is not {spec.title}'s: its md5 is {digest}, not {published[name]}.")
    # without a checksum of its own, a dataset must at least not show the images of a look-alike
    for other in CATALOG.values():
        if not published and "images" in name and digest == other.md5.get(name):
            raise TaclError(f"{name} of {where} is {other.title}'s, not {spec.title}'s.")


def archive(spec: Spec, path: Path) -> None:
    """The sha256 of a package's archive is the recorded one."""
    with reading(path), path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != spec.package.sha256:
        raise TaclError(f"{path} is not the published package: its sha256 is {digest}.")


def counts(spec: Spec, train: Sequence, test: Sequence, where: Path) -> None:
    """Shapes, label range and, where they are known, the images of each class."""
    expected = ((train, spec.train, spec.train_classes), (test, spec.test, spec.test_classes))
    for (images, labels), count, classes in expected:
        if images.shape != (count, *spec.shape) or labels.shape != (count,):
            raise TaclError(
                f"{where} should hold {count:,} images {spec.shape} with labels; it holds {images.shape}, "
                f"{labels.shape}."
            )
        if images.dtype != np.uint8 or labels.dtype.kind not in "iu" or labels.min() < 0 or labels.max() > 9:
            raise TaclError(f"{where} should hold uint8 images with labels 0..9.")
        if classes and tuple(np.bincount(labels, minlength=10)) != classes:
            raise TaclError(f"{where} does not hold as many images of each class as {spec.title} has.")


def means(spec: Spec, images: np.ndarray, where: Path) -> None:
    """The mean of each colour over the training images `[N, H, W, C]`, an exact sum of integers."""
    if not spec.channel_means:
        return
    found = images.sum(axis=(0, 1, 2), dtype=np.int64) / (images.size // images.shape[-1])
    if not np.allclose(found, spec.channel_means, rtol=0, atol=1e-9):
        raise TaclError(f"{where} is not {spec.title}: its channel means are {found.tolist()}.")

"""Training and test parts for data that have none, and the removal of duplicate images."""

import hashlib

import numpy as np

Part = tuple[np.ndarray, np.ndarray]  # images [N, H, W, C], labels [N]


def first_of_each(images: np.ndarray) -> np.ndarray:
    """Ascending indices of the first copy of each distinct image. Labels do not matter: an image with two labels keeps
    the first, because it must not be in both parts."""
    seen: dict[bytes, int] = {}
    for index, image in enumerate(images):
        seen.setdefault(_digest(image), index)
    return np.fromiter(seen.values(), np.int64)


def distinct(train: Part, test: Part) -> tuple[Part, Part, int]:
    """Both parts without exact duplicates, and how many were removed.

    An image in both parts stays in the test part: the test set nearly keeps its published size, and nothing in the
    training part gives an answer away.
    """
    kept = first_of_each(np.concatenate([test[0], train[0]]))
    in_test = kept[kept < len(test[0])]
    in_train = kept[kept >= len(test[0])] - len(test[0])
    removed = len(test[0]) + len(train[0]) - len(kept)
    return (train[0][in_train], train[1][in_train]), (test[0][in_test], test[1][in_test]), removed


def by_content(images: np.ndarray, labels: np.ndarray, share: int = 7) -> tuple[Part, Part]:
    """Training and test part: ordered by the SHA-256 of their pixels, the first 1/`share` of the images is for testing.

    As good as a shuffle; but unlike a seeded one, it depends neither on the order of the file nor on NumPy's version.
    """
    order = np.array(sorted(range(len(images)), key=lambda index: _digest(images[index])), np.int64)
    test, train = np.split(order, [len(order) // share])
    return (images[train], labels[train]), (images[test], labels[test])


def every_seventh(images: np.ndarray, labels: np.ndarray) -> tuple[Part, Part]:
    """Training and test part: images 6, 13, 20, … are for testing. Seven and ten have no common factor, so that labels
    that cycle through 0..9 are all tested."""
    test = np.arange(len(images)) % 7 == 6
    return (images[~test], labels[~test]), (images[test], labels[test])


def _digest(image: np.ndarray) -> bytes:
    return hashlib.sha256(image.tobytes()).digest()

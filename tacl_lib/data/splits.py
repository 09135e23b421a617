"""Train and test parts for data that have none, and the removal of duplicate images."""

import hashlib

import numpy as np

Part = tuple[np.ndarray, np.ndarray]  # images [N, H, W, C], labels [N]


def first_of_each(images: np.ndarray) -> np.ndarray:
    """Ascending indices of the first copy of each distinct image. Labels do not count: an image that
    stands under two letters stays under the first, since it must not be in both train and test."""
    seen: dict[bytes, int] = {}
    for index, image in enumerate(images):
        seen.setdefault(_digest(image), index)
    return np.fromiter(seen.values(), np.int64)


def distinct(train: Part, test: Part) -> tuple[Part, Part, int]:
    """Both parts without exact duplicates, and how many went.

    An image in both parts stays in the test part, so that the test set keeps nearly its published size
    and the training part loses what would have given the answer away.
    """
    kept = first_of_each(np.concatenate([test[0], train[0]]))
    in_test = kept[kept < len(test[0])]
    in_train = kept[kept >= len(test[0])] - len(test[0])
    removed = len(test[0]) + len(train[0]) - len(kept)
    return (train[0][in_train], train[1][in_train]), (test[0][in_test], test[1][in_test]), removed


def by_content(images: np.ndarray, labels: np.ndarray, share: int = 7) -> tuple[Part, Part]:
    """Train and test: in the order of the SHA-256 of their pixels, the first 1/`share` is the test part.

    As good as a shuffle, and unlike a seeded one it depends neither on the order of the file nor on the
    version of NumPy.
    """
    order = np.array(sorted(range(len(images)), key=lambda index: _digest(images[index])), np.int64)
    test, train = np.split(order, [len(order) // share])
    return (images[train], labels[train]), (images[test], labels[test])


def every_seventh(images: np.ndarray, labels: np.ndarray) -> tuple[Part, Part]:
    """Train and test: images 6, 13, 20, … are the test part. Seven shares no factor with ten, so that
    labels which run 0..9 again and again all come to the test part."""
    test = np.arange(len(images)) % 7 == 6
    return (images[~test], labels[~test]), (images[test], labels[test])


def _digest(image: np.ndarray) -> bytes:
    return hashlib.sha256(image.tobytes()).digest()

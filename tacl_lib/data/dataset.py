"""A loaded dataset, and the check that every dataset passes."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tacl_lib.errors import TaclError

CLASSES = 10
#: How the note begins if the images are another set than the published one, not just another copy of it.
ANOTHER_SET = "the small set instead of"


@dataclass(frozen=True, eq=False)
class Dataset:
    """Images and labels in memory, and where they came from.

    Images are uint8 `[N, H, W, C]` with C = 1 or 3; labels are int64 `[N]`, counted from 0 (0..9 in the kit's own).
    """

    name: str
    train_images: np.ndarray
    train_labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray
    source: str = "made in memory"
    verified: str = "shapes, types and label range"
    note: str = ""


Loader = Callable[[], Dataset]


def checked(dataset: Dataset, name: str, classes: int | None = CLASSES) -> Dataset:
    """The same dataset under `name`, with writable arrays and int64 labels; or a TaclError.

    classes: labels must be lower; None allows any number of classes, for a user's own data.
    """
    if not isinstance(dataset, Dataset):
        raise TaclError(f"the loader of {name!r} must return a Dataset, not {type(dataset).__name__}.")
    arrays = {}
    for part in ("train", "test"):
        images = np.asarray(getattr(dataset, f"{part}_images"))
        target = np.asarray(getattr(dataset, f"{part}_labels"))
        if images.dtype != np.uint8 or images.ndim != 4 or images.shape[3] not in (1, 3):
            raise TaclError(
                f"{name}: {part}_images must be uint8 [N, H, W, 1 or 3], not {images.dtype} {images.shape}."
            )
        if target.dtype.kind not in "iu" or target.shape != images.shape[:1]:
            raise TaclError(f"{name}: {part}_labels must be {len(images)} integers, not {target.dtype} {target.shape}.")
        if not len(target) or target.min() < 0 or (classes is not None and target.max() >= classes):
            valid = "from 0 on" if classes is None else f"in 0..{classes - 1}"
            raise TaclError(f"{name}: {part}_labels must hold at least one label, all {valid}.")
        # Files that are read in place give read-only arrays, about which PyTorch would complain.
        arrays[f"{part}_images"] = np.require(images, requirements=["C", "W"])
        arrays[f"{part}_labels"] = target.astype(np.int64)
    if arrays["train_images"].shape[1:] != arrays["test_images"].shape[1:]:
        raise TaclError(f"{name}: training and test images differ in height, width or channels.")
    return replace(dataset, name=name, **arrays)

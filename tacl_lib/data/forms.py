"""The forms in which a folder may hold a dataset: how each is found, read and verified."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tacl_lib.data import checks, formats, splits
from tacl_lib.data.catalog import CIFAR_BATCHES, IDX_FILES, DatasetInfo
from tacl_lib.data.dataset import ANOTHER_SET
from tacl_lib.errors import TaclError

SPRITES = (*(f"{name}.png" for name in CIFAR_BATCHES), "train_lables.json", "test_lables.json")  # spelt so
# Notes are stored with runs and cached copies: new wording would look like another dataset.
REMADE_CROPS = (
    "crops made again from the full images: labels and counts are right, resampling may differ by a few grey levels"
)


class Found(NamedTuple):
    """Verified images uint8 `[N, H, W, C]` and labels `[N]`, how they were verified, and any caveat."""

    train_images: np.ndarray
    train_labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray
    verified: str
    note: str = ""


class Form(NamedTuple):
    """`find(info, folder)` lists the files, or none; `read(info, files, progress)` returns what they hold."""

    find: Callable[[DatasetInfo, Path], list[Path]]
    read: Callable[[DatasetInfo, list[Path], bool], Found]


def in_folder(info: DatasetInfo, folder: Path, forms: Sequence[str] = ()) -> list[tuple[Form, list[Path]]]:
    """Every form of the dataset in the folder, or in a subfolder named after it, best first."""
    names = forms or info.forms
    roots = [*_own_subfolders(info, folder), folder, folder / "raw"]
    choices = ((FORMS[name], FORMS[name].find(info, root)) for root in roots for name in names)
    return [(form, files) for form, files in choices if files]


def _own_subfolders(info: DatasetInfo, folder: Path) -> list[Path]:
    with formats.reading(folder):
        inside = sorted(folder.iterdir())
    plain = {path: path.name.lower().replace("-", "").replace("_", "") for path in inside}
    own = [path for path, name in plain.items() if name in info.aliases and path.is_dir()]
    return [root for path in own for root in (path, path / "raw")]


def _read_each(
    info: DatasetInfo, names: Sequence[str], contents: list[bytes], read: Callable[[bytes, object], Any], where: Path
) -> list:
    """What each file holds, once its md5 has been checked."""
    arrays = []
    for name, content in zip(names, contents, strict=True):
        checks.md5(info, name, content, where)
        arrays.append(read(content, f"{name} of {where}"))
    return arrays


# idx: MNIST and its look-alikes


def _find_idx(info: DatasetInfo, root: Path) -> list[Path]:
    files = []
    for name in IDX_FILES:
        dotted = name.replace("-idx", ".idx")  # as some mirrors spell it
        choices = [root / spelling for spelling in (name, f"{name}.gz", dotted, f"{dotted}.gz")]
        files += [path for path in choices if path.is_file()][:1]
    return files if len(files) == len(IDX_FILES) else []


def _read_idx(info: DatasetInfo, files: list[Path], progress: bool) -> Found:
    return _idx(info, [formats.file_bytes(path) for path in files], files[0].parent)


def _read_idx_tgz(info: DatasetInfo, files: list[Path], progress: bool) -> Found:
    checks.archive(info, files[0])
    members = [f"{info.package.inside}/{name}" for name in IDX_FILES]
    return _idx(info, formats.tar_members(files[0], members, progress), files[0])


def _idx(info: DatasetInfo, contents: list[bytes], where: Path) -> Found:
    arrays = _read_each(info, IDX_FILES, contents, formats.read_idx, where)
    if arrays[0].ndim != 3 or arrays[2].ndim != 3:
        raise TaclError(f"{where} holds idx files that are not images.")
    train, test = (arrays[0][..., None], arrays[1]), (arrays[2][..., None], arrays[3])
    checks.counts(info, train, test, where)
    if info.md5:
        return Found(*train, *test, verified="md5 of the four files, as published")
    train, test, removed = splits.distinct(train, test)
    return Found(
        *train,
        *test,
        verified=f"{info.train:,} + {info.test:,} images, the count of each class (no checksum is published)",
        note=f"{removed:,} exact duplicates removed; an image of both parts stays in the test part",
    )


# CIFAR-10


def _find_batches(info: DatasetInfo, root: Path) -> list[Path]:
    for base in (root / "cifar-10-batches-py", root):
        files = [base / name for name in CIFAR_BATCHES]
        if all(path.is_file() for path in files):
            return files
    return []


def _read_batches(info: DatasetInfo, files: list[Path], progress: bool) -> Found:
    return _batches(info, [formats.file_bytes(path) for path in files], files[0].parent)


def _read_cifar_tar(info: DatasetInfo, files: list[Path], progress: bool) -> Found:
    members = [f"cifar-10-batches-py/{name}" for name in CIFAR_BATCHES]
    return _batches(info, formats.tar_members(files[0], members, progress), files[0])


def _batches(info: DatasetInfo, contents: list[bytes], where: Path) -> Found:
    pairs = _read_each(info, CIFAR_BATCHES, contents, formats.read_cifar_batch, where)
    train = tuple(np.concatenate(arrays) for arrays in zip(*pairs[:-1], strict=True))
    checks.counts(info, train, pairs[-1], where)
    checks.means(info, train[0], where)
    return Found(*train, *pairs[-1], verified="md5 of the six batches, as published, and channel means")


def _read_sprites(info: DatasetInfo, files: list[Path], progress: bool) -> Found:
    checks.archive(info, files[0])
    members = [f"{info.package.inside}/{name}" for name in SPRITES]
    *sprites, train_labels, test_labels = formats.tar_members(files[0], members, progress)
    pictures = [
        formats.read_sprite(data, f"{name} of {files[0]}") for data, name in zip(sprites, SPRITES, strict=False)
    ]
    train = np.concatenate(pictures[:-1]), formats.read_label_list(train_labels, SPRITES[-2])
    test = pictures[-1], formats.read_label_list(test_labels, SPRITES[-1])
    checks.counts(info, train, test, files[0])
    checks.means(info, train[0], files[0])
    return Found(*train, *test, verified="sha256 of the package and channel means of the training images")


# SVHN and the small notMNIST


def _read_svhn_mat(info: DatasetInfo, files: list[Path], progress: bool) -> Found:
    parts = []
    for path in files:
        content = formats.file_bytes(path)
        checks.md5(info, path.name, content, path.parent)
        parts.append(formats.read_svhn_mat(content, path))
    checks.counts(info, *parts, files[0].parent)
    return Found(*parts[0], *parts[1], verified="md5 of both files, as published, and the count of each class")


def _read_svhn_npz(info: DatasetInfo, files: list[Path], progress: bool) -> Found:
    arrays = formats.read_npz(files[0], ("train_x", "train_y", "test_x", "test_y"))
    checks.counts(info, arrays[:2], arrays[2:], files[0])
    verified = f"{info.train:,} + {info.test:,} images and the count of each class"
    return Found(*arrays, verified=verified, note=REMADE_CROPS)


def _read_small_letters(info: DatasetInfo, files: list[Path], progress: bool) -> Found:
    images, labels = formats.read_npz(files[0], ("x", "y"))
    if images.dtype != np.uint8 or images.shape != (len(labels), *info.shape[:2]) or len(images) < 7:
        raise TaclError(f"{files[0]} does not hold {info.title}'s small set: x is {images.dtype} {images.shape}.")
    kept = splits.first_of_each(images)
    train, test = splits.by_content(images[kept][..., None], labels[kept])
    return Found(
        *train,
        *test,
        verified=f"{len(images):,} images of the right shape, labels in range (no checksum is published)",
        note=f"{ANOTHER_SET} {info.train:,} + {info.test:,}: {len(images):,} letters, "
        f"{len(images) - len(kept):,} exact duplicates removed, then split 6 : 1 by the hash of the pixels",
    )


# finders, and the table of forms


def _files(*names: str) -> Callable[[DatasetInfo, Path], list[Path]]:
    """A finder for a form that consists of exactly these files."""
    return lambda info, root: [root / n for n in names] if all((root / n).is_file() for n in names) else []


def _package_file(info: DatasetInfo, root: Path) -> list[Path]:
    return _files(info.package.file)(info, root) if info.package else []


FORMS: dict[str, Form] = {
    "idx": Form(_find_idx, _read_idx),
    "idx_tgz": Form(_package_file, _read_idx_tgz),
    "cifar_batches": Form(_find_batches, _read_batches),
    "cifar_tar": Form(_files("cifar-10-python.tar.gz"), _read_cifar_tar),
    "cifar_sprites": Form(_package_file, _read_sprites),
    "svhn_mat": Form(_files("train_32x32.mat", "test_32x32.mat"), _read_svhn_mat),
    "svhn_npz": Form(_files("svhn.npz"), _read_svhn_npz),
    "small_letters": Form(_files("notmnist_small.npz"), _read_small_letters),
}

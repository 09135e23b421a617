"""Readers for the datasets' file formats. None writes to disk; none runs code from a file."""

import gzip
import io
import json
import math
import pickle
import pickletools
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import numpy as np
from PIL import Image
from tqdm.auto import tqdm

from tacl_lib.errors import TaclError

LARGEST = 1 << 29  #: bytes in an unpacked file; SVHN's training images take 225 million


@contextmanager
def reading(what: object) -> Iterator[None]:
    """Turn whatever a broken file makes a reader raise into a TaclError that names the file."""
    try:
        yield
    except TaclError:
        raise
    except Exception as error:  # a damaged pickle, PNG or gzip can raise nearly anything
        raise TaclError(f"{what} cannot be read ({type(error).__name__}: {error}).") from error


def file_bytes(path: Path) -> bytes:
    """The content of a file, uncompressed if its name ends in .gz."""
    with reading(path), gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise _too_large(path)
    return data


def _too_large(what: object) -> TaclError:
    return TaclError(f"{what} holds more than {LARGEST:,} bytes, as no file of a dataset does; it is refused.")


class _Bounded(io.RawIOBase):
    """A decompressed stream that fails once an archive unpacks to more than any dataset needs."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        self._file, self._path = (gzip.open if packed else open)(path, "rb"), path

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        got = self._file.readinto(buffer)
        if self._file.tell() > 2 * LARGEST:
            raise _too_large(self._path)
        return got

    def close(self) -> None:
        self._file.close()
        super().close()


def tar_members(path: Path, names: Sequence[str], progress: bool) -> list[bytes]:
    """The named members of a tar archive, in the order of `names`.

    Members are read into memory by their exact names. Nothing is unpacked, so no member's path, link or device can
    touch the disk.
    """
    found: dict[str, bytes] = {}
    with reading(path), _Bounded(path) as file, tarfile.open(fileobj=io.BufferedReader(file), mode="r|") as archive:
        with tqdm(total=len(names), desc=f"reading {path.name}", disable=not progress, leave=False) as bar:
            for member in archive:
                if member.name in names and member.isfile():
                    if member.size > LARGEST:
                        raise _too_large(f"{member.name} of {path}")
                    found[member.name] = archive.extractfile(member).read()
                    bar.update()
        missing = [name for name in names if name not in found]
        if missing:
            raise TaclError(f"{path} lacks {', '.join(missing)}.")
    return [found[name] for name in names]


def read_idx(data: bytes, what: object) -> np.ndarray:
    """An idx file of unsigned bytes: uint8, in the shape given by its header."""
    dimensions = data[3] if len(data) >= 4 else 0
    start = 4 + 4 * dimensions
    if data[:3] != b"\x00\x00\x08" or not dimensions or len(data) < start:
        raise TaclError(f"{what} is not an idx file of unsigned bytes.")
    shape = [int.from_bytes(data[i : i + 4], "big") for i in range(4, start, 4)]
    size = 1
    for length in shape:  # Python integers, which a hostile header cannot overflow
        size *= length
    if len(data) - start != size:
        raise TaclError(f"{what} should hold {size} bytes of data but holds {len(data) - start}.")
    return np.frombuffer(data, np.uint8, offset=start).reshape(shape)


def read_cifar_batch(data: bytes, what: object) -> tuple[np.ndarray, np.ndarray]:
    """One of CIFAR-10's pickled batches: images uint8 `[N, 32, 32, 3]`, labels uint8 `[N]`."""
    with reading(what):
        _refuse_bloat(data)
        batch = _ArraysOnly(io.BytesIO(data), encoding="bytes").load()
        flat, labels = np.asarray(batch[b"data"]), np.asarray(batch[b"labels"])
        if flat.dtype != np.uint8 or flat.shape != (len(labels), 3072) or labels.dtype.kind not in "iu":
            raise TaclError(f"{what} is not a CIFAR-10 batch: data are {flat.dtype} {flat.shape}.")
        if labels.min() < 0 or labels.max() > 255:
            raise TaclError(f"{what} holds labels outside 0 to 255.")
        # the file stores an image as three planes, red, green, blue
        images = flat.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        return np.ascontiguousarray(images), labels.astype(np.uint8)


def _refuse_bloat(data: bytes) -> None:
    """Refuse a small pickle that would make the unpickler reserve gigabytes. Walking over its opcodes runs nothing; it
    fails on a length beyond the end of the data, and no honest memo index exceeds their size."""
    for opcode, argument, _ in pickletools.genops(data):
        if opcode.name.endswith("PUT") and argument > len(data):
            raise pickle.UnpicklingError(f"it asks for the memo index {argument}")


def _latin1(text: str, codec: str) -> bytes:
    """What old pickles call to rebuild raw bytes, limited to the one codec they use."""
    if codec != "latin1":
        raise pickle.UnpicklingError(f"codec {codec!r} is not permitted")
    return text.encode("latin1")


class _ArraysOnly(pickle.Unpickler):
    """An unpickler that can build NumPy arrays, lists, dicts and numbers, and nothing else."""

    # NumPy has moved this private function between versions; an array itself knows where it is now.
    _rebuild = np.empty(0).__reduce__()[0]
    _permitted: ClassVar[dict[tuple[str, str], Callable]] = {
        ("numpy.core.multiarray", "_reconstruct"): _rebuild,
        ("numpy._core.multiarray", "_reconstruct"): _rebuild,
        ("numpy", "ndarray"): np.ndarray,
        ("numpy", "dtype"): np.dtype,
        ("_codecs", "encode"): _latin1,
    }

    def find_class(self, module: str, name: str) -> Callable:
        if (module, name) not in self._permitted:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which no dataset needs")
        return self._permitted[module, name]


def read_sprite(data: bytes, what: object, side: int = 32) -> np.ndarray:
    """A PNG with image i, flattened, as row i: uint8 `[N, side, side, 3]`."""
    with reading(what), Image.open(io.BytesIO(data), formats=["PNG"]) as picture:
        if 3 * picture.width * picture.height > LARGEST:  # known from the header, before anything is unpacked
            raise _too_large(what)
        rows = np.asarray(picture.convert("RGB"))
        if rows.shape[1] != side * side:
            raise TaclError(f"{what} should be {side * side} pixels wide but is {rows.shape[1]}.")
        return rows.reshape(-1, side, side, 3)


def read_label_list(data: bytes, what: object) -> np.ndarray:
    """A JSON list of labels: uint8 `[N]`."""
    with reading(what):
        labels = json.loads(data)
        if not isinstance(labels, list) or not all(type(label) is int for label in labels):
            raise TaclError(f"{what} is not a list of labels.")
        return np.array(labels, np.uint8)


def read_svhn_mat(data: bytes, what: object) -> tuple[np.ndarray, np.ndarray]:
    """One of SVHN's MATLAB files: images uint8 `[N, 32, 32, 3]`, labels uint8 `[N]`."""
    # slow to import, and only SVHN's published form needs it
    from scipy.io import loadmat

    with reading(what):
        content = loadmat(io.BytesIO(data), variable_names=["X", "y"])
        images = np.ascontiguousarray(content["X"].transpose(3, 0, 1, 2))
        labels = content["y"].reshape(-1)
        # MATLAB counts from 1, and in the file the digit 0 is class 10.
        return images, np.where(labels == 10, 0, labels).astype(np.uint8)


def read_npz(path: Path, names: Sequence[str]) -> list[np.ndarray]:
    """The named arrays of an npz file; arrays that need pickle are refused."""
    with reading(path), zipfile.ZipFile(path) as archive:
        for name in names:
            if f"{name}.npy" in archive.namelist():
                _check_header(archive, f"{name}.npy", path)
    with reading(path), np.load(path, allow_pickle=False) as content:
        missing = [name for name in names if name not in content]
        if missing:
            raise TaclError(f"{path} lacks {', '.join(missing)}.")
        arrays = [content[name] for name in names]
    for name, array in zip(names, arrays, strict=True):
        if not array.ndim:
            raise TaclError(f"{path} holds a single number as {name}, not a list.")
    return arrays


def _check_header(archive: zipfile.ZipFile, name: str, path: Path) -> None:
    """Refuse an array whose header claims more than the file holds: NumPy would reserve that memory first."""
    size = archive.getinfo(name).file_size
    with archive.open(name) as file:
        version = np.lib.format.read_magic(file)
        header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = header(file)
        if math.prod(shape) * dtype.itemsize > size or size > LARGEST:
            raise (
                _too_large(f"{name} of {path}")
                if size > LARGEST
                else TaclError(f"{name} of {path} claims {math.prod(shape):,} values, but holds {size:,} bytes.")
            )

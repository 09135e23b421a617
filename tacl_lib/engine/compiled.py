"""Loops in C for a CPU, compiled where the kit runs. Without a compiler the same is done in torch, only slower."""

import ctypes
import hashlib
import os
import shlex
import subprocess
import tempfile
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pooch
import torch
from numpy.polynomial import Chebyshev, Polynomial

from tacl_lib.errors import TaclError
from tacl_lib.files import write_whole

SOURCE = Path(__file__).with_name("kernels.c")
COMPILERS = ("cc", "gcc", "clang")
#: for this processor, in the words of different compilers
NATIVE = ("-march=native", "-mcpu=native")
# Nothing that may hide NaN or infinity; errno of a square root and the like is of no interest.
FLAGS = ("-O3", "-fno-math-errno", "-fno-trapping-math", "-fPIC", "-shared")
MISSING = (
    "TACL found no C compiler that works, so BGD takes several times as long, and the others up to half as long again. "
    "Debian and Ubuntu: apt install gcc; macOS: xcode-select --install; conda: conda install c-compiler; or name one "
    "in CC."
)


@cache
def library() -> ctypes.CDLL | None:
    """The compiled loops; None, after one warning, where they cannot be made."""
    for compiler in (os.environ["CC"],) if os.environ.get("CC") else COMPILERS:
        for native in NATIVE:
            try:
                loaded = _loaded([*shlex.split(compiler), native])
            except (OSError, subprocess.SubprocessError, TaclError):
                continue
            loaded.bgd_step.restype = ctypes.c_size_t
            loaded.use_table(pointer(inverse_normal()))
            long = ctypes.c_long
            loaded.multiply.argtypes = [ctypes.c_void_p, *[long] * 4, _Matrix, _Matrix, ctypes.c_int, ctypes.c_float]
            loaded.multiply.restype = None
            return loaded
    warnings.warn(MISSING, stacklevel=2)
    return None


def _loaded(compiler: list[str]) -> ctypes.CDLL:
    """The library in the cache that came from this source, this compiler and this kind of processor."""
    # What is predefined names the compiler's version and all that the processor can do.
    asked = [*compiler, "-dM", "-E", "-x", "c", os.devnull]
    facts = subprocess.run(asked, capture_output=True, check=True, timeout=60).stdout
    digest = hashlib.sha256(b"\0".join([SOURCE.read_bytes(), facts, *map(str.encode, (*compiler, *FLAGS))]))

    def load(folder: Path) -> ctypes.CDLL:
        path = folder / f"kernels-{digest.hexdigest()[:16]}.so"
        if not path.exists():
            write_whole(path, lambda part: _compile(compiler, part))
        return ctypes.CDLL(str(path))

    try:
        return load(Path(os.environ.get("TACL_CACHE") or pooch.os_cache("tacl")).expanduser() / "compiled")
    except (TaclError, RuntimeError):  # it cannot be written to, or the home is unknown
        with tempfile.TemporaryDirectory(prefix="tacl-") as folder:  # a library that is loaded needs its file no more
            return load(Path(folder))


def _compile(compiler: list[str], target: Path) -> None:
    command = [*compiler, *FLAGS, "-o", target, SOURCE, "-lm"]
    subprocess.run(command, capture_output=True, check=True, timeout=300)


def inverse_normal() -> np.ndarray:
    """Polynomials ``[degree + 1, 32]``, lowest power first, whose values are normal numbers z > 0.

    For p = m 2^(e - 32), m in 1 to 2, column e - 1 (mod 32) gives z(m), which a share p of all numbers exceeds. The
    largest error is 5e-6. With e = 31 only p = ½ is met, and z = 0.
    """
    table = np.zeros((6, 32), np.float32)
    for e in range(31):
        fitted = Chebyshev.interpolate(lambda m, e=e: -_ndtri(m * 2.0 ** (e - 32)), 5, domain=[1, 2])
        table[:, (e - 1) % 32] = fitted.convert(kind=Polynomial).coef
    return table


def _ndtri(p: np.ndarray) -> np.ndarray:
    return torch.special.ndtri(torch.from_numpy(p)).numpy()


def _takes(*tensors: torch.Tensor) -> bool:
    """Whether the loops below take these. Autograd would see nothing of them."""
    for t in tensors:
        if not t.is_cpu or t.dtype is not torch.float32 or (t.requires_grad and torch.is_grad_enabled()):
            return False
    return library() is not None


def add_product(out: torch.Tensor, left: torch.Tensor, right: torch.Tensor, factor: float = 1.0) -> torch.Tensor:
    """out += factor · left · right, in place: ``[R, n, m]``, ``[R, n, width]`` and ``[R, width, m]``."""
    if not _takes(out, left, right) or not out.is_contiguous():
        return out.baddbmm_(left, right, alpha=factor)
    return _multiplied(out, left, right, 1, factor)


def product(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """left · right: ``[R, n, width]`` and ``[R, width, m]`` to ``[R, n, m]``."""
    if not _takes(left, right):
        return torch.bmm(left, right)
    return _multiplied(left.new_empty(*left.shape[:2], right.shape[2]), left, right, 0, 1.0)


def affine(bias: torch.Tensor, rows: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
    """bias + rows · matrix: ``[R, 1, m]``, ``[R, n, width]`` and ``[R, width, m]`` to ``[R, n, m]``."""
    if not _takes(bias, rows, matrix):
        return torch.baddbmm(bias, rows, matrix)
    out = bias.expand(-1, rows.shape[1], -1).clone(memory_format=torch.contiguous_format)
    return add_product(out, rows, matrix)


def _multiplied(out: torch.Tensor, left: torch.Tensor, right: torch.Tensor, keep: int, factor: float) -> torch.Tensor:
    sizes, (left, right) = (*left.shape, right.shape[2]), map(_matrix, (left, right))
    library().multiply(pointer(out), *sizes, left, right, keep, factor)
    return out


class _Matrix(ctypes.Structure):
    """Matrices of R runs, as the loops see them: where they begin, and how far apart rows, columns and runs are."""

    _fields_ = [("at", ctypes.c_void_p), *((name, ctypes.c_long) for name in ("row", "column", "run"))]


def _matrix(tensor: torch.Tensor) -> _Matrix:
    run, row, column = tensor.stride()
    if row != 1 and column != 1:  # neither rows nor columns lie side by side
        tensor = tensor.contiguous()
        run, row, column = tensor.stride()
    matrix = _Matrix(tensor.data_ptr(), row, column, run)
    matrix.tensor = tensor  # it must not be freed before
    return matrix


def exact_product(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """left · right of float32 matrices, summed in float64: for the rows of a Gram matrix whose inverse is needed.

    ``[R, n, width]`` and ``[R, width, m]`` to float64 ``[R, n, m]``.
    """
    if not _takes(left, right):
        return torch.bmm(left.double(), right.double())
    left, columns = left.contiguous(), right.mT.contiguous()
    found = left.new_empty(*left.shape[:2], columns.shape[1], dtype=torch.float64)
    sizes = map(ctypes.c_long, (*found.shape, left.shape[2]))
    library().exact_product(*map(pointer, (left, columns, found)), *sizes)
    return found


def pointer(array: torch.Tensor | np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.data_ptr() if isinstance(array, torch.Tensor) else array.ctypes.data)

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
    "TACL found no C compiler that works, so BGD takes several times as long, and the other methods a little longer. "
    "Debian and Ubuntu: apt install gcc; macOS: xcode-select --install; conda: conda install c-compiler; or name one "
    "in CC."
)


@cache
def library() -> ctypes.CDLL | None:
    """The compiled loops; None, after one warning, where they cannot be made."""
    for compiler in (os.environ["CC"],) if os.environ.get("CC") else COMPILERS:
        for native in NATIVE:
            try:
                loaded = ctypes.CDLL(str(_built([*shlex.split(compiler), native])))
            except (OSError, subprocess.SubprocessError, TaclError):
                continue
            loaded.bgd_step.restype = ctypes.c_size_t
            loaded.use_table(pointer(inverse_normal()))
            return loaded
    warnings.warn(MISSING, stacklevel=2)
    return None


def _built(compiler: list[str]) -> Path:
    """The compiled file: the one in the cache that came from this source, this compiler and this kind of processor."""
    # What is predefined names the compiler's version and all that the processor can do.
    asked = [*compiler, "-dM", "-E", "-x", "c", os.devnull]
    facts = subprocess.run(asked, capture_output=True, check=True, timeout=60).stdout
    digest = hashlib.sha256(b"\0".join([SOURCE.read_bytes(), facts, *map(str.encode, (*compiler, *FLAGS))]))

    def build(path: Path) -> Path:
        path = path / f"kernels-{digest.hexdigest()[:16]}.so"
        if not path.exists():
            write_whole(path, lambda part: _compile(compiler, part))
        return path

    try:
        return build(Path(os.environ.get("TACL_CACHE") or pooch.os_cache("tacl")).expanduser() / "compiled")
    except (TaclError, RuntimeError):  # it cannot be written to, or the home is unknown
        return build(Path(tempfile.mkdtemp(prefix="tacl-")))


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


def _whole_tens(*tensors: torch.Tensor) -> bool:
    """Whether the loops below take these: the first has the batch's rows. Autograd would see nothing of them."""
    plain = all(t.device.type == "cpu" and t.dtype == torch.float32 for t in tensors)
    seen = torch.is_grad_enabled() and any(t.requires_grad for t in tensors)
    return plain and not seen and tensors[0].shape[1] in (10, 20) and library() is not None


def add_product(out: torch.Tensor, rows: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
    """out += rows · matrix, in place: ``[R, n, m]``, ``[R, n, width]`` and ``[R, width, m]``."""
    if not _whole_tens(rows, matrix, out) or not out.is_contiguous():
        return out.baddbmm_(rows, matrix)
    rows, matrix = rows.contiguous(), matrix.contiguous()
    sizes = map(ctypes.c_long, (*rows.shape, matrix.shape[2]))
    library().add_product(pointer(rows), pointer(matrix), pointer(out), *sizes)
    return out


def affine(bias: torch.Tensor, rows: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
    """bias + rows · matrix: ``[R, 1, m]``, ``[R, n, width]`` and ``[R, width, m]`` to ``[R, n, m]``."""
    if not _whole_tens(rows, matrix):
        return torch.baddbmm(bias, rows, matrix)
    return add_product(bias.expand(-1, rows.shape[1], -1).contiguous(), rows, matrix)


def product_transposed(rows: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
    """rows · othersᵀ: ``[R, n, width]`` and ``[R, m, width]`` to ``[R, n, m]``."""
    if not _whole_tens(rows, others) or rows.shape[2] < 32:
        return torch.bmm(rows, others.mT)
    rows, others = rows.contiguous(), others.contiguous()
    out = rows.new_empty(*rows.shape[:2], others.shape[1])
    sizes = map(ctypes.c_long, (*out.shape, rows.shape[2]))
    library().product_transposed(pointer(rows), pointer(others), pointer(out), *sizes)
    return out


def exact_products(rows: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
    """Inner products of float32 vectors, summed in float64: for the rows of a Gram matrix whose inverse is needed.

    ``[R, n, width]`` and ``[R, m, width]`` to float64 ``[R, n, m]``.
    """
    if rows.device.type != "cpu" or library() is None:
        return torch.bmm(rows.double(), others.double().mT)
    rows, others, shape = rows.contiguous(), others.contiguous(), (*rows.shape[:2], others.shape[1])
    found = rows.new_empty(shape, dtype=torch.float64)
    sizes = map(ctypes.c_long, (*shape, rows.shape[2]))
    library().exact_products(*map(pointer, (rows, others, found)), *sizes)
    return found


def pointer(array: torch.Tensor | np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.data_ptr() if isinstance(array, torch.Tensor) else array.ctypes.data)

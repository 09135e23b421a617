"""Loops in C for a CPU, compiled where the kit runs. Without a compiler the same is done in torch, only slower."""

import ctypes
import hashlib
import os
import shlex
import subprocess
import tempfile
import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import torch
from numpy.polynomial import Chebyshev, Polynomial

from tacl_lib.core.randomness import generator
from tacl_lib.data import cache as datasets
from tacl_lib.engine.layers import Layers, wrong_labels
from tacl_lib.errors import TaclError
from tacl_lib.files import write_whole

SOURCE = Path(__file__).with_name("kernels.c")
COMPILERS = ("cc", "gcc", "clang")
#: for this processor, in the words of different compilers
NATIVE = ("-march=native", "-mcpu=native")
# Nothing that may hide NaN or infinity; errno of a square root and the like is of no interest.
FLAGS = ("-O3", "-fno-math-errno", "-fno-trapping-math", "-fPIC", "-shared")
MISSING = (
    "TACL found no C compiler that works, so BGD takes about seven times as long, and TA-OGD is a little slower. "
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
        return build(datasets.folder() / "compiled")
    except TaclError:  # it cannot be written to
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


class CompiledNoise:
    """`NoisyWeights` for a CPU: noise, both passes and the move of the weights in one go over parts of a layer.

    Tensor by tensor, a step of BGD waits for memory most of the time: noise, weights and gradients of one pass alone
    are megabytes. Here they live for a tile of weights only. A normal number takes one random word: its place among
    all words is the probability, and a table of polynomials has the inverse.

    And inputs that are the same in the whole batch, as half of MNIST's pixels and the 1 of every bias are, need no
    noise for each pass. Let i run over them, c_i be their values, a_i = c_i σ_i and V = Σ a_i² (for one unit). In pass
    k they add S_k = Σ a_i ε_ik ~ N(0, V) to the unit, and their gradients are c_i D_k, D_k = Σ δ. So S_k is drawn at
    once, and what ε has left, given S_k, is needed in one sum only: with ν_i ~ N(0, Σ D_k²),
        Σ_k g_ik ε_ik = c_i (ν_i + a_i (Σ_k D_k S_k - Σ_i a_i ν_i) / V)
    has the same distribution as with noise for each pass. Behind inputs that are 0, weights neither act nor learn.
    """

    name = "xoshiro128++, inverse normal"

    def __init__(self, seeds: Sequence[int]):
        keys = [generator(seed, "noise").integers(2**64, dtype=np.uint64) for seed in seeds]
        self._keys, self._room = np.array(keys, np.uint64), torch.empty(0, dtype=torch.uint8)
        self.begin(0)

    def begin(self, step: int) -> None:
        self.step = step

    def learn(self, mean: Layers, std: torch.Tensor, x, y, weight: float, passes: int, rate: float) -> torch.Tensor:
        if y.dtype != torch.int64 or not 0 <= int(y.min()) <= int(y.max()) < mean.sizes[-1]:
            raise wrong_labels(y, mean.sizes[-1])
        flat, x, y, losses = mean.flat, x.contiguous(), y.contiguous(), torch.empty(mean.runs)
        sizes, long, number = np.array(mean.sizes, np.int64), ctypes.c_long, ctypes.c_float
        problem = [
            *(long(mean.runs), long(len(sizes) - 1), *map(pointer, (sizes, flat, std, x, y)), long(y.shape[1])),
            *(long(passes), number(weight), number(rate), pointer(self._keys), ctypes.c_uint64(self.step)),
            pointer(losses),
        ]
        step, needed = library().bgd_step, library().bgd_step(None, *problem)
        if len(self._room) < needed:
            with torch.inference_mode(False):  # a learner may be used in this mode and outside of it
                self._room = torch.empty(needed, dtype=torch.uint8)
        step(pointer(self._room), *problem)
        return losses


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

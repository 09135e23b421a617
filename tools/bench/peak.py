"""What the processor could do at best: multiplications and additions per second of one thread, in registers alone."""

import ctypes
import subprocess
import tempfile
import time
from pathlib import Path

from tacl_lib.engine.compiled import COMPILERS

SOURCE = """
typedef float V __attribute__((vector_size(64)));
float spin(long count, float by) {
    V all[16], factor = by - (V){0};
    for (int i = 0; i < 16; i++) all[i] = by * i - (V){0};
    while (count--)
        for (int i = 0; i < 16; i++) all[i] = all[i] * factor + factor;
    float sum = 0;
    for (int i = 0; i < 16; i++) sum += all[i][0];
    return sum;
}
"""
# Not -ffast-math: a library linked with it makes the whole process flush small numbers to zero.
FLAGS = ("-O3", "-march=native", "-ffp-contract=fast", "-funroll-loops", "-fPIC", "-shared")
WORK = 2 * 16 * 16  #: operations of one round of the loop


def gflops(seconds: float = 0.2, rounds: int = 5) -> float | None:
    """Billions of operations per second, the best of some rounds; None without a compiler."""
    with tempfile.TemporaryDirectory() as folder:
        source, built = Path(folder) / "peak.c", Path(folder) / "peak.so"
        source.write_text(SOURCE, encoding="utf-8")
        for compiler in COMPILERS:
            try:
                subprocess.run([compiler, *FLAGS, "-o", built, source], check=True, capture_output=True, timeout=60)
            except (OSError, subprocess.SubprocessError):
                continue
            spin = ctypes.CDLL(str(built)).spin
            spin.argtypes, spin.restype = [ctypes.c_long, ctypes.c_float], ctypes.c_float
            return max(_rate(spin, seconds / rounds) for _ in range(rounds))
    return None


def _rate(spin, seconds: float) -> float:
    count = 1000
    while True:
        start = time.thread_time()
        spin(count, 1e-3)
        taken = time.thread_time() - start
        if taken > seconds:
            return count * WORK / taken / 1e9
        count *= 2

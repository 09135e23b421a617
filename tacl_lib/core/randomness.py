"""Random numbers that depend only on a run's random seed and on what they are for.

Every random choice is drawn from a generator identified by (seed, purpose, index). So a run gives the same numbers
alone or in a stack, on a CPU or a GPU, and can resume at any step without saved generator states.
"""

import zlib
from collections.abc import Callable, Sequence

import numpy as np
import torch


def generator(seed: int, purpose: str, *index: int) -> np.random.Generator:
    """The generator of a run for one purpose, e.g. ``generator(3, "shuffle", epoch)``."""
    # A spawn key, not a longer entropy list: SeedSequence pads entropy with zeros, so [s] and [s, 0] collide.
    key = (zlib.crc32(purpose.encode()), *index)
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))


class Uniforms:
    """Uniform numbers in [0, 1) for every step of R runs, generated in blocks.

    ``uniforms(step)`` is a ``[R, width]`` tensor on the device. A GPU gets one copy per block instead of one per step,
    so no step waits for the host.
    """

    BLOCK = 256

    def __init__(self, seeds: Sequence[int], purpose: str, width: int, device: torch.device | str = "cpu"):
        self.seeds, self.purpose, self.width, self.device = tuple(seeds), purpose, width, device
        self._block, self._values = -1, None

    def __call__(self, step: int) -> torch.Tensor:
        block, offset = divmod(step, self.BLOCK)
        if block != self._block:
            shape = (self.BLOCK, self.width)
            self._values = stacked(
                self.seeds, lambda seed: generator(seed, self.purpose, block).random(shape, dtype=np.float32)
            ).to(self.device)
            self._block = block
        return self._values[:, offset]


def stacked(seeds: Sequence[int], draw: Callable[[int], np.ndarray]) -> torch.Tensor:
    """One array per run, drawn with its own random seed, stacked into a tensor ``[R, ...]``."""
    return torch.from_numpy(np.stack([draw(seed) for seed in seeds]))

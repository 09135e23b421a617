"""Random numbers that depend on nothing but a run's seed and what they are for.

Every random choice of a run is drawn from a generator named by (seed, purpose, index). So a run gives the
same numbers alone or in a stack, on a CPU or a GPU, and from any step onwards: resuming a run needs no
generator state.
"""

import zlib
from collections.abc import Callable, Sequence

import numpy as np
import torch


def generator(seed: int, purpose: str, *index: int) -> np.random.Generator:
    """The generator of one run for one purpose, e.g. ``generator(3, "shuffle", epoch)``."""
    # A spawn key, not a longer entropy list: SeedSequence pads entropy with zeros, so [s] and [s, 0] collide.
    key = (zlib.crc32(purpose.encode()), *index)
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))


class Uniforms:
    """Uniform numbers in [0, 1) for every step of R runs, made in blocks so that a step copies nothing.

    ``uniforms(step)`` is a ``[R, width]`` tensor on the device. On a GPU one copy per block replaces one
    per step, so that no step waits for the host.
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
    """One array per run, drawn from the run's own seed, as one tensor ``[R, ...]``."""
    return torch.from_numpy(np.stack([draw(seed) for seed in seeds]))

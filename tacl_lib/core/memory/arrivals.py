"""Which samples join a memory: decided by a run's random seed and the step alone."""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import torch

from tacl_lib.core.memory.stores import Sample
from tacl_lib.core.randomness import Uniforms
from tacl_lib.core.rows import Rows
from tacl_lib.errors import TaclError


class Chosen(NamedTuple):
    """The sample of each run's batch that joins a memory."""

    position: torch.Tensor  #: in the batch, int64 ``[R]``
    item: Sample
    pool: torch.Tensor  #: where it belongs, int64 ``[R]``
    uniform: torch.Tensor  #: one random number per run for the policy, ``[R]``


class ArrivalSampler:
    """Chooses which samples join a memory, and draws the random numbers that the memory needs."""

    def __init__(
        self,
        seeds: Sequence[int],
        sampling_rate: float,
        pool_per_class: bool,
        keys: int = 0,
        device: torch.device | str = "cpu",
    ):
        """sampling_rate: samples per batch; 0.01 is one every 100 batches. keys: how many random keys a step needs."""
        if not 1e-6 <= sampling_rate <= 1:
            raise TaclError(f"the sampling rate must lie between 0.000001 and 1, not {sampling_rate}.")
        self._rate = Fraction(sampling_rate).limit_denominator(1_000_000)  # exact: 30 · 0.1 must not round to 2
        self.pool_per_class = pool_per_class
        # Per step: one number to choose the sample, one for the policy, then the keys.
        self._uniforms = Uniforms(seeds, "memory", 2 + keys, device)
        self._rows = Rows(len(seeds), device)

    def due(self, step: int) -> bool:
        """Whether a sample joins the memory at this step (counted from 0)."""
        return int((step + 1) * self._rate) > int(step * self._rate)

    def choose(self, step: int, x: torch.Tensor, y: torch.Tensor, **fields: torch.Tensor) -> Chosen:
        """Draw one sample of the batch. x, y and every field are ``[R, batch, ...]``."""
        which, uniform = self._uniforms(step)[:, :2].unbind(1)
        position = (which * x.shape[1]).long()
        of_chosen = {name: self._rows.read(values, position) for name, values in fields.items()}
        item = Sample(self._rows.read(x, position), self._rows.read(y, position), of_chosen)
        return Chosen(position, item, item.y if self.pool_per_class else torch.zeros_like(item.y), uniform)

    def keys(self, step: int) -> torch.Tensor:
        """Random keys ``[R, keys]`` for drawing a reference batch."""
        return self._uniforms(step)[:, 2:]

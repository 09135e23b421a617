"""Streams of points for memories, on which ties are common, and what a memory makes of them."""

import numpy as np
import torch
from hypothesis import strategies as st

from tacl_lib.core.memory import (
    Geometry,
)

#: Multiples of 12: the mean of up to 4 members is an integer, so that ties are ties in every arithmetic.
UNIT = 12
FEATURES = 2


@st.composite
def streams(draw):
    """A geometry and R streams of few distinct integer points, so that ties are common."""
    pools, clusters, size = draw(st.tuples(st.integers(1, 3), st.integers(1, 4), st.integers(1, 4)))
    runs, length = draw(st.integers(1, 3)), draw(st.integers(0, 25))  # Q may well be larger than the stream
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    spread = draw(st.integers(1, 4))
    z = UNIT * rng.integers(-spread, spread + 1, (length, runs, FEATURES))
    return Geometry(pools, clusters, size), z, rng.integers(0, pools, (length, runs)), rng.random((length, runs))


def entry(placement, run):
    kept = placement.kept is None or bool(placement.kept[run])
    return int(placement.cluster[run]), int(placement.slot[run]), kept


def replay(memory, z, pools, uniforms):
    """Add a stream to a memory of samples; the label of a sample is its pool. Yields (step, placement)."""
    for step in range(len(z)):
        x = torch.from_numpy(z[step]).float()
        label = torch.from_numpy(pools[step])
        yield step, memory.add((x, label), label, torch.from_numpy(uniforms[step]).float())

"""Small networks and batches that exercises are tried on."""

import numpy as np
import torch

from tacl_lib.plain.network import Network

SIZES = (3, 4, 2)
LR = 0.05  # what the stubs have as the default of `lr`; cases hand in another rate


def network_at(w: torch.Tensor) -> Network:
    """A network of three inputs, four hidden units and two outputs, with these weights."""
    network = Network(SIZES)
    network.w = w.clone()
    return network


def weights(rng: np.random.Generator) -> torch.Tensor:
    return tensor(rng.normal(size=len(Network(SIZES).w)))


def batch(rng: np.random.Generator, size: int) -> tuple[torch.Tensor, torch.Tensor]:
    return tensor(rng.normal(size=(size, SIZES[0])).round(2)), torch.from_numpy(rng.integers(0, 2, size))


def tensor(values) -> torch.Tensor:
    return torch.as_tensor(np.asarray(values, dtype=np.float64))


def samples(x: torch.Tensor, y: torch.Tensor) -> list:
    """A batch as a list of samples."""
    return list(zip(x, y, strict=True))

"""Scaling images to network inputs."""

from dataclasses import dataclass

import numpy as np
import torch

BY_MEAN_AND_DEVIATION = ("mnist", "cifar10", "svhn")  #: usually scaled to zero mean and unit deviation
SCALINGS = ("customary", "unit", "standard", "symmetric")


@dataclass(frozen=True)
class Scaling:
    """Scales ``uint8`` features for the network: ``(x - offset) / divisor``."""

    offset: torch.Tensor  #: float32 ``[features]``
    divisor: torch.Tensor  #: float32 ``[features]``

    def __call__(self, images: torch.Tensor) -> torch.Tensor:
        """``[..., features]`` uint8 to float32."""
        return images.float().sub_(self.offset).div_(self.divisor)


def customary_scaling(dataset: str) -> str:
    """The scaling in PyTorch's examples: MNIST and colour images by mean and deviation, others to [-1, 1]."""
    return "standard" if dataset in BY_MEAN_AND_DEVIATION else "symmetric"


def fit_scaling(train_images: np.ndarray, scaling: str) -> Scaling:
    """Fit the input scaling on the training images ``[N, H, W, C]``."""
    channels = train_images.shape[3]
    if scaling == "unit":
        offset, divisor = np.zeros(channels), np.full(channels, 255.0)
    elif scaling == "symmetric":
        offset = divisor = np.full(channels, 127.5)
    else:
        # From a histogram: sums of integers are exact, so every machine gets the same bytes.
        counts = np.stack([_histogram(train_images[..., c]) for c in range(channels)])
        values = np.arange(256)
        offset = counts @ values / counts.sum(1)
        divisor = np.sqrt(np.maximum(counts @ values**2 / counts.sum(1) - offset**2, 1e-12))
    pixels = train_images.shape[1] * train_images.shape[2]
    return Scaling(*(torch.from_numpy(np.tile(v, pixels).astype(np.float32)) for v in (offset, divisor)))


def _histogram(images: np.ndarray) -> np.ndarray:
    """How often each grey level occurs. In parts, as `bincount` copies each to eight bytes a pixel: 4 times as fast."""
    parts = (images[start : start + 100] for start in range(0, len(images), 100))
    return sum(np.bincount(part.ravel(), minlength=256) for part in parts)

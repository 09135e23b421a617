"""One dataset in, a sequence of disjoint tasks out: by permutation, rotation or class split.

The paper's appendix, "Task generation details". Images stay ``uint8`` and are laid out task after task, so
that a task is a slice and a stream can gather its batches from one resident tensor.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral

import numpy as np
import torch

from tacl_lib import names
from tacl_lib.core.randomness import generator
from tacl_lib.core.rotation import INTERPOLATIONS, rotate
from tacl_lib.data import Dataset
from tacl_lib.errors import TaclError, unknown_name

SPLITS = tuple(names.SPLITS)
BY_MEAN_AND_DEVIATION = ("mnist", "cifar10", "svhn")  #: datasets that are usually scaled so
SCALINGS = ("customary", "unit", "standard", "symmetric")
FILLS = ("zero", "black")
VALIDATIONS = ("parts", "whole")


@dataclass(frozen=True)
class Samples:
    """Training or test data of all tasks, for S runs (S = 1 where all runs share the same images)."""

    images: torch.Tensor  #: uint8 ``[S, N, features]``
    labels: torch.Tensor  #: int64 ``[S, N]``
    origin: torch.Tensor  #: int64 ``[S, N]``, the row of each sample in the dataset
    bounds: tuple[int, ...]  #: task k is rows ``bounds[k]`` to ``bounds[k + 1]``

    def size(self, task: int) -> int:
        """How many samples a task has (the same in every run)."""
        return self.bounds[task + 1] - self.bounds[task]


@dataclass(frozen=True)
class Scaling:
    """Turns ``uint8`` features into what the network sees: ``(x - offset) / divisor``."""

    offset: torch.Tensor  #: float32 ``[features]``
    divisor: torch.Tensor  #: float32 ``[features]``

    def __call__(self, images: torch.Tensor) -> torch.Tensor:
        """``[..., features]`` uint8 to float32."""
        return images.float().sub_(self.offset).div_(self.divisor)


@dataclass(frozen=True)
class Tasks:
    """The tasks of R runs on one dataset: a run's own random split, permutation and order per seed."""

    dataset: str
    split: str
    seeds: tuple[int, ...]
    names: tuple[str, ...]  #: one per task, e.g. ``"40°"``
    classes: int  #: number of outputs of the network
    image_shape: tuple[int, int, int]
    train: Samples
    test: Samples
    scaling: Scaling

    @property
    def count(self) -> int:
        return len(self.names)

    @property
    def features(self) -> int:
        return self.train.images.shape[-1]

    def inputs(self, samples: Samples, task: int) -> torch.Tensor:
        """All scaled images of a task, float32 ``[S, n, features]``."""
        return self.scaling(samples.images[:, samples.bounds[task] : samples.bounds[task + 1]])

    def targets(self, samples: Samples, task: int) -> torch.Tensor:
        """All labels of a task, int64 ``[S, n]``."""
        return samples.labels[:, samples.bounds[task] : samples.bounds[task + 1]]

    def to(self, device: torch.device | str) -> "Tasks":
        """The same tasks with every tensor on a device."""

        def moved(holder):
            tensors = {k: v.to(device) for k, v in vars(holder).items() if isinstance(v, torch.Tensor)}
            return replace(holder, **tensors)

        return replace(self, train=moved(self.train), test=moved(self.test), scaling=moved(self.scaling))


def make_tasks(
    dataset: Dataset,
    split: str,
    seeds: Sequence[int] = (0,),
    *,
    task_count: int = 10,
    degrees_per_task: float = 20.0,
    scaling: str = "customary",
    validation: str = "parts",
    interpolation: str = "bilinear",
    fill: str = "zero",
    train_limit: int | None = None,
    test_limit: int | None = None,
) -> Tasks:
    """Build the tasks of one run per seed.

    split: ``"permutation"`` (each task shuffles the pixels in its own way), ``"rotation"`` (task k is
        turned by k · ``degrees_per_task``) or ``"class"`` (labels (0, 1), (2, 3) …; even → 0, odd → 1).
    task_count: number of tasks for permutation and rotation.
    scaling: ``"unit"`` to [0, 1], ``"symmetric"`` to [-1, 1], ``"standard"``: zero mean, unit deviation per channel,
        fitted on the training images; or ``"customary"``, see `customary_scaling`.
    validation: ``"parts"`` splits the test set among the tasks as the training set; ``"whole"`` gives every
        task the whole test set, transformed.
    fill: what a rotation brings in at the corners: ``"black"``, or ``"zero"``: what is 0 after scaling (to the nearest
        grey level), as if scaled images had been turned.
    train_limit, test_limit: at most so many samples a task, for reduced profiles.
    """
    choices = (("split", split, SPLITS), ("scaling", scaling, SCALINGS), ("validation", validation, VALIDATIONS))
    choices += (("interpolation", interpolation, INTERPOLATIONS), ("fill", fill, FILLS))
    for kind, name, valid in choices:
        if name not in valid:
            raise unknown_name(kind, name, valid)
    seeds = checked_seeds(seeds)
    for name, limit in (("train_limit", train_limit), ("test_limit", test_limit)):
        if limit is not None and limit < 1:
            raise TaclError(f"{name} must be at least 1 or None, not {limit}.")
    labels = int(max(dataset.train_labels.max(), dataset.test_labels.max())) + 1
    if split == "class" and labels % 2:
        raise TaclError(f"class split pairs the labels, but {dataset.name} has {labels} of them; drop or add one.")
    if split != "class" and task_count < 1:
        raise TaclError(f"task_count must be at least 1, not {task_count}.")
    count = labels // 2 if split == "class" else task_count
    names = {
        "permutation": [f"permutation {task}" for task in range(count)],
        "rotation": [f"{task * degrees_per_task:g}°" for task in range(count)],
        "class": [f"{2 * task} / {2 * task + 1}" for task in range(count)],
    }[split]

    fitted = _fit_scaling(dataset.train_images, customary_scaling(dataset.name) if scaling == "customary" else scaling)
    channels = dataset.train_images.shape[3]
    # Features are ordered pixel by pixel, so the first ones are the channels of one pixel.
    corners = fitted.offset[:channels].round().int().tolist() if fill == "zero" else 0

    def transformed(images: np.ndarray, task: int, seed: int) -> np.ndarray:
        """The images ``[n, H, W, C]`` of a task as run ``seed`` shows them."""
        if split == "permutation":
            # Whole pixels move: the channels of a colour stay together.
            flat = images.reshape(len(images), -1, images.shape[3])
            return flat[:, permutation_of(seed, task, flat.shape[1])]
        return rotate(images, task * degrees_per_task, interpolation, corners) if split == "rotation" else images

    def samples(part: str, images: np.ndarray, targets: np.ndarray, disjoint: bool, limit: int | None) -> Samples:
        # Without a limit every run has the same class tasks (only their order differs): keep one copy.
        runs = seeds[:1] if split == "class" and limit is None else seeds
        pixels, origins = [], []
        for seed in runs:
            rows = _rows(targets, split, count, generator(seed, f"split {part}"), disjoint)
            if limit is not None:
                rows = [generator(seed, f"limit {part}", task).permutation(r)[:limit] for task, r in enumerate(rows)]
            sizes = [len(r) for r in rows]
            if min(sizes) == 0:
                empty = names[sizes.index(0)]
                raise TaclError(
                    f"task {empty!r} of {dataset.name} has no {part} images; use fewer tasks or another split."
                )
            shown = [transformed(images[r], task, seed).reshape(len(r), -1) for task, r in enumerate(rows)]
            pixels.append(np.concatenate(shown))
            origins.append(np.concatenate(rows))
        origin = np.stack(origins)
        own_labels = targets[origin].astype(np.int64)
        return Samples(
            torch.from_numpy(np.stack(pixels)),
            torch.from_numpy(own_labels % 2 if split == "class" else own_labels),
            torch.from_numpy(origin),
            (0, *map(int, np.cumsum(sizes))),
        )

    return Tasks(
        dataset=dataset.name,
        split=split,
        seeds=seeds,
        names=tuple(names),
        classes=2 if split == "class" else labels,
        image_shape=tuple(dataset.train_images.shape[1:]),
        train=samples("train", dataset.train_images, dataset.train_labels, True, train_limit),
        test=samples("test", dataset.test_images, dataset.test_labels, validation == "parts", test_limit),
        scaling=fitted,
    )


def customary_scaling(dataset: str) -> str:
    """How PyTorch's examples scale a dataset: MNIST and colour images by mean and deviation, others to [-1, 1]."""
    return "standard" if dataset in BY_MEAN_AND_DEVIATION else "symmetric"


def permutation_of(seed: int, task: int, pixels: int) -> np.ndarray:
    """The order in which task ``task`` of run ``seed`` shows its pixels: ``new = old[..., order]``."""
    return generator(seed, "permutation", task).permutation(pixels)


def _rows(targets: np.ndarray, split: str, count: int, rng: np.random.Generator, disjoint: bool) -> list[np.ndarray]:
    """The rows of the dataset that belong to each task of a run."""
    if split == "class":
        return [np.flatnonzero(targets // 2 == task) for task in range(count)]
    order = rng.permutation(len(targets))
    return np.array_split(order, count) if disjoint else [order] * count


def _fit_scaling(train_images: np.ndarray, scaling: str) -> Scaling:
    """Fit the input scaling on the training images ``[N, H, W, C]``."""
    channels = train_images.shape[3]
    if scaling == "unit":
        offset, divisor = np.zeros(channels), np.full(channels, 255.0)
    elif scaling == "symmetric":
        offset = divisor = np.full(channels, 127.5)
    else:
        # From a histogram: exact sums of whole numbers, so the same bytes on every machine.
        counts = np.stack([np.bincount(train_images[..., c].ravel(), minlength=256) for c in range(channels)])
        values = np.arange(256)
        offset = counts @ values / counts.sum(1)
        divisor = np.sqrt(np.maximum(counts @ values**2 / counts.sum(1) - offset**2, 1e-12))
    pixels = train_images.shape[1] * train_images.shape[2]
    return Scaling(*(torch.from_numpy(np.tile(v, pixels).astype(np.float32)) for v in (offset, divisor)))


def checked_seeds(seeds: Sequence[int]) -> tuple[int, ...]:
    """Seeds of a stack: distinct whole numbers from 0 on."""
    given = tuple(seeds) if isinstance(seeds, Iterable) and not isinstance(seeds, (str, bytes)) else ()
    whole = all(isinstance(seed, Integral) and not isinstance(seed, bool) and 0 <= seed < 2**31 for seed in given)
    if not given or not whole or len(set(given)) < len(given):
        raise TaclError(f"seeds must be distinct whole numbers from 0 on, at least one, as in (0, 1); got {seeds!r}.")
    return tuple(int(seed) for seed in given)

"""One dataset in, a sequence of disjoint tasks out: by permutation, rotation or class split.

The paper's appendix, "Task generation details". Images stay ``uint8`` and are laid out task after task, so
that a task is a slice and a stream can gather its batches from one resident tensor.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from tacl_lib import names
from tacl_lib.core.checking import check_whole, checked_device, checked_seeds, is_finite
from tacl_lib.core.randomness import generator
from tacl_lib.data import Dataset
from tacl_lib.data.dataset import checked
from tacl_lib.data.rotation import INTERPOLATIONS, rotate
from tacl_lib.errors import TaclError, unknown_name

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
        device = checked_device(device)

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
    choices = {"split": (split, names.SPLITS), "scaling": (scaling, SCALINGS), "validation": (validation, VALIDATIONS)}
    choices |= {"interpolation": (interpolation, INTERPOLATIONS), "fill": (fill, FILLS)}
    for kind, (name, valid) in choices.items():
        if not isinstance(name, str) or name not in valid:
            raise unknown_name(kind, name, valid)
    for name, limit in (("train_limit", train_limit), ("test_limit", test_limit)):
        if limit is not None:
            check_whole(**{name: limit})
    if not isinstance(dataset, Dataset):
        raise TaclError(f"make_tasks takes a Dataset, such as load('digits'), not {type(dataset).__name__}.")
    dataset = checked(dataset, dataset.name, classes=None)
    fitted = _fit_scaling(dataset.train_images, customary_scaling(dataset.name) if scaling == "customary" else scaling)
    # Features are ordered pixel by pixel, so the first ones are the channels of one pixel.
    corners = fitted.offset[: dataset.train_images.shape[3]].round().int().tolist() if fill == "zero" else 0
    seeds, labels = checked_seeds(seeds), _labels_of(dataset, split)
    cut = _Cut(dataset.name, split, seeds, task_names(split, labels, task_count, degrees_per_task))

    def shown(images: np.ndarray, task: int, seed: int) -> np.ndarray:
        """The images ``[n, H, W, C]`` of a task as run ``seed`` shows them."""
        if split == "permutation":
            # Whole pixels move: the channels of a colour stay together.
            flat = images.reshape(len(images), -1, images.shape[3])
            return flat[:, permutation_of(seed, task, flat.shape[1])]
        return rotate(images, task * degrees_per_task, interpolation, corners) if split == "rotation" else images

    return Tasks(
        dataset=dataset.name,
        split=split,
        seeds=seeds,
        names=cut.names,
        classes=2 if split == "class" else labels,
        image_shape=tuple(dataset.train_images.shape[1:]),
        train=cut.samples("train", dataset.train_images, dataset.train_labels, shown, True, train_limit),
        test=cut.samples("test", dataset.test_images, dataset.test_labels, shown, validation == "parts", test_limit),
        scaling=fitted,
    )


@dataclass(frozen=True)
class _Cut:
    """How each run cuts a dataset into tasks."""

    dataset: str
    split: str
    seeds: tuple[int, ...]
    names: tuple[str, ...]

    def samples(
        self, part: str, images: np.ndarray, labels: np.ndarray, shown: Callable, disjoint: bool, limit: int | None
    ) -> Samples:
        """Training or test data of all tasks. disjoint: the tasks share out the images; else each has all of them."""
        # Without a limit every run has the same class tasks (only their order differs): keep one copy.
        runs = self.seeds[:1] if self.split == "class" and limit is None else self.seeds
        pixels, origins = [], []
        for seed in runs:
            rows = self._rows(part, labels, seed, disjoint, limit)
            pixels.append(np.concatenate([shown(images[r], k, seed).reshape(len(r), -1) for k, r in enumerate(rows)]))
            origins.append(np.concatenate(rows))
        origin = np.stack(origins)
        own = labels[origin].astype(np.int64)
        return Samples(
            torch.from_numpy(np.stack(pixels)),
            torch.from_numpy(own % 2 if self.split == "class" else own),
            torch.from_numpy(origin),
            (0, *map(int, np.cumsum([len(r) for r in rows]))),
        )

    def _rows(self, part: str, labels: np.ndarray, seed: int, disjoint: bool, limit: int | None) -> list[np.ndarray]:
        """The rows of the dataset that belong to each task of a run."""
        count = len(self.names)
        if self.split == "class":
            rows = [np.flatnonzero(labels // 2 == task) for task in range(count)]
        else:
            order = generator(seed, f"split {part}").permutation(len(labels))
            rows = np.array_split(order, count) if disjoint else [order] * count
        if limit is not None:
            rows = [generator(seed, f"limit {part}", task).permutation(r)[:limit] for task, r in enumerate(rows)]
        for name, of_task in zip(self.names, rows, strict=True):
            if not len(of_task):
                raise TaclError(
                    f"task {name!r} of {self.dataset} has no {part} images; use fewer tasks or another split."
                )
        return rows


def _labels_of(dataset: Dataset, split: str) -> int:
    """How many classes a dataset has."""
    labels = int(max(dataset.train_labels.max(), dataset.test_labels.max())) + 1
    absent = sorted(set(range(labels)) - set(np.unique(dataset.train_labels).tolist()))
    if absent and split != "class":  # there a task without images is named
        few = ", ".join(map(str, absent[:5])) + ", …" * (len(absent) > 5)
        raise TaclError(f"{dataset.name} has no training images of the labels {few}; number its classes from 0 on.")
    if labels < 2:
        raise TaclError(f"{dataset.name} has one class only, so that there is nothing to learn; two are needed.")
    if split == "class" and labels % 2:
        raise TaclError(f"class split pairs the labels, but {dataset.name} has {labels} of them; drop or add one.")
    return labels


def task_names(split: str, labels: int, task_count: int, degrees: float) -> tuple[str, ...]:
    """What each task is called."""
    if split == "class":
        return tuple(f"{label} / {label + 1}" for label in range(0, labels, 2))
    check_whole(task_count=task_count)
    if not is_finite(degrees):
        raise TaclError(f"degrees_per_task must be a finite number, not {degrees!r}.")
    return tuple(f"{n * degrees:g}°" if split == "rotation" else f"permutation {n}" for n in range(task_count))


def customary_scaling(dataset: str) -> str:
    """How PyTorch's examples scale a dataset: MNIST and colour images by mean and deviation, others to [-1, 1]."""
    return "standard" if dataset in BY_MEAN_AND_DEVIATION else "symmetric"


def permutation_of(seed: int, task: int, pixels: int) -> np.ndarray:
    """The order in which task ``task`` of run ``seed`` shows its pixels: ``new = old[..., order]``."""
    return generator(seed, "permutation", task).permutation(pixels)


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

"""Splits one dataset into a sequence of tasks: by permutation, rotation or class.

See the paper's appendix, "Task generation details". Images stay ``uint8`` and are laid out task after task, so a task
is a slice, and a stream gathers its batches from a single tensor.
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
from tacl_lib.data.scaling import SCALINGS, Scaling, customary_scaling, fit_scaling
from tacl_lib.errors import TaclError, unknown_name

FILLS = ("zero", "black")
VALIDATIONS = ("parts", "whole")


@dataclass(frozen=True)
class TaskData:
    """Training or test data of all tasks, for S runs (S = 1 if all runs share the same images)."""

    images: torch.Tensor  #: uint8 ``[S, N, features]``
    labels: torch.Tensor  #: int64 ``[S, N]``
    origin: torch.Tensor  #: int64 ``[S, N]``, row of each sample in the dataset
    bounds: tuple[int, ...]  #: task k has the rows ``bounds[k]`` to ``bounds[k + 1] - 1``

    def size(self, task: int) -> int:
        """Number of samples of a task (the same in every run)."""
        return self.bounds[task + 1] - self.bounds[task]


@dataclass(frozen=True)
class Tasks:
    """The tasks of R runs on one dataset. Each random seed has its own split, permutations and order."""

    dataset: str
    split: str
    seeds: tuple[int, ...]
    names: tuple[str, ...]  #: of the tasks, e.g. ``"40°"``
    classes: int  #: number of network outputs
    image_shape: tuple[int, int, int]
    train: TaskData
    test: TaskData
    scaling: Scaling

    @property
    def count(self) -> int:
        return len(self.names)

    @property
    def features(self) -> int:
        return self.train.images.shape[-1]

    def inputs(self, samples: TaskData, task: int) -> torch.Tensor:
        """All scaled images of a task, float32 ``[S, n, features]``."""
        return self.scaling(samples.images[:, samples.bounds[task] : samples.bounds[task + 1]])

    def targets(self, samples: TaskData, task: int) -> torch.Tensor:
        """All labels of a task, int64 ``[S, n]``."""
        return samples.labels[:, samples.bounds[task] : samples.bounds[task + 1]]

    def to(self, device: torch.device | str) -> "Tasks":
        """The same tasks, with every tensor on the device."""
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
    """Make the tasks of one run per random seed.

    split: ``"permutation"`` (each task shuffles the pixels in its own way), ``"rotation"`` (task k is rotated by
        k · ``degrees_per_task``) or ``"class"`` (labels (0, 1), (2, 3), …; even → 0, odd → 1).
    task_count: number of tasks, for permutation and rotation.
    scaling: ``"unit"`` to [0, 1], ``"symmetric"`` to [-1, 1], ``"standard"``: zero mean, unit deviation per channel,
        fitted on the training images; or ``"customary"``, see `customary_scaling`.
    validation: ``"parts"`` divides the test set among the tasks, like the training set; ``"whole"`` gives every task
        the whole test set, transformed.
    fill: colour of the corners that a rotation uncovers: ``"black"``, or ``"zero"``, the grey level nearest to 0 after
        scaling, as if scaled images had been rotated.
    train_limit, test_limit: maximum number of samples per task, for reduced profiles.
    """
    choices = {"split": (split, names.SPLITS), "scaling": (scaling, SCALINGS), "validation": (validation, VALIDATIONS)}
    choices |= {"interpolation": (interpolation, INTERPOLATIONS), "fill": (fill, FILLS)}
    for kind, (name, valid) in choices.items():
        if not isinstance(name, str) or name not in valid:
            raise unknown_name(kind, name, valid)
    check_whole(or_none=True, train_limit=train_limit, test_limit=test_limit)
    if not isinstance(dataset, Dataset):
        raise TaclError(f"make_tasks takes a Dataset, such as load('digits'), not {type(dataset).__name__}.")
    dataset = checked(dataset, dataset.name, classes=None)
    fitted = fit_scaling(dataset.train_images, customary_scaling(dataset.name) if scaling == "customary" else scaling)
    # Features are ordered pixel by pixel, so the first ones are the channels of one pixel.
    corners = fitted.offset[: dataset.train_images.shape[3]].round().int().tolist() if fill == "zero" else 0
    seeds, labels = checked_seeds(seeds), _labels_of(dataset, split)
    cut = _Cut(dataset.name, split, seeds, task_names(split, labels, task_count, degrees_per_task))

    def shown(images: np.ndarray, task: int, seed: int) -> np.ndarray:
        """Images ``[n, H, W, C]``, transformed for a task of run ``seed``."""
        if split == "permutation":
            # Whole pixels move; their colour channels stay together.
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
    """How each run divides a dataset into tasks."""

    dataset: str
    split: str
    seeds: tuple[int, ...]
    names: tuple[str, ...]

    def samples(
        self, part: str, images: np.ndarray, labels: np.ndarray, shown: Callable, disjoint: bool, limit: int | None
    ) -> TaskData:
        """Training or test data of all tasks. disjoint: each image belongs to one task; else every task has all."""
        # Without a limit, all runs have the same images in a class split (in another order): keep one copy.
        runs = self.seeds[:1] if self.split == "class" and limit is None else self.seeds
        pixels, origins = [], []
        for seed in runs:
            rows = self._rows(part, labels, seed, disjoint, limit)
            pixels.append(np.concatenate([shown(images[r], k, seed).reshape(len(r), -1) for k, r in enumerate(rows)]))
            origins.append(np.concatenate(rows))
        origin = np.stack(origins)
        own = labels[origin].astype(np.int64)
        return TaskData(
            torch.from_numpy(np.stack(pixels)),
            torch.from_numpy(own % 2 if self.split == "class" else own),
            torch.from_numpy(origin),
            (0, *map(int, np.cumsum([len(r) for r in rows]))),
        )

    def _rows(self, part: str, labels: np.ndarray, seed: int, disjoint: bool, limit: int | None) -> list[np.ndarray]:
        """The dataset rows of each task of a run."""
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
    """The number of classes of a dataset."""
    labels = int(max(dataset.train_labels.max(), dataset.test_labels.max())) + 1
    absent = sorted(set(range(labels)) - set(np.unique(dataset.train_labels).tolist()))
    if absent and split != "class":  # for a class split, the error names the task without images
        few = ", ".join(map(str, absent[:5])) + ", …" * (len(absent) > 5)
        raise TaclError(f"{dataset.name} has no training images with the labels {few}; number its classes from 0.")
    if labels < 2:
        raise TaclError(f"{dataset.name} has only one class, so there is nothing to learn; it needs at least two.")
    if split == "class" and labels % 2:
        raise TaclError(
            f"class split pairs the labels, but {dataset.name} has an odd number of them, {labels}; drop or add one."
        )
    return labels


def task_names(split: str, labels: int, task_count: int, degrees: float) -> tuple[str, ...]:
    """The names of the tasks."""
    if split == "class":
        return tuple(f"{label} / {label + 1}" for label in range(0, labels, 2))
    check_whole(task_count=task_count)
    if not is_finite(degrees):
        raise TaclError(f"degrees_per_task must be a finite number, not {degrees!r}.")
    return tuple(f"{n * degrees:g}°" if split == "rotation" else f"permutation {n}" for n in range(task_count))


def permutation_of(seed: int, task: int, pixels: int) -> np.ndarray:
    """The pixel order of a task in run ``seed``: ``new = old[..., order]``."""
    return generator(seed, "permutation", task).permutation(pixels)

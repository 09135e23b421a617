"""The layers of R perceptrons at once, with their passes forward and backward.

Batches of ten samples leave a processor idle, so R runs train as one network whose weights are stacked,
``[R, in, out]``. Backpropagation is written out: it is ten lines, and it yields the activations and deltas
from which every gradient of this kit is made (see `gradients`).
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise

import numpy as np
import torch

from tacl_lib.core.checking import check_batch, check_samples, checked_device, checked_seeds, is_whole
from tacl_lib.core.randomness import generator
from tacl_lib.engine.compiled import add_product, affine, product
from tacl_lib.engine.gradients import Gradient
from tacl_lib.errors import TaclError, unknown_name

INITIALISATIONS = ("torch", "glorot", "he")


class Layers:
    """R multi-layer perceptrons with ReLU between layers.

    seeds: one run per seed; its first weights depend on nothing else.
    sizes: features, hidden widths, outputs, e.g. ``(784, 200, 200, 10)``.
    initialisation: ``"torch"`` (the default of ``nn.Linear``), ``"glorot"`` uniform with zero bias or
        ``"he"`` normal with zero bias.
    """

    def __init__(
        self,
        seeds: Sequence[int],
        sizes: Sequence[int],
        initialisation: str = "torch",
        device: torch.device | str = "cpu",
    ):
        if initialisation not in INITIALISATIONS:
            raise unknown_name("initialisation", initialisation, INITIALISATIONS)
        seeds, device = checked_seeds(seeds, distinct=False), checked_device(device)
        if not isinstance(sizes, Iterable) or len(sizes := tuple(sizes)) < 2 or not all(map(is_whole, sizes)):
            raise TaclError(f"sizes must be two or more positive layer widths, such as (784, 200, 10), not {sizes!r}.")
        count = len(seeds) * sum((w_in + 1) * w_out for w_in, w_out in pairwise(sizes))
        self._lay_out(torch.empty(count, device=device), seeds, sizes)
        for layer, shape in enumerate(pairwise(sizes)):
            for run, seed in enumerate(self.seeds):
                weight, bias = _first_weights(seed, layer, *shape, initialisation)
                self.weights[layer][run] = torch.from_numpy(weight)
                self.biases[layer][run] = torch.from_numpy(bias)

    @classmethod
    def over(cls, flat: torch.Tensor, seeds: Sequence[int], sizes: Sequence[int]) -> "Layers":
        """Layers on parameters that are there already, laid out as ``flat``."""
        network = cls.__new__(cls)
        network._lay_out(flat, seeds, sizes)
        return network

    def _lay_out(self, flat: torch.Tensor, seeds: Sequence[int], sizes: Sequence[int]) -> None:
        self.seeds, self.sizes, self.device = tuple(seeds), tuple(sizes), flat.device
        #: all parameters of all runs in one piece of memory, layer after layer; the others are views of it
        self.flat = flat
        views, layers = self.views(flat), len(self.sizes) - 1
        self.weights: list[torch.Tensor] = views[:layers]  #: per layer ``[R, in, out]``
        self.biases: list[torch.Tensor] = views[layers:]  #: per layer ``[R, 1, out]``

    def views(self, flat: torch.Tensor) -> list[torch.Tensor]:
        """A buffer like ``self.flat`` as weights ``[R, in, out]`` of every layer, then biases ``[R, 1, out]``."""
        pairs = list(pairwise(self.sizes))
        shapes = [(self.runs, *pair) for pair in pairs] + [(self.runs, 1, out) for _, out in pairs]
        pieces = flat.split([math.prod(shape) for shape in shapes])
        return [piece.view(shape) for piece, shape in zip(pieces, shapes, strict=True)]

    def vector(self, run: int) -> torch.Tensor:
        """All parameters of one run: weights of every layer, then biases: ``[p]``."""
        return torch.cat([view[run].flatten() for view in self.views(self.flat)])

    @property
    def runs(self) -> int:
        return len(self.seeds)

    @property
    def parameter_count(self) -> int:
        """p, the number of weights and biases of one run."""
        return sum((w_in + 1) * w_out for w_in, w_out in pairwise(self.sizes))

    def forward(self, x: torch.Tensor) -> tuple[list[torch.Tensor], torch.Tensor]:
        """What goes into each layer, and the logits f(x; w): ``[R, n, features]`` to ``[R, n, classes]``."""
        check_samples(x, self.runs, self.sizes[0], self.flat.dtype)
        inputs, logits = self.after_first_layer(affine(self.biases[0], x, self.weights[0]))
        return [x, *inputs], logits

    def after_first_layer(self, out: torch.Tensor) -> tuple[list[torch.Tensor], torch.Tensor]:
        """The rest of `forward`, from what came out of the first layer ``[R, n, width]``, which is used up."""
        inputs = []
        for weight, bias in zip(self.weights[1:], self.biases[1:], strict=True):
            inputs.append(out.relu_())
            out = affine(bias, inputs[-1], weight)
        return inputs, out

    def check_batch(self, x: torch.Tensor, y: torch.Tensor) -> None:
        """Samples must be finite ``[R, n, features]``, labels int64 ``[R, n]``."""
        check_batch(x, y, self.runs, self.sizes[0], self.sizes[-1], self.flat.dtype)

    def backward(self, inputs: list[torch.Tensor], delta: torch.Tensor) -> list[torch.Tensor]:
        """Derivatives by every layer's output, from those by the logits, ``delta [R, n, classes]``."""
        deltas = [delta]
        for layer in range(len(self.weights) - 1, 0, -1):
            back = product(deltas[0], self.weights[layer].mT)
            # Zero where a unit was off, in one sweep: a mask and a product take several times as long.
            deltas.insert(0, torch.ops.aten.threshold_backward(back, inputs[layer], 0))
        return deltas

    def loss_gradient(
        self, x: torch.Tensor, y: torch.Tensor, weight: torch.Tensor | float | None = None
    ) -> tuple[torch.Tensor, Gradient]:
        """Cross-entropy and its gradient ∇L(w).

        weight: of each sample ``[R, n]`` in the sum; 1/n, the mean, if not given.
        Returns the weighted losses ``[R, n]``, whose sum is L(w), and a gradient of n terms.
        """
        self.check_batch(x, y)
        inputs, logits = self.forward(x)
        losses, delta = cross_entropy(logits, y, 1 / y.shape[1] if weight is None else weight)
        return losses, Gradient(inputs, self.backward(inputs, delta))

    def model_gradient(self, x: torch.Tensor, y: torch.Tensor) -> Gradient:
        """∇f_y(x; w): for each sample apart, the gradient of the logit of its label."""
        self.check_batch(x, y)
        inputs, logits = self.forward(x)
        return Gradient(inputs, self.backward(inputs, one_hot(y, logits)))

    def add(self, gradient: Gradient, factor: torch.Tensor | float) -> None:
        """w ← w + factor · gradient, without ever forming the gradient. factor: a number or ``[R]``."""
        for weight, bias, given, delta in zip(self.weights, self.biases, *gradient, strict=True):
            alpha = factor
            if isinstance(factor, torch.Tensor):
                delta, alpha = delta * factor.view(-1, 1, 1), 1.0
            add_product(weight, given.mT, delta, alpha)
            bias.add_(delta.sum(1, keepdim=True), alpha=alpha)

    def form(self, gradient: Gradient, buffer: torch.Tensor, keep: float = 0.0) -> None:
        """buffer ← keep · buffer + gradient, laid out as ``flat``."""
        views, layers = self.views(buffer), len(self.weights)
        for layer, (given, delta) in enumerate(zip(*gradient, strict=True)):
            views[layer].baddbmm_(given.mT, delta, beta=keep)
            views[layers + layer].mul_(keep).add_(delta.sum(1, keepdim=True))


def cross_entropy(
    logits: torch.Tensor, y: torch.Tensor, weight: torch.Tensor | float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Weighted losses -log softmax(logits)_y, ``[R, n]``, and the derivative of their sum by the logits."""
    log_probability = logits.log_softmax(2)
    target = y.unsqueeze(2)
    with _labels_checked(y, logits):
        losses = log_probability.gather(2, target).squeeze(2)
    delta = log_probability.exp_()
    delta.scatter_add_(2, target, delta.new_full((1, 1, 1), -1.0).expand_as(target))
    if isinstance(weight, torch.Tensor):
        return losses.mul_(-weight), delta.mul_(weight.unsqueeze(2))
    return losses.mul_(-weight), delta.mul_(weight)


def one_hot(y: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
    """1 at the label of each sample, 0 elsewhere: ``[R, n]`` to ``[R, n, classes]``."""
    with _labels_checked(y, logits):
        return torch.zeros_like(logits).scatter_(2, y.unsqueeze(2), 1.0)


@contextmanager
def _labels_checked(y: torch.Tensor, logits: torch.Tensor) -> Iterator[None]:
    """The device checks the range of labels as it uses them (a check of our own would wait); say it in words."""
    try:
        yield
    except RuntimeError as error:
        raise wrong_labels(y, logits.shape[2]) from error


def wrong_labels(y: torch.Tensor, classes: int) -> TaclError:
    return TaclError(f"labels must be int64 in 0 to {classes - 1}; these are {y.dtype} in {y.min()} to {y.max()}.")


def _first_weights(seed: int, layer: int, width_in: int, width_out: int, initialisation: str):
    """Weights ``[in, out]`` and biases ``[1, out]`` of one run before training."""
    rng = generator(seed, "weights", layer)
    shape, bias = (width_in, width_out), np.zeros((1, width_out))
    if initialisation == "glorot":
        bound = math.sqrt(6 / (width_in + width_out))
        weight = rng.uniform(-bound, bound, shape)
    elif initialisation == "he":
        weight = rng.normal(0, math.sqrt(2 / width_in), shape)
    else:
        bound = 1 / math.sqrt(width_in)
        weight, bias = rng.uniform(-bound, bound, shape), rng.uniform(-bound, bound, bias.shape)
    return weight.astype(np.float32), bias.astype(np.float32)

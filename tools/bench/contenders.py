"""What the kit is compared with: the same methods as one would write them first, for one run.

Each is given what a sensible plain implementation would have (no needless copies, a Gram matrix that is kept,
a factor that is used again), so that a ratio shows what stacking and outer products bring and nothing else.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from torch import nn

from tacl_lib.engine.gradient_pool import RIDGE


def perceptron(sizes: Sequence[int]) -> nn.Sequential:
    """Linear layers with ReLU between them."""
    layers: list[nn.Module] = []
    for width_in, width_out in pairwise(sizes):
        layers += [nn.Linear(width_in, width_out), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def set_parameters(model: nn.Sequential, weights: Sequence[torch.Tensor], biases: Sequence[torch.Tensor]) -> None:
    """Give a model the parameters of one run of an `Mlp`: ``[in, out]`` and ``[1, out]`` of each layer."""
    linear = [layer for layer in model if isinstance(layer, nn.Linear)]
    with torch.no_grad():
        for layer, weight, bias in zip(linear, weights, biases, strict=True):
            layer.weight.copy_(weight.T)
            layer.bias.copy_(bias.flatten())


def in_order_of_model(vectors: torch.Tensor, sizes: Sequence[int]) -> torch.Tensor:
    """Rows laid out as `Mlp.vector` to the order of a model's parameters: layer by layer, ``[out, in]``."""
    pairs = list(pairwise(sizes))
    parts = vectors.split([a * b for a, b in pairs] + [b for _, b in pairs], dim=1)
    weights = [part.unflatten(1, pair).mT.flatten(1) for part, pair in zip(parts, pairs, strict=False)]
    return torch.cat([part for pair in zip(weights, parts[len(pairs) :], strict=True) for part in pair], dim=1)


class PlainSgd:
    """The usual training loop of PyTorch."""

    def __init__(self, sizes: Sequence[int], rate: float = 1e-3):
        self.model = perceptron(sizes)
        self.loss = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=rate)

    def step(self, x: torch.Tensor, y: torch.Tensor) -> None:
        self.optimizer.zero_grad()
        self.loss(self.model(x), y).backward()
        self.optimizer.step()


class RunByRun:
    """The usual training loop for several runs: a model for each, trained one after another in every step."""

    def __init__(
        self, build: Callable[[], nn.Module], runs: int, image_shape: tuple[int, ...] = (), rate: float = 1e-3
    ):
        self.models, self.image_shape = [build() for _ in range(runs)], image_shape
        self.loss = nn.CrossEntropyLoss()
        self.optimizers = [torch.optim.SGD(model.parameters(), lr=rate) for model in self.models]

    def step(self, x: torch.Tensor, y: torch.Tensor) -> None:
        if self.image_shape:
            x = x.unflatten(2, self.image_shape).permute(0, 1, 4, 2, 3)
        for model, optimizer, images, labels in zip(self.models, self.optimizers, x, y, strict=True):
            optimizer.zero_grad()
            self.loss(model(images), labels).backward()
            optimizer.step()


class DenseOgd:
    """Projection with whole gradients: a ``[capacity, p]`` matrix G, one row per stored gradient.

    ĝ = g - Gᵀ c with K c = G g. K is kept in float64 and changes by one row when a gradient is replaced. While
    none is, its Cholesky factor is used again. Spared against TA-OGD: clusters and scheduler; gradients are
    replaced in turn.
    """

    def __init__(self, sizes: Sequence[int], stored: torch.Tensor, rate: float = 1e-3, replace: bool = True):
        """stored: G, float32. replace: whether each step replaces a stored gradient, as TA-OGD does."""
        self.model, self.loss, self.rate, self.replace = perceptron(sizes), nn.CrossEntropyLoss(), rate, replace
        self.parameters = list(self.model.parameters())
        self.stored, self.next = stored, 0
        self.gram = (stored @ stored.T).double()
        self._factor: tuple[torch.Tensor, torch.Tensor] | None = None

    def step(self, x: torch.Tensor, y: torch.Tensor) -> None:
        gradient = self._gradient(self.loss(self.model(x), y))
        coefficients = self._solve(self.stored @ gradient)
        gradient.addmv_(self.stored.T, coefficients, alpha=-self.rate, beta=self.rate)
        with torch.no_grad():
            pieces = gradient.split([parameter.numel() for parameter in self.parameters])
            for parameter, piece in zip(self.parameters, pieces, strict=True):
                parameter.sub_(piece.view_as(parameter))
        if self.replace:
            self._put(self._gradient(self.model(x[0])[y[0]]))

    def _gradient(self, value: torch.Tensor) -> torch.Tensor:
        return torch.cat([part.flatten() for part in torch.autograd.grad(value, self.parameters)])

    def _solve(self, overlap: torch.Tensor) -> torch.Tensor:
        if self._factor is None:
            diagonal = self.gram.diagonal()
            scale = torch.where(diagonal > 0, diagonal, 1.0).rsqrt()
            matrix = self.gram * scale * scale.unsqueeze(1)
            matrix.diagonal().fill_(1 + RIDGE)
            self._factor = scale, torch.linalg.cholesky(matrix)
        scale, lower = self._factor
        return (torch.cholesky_solve((overlap * scale).unsqueeze(1), lower).squeeze(1) * scale).float()

    def _put(self, gradient: torch.Tensor) -> None:
        place, self.next = self.next, (self.next + 1) % len(self.stored)
        self.stored[place] = gradient
        row = self.stored @ gradient
        self.gram[place] = row
        self.gram[:, place] = row
        self._factor = None


class PlainBgd:
    """Bayesian gradient descent with a mean and a deviation beside every parameter tensor."""

    def __init__(self, sizes: Sequence[int], std_init: float = 0.02, eta: float = 1.0, passes: int = 10):
        self.model, self.eta, self.passes = perceptron(sizes), eta, passes
        self.loss = nn.CrossEntropyLoss(reduction="sum")
        self.parameters = list(self.model.parameters())
        self.means = [parameter.detach().clone() for parameter in self.parameters]
        self.stds = [torch.full_like(mean, std_init) for mean in self.means]

    def step(
        self, x: torch.Tensor, y: torch.Tensor, noise: Callable[[torch.Tensor], torch.Tensor] = torch.randn_like
    ) -> None:
        gradients = [torch.zeros_like(mean) for mean in self.means]
        gradients_noise = [torch.zeros_like(mean) for mean in self.means]
        for _ in range(self.passes):
            noises = [noise(mean) for mean in self.means]
            with torch.no_grad():
                for parameter, mean, std, drawn in zip(self.parameters, self.means, self.stds, noises, strict=True):
                    torch.addcmul(mean, std, drawn, out=parameter)
            found = torch.autograd.grad(self.loss(self.model(x), y), self.parameters)
            for total, total_noise, gradient, drawn in zip(gradients, gradients_noise, found, noises, strict=True):
                total.add_(gradient)
                total_noise.addcmul_(gradient, drawn)
        for mean, std, total, total_noise in zip(self.means, self.stds, gradients, gradients_noise, strict=True):
            half = total_noise.mul_(0.5 / self.passes).mul_(std)
            mean.addcmul_(std.square(), total, value=-self.eta / self.passes)
            std.mul_(half.square().add_(1).sqrt_().sub_(half))

"""Which layers of a module have gradients that are outer products, and the two factors of each.

A linear layer's weight has, for one sample, the gradient δ aᵀ: a goes into the layer, δ is the derivative with respect
to what comes out. A convolution's is the sum of δ aᵀ over all positions, with a the patch that the filter sees there.
Keeping the image that goes in and the δ that comes out instead of the product takes less wherever a layer has more
weights than activations, which is most of a deep network.
"""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.grad import conv2d_weight


class Layer(NamedTuple):
    """A layer whose weight's gradient is kept as its factors."""

    module: nn.Module  #: nn.Linear or nn.Conv2d
    weight: str  #: the name of its weight
    shape: torch.Size  #: of the weight
    goes_in: torch.Size  #: of one sample
    comes_out: torch.Size

    def product(self, a: torch.Tensor, delta: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
        """⟨u_i, G⟩ of n samples of one run ``[n]``: their a and δ, and a matrix G of the weight's shape."""
        linear = isinstance(self.module, nn.Linear)
        moved = a @ matrix.mT if linear else F.conv2d(a, matrix, None, *self._where())
        return (moved * delta).flatten(1).sum(1)

    def combined(self, a: torch.Tensor, delta: torch.Tensor) -> torch.Tensor:
        """Σ_i u_i over n samples of one run, in the weight's shape."""
        if isinstance(self.module, nn.Linear):
            return delta.mT @ a
        return conv2d_weight(a, self.shape, delta, *self._where())

    def _where(self) -> tuple:
        return self.module.stride, self.module.padding, self.module.dilation


def layers_that_pay(module: nn.Module, trained: dict[str, nn.Parameter], x: torch.Tensor) -> list[Layer]:
    """The layers of which two factors take less room than the gradient itself, and say the same.

    A module can do with a layer what nobody sees from outside, such as use its weight a second time, so one sample x
    ``[1, ...]`` is tried both ways.
    """
    called: dict[str, list[Layer]] = {}

    def look(name, layer, given, out):
        weight = f"{name}.weight".lstrip(".")
        seen = Layer(layer, weight, layer.weight.shape, given[0].shape[1:], out.shape[1:])
        called.setdefault(weight, []).append(seen)

    with torch.no_grad(), watched(module, [layer for layer in module.modules() if _is_plain(layer)], look):
        module(x)
    layers = [seen[0] for weight, seen in called.items() if len(seen) == 1 and weight in trained and _pays(seen[0])]
    if not layers:
        return []
    try:
        _, *pieces = factors(module, layers, trained, x, torch.zeros((), dtype=torch.int64, device=x.device))
    except RuntimeError:  # something in the module does not like that what comes out of a layer is taken aside
        return []
    with torch.enable_grad():
        true = torch.autograd.grad(module(x)[0, 0], [trained[layer.weight] for layer in layers])
    found = [
        layer.combined(a[None], delta[None])
        for layer, a, delta in zip(layers, pieces[: len(layers)], pieces[len(layers) :], strict=True)
    ]
    errors = [(one - other).abs().max() <= 1e-3 * other.abs().max() for one, other in zip(found, true, strict=True)]
    return [layer for layer, right in zip(layers, errors, strict=True) if right]


def _is_plain(layer: nn.Module) -> bool:
    """Whether a layer is one of torch's own, of a kind whose products are known here."""
    if type(layer) is nn.Conv2d:
        return layer.groups == 1 and layer.padding_mode == "zeros" and not isinstance(layer.padding, str)
    return type(layer) is nn.Linear


def _pays(layer: Layer) -> bool:
    dimensions = 1 if isinstance(layer.module, nn.Linear) else 3
    return len(layer.goes_in) == dimensions and layer.goes_in.numel() + layer.comes_out.numel() < layer.shape.numel()


def factors(
    module: nn.Module, layers: list[Layer], trained: dict[str, nn.Parameter], x: torch.Tensor, y: torch.Tensor
) -> list[torch.Tensor]:
    """∇f_y of one sample x ``[1, ...]``: the gradient of all other parameters as a vector, a of each layer, δ of each.

    layers: their names count, so that those of one module serve for others of its kind.
    """
    shift = {layer.weight: x.new_zeros(1, *layer.comes_out, requires_grad=True) for layer in layers}
    went_in = {layer.weight: x.new_zeros(1, *layer.goes_in) for layer in layers}

    def pass_on(name, layer, given, out):
        weight = f"{name}.weight".lstrip(".")
        went_in[weight] = given[0].detach()
        return out + shift[weight]

    factored = [module.get_submodule(layer.weight.rpartition(".")[0]) for layer in layers]
    rest = [parameter for name, parameter in trained.items() if name not in shift]
    with torch.enable_grad(), watched(module, factored, pass_on):
        logit = module(x)[0].gather(0, y.view(1))[0]
    found = torch.autograd.grad(logit, [*rest, *shift.values()], allow_unused=True, materialize_grads=True)
    whole = [piece.flatten() for piece in found[: len(rest)]]
    return [
        torch.cat(whole) if whole else x.new_zeros(0),
        *(a[0] for a in went_in.values()),
        *(d[0] for d in found[len(rest) :]),
    ]


@contextmanager
def watched(module: nn.Module, layers: Collection[nn.Module], look: Callable) -> Iterator[None]:
    """Within the block, ``look(name, layer, given, out)`` is called after each such layer; what it returns counts."""
    handles = [
        layer.register_forward_hook(partial(look, name)) for name, layer in module.named_modules() if layer in layers
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()

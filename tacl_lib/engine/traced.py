"""Which layers of a module have gradients that are outer products, and the two factors of each.

A linear layer's weight has, for one sample, the gradient δ aᵀ: a goes into the layer, δ is the derivative with respect
to what comes out. A convolution's is the sum of δ aᵀ over all positions, with a the patch that the filter sees there.
Keeping the image that goes in and the δ that comes out instead of the product takes less wherever a layer has more
weights than activations, which is most of a deep network.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import nn
from torch.func import functional_call, grad
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


def layers_that_pay(module: nn.Module, call: Callable[[], object], names: set[str]) -> list[Layer]:
    """The layers of which two factors take less room than the gradient itself.

    call: sends one sample through the module. names: of its parameters.
    """
    seen: dict[str, list] = {}
    handles = []
    for name, layer in module.named_modules():
        weight = f"{name}.weight" if name else "weight"
        if _is_plain(layer) and weight in names:

            def look(layer, given, out, weight=weight):
                seen.setdefault(weight, []).append((layer, given[0].shape[1:], out.shape[1:]))

            handles.append(layer.register_forward_hook(look))
    try:
        call()
    finally:
        for handle in handles:
            handle.remove()
    found = []
    for weight, calls in seen.items():
        layer, goes_in, comes_out = calls[0]
        dimensions = 1 if isinstance(layer, nn.Linear) else 3
        if len(calls) > 1 or len(goes_in) != dimensions:
            continue
        if goes_in.numel() + comes_out.numel() < layer.weight.numel():
            found.append(Layer(layer, weight, layer.weight.shape, goes_in, comes_out))
    return found


def _is_plain(layer: nn.Module) -> bool:
    """Whether a layer is one of torch's own, of a kind whose products are known here."""
    if type(layer) is nn.Conv2d:
        return layer.groups == 1 and layer.padding_mode == "zeros" and not isinstance(layer.padding, str)
    return type(layer) is nn.Linear


def factors(
    module: nn.Module, layers: list[Layer], given: dict[str, torch.Tensor], x: torch.Tensor, y: torch.Tensor
) -> tuple[dict[str, torch.Tensor], list[torch.Tensor], list[torch.Tensor]]:
    """∇f_y of one sample x ``[1, ...]``: the gradients of all other parameters, and a and δ of each layer.

    given: parameters and buffers by name.
    """
    factored = {layer.weight for layer in layers}
    trained = dict(module.named_parameters())
    rest = {name: tensor for name, tensor in given.items() if name in trained and name not in factored}
    fixed = {name: tensor for name, tensor in given.items() if name not in rest}
    shift = [x.new_zeros(1, *layer.comes_out) for layer in layers]

    def logit(rest, shift):
        went_in = [None] * len(layers)
        handles = []
        for number, layer in enumerate(layers):

            def pass_on(_, inputs, out, number=number):
                went_in[number] = inputs[0]
                return out + shift[number]

            handles.append(layer.module.register_forward_hook(pass_on))
        try:
            logits = functional_call(module, rest | fixed, (x,))
        finally:
            for handle in handles:
                handle.remove()
        return logits[0].gather(0, y.view(1))[0], went_in

    (of_rest, delta), went_in = grad(logit, argnums=(0, 1), has_aux=True)(rest, shift)
    return of_rest, [a[0] for a in went_in], [d[0] for d in delta]

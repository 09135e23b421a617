"""Networks by name: the paper's perceptron, a small convolutional network, a ResNet, and those of a user.

    @register_network("mine")
    def mine(image_shape, classes, *, width=32):
        height, wide, channels = image_shape
        return nn.Sequential(...)  # [n, channels, height, wide] → [n, classes]

Keyword arguments with a default are its settings: ``RunSpec(network="mine", network_settings={"width": 64})``.
"""

import inspect
import math
from collections.abc import Callable, Sequence
from functools import cache

import torch
from torch import nn

from tacl_lib.core.network import Network
from tacl_lib.engine.mlp import Mlp
from tacl_lib.engine.module_network import ModuleNetwork
from tacl_lib.errors import TaclError, refuse_second, unknown_name
from tacl_lib.plugins import Registry

Build = Callable[..., nn.Module]
MLP = "mlp"  #: the paper's; its settings are `hidden` and `initialisation`
_OF_MLP = {"hidden": (200, 200), "initialisation": "torch"}
_BUILDS: dict[str, Build] = Registry()


def register_network(name: str) -> Callable[[Build], Build]:
    """Decorator: the network can then be asked for by its name."""

    def registered(build: Build) -> Build:
        if not callable(build):
            raise TaclError(f"the network {name!r} must be a function that makes a torch.nn.Module, not {build!r}.")
        if name == MLP:
            raise TaclError(f"the network {name!r} is the kit's own; choose another name.")
        refuse_second(_BUILDS, "network", name, build)
        _BUILDS[name] = build
        return build

    return registered


def network_names() -> list[str]:
    return [MLP, *_BUILDS]


def settings_of_network(name: str) -> dict[str, object]:
    """The settings of a network and their defaults; the perceptron's are fields of a spec."""
    if name == MLP:
        return {}
    if name not in _BUILDS:
        raise unknown_name("network", name, network_names())
    parameters = inspect.signature(_BUILDS[name]).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY}


def make_network(
    name: str,
    seeds: Sequence[int],
    image_shape: tuple[int, int, int],
    classes: int,
    *,
    device: torch.device | str = "cpu",
    **settings,
) -> Network:
    """A network by name, e.g. ``make_network("resnet", seeds, tasks.image_shape, tasks.classes, width=8)``.

    The perceptron takes ``hidden``, a tuple of widths, and ``initialisation``, see `Mlp`.
    """
    known = _OF_MLP if name == MLP else settings_of_network(name)
    for setting, value in settings.items():
        if setting not in known:
            raise unknown_name(f"setting of {name}", setting, known or ["none: it has no settings"])
        if name != MLP and known[setting] is not None and type(value) is not type(known[setting]):
            kind = type(known[setting]).__name__
            raise TaclError(f"{setting} of {name} must be of the kind {kind}, as its default is, not {value!r}.")
    if name == MLP:
        hidden, initialisation = (_OF_MLP | settings).values()
        return Mlp(seeds, (math.prod(image_shape), *hidden, classes), initialisation, device)
    return ModuleNetwork(seeds, lambda: _BUILDS[name](image_shape, classes, **settings), image_shape, classes, device)


def group_norm(channels: int) -> nn.GroupNorm:
    """Up to 16 channels a group. Statistics of one sample only: nothing runs along, and no batch is mixed."""
    return nn.GroupNorm(max(channels // 16, 1), channels)


@register_network("cnn")
def cnn(image_shape: tuple[int, int, int], classes: int, *, width: int = 16, hidden: int = 64) -> nn.Module:
    """Two convolutions with norm and pooling, then one hidden layer.

    width: channels of the first convolution; the second has twice as many. hidden: units of the hidden layer.
    """
    _at_least_one("cnn", width=width, hidden=hidden)
    height, wide, channels = image_shape
    if min(height, wide) < 4:
        raise TaclError(f"the network cnn needs images of 4 × 4 pixels or more, not {height} × {wide}.")
    return nn.Sequential(
        nn.Conv2d(channels, width, 3, padding=1),
        group_norm(width),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(width, 2 * width, 3, padding=1),
        group_norm(2 * width),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(2 * width * (height // 4) * (wide // 4), hidden),
        nn.ReLU(),
        nn.Linear(hidden, classes),
    )


@register_network("resnet")
def resnet(image_shape: tuple[int, int, int], classes: int, *, width: int = 64) -> nn.Module:
    """torchvision's ResNet-18 with group norm.

    width: channels of its first stage; 64 is ResNet-18, 8 is narrow enough for a CPU.
    """
    _at_least_one("resnet", width=width)
    network = _resnet_class()(width, classes)
    if image_shape[2] != 3:
        network.conv1 = nn.Conv2d(image_shape[2], width, kernel_size=7, stride=2, padding=3, bias=False)
        nn.init.kaiming_normal_(network.conv1.weight, mode="fan_out", nonlinearity="relu")
    return network


@cache
def _resnet_class() -> type[nn.Module]:
    """Made when first asked for: torchvision takes a second to import, and most runs need none of it."""
    from torchvision.models.resnet import BasicBlock, ResNet

    class ResNet18(ResNet):
        """Torchvision's network is written for 64 channels; here each stage has its share of them."""

        def __init__(self, width: int, classes: int):
            self.width = width
            super().__init__(BasicBlock, [2, 2, 2, 2], classes, norm_layer=group_norm)
            if width != 64:
                self.conv1 = nn.Conv2d(3, width, kernel_size=7, stride=2, padding=3, bias=False)
                nn.init.kaiming_normal_(self.conv1.weight, mode="fan_out", nonlinearity="relu")
                self.bn1, self.fc = group_norm(width), nn.Linear(8 * width, classes)

        def _make_layer(self, block, planes, blocks, stride=1, dilate=False):
            if planes == 64:
                self.inplanes = self.width
            return super()._make_layer(block, planes * self.width // 64, blocks, stride, dilate)

    return ResNet18


def _at_least_one(name: str, **settings: int) -> None:
    for setting, value in settings.items():
        if value < 1:
            raise TaclError(f"{setting} of {name} must be at least 1, not {value}.")

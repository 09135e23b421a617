"""Stored gradients of a module: two factors a layer say the same as whole gradients, and take less."""

import pytest
import torch
from torch import nn

from tacl_lib.core.learners import make_learner
from tacl_lib.engine.module_network import ModuleNetwork
from tacl_lib.engine.networks import make_network

SHAPE, CLASSES, SEEDS = (12, 10, 2), 3, (3, 14)


class Deep(nn.Module):
    """Everything that a layer may do: stride, padding, dilation, bias or none, groups, a layer used twice."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(2, 12, 3, stride=2, padding=1)
        self.norm = nn.GroupNorm(3, 12)
        self.second = nn.Conv2d(12, 16, 3, dilation=2, padding=(2, 1), bias=False)
        self.grouped = nn.Conv2d(16, 16, 3, padding=1, groups=4)
        self.twice = nn.Linear(30, 30)
        self.relu = nn.ReLU(inplace=True)
        self.narrow = nn.Conv2d(16, 16, 1, stride=2)
        self.middle = nn.Linear(16 * 3 * 2, 30)
        self.last = nn.Linear(30, CLASSES)

    def forward(self, x):
        x = self.relu(self.norm(self.first(x)))
        x = self.relu(self.second(x))
        x = x + self.relu(self.grouped(x))
        x = self.relu(self.middle(self.narrow(x).flatten(1)))
        return self.last(self.twice(torch.relu(self.twice(x))))


def by_autograd(network, run, module, x, y):
    """∇f_y of each sample, by torch's own autograd on a copy of the module."""
    module.load_state_dict(network.parameters(run), strict=False)
    found = []
    for sample, label in zip(x, y, strict=True):
        logit = module(sample.view(1, *SHAPE).permute(0, 3, 1, 2))[0, label]
        found.append(torch.cat([g.flatten() for g in torch.autograd.grad(logit, list(module.parameters()))]))
    return torch.stack(found)


def samples(count, features, seed=0):
    source = torch.Generator().manual_seed(seed)
    x = torch.randn(len(SEEDS), count, features, generator=source)
    return x, torch.randint(CLASSES, (len(SEEDS), count), generator=source)


def builds():
    width = {"width": 16}
    return {
        "deep": (ModuleNetwork(SEEDS, Deep, SHAPE, CLASSES), Deep()),
        "resnet": (make_network("resnet", SEEDS, SHAPE, CLASSES, **width), None),
    }


@pytest.fixture(params=["deep", "resnet"])
def made(request):
    network, module = builds()[request.param]
    if module is None:
        from tacl_lib.engine.networks import resnet

        module = resnet(SHAPE, CLASSES, width=16)
    return network, module


def test_products_and_sums_are_those_of_whole_gradients(made):
    network, module = made
    assert len(network.layout.layers) >= 3
    x, y = samples(7, network.features)
    pool = network.stored_gradients(0)
    pool.extend(network.model_gradient(x[:, :4], y[:, :4]))
    pool.extend(network.model_gradient(x[:, 4:], y[:, 4:]))
    source = torch.Generator().manual_seed(1)
    vector = torch.randn(len(SEEDS), network.parameter_count, generator=source)
    factors = torch.randn(len(SEEDS), 7, generator=source)
    products = network.layout.products(pool.members, vector)
    combined = network.layout.combined(pool.members, factors)
    for run in range(len(SEEDS)):
        whole = by_autograd(network, run, module, x[run], y[run])
        torch.testing.assert_close(products[run], whole @ vector[run], rtol=2e-4, atol=2e-4)
        torch.testing.assert_close(combined[run], factors[run] @ whole, rtol=2e-4, atol=2e-5)
        double = whole.double()
        torch.testing.assert_close(pool.gram[run], double @ double.T, rtol=2e-4, atol=2e-4)
    assert pool.nbytes < 0.7 * products.nbytes * network.parameter_count  # 7 whole gradients of each run


def test_what_is_left_is_orthogonal_to_every_stored_gradient(made):
    network, _ = made
    learner = make_learner("ta_ogd", network, rate=0.01, clusters=3, cluster_size=2)
    for step in range(8):
        learner.step(*samples(4, network.features, seed=step))
    x, y = samples(5, network.features, seed=9)
    gradient = network.loss_gradient(x, y)[1]
    left = learner.stored.project(gradient).vector
    filled = learner.memory.filled
    assert filled.sum() > 8
    lengths = learner.stored.gram.diagonal(dim1=1, dim2=2).sqrt().clamp(min=1e-9).float()
    cosines = network.layout.products(learner.stored.members, left) / lengths / left.norm(dim=1, keepdim=True)
    before = network.layout.products(learner.stored.members, gradient.vector) / lengths
    assert (cosines[filled].abs() < 1e-3).all()
    assert (before / gradient.vector.norm(dim=1, keepdim=True)).abs().max() > 0.05


class Sly(nn.Sequential):
    """Uses a weight of its first layer a second time, which nobody sees from outside."""

    def forward(self, x):
        return self[1](self[0](x.flatten(1))) + self[0].weight[:CLASSES].mean(1)


def test_a_weight_that_is_used_behind_our_back_has_whole_gradients():
    honest = nn.Sequential(nn.Flatten(), nn.Linear(240, 30), nn.Linear(30, CLASSES))
    network = ModuleNetwork(SEEDS, lambda: honest, SHAPE, CLASSES)
    assert [layer.weight for layer in network.layout.layers] == ["1.weight", "2.weight"]
    network = ModuleNetwork(SEEDS, lambda: Sly(nn.Linear(240, 30), nn.Linear(30, CLASSES)), SHAPE, CLASSES)
    assert [layer.weight for layer in network.layout.layers] == ["1.weight"]


class Tied(nn.Module):
    """A decoder that is its encoder, turned; and a layer that shares another's weight by name."""

    def __init__(self):
        super().__init__()
        self.encoder, self.middle, self.again = nn.Linear(240, 40), nn.Linear(40, 40), nn.Linear(40, 40)
        self.again.weight = self.middle.weight
        self.last = nn.Linear(240, CLASSES)

    def forward(self, x):
        x = torch.tanh(self.encoder(x.flatten(1)))
        x = torch.tanh(self.again(torch.tanh(self.middle(x))))
        return self.last(x @ self.encoder.weight)


def test_tied_weights_are_one_and_have_whole_gradients():
    network, module = ModuleNetwork(SEEDS, Tied, SHAPE, CLASSES), Tied()
    assert network.parameter_count == sum(parameter.numel() for parameter in module.parameters())
    assert [layer.weight for layer in network.layout.layers] == ["last.weight"]
    x, y = samples(3, network.features)
    gradients = network.model_gradient(x, y)
    found = network.layout.combined(gradients, torch.ones(len(SEEDS), 3))
    for run in range(len(SEEDS)):
        whole = by_autograd(network, run, module, x[run], y[run])
        torch.testing.assert_close(found[run], whole.sum(0), rtol=1e-4, atol=1e-5)


def test_297_gradients_of_a_resnet_fit_into_memory():
    network = make_network("resnet", (0,), (32, 32, 3), 10, width=8)
    taken = sum(t.nbytes for t in network.layout.empty(1, 297, torch.device("cpu")).tensors())
    assert taken < 297 * network.parameter_count * 4 / 15
    one = make_network("resnet", (0,), (32, 32, 3), 10)  # the whole of ResNet-18: 13 GB, were they dense
    assert one.parameter_count == 11_181_642
    assert sum(t.nbytes for t in one.layout.empty(1, 1, torch.device("cpu")).tensors()) * 297 < 150e6

"""Networks by name, from a spec to a record; and clusters in the space of the last hidden layer."""

import numpy as np
import pytest
import torch
from small_training import contents
from torch import nn

from tacl_lib.core.learners import make_learner
from tacl_lib.engine import networks
from tacl_lib.engine.mlp import Mlp
from tacl_lib.engine.networks import make_network, register_network
from tacl_lib.errors import TaclError
from tacl_lib.plain import memory as oracle
from tacl_lib.runs import RunSpec, run
from tacl_lib.runs.beyond import PROFILES, SHAPES, VARIANTS, columns, jobs
from tacl_lib.runs.spec import spec_from

TINY = {"dataset": "digits", "split": "class", "epochs": 1, "train_limit": 20, "test_limit": 20}


@pytest.fixture
def small():
    """A network of a user's, known for one test."""

    @register_network("small")
    def small(image_shape, classes, *, units=5, bias=True):
        height, width, channels = image_shape
        body = nn.Linear(height * width * channels, units, bias=bias)
        return nn.Sequential(nn.Flatten(), body, nn.ReLU(), nn.Linear(units, classes))

    yield small
    del networks._BUILDS["small"]


def test_resnet_is_torchvision_s_with_group_norm():
    from torchvision.models import resnet18

    theirs = resnet18(num_classes=10, norm_layer=networks.group_norm)
    ours = networks.resnet((32, 32, 3), 10)
    shapes = {name: tensor.shape for name, tensor in theirs.state_dict().items()}
    assert {name: tensor.shape for name, tensor in ours.state_dict().items()} == shapes
    ours.load_state_dict(theirs.state_dict())
    x = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(ours(x), theirs(x))
    narrow = networks.resnet((28, 28, 1), 2, width=8)
    assert len(list(narrow.parameters())) == len(shapes)
    assert narrow.fc.in_features == 64
    assert narrow(torch.randn(3, 1, 28, 28)).shape == (3, 2)
    count = sum(p.numel() for p in narrow.parameters())
    assert count < 11_181_642 / 60


@pytest.mark.parametrize(("name", "settings"), [("cnn", {"width": 4}), ("resnet", {"width": 8})])
@pytest.mark.parametrize("shape", [(8, 8, 1), (32, 32, 3)])
def test_each_run_begins_with_weights_of_its_own_seed(name, settings, shape):
    stack = make_network(name, (3, 14), shape, 2, **settings)
    alone = make_network(name, (14,), shape, 2, **settings)
    assert torch.equal(stack.vector(1), alone.vector(0))
    assert not torch.equal(stack.vector(0), stack.vector(1))
    assert stack.hidden(torch.zeros(2, 3, stack.features)).shape == (2, 3, stack.hidden_width)


def test_what_does_not_exist_is_told_in_a_sentence(small):
    bad = [
        (lambda: make_network("vgg", (0,), (8, 8, 1), 2), r"unknown network 'vgg'; choose one of: mlp, cnn, resnet"),
        (lambda: make_network("cnn", (0,), (8, 8, 1), 2, deep=3), "unknown setting of cnn 'deep'"),
        (
            lambda: make_network("mlp", (0,), (8, 8, 1), 2, width=3),
            "unknown setting of mlp 'width'; choose one of: hidden",
        ),
        (lambda: make_network("cnn", (0,), (8, 8, 1), 2, width="x"), "width of cnn must be of the kind int"),
        (lambda: make_network("resnet", (0,), (8, 8, 1), 2, width=0), "width of resnet must be at least 1"),
        (lambda: make_network("cnn", (0,), (2, 8, 1), 2), "images of 4 × 4 pixels or more"),
        (lambda: register_network("mlp")(small), "the kit's own"),
        (lambda: register_network("cnn")(small), "already registered"),
        (lambda: register_network("other")(5), "must be a function"),
        (lambda: run(RunSpec(**TINY, network="vgg"), (0,), progress=False), "unknown network 'vgg'"),
        (
            lambda: run(RunSpec(**TINY, network_settings={"a": 1}), (0,), progress=False),
            "mlp has no settings of its",
        ),
        (lambda: RunSpec(network_settings={"width": torch.zeros(1)}), "network_settings must be a dict"),
    ]
    for call, words in bad:
        with pytest.raises(TaclError, match=words):
            call()


def test_the_network_is_in_a_run_s_name_only_where_it_is_not_the_perceptron(small):
    plain = RunSpec(**TINY)
    assert "network" not in plain.full()
    assert plain.name() == RunSpec(**TINY, network="mlp").name()
    other = RunSpec(**TINY, network="small")
    assert other.full()["network_settings"] == {"units": 5, "bias": True}
    assert other.name() == RunSpec(**TINY, network="small", network_settings={"units": 5}).name()
    assert other.name() == RunSpec(**TINY, network="small", hidden=(3,), initialisation="he").name()  # not its own
    names = {plain.name(), other.name(), RunSpec(**TINY, network="small", network_settings={"units": 6}).name()}
    assert len(names) == 3
    assert spec_from(other.full()).name() == other.name()
    options = RunSpec(**TINY, network="small", network_settings={"units": 6}).options((0,))
    assert "--network small" in options
    assert "--set-network units=6" in options


def test_a_run_of_a_user_s_network_is_a_run_like_any_other(small, tmp_path, capsys):
    from tacl_lib.runs.command import main

    spec = RunSpec(**TINY, learner="ta_agem", network="small", network_settings={"units": 7})
    alone, stack = (run(spec, seeds, device="cpu", progress=False) for seeds in ((4,), (0, 4)))
    assert [r.info["spec"]["network_settings"]["units"] for r in stack] == [7, 7]
    np.testing.assert_allclose(alone[0].accuracy, stack[1].accuracy, atol=0.051)  # one of 20 images may tip
    main([*spec.options((0, 4)).split(), "--out", str(tmp_path)])
    files = sorted(tmp_path.glob("*.parquet"))
    assert len([f for f in files if f"small-units_7-{spec.name()}" in f.name or "small-units=7" in f.name]) >= 2


@pytest.mark.parametrize("network", ["mlp", "cnn"])
def test_clusters_lie_in_the_space_of_the_last_hidden_layer(network):
    """The memory holds what Algorithm 3 holds of the features that a sample had when it arrived."""
    settings = {"hidden": (9,)} if network == "mlp" else {"width": 2}
    net = make_network(network, (3,), (8, 8, 1), 2, **settings)
    own = {"clusters": 3, "cluster_size": 2, "space": "features", "rate": 0.1}
    learner, expected = make_learner("ta_agem", net, **own), oracle.PooledClusterMemory(2, 3, 2)
    source = torch.Generator().manual_seed(0)
    for number in range(40):
        x, y = torch.randn(1, 4, 64, generator=source), torch.randint(2, (1, 4), generator=source)
        step = learner.step(x, y)
        chosen = int(step.stored.chosen[0])
        features = hidden_by_hand(net, x[0, chosen])
        expected.add(features.double().numpy(), int(y[0, chosen]), (number, x[0, chosen]))
    stored = learner.memory.members.x[0]
    for pool, clusters in enumerate(expected.contents()):
        for cluster, tags in enumerate(clusters):
            for _, sample in tags:
                places = range((pool * 3 + cluster) * 2, (pool * 3 + cluster) * 2 + 2)
                assert any(torch.equal(stored[place], sample) for place in places)


def hidden_by_hand(net, x):
    if isinstance(net, Mlp):
        return torch.relu(x @ net.weights[0][0] + net.biases[0][0, 0])
    named = net.parameters(0)
    module = networks.cnn((8, 8, 1), 2, width=2)
    module.load_state_dict(named)
    with torch.no_grad():
        return module[:-1](x.view(1, 1, 8, 8))[0]


def test_features_need_a_last_linear_layer():
    from tacl_lib.engine.module_network import ModuleNetwork

    pooled = ModuleNetwork((0,), lambda: nn.Sequential(nn.Conv2d(1, 2, 8), nn.Flatten()), (8, 8, 1), 2)
    with pytest.raises(TaclError, match=r"no last nn\.Linear with 2 outputs"):
        make_learner("ta_agem", pooled, space="features")
    with pytest.raises(TaclError, match=r"unknown space 'pixels'; choose one of: x"):
        make_learner("ta_agem", pooled, space="pixels")


def test_the_runs_beyond_the_paper_are_all_there_and_apart_from_the_paper_s():
    from tacl_lib.runs.grid import all_jobs
    from tacl_lib.runs.profiles import PAPER_DATASETS
    from tacl_lib.runs.profiles import PROFILES as OF_THE_PAPER

    profile = PROFILES["beyond"]
    found = jobs(profile)
    assert len({job.spec.name() for job in found}) == len(columns(profile)) * len(SHAPES) * len(VARIANTS) == 84
    assert all(len(job.seeds) >= 3 for job in found)
    papers = {job.spec.name() for p in OF_THE_PAPER.values() for job in all_jobs(p, PAPER_DATASETS)}
    assert not papers & {job.spec.name() for job in found}


def test_a_convolutional_run_can_be_made_again():
    spec = RunSpec(**TINY, learner="ta_ogd", network="cnn", network_settings={"width": 2, "hidden": 8})
    assert contents(run(spec, (1,), device="cpu", progress=False)) == contents(
        run(spec, (1,), device="cpu", progress=False)
    )

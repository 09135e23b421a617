"""Runs in an environment that has Avalanche: the kit's plugins in its loop, and the kit alone. Prints JSON."""

import copy
import json
import os
import sys
import warnings

answers = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)
warnings.simplefilter("ignore")

import torch  # noqa: E402
from avalanche.benchmarks import benchmark_from_datasets  # noqa: E402
from avalanche.benchmarks.scenarios.online import split_continuous_linear_decay_stream  # noqa: E402
from avalanche.benchmarks.utils import as_taskaware_classification_dataset  # noqa: E402
from avalanche.training.plugins import EvaluationPlugin, ReplayPlugin  # noqa: E402
from avalanche.training.supervised import Naive  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils.data import TensorDataset  # noqa: E402

from tacl_lib import ClusterMemory, ModuleNetwork, Stream, load, make_learner, make_tasks  # noqa: E402
from tacl_lib.core.memory import Samples  # noqa: E402
from tacl_lib.training import avalanche as plugins  # noqa: E402

torch.set_num_threads(1)
RATE, SEED = 0.05, 3
TASKS = make_tasks(load("digits"), "class", (SEED,), train_limit=260)


def build():
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 2))


def network():
    return ModuleNetwork((SEED,), build, image_shape=(8, 8, 1), classes=2)


def dataset(x, y):
    """``[n, 64]`` as images of Avalanche."""
    data = TensorDataset(x.view(-1, 8, 8, 1).permute(0, 3, 1, 2).contiguous(), y)
    data.targets = y.tolist()
    return as_taskaware_classification_dataset(data)


def strategy(model, *given, optimizer=None):
    return Naive(
        model=model,
        optimizer=optimizer or torch.optim.SGD(model.parameters(), lr=RATE),
        criterion=nn.CrossEntropyLoss(),
        train_mb_size=10,
        train_epochs=1,
        plugins=list(given),
        evaluator=EvaluationPlugin(),
    )


def model_of(network):
    made = build()
    made.load_state_dict(network.parameters(0))
    return made


def weights(model):
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def equal_over_100_steps(name, plugin, **settings):
    """The same batches for the kit's learner and for the plugin in Avalanche's loop: two experiences of 50 steps."""
    stream = Stream(TASKS, epochs=4)
    batches = [batch for epoch in stream.epochs for batch in stream.batches(epoch)]
    first = stream.epochs[0].steps * 4
    batches = batches[first - 50 : first + 50]
    x, y = torch.cat([b.x[0] for b in batches]), torch.cat([b.y[0] for b in batches])
    assert len(x) == 1000
    kit = network()
    learner = make_learner(name, kit, **({"rate": RATE} if name != "bgd" else {}), **settings)
    own = plugin(classes=2, seed=SEED, **settings)
    model = model_of(kit)
    begun, trained = weights(model), strategy(model, own)
    for half, experience in enumerate(
        benchmark_from_datasets(train=[dataset(x[:500], y[:500]), dataset(x[500:], y[500:])]).train_stream
    ):
        trained.train(experience, shuffle=False, num_workers=0)
        for batch in batches[50 * half : 50 * half + 50]:
            learner.step(batch.x, batch.y)
        if name == "ogd":
            drawn = plugins.generator(SEED, "end of task", half).permutation(500)[: learner.samples_per_task]
            rows = torch.from_numpy(drawn) + 500 * half
            learner.end_task(x[rows][None], y[rows][None])
    theirs, ours = weights(model), kit.vector(0)
    found = {"apart": (theirs - ours).abs().max().item(), "moved": (ours - begun).abs().max().item()}
    if hasattr(learner, "memory") and isinstance(learner.memory.members, Samples):
        mine, other = learner.memory.members, own.learner.memory.members
        found["memory"] = torch.equal(mine.x, other.x) and torch.equal(mine.y, other.y)
        found["held"] = int(learner.memory.filled.sum())
    elif hasattr(learner, "stored"):
        found["memory"] = torch.allclose(learner.stored.gram, own.learner.stored.gram, rtol=1e-3)
        found["held"] = int((learner.stored.gram.diagonal(dim1=1, dim2=2) > 0).sum())
    plain = model_of(network())
    naive = strategy(plain)
    for experience in benchmark_from_datasets(train=[dataset(x, y)]).train_stream:
        naive.train(experience, shuffle=False, num_workers=0)
    found["from_sgd"] = (weights(plain) - ours).abs().max().item()
    return found


def accuracies(model):
    with torch.no_grad():
        return [
            (model(TASKS.inputs(TASKS.test, t)[0].view(-1, 1, 8, 8)).argmax(1) == TASKS.targets(TASKS.test, t)[0])
            .float().mean().item()
            for t in range(TASKS.count)
        ]  # fmt: skip


def drift():
    """Avalanche's stream without boundaries: tasks fade into each other. Its order of drawing is random."""
    train = [dataset(TASKS.inputs(TASKS.train, t)[0], TASKS.targets(TASKS.train, t)[0]) for t in range(TASKS.count)]
    found = {}
    for name in ("sgd", "ta_agem"):
        torch.manual_seed(0)
        stream = split_continuous_linear_decay_stream(
            benchmark_from_datasets(train=train).train_stream, 10, 24, 4, True
        )
        model = model_of(network())
        own = plugins.TaAgemPlugin(classes=2, seed=SEED)
        trained = strategy(model, *([own] if name == "ta_agem" else []))
        experiences = 0
        for experience in stream:
            trained.train(experience, num_workers=0)
            experiences += 1
        found[name] = sum(accuracies(model)) / TASKS.count
        found["experiences"] = experiences
    found["held"] = int(own.learner.memory.filled.sum())
    return found


def replay():
    """Avalanche's own replay, on clusters."""
    train = [dataset(TASKS.inputs(TASKS.train, t)[0], TASKS.targets(TASKS.train, t)[0]) for t in range(TASKS.count)]
    found = {}
    for name in ("naive", "clusters"):
        memory = ClusterMemory(clusters=20, classes=2)
        buffer = plugins.ClusterBuffer(memory, every=5)
        own = [ReplayPlugin(memory.geometry.capacity, storage_policy=buffer)] if name == "clusters" else []
        torch.manual_seed(0)
        model = model_of(network())
        trained = strategy(model, *own)
        for experience in benchmark_from_datasets(train=train).train_stream:
            trained.train(experience, num_workers=0)
        found[name] = sum(accuracies(model)) / TASKS.count
    found["held"] = len(memory)
    return found


def adam():
    """The optimiser is the user's own."""
    model = model_of(network())
    trained = strategy(model, plugins.TaAgemPlugin(classes=2), optimizer=torch.optim.Adam(model.parameters()))
    before = copy.deepcopy(weights(model))
    x, y = TASKS.inputs(TASKS.train, 0)[0], TASKS.targets(TASKS.train, 0)[0]
    for experience in benchmark_from_datasets(train=[dataset(x, y)]).train_stream:
        trained.train(experience, num_workers=0)
    return (weights(model) - before).abs().max().item()


if __name__ == "__main__":
    wanted = {
        "ta_agem": lambda: equal_over_100_steps("ta_agem", plugins.TaAgemPlugin, clusters=5, reference_batch=20),
        "ta_ogd": lambda: equal_over_100_steps("ta_ogd", plugins.TaOgdPlugin, clusters=8),
        "ogd": lambda: equal_over_100_steps("ogd", plugins.OgdPlugin, samples_per_task=12),
        "bgd": lambda: equal_over_100_steps("bgd", plugins.BgdPlugin, passes=2),
        "drift": drift,
        "replay": replay,
        "adam": adam,
    }
    print(json.dumps({name: wanted[name]() for name in sys.argv[1:]}), file=answers)

"""The rows of the table: which learner races against what, and the bar that the project sets itself.

A row is a dict, as it goes to ``figures/bench.json``: what is compared (``ours``, ``theirs``), the ``unit`` of both,
the ``bar`` for their ratio, and a cell per number of threads (or one, "any", where threads play no part).
"""

import time
from collections.abc import Callable, Iterable
from itertools import pairwise

import numpy as np
import torch

from bench import jax_env, peak
from bench.avalanche_env import METHOD, avalanche
from bench.avalanche_env import experiences as in_avalanche
from bench.contenders import (
    DenseOgd,
    PlainBgd,
    PlainSgd,
    RunByRun,
    in_order_of_model,
    perceptron,
    set_parameters,
)
from bench.measure import THREADS, Contender, Effort, compared, race, spread, stepper, threads
from tacl_lib.core.learners import Learner, Ogd, TaOgd, make_learner
from tacl_lib.core.memory import policy_named
from tacl_lib.core.streams import Stream
from tacl_lib.core.tasks import make_tasks
from tacl_lib.data import Dataset, cache
from tacl_lib.engine.gradients import Gradient, dense
from tacl_lib.engine.mlp import Mlp
from tacl_lib.engine.module_network import ModuleNetwork
from tacl_lib.engine.networks import cnn, resnet
from tacl_lib.errors import TaclError
from tacl_lib.names import DATASETS
from tacl_lib.runs.cost import shape_of

RUNS, BATCH, SIZES = 5, 10, (784, 200, 200, 10)
FASTER = "run-steps/s"


def row(name: str, ours: str, theirs: str, unit: str, bar: float, cells: dict, **more) -> dict:
    """A row of the table. more: ``at_most`` where a small ratio is good, ``judged`` at which threads, ``note``."""
    return {"name": name, "ours": ours, "theirs": theirs, "unit": unit, "bar": bar, "cells": cells, **more}


def made_batches(runs: int = RUNS, batch: int = BATCH, count: int = 64, features: int = SIZES[0]) -> list[tuple]:
    """Batches ``([R, batch, features], [R, batch])`` of ten classes that can be learned, the same every time."""
    random = torch.Generator().manual_seed(0)
    means = torch.rand(10, features, generator=random)
    labels = torch.randint(10, (count, runs, batch), generator=random)
    noise = torch.rand(count, runs, batch, features, generator=random)
    return list(zip((0.5 * means[labels] + 0.5 * noise).unbind(), labels.unbind(), strict=True))


def of_one_run(batches: list[tuple]) -> list[tuple]:
    """The batches that the first run sees, for contenders that train one run."""
    return [(x[0], y[0]) for x, y in batches]


def learner_named(name: str, runs: int = RUNS, sizes: tuple[int, ...] = SIZES, **settings) -> Learner:
    return make_learner(name, Mlp(range(runs), sizes), **settings)


def of_learner(learner: Learner, name: str = "", batches: list[tuple] | None = None) -> Contender:
    """A learner as `train` runs it."""
    runs, inference = learner.network.runs, learner.inference and learner.network.inference
    return stepper(name or learner.name, learner.step, batches or made_batches(runs), runs, inference)


def at_each_thread_count(contenders: list[Contender], effort: Effort) -> dict[str, dict[str, list[float]]]:
    """The race once for each number of threads: ``{"1": times, "2": times}``."""
    results = {}
    for count in THREADS:
        with threads(count):
            results[str(count)] = race(contenders, effort)
    return results


def cells_of(results: dict, ours: str, theirs: str) -> dict:
    return {count: compared(times[ours], times[theirs]) for count, times in results.items()}


def sgd(effort: Effort) -> Iterable[dict]:
    plain = stepper("plain", PlainSgd(SIZES).step, of_one_run(made_batches()))
    results = at_each_thread_count([of_learner(learner_named("sgd")), plain], effort)
    cells = cells_of(results, "sgd", "plain")
    yield row("sgd", "SGD", "plain PyTorch: autograd, torch.optim.SGD", FASTER, 2.5, cells, judged=["1"])


def agem(effort: Effort) -> Iterable[dict]:
    # As many reference samples as the contender has.
    aware, agnostic = (learner_named(name, reference_batch=10) for name in ("agem", "ta_agem"))
    memory = [torch.cat(parts, dim=1)[:, : aware.samples_per_task] for parts in zip(*made_batches(), strict=True)]
    aware.end_task(*memory)
    ours = [of_learner(aware), of_learner(agnostic)]
    ours[1].block(effort.fill)
    with avalanche() as (contender, versions):
        results = at_each_thread_count([*ours, contender], effort)
    theirs = f"A-GEM of Avalanche {versions['avalanche-lib']}"
    for name, title in (("agem", "A-GEM"), ("ta_agem", "TA-A-GEM")):
        cells = cells_of(results, name, "avalanche")
        yield row(name, title, theirs, FASTER, 5.0, cells, note=METHOD, versions=versions)


def experiences(effort: Effort) -> Iterable[dict]:
    """A memory of constant size must not slow down: steps of the plugin at both ends of a long stream."""
    count = 1000 if effort.rounds > 3 else 100
    found, versions = in_avalanche(count)
    early, late = (np.asarray(found[end]) for end in ("early", "late"))
    cell = {"ratio": spread(late / np.median(early)), "ours": 1e3 * np.median(late), "theirs": 1e3 * np.median(early)}
    cell["raw_seconds"] = {"ours": found["late"], "theirs": found["early"]}
    title = f"TA-A-GEM in Avalanche's loop at experience {count:,}"
    yield row("experiences", title, "at experience 10", "ms", 1.2, {"any": cell}, at_most=True, versions=versions)


def jax(effort: Effort) -> Iterable[dict]:
    """The kit against JAX with one thread, at the widths of the paper's grey and coloured images."""
    most = peak.gflops()
    for features in (SIZES[0], 3072):
        sizes = (features, *SIZES[1:])
        with jax_env.jax(sizes, RUNS, BATCH) as (contender, versions), threads(1):
            for name, title, bar in (("sgd", "SGD", 1.9), ("agem", "A-GEM", 1.9), ("bgd", "BGD", 12.0)):
                batches = made_batches(features=features, count=32)
                settings = {"reference_batch": 10} if name == "agem" else {}
                learner = learner_named(name, sizes=sizes, **settings)
                if name == "agem":
                    count = learner.samples_per_task
                    learner.end_task(*(torch.cat(part, dim=1)[:, :count] for part in zip(*batches, strict=True)))
                times = race([of_learner(learner, "ours", batches), contender(name)], effort)
                cells = {"1": compared(times["ours"], times["jax"])}
                title, theirs = f"{title}, {features:,} inputs", f"JAX {versions['jax']}: vmap, scan, jit"
                more = {"note": jax_env.METHOD, "gflop": products(sizes, SAMPLES[name]) / 1e9, "peak": most}
                yield row(f"jax_{name}_{features}", title, theirs, FASTER, bar, cells, **more)


#: that a step of one run passes through the network: the batch; with as many of the memory; in each of ten draws
SAMPLES = {"sgd": BATCH, "agem": 2 * BATCH, "bgd": 10 * BATCH}


def products(sizes: tuple[int, ...], samples: int) -> int:
    """Multiplications and additions in the products of so many samples' passes: forward, back, and the gradient."""
    weights = [a * b for a, b in pairwise(sizes)]
    return 2 * samples * (3 * sum(weights) - weights[0])


def dense_twin(learner: Ogd | TaOgd, **settings) -> DenseOgd:
    """The dense projection with the weights and the stored gradients of a learner's first run."""
    network, members = learner.network, learner.stored.members
    single = (
        Gradient(*([tensor[:1, i : i + 1] for tensor in part] for part in members))
        for i in range(learner.stored.capacity)
    )
    stored = in_order_of_model(torch.cat([dense(gradient) for gradient in single]), network.sizes)
    twin = DenseOgd(network.sizes, stored, **settings)
    set_parameters(twin.model, [weight[0] for weight in network.weights], [bias[0] for bias in network.biases])
    return twin


def ta_ogd(effort: Effort) -> Iterable[dict]:
    learner = learner_named("ta_ogd")
    ours = of_learner(learner)
    pool, clustering = learner.stored, learner.memory.policy
    learner.memory.policy = policy_named("fifo")  # fills every place, which clustering takes long to do
    ours.block(pool.capacity)
    learner.memory.policy = clustering
    ours.block(effort.fill)
    note = (
        f"TA-OGD: {int(learner.memory.filled[0].sum())} places filled in turn, then {effort.fill} steps of its own "
        "before the measurement; the dense projection is spared clusters and scheduler."
    )
    twin = dense_twin(learner)
    plain = stepper("dense", twin.step, of_one_run(made_batches()))
    cells = cells_of(at_each_thread_count([ours, plain], effort), "ta_ogd", "dense")
    title = f"TA-OGD, {pool.capacity} stored gradients"
    theirs = f"dense projection, p × {pool.capacity} matrix"
    yield row("ta_ogd", title, theirs, FASTER, 10.0, cells, note=note)

    factors = sum(tensor[0].nbytes for part in pool.members for tensor in part)
    whole = twin.stored.nbytes
    beside = sum(tensor[0].nbytes for tensor in (pool.gram, pool.inverse, pool.owed))
    for name, title, size, bar in (
        ("memory", "stored gradients of a run", factors, 100.0),
        ("memory_all", "… with Gram matrix and its inverse", factors + beside, None),
    ):
        cell = {"ratio": spread([whole / size]), "ours": size / 1e6, "theirs": whole / 1e6}
        yield row(name, title, f"p × {pool.capacity} float32", "MB", bar, {"any": cell}, fewer=True)


def bgd(effort: Effort) -> Iterable[dict]:
    plain = stepper("plain", PlainBgd(SIZES).step, of_one_run(made_batches()))
    ours = [of_learner(learner_named("bgd"))]
    dataset, which = images_or_like("mnist")
    ours.append(of_learner(learner_named("bgd"), "bgd_images", image_batches(dataset)))
    results = at_each_thread_count([*ours, plain], effort)
    theirs = "plain PyTorch: tensor by tensor, 10 passes"
    note = f"BGD draws no noise behind inputs that are 0 in a whole batch; images: {which}."
    images = cells_of(results, "bgd_images", "plain")
    yield row("bgd_images", f"BGD, {dataset.name} images", theirs, FASTER, 1.8, images, note=note)
    yield row("bgd", "BGD, inputs without zeros", theirs, FASTER, None, cells_of(results, "bgd", "plain"))


def module(effort: Effort) -> Iterable[dict]:
    """Any module, R at once, against the same modules run by run, and against the engine of the perceptron."""
    theirs, note = "plain PyTorch, run by run", "Run by run: a copy of the module for each seed, one after another."
    for name, title, shape, build in (
        ("module_sgd", "perceptron", (), lambda: perceptron(SIZES)),
        ("module_cnn", "CNN", (28, 28, 1), lambda: cnn((28, 28, 1), SIZES[-1])),
        ("module_resnet", "narrow ResNet", (32, 32, 3), lambda: resnet((32, 32, 3), SIZES[-1], width=8)),
    ):
        network = ModuleNetwork(range(RUNS), build, shape, SIZES[-1], features=SIZES[0])
        batches = made_batches(features=network.features)
        ours = of_learner(make_learner("sgd", network), "ours", batches)
        alone = stepper("alone", RunByRun(build, RUNS, shape).step, batches, RUNS)
        cells = cells_of(at_each_thread_count([ours, alone], effort), "ours", "alone")
        yield row(name, f"ModuleNetwork, SGD, {title}", theirs, FASTER, 1.0, cells, note=note)
    for method, title in (("sgd", "SGD"), ("ta_agem", "TA-A-GEM"), ("ta_ogd", "TA-OGD")):
        network = ModuleNetwork(range(RUNS), lambda: perceptron(SIZES), (), SIZES[-1], features=SIZES[0])
        ours = of_learner(make_learner(method, network), "module")
        engine = of_learner(learner_named(method), "engine")
        cells = cells_of(at_each_thread_count([ours, engine], effort), "module", "engine")
        yield row(
            f"module_{method}_engine", f"ModuleNetwork, {title}, perceptron", "the kit's engine", FASTER, None, cells
        )


def images_or_like(name: str) -> tuple[Dataset, str]:
    """A dataset if it is in the cache, else noise of its size: the work does not depend on what the images show."""
    found = cache.read(name)
    if found is not None:
        return found, DATASETS[name].title
    random = np.random.default_rng(0)
    parts = []
    for count in (60_000, 10_000):
        parts += [random.integers(256, size=(count, *shape_of(name)[1:]), dtype=np.uint8)]
        parts += [random.integers(10, size=count)]
    return Dataset("noise", *parts), f"noise of {DATASETS[name].title}'s size, as it is not in the cache"


def image_batches(dataset: Dataset, runs: int = RUNS, batch: int = BATCH, count: int = 64) -> list[tuple]:
    """Batches as in `made_batches`, of images drawn at random."""
    drawn = np.random.default_rng(0).integers(len(dataset.train_images), size=(count, runs, batch))
    images = torch.from_numpy(dataset.train_images[drawn]).flatten(3).float() / 255
    return list(zip(images.unbind(), torch.from_numpy(dataset.train_labels[drawn]).unbind(), strict=True))


def streams(effort: Effort) -> Iterable[dict]:
    dataset, which = images_or_like("mnist")
    note = f"Images of the streams: {which}."

    def prepare() -> float:
        start = time.perf_counter()
        make_tasks(dataset, "rotation")
        return time.perf_counter() - start

    cells = {}
    for count in THREADS:
        with threads(count):
            times = [prepare() for _ in range(min(effort.rounds, 3))]
        cells[str(count)] = {"ratio": spread(times), "ours": float(np.median(times)), "raw_seconds": {"ours": times}}
    more = {"at_most": True, "note": note, "ratio_unit": " s"}
    yield row("rotation", "preparing ten rotation tasks of MNIST", "", "s", 3.0, cells, **more)

    stream = Stream(make_tasks(dataset, "rotation", range(RUNS)), batch_size=BATCH)
    batches = _endless(stream)
    feed = stepper("feed", lambda: next(batches), [()])
    learner = learner_named("sgd")
    step = stepper("step", learner.step, made_batches(), inference=learner.inference)
    cells = {}
    for count, times in at_each_thread_count([feed, step], effort).items():
        share = np.asarray(times["feed"]) / np.asarray(times["step"]) * 100
        ours, theirs = (float(np.median(times[name])) * 1e3 for name in ("feed", "step"))
        cells[count] = {"ratio": spread(share), "ours": ours, "theirs": theirs, "raw_seconds": times}
    more = {"at_most": True, "note": note, "ratio_unit": " %"}
    yield row("stream", f"a batch of {RUNS} stacked runs from the stream", "SGD step", "ms", 10.0, cells, **more)


def _endless(stream: Stream):
    while True:
        for epoch in stream.epochs:
            yield from stream.batches(epoch)


def player(effort: Effort) -> Iterable[dict]:
    # Imported only when it is measured: the widgets take seconds to load.
    from bench.player import rows

    yield from rows(effort)


#: in the order of the table; `stored` (its own module) comes after these
BENCHES: dict[str, Callable[[Effort], Iterable[dict]]] = {
    "sgd": sgd,
    "agem": agem,
    "experiences": experiences,
    "jax": jax,
    "ta_ogd": ta_ogd,
    "bgd": bgd,
    "module": module,
    "streams": streams,
    "player": player,
}


def rows_of(name: str, effort: Effort, notes: list[str]) -> list[dict]:
    """The rows of one bench; what could not be measured is said in ``notes``."""
    try:
        return list(BENCHES[name](effort))
    except TaclError as error:
        notes.append(f"{name} was left out: {error}")
        return []

"""The board at the end of lesson 5: a student's own learner beside SGD, A-GEM and the library's, on five seeds."""

import inspect
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch

from tacl_lib.errors import TaclError, unknown_name
from tacl_lib.plain.agem import Agem
from tacl_lib.plain.metrics import average_accuracy, forgetting
from tacl_lib.plain.network import Network
from tacl_lib.plain.sgd import Sgd
from tacl_lib.plain.ta_agem import TaAgem
from tacl_lib.plain.ta_ogd import TaOgd
from tacl_lib.plain.training import seen, train
from tacl_lib.report.figures.picture import Picture
from tacl_lib.teaching.lessons import draw, library, progress
from tacl_lib.teaching.lessons.world import digits, verdict

LR, EPOCHS, SIZES, SEEDS = 0.05, 4, (64, 50, 50, 2), range(5)
Q, P, REFERENCE = 20, 3, 60  # clusters for each class, members, and the reference batch of all that have one
NEAR = 0.02  #: to the library's average accuracy: as near as another way to draw makes it; and nearer than to SGD


GRADIENTS = 10  # clusters of TA-OGD


class FromLibrary:
    """A learner of the library, walking along the same batches from the same first weights."""

    def __init__(self, name: str, network: Network, **settings):
        self.network = network
        self.fast = library.twin(name, network, rate=LR, cluster_size=P, **settings)

    def step(self, x: torch.Tensor, y: torch.Tensor) -> None:
        library.step(self.fast, x, y)
        self.network.w = library.weights_of(self.fast)


def library_ta_agem(network: Network, classes: int, seed: int) -> FromLibrary:
    return FromLibrary("ta_agem", network, clusters=Q, reference_batch=REFERENCE)


def library_ta_ogd(network: Network, classes: int, seed: int) -> FromLibrary:
    return FromLibrary("ta_ogd", network, clusters=GRADIENTS, adapt_rate=False)


def plain_ta_agem(network: Network, classes: int, seed: int) -> TaAgem:
    return TaAgem(network, classes, LR, Q, P, REFERENCE, seed)


def plain_ta_ogd(network: Network, classes: int, seed: int) -> TaOgd:
    return TaOgd(network, LR, GRADIENTS, P, seed)


class Goal(NamedTuple):
    """A method that is to be written: what it is compared with, what stands in for it, and where to look for a slip."""

    library: Callable
    solution: Callable
    advice: str


GOALS = {
    "TA-A-GEM": Goal(
        library_ta_agem,
        plain_ta_agem,
        "Look at three things: is the reference drawn from what is stored *before* this step? does one sample of "
        "each batch join the pool of its class? is g projected only where its product with g_ref is negative?",
    ),
    "TA-OGD": Goal(
        library_ta_ogd,
        plain_ta_ogd,
        "Look at three things: is g projected off the *span* of all that is stored, which overlaps? is the gradient of "
        "an *answer* stored, not that of the loss? does one of each batch join, at the new weights?",
    ),
}
RIVALS: dict[str, Callable] = {
    "SGD": lambda network, classes, seed: Sgd(network, LR),
    "A-GEM": lambda network, classes, seed: Agem(network, LR, 24, REFERENCE, seed),
}
_known: dict[str, np.ndarray] = {}  # what the rivals did, so that only a student's learner runs again


def board(learner: Callable | None, goal: str = "TA-A-GEM") -> Picture:
    """Train ``learner(network, classes, seed)``, its rivals and the library's on five seeds; a table, and curves.

    None, as long as it is not written: the one of `tacl_lib.plain` stands in. goal: what it is, TA-A-GEM or TA-OGD.
    """
    if goal not in GOALS:
        raise unknown_name("goal", goal, GOALS)
    aim, written = GOALS[goal], learner is not None
    if written:
        _refuse(learner)
    else:
        print("→ not written yet: the solution stands in for yours.")
        learner = aim.solution
    found = {}
    for name, made in (RIVALS | {goal: aim.library}).items():
        found[name] = _known[name] = _known[name] if name in _known else runs_of(made)
    found["yours"] = runs_of(learner)
    numbers = {each: _numbers(A) for each, A in found.items()}
    print(draw.table(numbers).rename(index={goal: f"{goal} (library)"}).to_string())
    mine = numbers["yours"]["average accuracy"]
    for name in found:
        if name != "yours":
            print(verdict("yours", mine, name, numbers[name]["average accuracy"]))
    best, plain = (np.mean(numbers[name]["average accuracy"]) for name in (goal, "SGD"))
    short = best - np.mean(mine)
    if short > min(NEAR, (best - plain) / 2):
        print(f"It is {short:.3f} below the library's on average. {aim.advice}")
    elif written:
        print(f"✓ As good as the library's. You have written {goal} from an empty cell.")
        if goal == "TA-A-GEM":
            progress.note("exercise", "capstone")
    curves = {each: np.array([average_accuracy(run, seen(range(5), EPOCHS)) for run in A]) for each, A in found.items()}
    return draw.curves(
        curves, "Average accuracy", "Five tasks, five seeds; only A-GEM is told when a task ends", EPOCHS
    )


def runs_of(learner: Callable, seeds: Sequence[int] = SEEDS) -> np.ndarray:
    """The accuracies [seeds, epochs, tasks]."""
    return np.stack([_run(learner, seed) for seed in seeds])


def _run(learner: Callable, seed: int) -> np.ndarray:
    world, network = digits("class", seed), Network(SIZES, seed)
    made, before = learner(network, world.classes, seed), network.w.clone()  # `w -= …` changes w where it stands
    A = train(made, world.tasks, EPOCHS, seed=seed)
    if torch.equal(made.network.w, before):
        raise TaclError("the weights never changed: step(x, y) must give self.network a new w.")
    return A


def _numbers(A: np.ndarray) -> dict[str, list[float]]:
    known = seen(range(5), EPOCHS)
    return {
        "average accuracy": [average_accuracy(run, known).mean() for run in A],
        "first task": [run[:, 0].mean() for run in A],
        "forgetting": [forgetting(run[:, 0]).mean() for run in A],
    }


def _refuse(learner: Callable) -> None:
    """One sentence about what cannot be trained, before anything runs."""
    try:
        inspect.signature(learner).bind("network", "classes", "seed")
    except (TypeError, ValueError):
        raise TaclError("it must be made by Learner(network, classes, seed): give __init__ these parameters.") from None
    if hasattr(learner, "end_task"):
        raise TaclError("it has an end_task: a task-agnostic learner is never told that a task is over. Take it away.")
    if isinstance(learner, type) and not callable(getattr(learner, "step", None)):
        raise TaclError("it has no step(self, x, y).")

"""The board at the end of lesson 5: a student's own TA-A-GEM beside SGD, A-GEM and the library's, on five seeds."""

import inspect
from collections.abc import Callable, Sequence

import numpy as np
import torch

from tacl_lib.errors import TaclError
from tacl_lib.plain.agem import Agem
from tacl_lib.plain.metrics import average_accuracy, forgetting
from tacl_lib.plain.network import Network
from tacl_lib.plain.sgd import Sgd
from tacl_lib.plain.ta_agem import TaAgem
from tacl_lib.plain.training import seen, train
from tacl_lib.report.figures.picture import Picture
from tacl_lib.teaching.lessons import draw, library, progress
from tacl_lib.teaching.lessons.world import digits, verdict

LR, EPOCHS, SIZES, SEEDS = 0.05, 4, (64, 50, 50, 2), range(5)
Q, P, REFERENCE = 20, 3, 60  # clusters for each class, members, and the reference batch of all that have one
NEAR = 0.02  #: of the library's average accuracy: as near as another way to draw makes it


class LibraryTaAgem:
    """The library's learner, walking along the same batches from the same first weights."""

    def __init__(self, network: Network, classes: int, seed: int):
        self.network = network
        settings = {"clusters": Q, "cluster_size": P, "reference_batch": REFERENCE}
        self.fast = library.twin("ta_agem", network, rate=LR, **settings)

    def step(self, x: torch.Tensor, y: torch.Tensor) -> None:
        library.step(self.fast, x, y)
        self.network.w = library.weights_of(self.fast)


RIVALS: dict[str, Callable] = {
    "SGD": lambda network, classes, seed: Sgd(network, LR),
    "A-GEM": lambda network, classes, seed: Agem(network, LR, 24, REFERENCE, seed),
    "TA-A-GEM": LibraryTaAgem,
}
_known: dict[str, np.ndarray] = {}  # what the rivals did, so that only a student's learner runs again


def board(learner: Callable | None, name: str = "yours") -> Picture:
    """Train ``learner(network, classes, seed)`` and its rivals on the same five seeds; print a table, show curves.

    None, as long as it is not written: the one of `tacl_lib.plain` stands in.
    """
    if learner is None:
        print("→ not written yet: the solution stands in for yours.")
        learner = solution
    else:
        _refuse(learner)
    for rival, made in RIVALS.items():
        if rival not in _known:
            _known[rival] = runs_of(made)
    found = _known | {name: runs_of(learner)}
    numbers = {each: _numbers(A) for each, A in found.items()}
    print(draw.table(numbers).to_string())
    for rival in RIVALS:
        print(verdict(name, numbers[name]["average accuracy"], rival, numbers[rival]["average accuracy"]))
    short = np.mean(numbers["TA-A-GEM"]["average accuracy"]) - np.mean(numbers[name]["average accuracy"])
    if short > NEAR:
        print(f"It is {short:.3f} below the library's on average. {_advice(learner)}")
    elif learner is not solution:
        progress.note("exercise", "capstone")
        print("✓ As good as the library's. You have written the paper's method from an empty cell.")
    curves = {each: np.array([average_accuracy(run, seen(range(5), EPOCHS)) for run in A]) for each, A in found.items()}
    return draw.curves(curves, "Average accuracy", "Five tasks, five seeds; nobody tells the last two", EPOCHS)


def solution(network: Network, classes: int, seed: int) -> TaAgem:
    return TaAgem(network, classes, LR, Q, P, REFERENCE, seed)


def runs_of(learner: Callable, seeds: Sequence[int] = SEEDS) -> np.ndarray:
    """The accuracies [seeds, epochs, tasks]."""
    return np.stack([_run(learner, seed) for seed in seeds])


def _run(learner: Callable, seed: int) -> np.ndarray:
    world, network = digits("class", seed), Network(SIZES, seed)
    made, before = learner(network, world.classes, seed), network.w
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


def _advice(learner: Callable) -> str:
    return (
        "Look at three things: is the reference drawn from what is stored *before* this step? does one sample of "
        "each batch join the pool of its class? is g projected only where its product with g_ref is negative?"
    )

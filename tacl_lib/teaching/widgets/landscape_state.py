"""A network of two weights and two tasks, so that everything can be drawn: where each method walks.

A task is one sample with an answer f(w) that should be 0, so its loss ½ f(w)² has a valley: the line f(w) = 0, on
which the task is solved. The projections are those of `tacl_lib.plain`, the ones that students write.
"""

from collections.abc import Sequence
from typing import NamedTuple

import contourpy
import numpy as np
import torch
from torch import Tensor

from tacl_lib import names
from tacl_lib.plain.agem import project
from tacl_lib.plain.ogd import project_out

EDGE = 3.0  #: both weights run from -EDGE to EDGE
STEPS = 90  #: for each task
RATE = 0.12
START = (-0.2, 2.2)
METHODS = {name: names.METHODS[name].title for name in ("sgd", "agem", "ogd")}
ORDERS = ("first A, then B", "first B, then A")


def answer_a(w: Tensor) -> Tensor:
    """f of task A: its valley is a parabola."""
    return w[1] - 0.08 * w[0] ** 2 + 1.0


def answer_b(w: Tensor) -> Tensor:
    """f of task B: its valley is a straight line, which crosses that of task A."""
    return 0.6 * w[0] + 0.9 * w[1] - 0.5


ANSWERS = {"A": answer_a, "B": answer_b}


class Walk(NamedTuple):
    """What a method did: a point for each step of the new task, and the loss of the old task there."""

    points: np.ndarray  #: [steps + 1, 2]
    old_loss: np.ndarray  #: [steps + 1]
    new_loss: np.ndarray  #: [steps + 1]


class Scene(NamedTuple):
    """All that is drawn."""

    old: str
    new: str
    learned: np.ndarray  #: [steps + 1, 2], how the old task was learned
    walks: dict[str, Walk]

    @property
    def sentence(self) -> str:
        """What there is to see, in words."""
        ends = ", ".join(f"{METHODS[name]} {walk.old_loss[-1]:.2f}" for name, walk in self.walks.items())
        return f"Loss of the old task {self.old} after the new task {self.new} was learned: {ends}."


def scene(start: Sequence[float] = START, order: str = ORDERS[0], methods: Sequence[str] = tuple(METHODS)) -> Scene:
    """Learn one task from the start by gradient descent, then the other one with each method."""
    old, new = ("A", "B") if order == ORDERS[0] else ("B", "A")
    w = torch.tensor([float(number) for number in start], dtype=torch.float64).clamp(-EDGE, EDGE)
    learned = [w]
    for _ in range(STEPS):
        learned.append(_stepped(learned[-1], _gradients(old, learned[-1])[1]))
    stored, _ = _gradients(old, learned[-1])  # OGD keeps the model gradient at the end of the task
    walks = {name: _walk(name, learned[-1], old, new, stored) for name in methods}
    return Scene(old, new, torch.stack(learned).numpy(), walks)


def _walk(method: str, w: Tensor, old: str, new: str, stored: Tensor) -> Walk:
    points = [w]
    for _ in range(STEPS):
        _, g = _gradients(new, w)
        if method == "agem":
            g = project(g, _gradients(old, w)[1])
        if method == "ogd":
            g = project_out(g, [stored])
        w = _stepped(w, g)
        points.append(w)
    return Walk(torch.stack(points).numpy(), *(np.array([_loss(task, w) for w in points]) for task in (old, new)))


def _gradients(task: str, w: Tensor) -> tuple[Tensor, Tensor]:
    """The model gradient ∇f and the gradient of the loss, f ∇f."""
    w = w.clone().requires_grad_()
    answer = ANSWERS[task](w)
    (model,) = torch.autograd.grad(answer, w)
    return model, answer.detach() * model


def _loss(task: str, w: Tensor) -> float:
    return float(ANSWERS[task](w) ** 2 / 2)


def _stepped(w: Tensor, g: Tensor) -> Tensor:
    return (w - RATE * g).clamp(-EDGE, EDGE)


def level_lines(task: str, levels: Sequence[float] = (0.15, 0.6, 1.5, 3.0, 5.0)) -> list[list[list[float]]]:
    """Lines of equal loss of a task, and first of all its valley, each a list of points."""
    axis = np.linspace(-EDGE, EDGE, 81)
    grid = torch.from_numpy(np.stack(np.meshgrid(axis, axis)))
    answers = ANSWERS[task](grid).numpy()
    lines = [contourpy.contour_generator(axis, axis, answers).lines(0.0)]
    lines += [contourpy.contour_generator(axis, axis, answers**2 / 2).lines(level) for level in levels]
    return [np.round(line, 3).tolist() for of_level in lines for line in of_level]

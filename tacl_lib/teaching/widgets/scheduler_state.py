"""A loss curve that can be bent, and the answer of the paper's scheduler to it, step by step: no figure."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy.interpolate import PchipInterpolator

from tacl_lib.core.learners.scheduler import Scheduler
from tacl_lib.core.randomness import generator
from tacl_lib.errors import TaclError

STEPS = 420
RATE = 1e-3  #: the rate that the paper starts from


@dataclass(frozen=True)
class Curve:
    """A loss over steps: a smooth line through points, a task change that fades, and noise."""

    points: tuple[float, ...]  #: losses at equal distances, from the first step to the last
    change_at: int = 0  #: the step at which another task begins; 0: none
    jump: float = 0.0  #: how much the loss rises there
    lasts: int = 60  #: steps after which about a third of the rise is left
    noise: float = 0.0  #: standard deviation from batch to batch

    def losses(self, steps: int = STEPS) -> np.ndarray:
        """The loss of each batch, float64 ``[steps]``; never negative."""
        if len(self.points) < 2 or min(self.points) < 0:
            raise TaclError("a loss curve needs two points or more, and no loss is negative.")
        step = np.arange(steps)
        smooth = PchipInterpolator(np.linspace(0, steps - 1, len(self.points)), self.points)(step)
        noise = generator(0, "scheduler lab").normal(size=steps)
        return np.maximum(smooth + self.rise(step) + self.noise * noise, 1e-3)

    def rise(self, step: np.ndarray) -> np.ndarray:
        """How much the new task adds to the loss at these steps."""
        since = np.asarray(step) - self.change_at
        return self.jump * np.exp(-np.maximum(since, 0) / self.lasts) * ((since >= 0) & (self.change_at > 0))


@dataclass(frozen=True)
class Constants:
    """What the scheduler is set to; the defaults are the paper's."""

    factor: float = Scheduler.FACTOR
    patience: int = Scheduler.PATIENCE
    threshold: float = Scheduler.THRESHOLD
    reset_threshold: float = Scheduler.RESET_THRESHOLD

    def halving(self) -> int | None:
        """How many lowerings halve the rate; None where the factor does not lower it."""
        return int(np.ceil(np.log(0.5) / np.log(self.factor))) if self.factor < 1 else None


@dataclass(frozen=True)
class Answer:
    """The scheduler after each step, each ``[steps]``."""

    constants: Constants
    loss: np.ndarray
    used: np.ndarray  #: the rate that the batch was learned with
    rate: np.ndarray  #: … and the one that the scheduler then sets, for the next batch
    best: np.ndarray
    stagnant: np.ndarray  #: N_Stagnant
    spikes: np.ndarray  #: N_Spike
    better: np.ndarray  #: bool: the loss was a new best one
    lowered: np.ndarray  #: bool: the rate was multiplied by the factor
    reset: np.ndarray  #: bool: the rate was set back

    def sentence(self, step: int) -> str:
        """Which lines of the box took effect at a step."""
        constants, said = self.constants, []
        if self.better[step]:
            said.append(f"lower than the best so far: Best = {self.loss[step]:.2f}, N_stagnant = 0")
        else:
            before = self.best[step - 1]
            count = int(self.stagnant[step - 1]) + 1
            said.append(f"not lower than Best = {before:.2f}: N_stagnant = {count}")
            if self.loss[step] > before + constants.reset_threshold:
                spikes = int(self.spikes[step - 1]) + 1
                said.append(f"more than {constants.reset_threshold:g} above it: N_spike = {spikes}")
        if self.reset[step]:
            said.append(f"N_spike is over {constants.patience}: back to the first rate, Best = {self.best[step]:.2f}")
        if self.lowered[step]:
            said.append(f"N_stagnant is over {constants.patience}: the rate is multiplied by {constants.factor:g}")
        return f"Step {step}, loss {self.loss[step]:.2f}: {'; '.join(said)}. Rate {self.rate[step]:.6f}."

    def summary(self) -> str:
        """The whole curve in one sentence, and what the factor means."""
        lowered, reset = int(self.lowered.sum()), int(self.reset.sum())
        text = f"Lowered {lowered} time{'' if lowered == 1 else 's'}, reset {reset} time{'' if reset == 1 else 's'}: "
        text += f"from {self.used[0]:.6f} to {self.rate[-1]:.6f}."
        halving = self.constants.halving()
        if halving is None:
            return f"{text} A factor of 1 never lowers the rate."
        steps = halving * (self.constants.patience + 1)
        text += f" {halving:,} lowerings halve the rate: {steps:,} stagnant steps"
        paper = Constants()
        if self.constants.factor == paper.factor:
            return f"{text}."
        return f"{text}; with the paper's factor {paper.factor:g}, {paper.halving() * (paper.patience + 1):,}."


def answer(losses: Sequence[float], constants: Constants | None = None, rate: float = RATE) -> Answer:
    """Feed losses to the scheduler that the learners use, one after the other."""
    losses = np.asarray(losses, float)
    if losses.ndim != 1 or not len(losses) or not np.isfinite(losses).all():
        raise TaclError("the scheduler needs a list of finite losses.")
    constants = constants or Constants()

    class Adjusted(Scheduler):
        FACTOR, PATIENCE = constants.factor, constants.patience
        THRESHOLD, RESET_THRESHOLD = constants.threshold, constants.reset_threshold

    scheduler = Adjusted(1, rate)
    states = [_numbers(scheduler)]
    with torch.inference_mode():
        for loss in torch.from_numpy(losses).reshape(-1, 1):
            scheduler.step(loss)
            states.append(_numbers(scheduler))
    rates, best, stagnant, spikes = np.array(states).T
    better, reset = best[1:] < best[:-1], best[1:] > best[:-1]  # only a reset makes the best loss worse
    lowered = ~better & (stagnant[1:] == 0)
    return Answer(constants, losses, rates[:-1], rates[1:], best[1:], stagnant[1:], spikes[1:], better, lowered, reset)


def _numbers(scheduler: Scheduler) -> list[float]:
    return [scheduler.rate.item(), scheduler.best.item(), scheduler.stagnant.item(), scheduler.spikes.item()]

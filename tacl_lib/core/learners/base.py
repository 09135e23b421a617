"""What every learner has in common, and the register of learners by name."""

import inspect
from typing import NamedTuple, get_args

import torch

from tacl_lib.core.checking import is_finite
from tacl_lib.core.memory import Geometry, Placement
from tacl_lib.core.network import Network
from tacl_lib.errors import TaclError, refuse_second, unknown_name
from tacl_lib.plugins import Register


class Stored(NamedTuple):
    """What a learner put into its memory in a step."""

    chosen: torch.Tensor  #: int64 ``[R]``, position in the batch
    placement: Placement


class Step(NamedTuple):
    """What a learner reports of a step. Only the loss is required."""

    loss: torch.Tensor  #: ``[R]``
    rate: torch.Tensor | float | None = None  #: learning rate that was used, a number or ``[R]``
    projected: torch.Tensor | None = None  #: bool ``[R]``, whether the gradient was changed
    stored: Stored | None = None


class Learner:
    """Trains R networks at once. It is given samples and labels, and nothing that tells the task.

    A subclass needs `step`, and names in `kept` what it keeps besides its networks.
    """

    name: str  #: how the register and the tables call it
    #: raised when the same settings give other numbers than before, by more than rounding or another draw of noise;
    #: above 1 it is part of a run's name, so that old results of this learner, and only of this one, are kept apart
    version: int = 1
    #: attributes that a checkpoint holds: tensors, plain values, and whatever has a `state` and a `load_state` itself
    kept: tuple[str, ...] = ()
    geometry: Geometry | None = None  #: of its memory, if it has one that changes with the batches
    #: whether `train` may run its steps in torch's inference mode, which makes small operations cheaper but
    #: rules out autograd; true of every learner of the kit
    inference: bool = False

    def __init__(self, network: Network, *, rate: float = 1e-3):
        """rate: the learning rate η."""
        if not all(hasattr(network, name) for name in ("runs", "features", "classes", "loss_gradient")):
            name = network.__name__ if isinstance(network, type) else type(network).__name__
            wrap = "; wrap a module: ModuleNetwork(seeds, build, image_shape, classes)"
            raise TaclError(f"a learner needs a network such as Mlp or ModuleNetwork, not {name}{wrap}.")
        if not is_finite(rate) or rate <= 0:
            raise TaclError(f"the learning rate must be a finite number greater than 0, not {rate!r}.")
        self.network, self.rate = network, rate

    def step(self, x: torch.Tensor, y: torch.Tensor) -> Step:
        """Learn from one batch: x ``[R, batch, features]``, y ``[R, batch]``."""
        raise TaclError(f"the learner {type(self).__name__} has no method step(x, y); write one.")

    def state(self) -> dict:
        """Everything that a checkpoint needs to resume exactly here."""
        own = {name: getattr(self, name) for name in self.kept}
        states = {name: value.state() if hasattr(value, "state") else value for name, value in own.items()}
        return {"network": self.network.state()} | states

    def load_state(self, state: dict) -> None:
        """Go on from there."""
        self.network.load_state(state["network"])
        for name in self.kept:
            value = getattr(self, name)
            if hasattr(value, "load_state"):
                value.load_state(state[name])
            elif isinstance(value, torch.Tensor) and (torch.is_inference_mode_enabled() or not value.is_inference()):
                value.copy_(state[name])
            else:  # also a tensor that a step replaced in inference mode: it can no longer be changed outside of it
                setattr(self, name, state[name])


class TaskAwareLearner(Learner):
    """A learner that is told when a task ends, and is then given samples of it to keep."""

    samples_per_task: int

    def end_task(self, x: torch.Tensor, y: torch.Tensor) -> None:
        """A task is over: x ``[R, s, features]`` and y ``[R, s]`` are ``samples_per_task`` of its samples."""
        raise TaclError(f"the learner {type(self).__name__} has no method end_task(x, y); write one.")


LEARNERS: dict[str, type[Learner]] = Register()


def register_learner(learner: type[Learner]) -> type[Learner]:
    """Class decorator: the learner can then be asked for by its ``name``, by `make_learner` and in a `RunSpec`."""
    if not (
        isinstance(learner, type) and issubclass(learner, Learner) and isinstance(getattr(learner, "name", None), str)
    ):
        name = getattr(learner, "__name__", repr(learner))
        raise TaclError(f"{name} must be a subclass of Learner with a class attribute name = '...'.")
    refuse_second(LEARNERS, "learner", learner.name, learner)
    LEARNERS[learner.name] = learner
    return learner


def make_learner(name: str, network: Network, **settings) -> Learner:
    """A learner by name, e.g. ``make_learner("ta_agem", network, sampling_rate=0.1)``.

    name: sgd, sgd_lr_adapt, bgd, agem, ta_agem, ogd, ta_ogd, or one that `register` made known.
    network: an `Mlp` or a `ModuleNetwork`. settings: the keyword arguments of the learner's class.
    """
    if name not in LEARNERS:
        raise unknown_name("learner", name, LEARNERS)
    known = settings_of(name)
    for setting in settings:
        if setting not in known:
            raise unknown_name(f"setting of {name}", setting, known)
        _check_kind(name, setting, settings[setting])
    return LEARNERS[name](network, **settings)


#: What a value of each annotated type is called, and which types it may have.
_KINDS = {
    bool: ("True or False", bool),
    int: ("a whole number", int),
    float: ("a number", (int, float)),
    str: ("a word", str),
}


def _check_kind(learner: str, setting: str, value: object) -> None:
    """A setting must be of the type that it is annotated with, or else that its default has."""
    parameter = _parameters(learner)[setting]
    annotated = parameter.annotation
    allowed = get_args(annotated) or (annotated if isinstance(annotated, type) else type(parameter.default),)
    kinds = [_KINDS[kind] for kind in allowed if kind in _KINDS]
    if not kinds or (value is None and type(None) in allowed):
        return  # a type that is not listed here is checked by the learner itself
    if not any(isinstance(value, types) and isinstance(value, bool) == (types is bool) for _, types in kinds):
        words = [word for word, _ in kinds] + ["None"] * (type(None) in allowed)
        raise TaclError(f"{setting} of {learner} must be {' or '.join(words)}, not {value!r}.")


def settings_of(name: str) -> dict[str, object]:
    """The settings of a learner and their defaults."""
    return {setting: parameter.default for setting, parameter in _parameters(name).items()}


def _parameters(learner: str) -> dict[str, inspect.Parameter]:
    parameters = inspect.signature(LEARNERS[learner].__init__).parameters.values()
    return {p.name: p for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY}


def check_positive(**settings: int | None) -> None:
    """Settings that count something must be at least 1 (None means all)."""
    for name, value in settings.items():
        if value is not None and value < 1:
            raise TaclError(f"{name} must be at least 1, not {value}.")

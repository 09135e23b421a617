"""What all learners share, and the register of learners by name."""

import inspect
from typing import NamedTuple, get_args

import torch

from tacl_lib.core.checking import is_finite
from tacl_lib.core.memory import Geometry, Placement
from tacl_lib.core.network import Network
from tacl_lib.errors import TaclError, refuse_second, unknown_name
from tacl_lib.plugins import Registry


class Stored(NamedTuple):
    """What a learner stored in its memory in a step."""

    chosen: torch.Tensor  #: int64 ``[R]``, position of the sample in the batch
    placement: Placement


class Step(NamedTuple):
    """The result of a step. Only the loss is required."""

    loss: torch.Tensor  #: ``[R]``
    rate: torch.Tensor | float | None = None  #: the learning rate used, a number or ``[R]``
    projected: torch.Tensor | None = None  #: bool ``[R]``, whether the gradient was changed
    stored: Stored | None = None


class Learner:
    """Trains R networks at once, from samples and labels alone: it is never given the task.

    A subclass defines `step`, and lists in `kept` the attributes that a checkpoint must save besides the network.
    """

    name: str  #: in the register and in tables
    #: raise it when the same settings give new numbers, beyond rounding or another draw of noise; above 1 it is part of
    #: a run's name, which keeps old results of this learner, and only of this one, apart
    version: int = 1
    #: attributes saved in a checkpoint: tensors, plain values, and objects with `state` and `load_state`
    kept: tuple[str, ...] = ()
    geometry: Geometry | None = None  #: of its memory, if it stores samples of batches
    #: whether `train` may use torch's inference mode, where small operations are cheaper but autograd is impossible;
    #: true for all built-in learners
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
        """Everything a checkpoint needs to resume exactly here."""
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
            else:  # includes tensors made in inference mode, which cannot be changed outside it
                setattr(self, name, state[name])


class TaskAwareLearner(Learner):
    """A learner that is told when a task ends, and then given samples of it to store."""

    samples_per_task: int

    def end_task(self, x: torch.Tensor, y: torch.Tensor) -> None:
        """Called when a task ends. x ``[R, s, features]``, y ``[R, s]``: ``samples_per_task`` of its samples."""
        raise TaclError(f"the learner {type(self).__name__} has no method end_task(x, y); write one.")


LEARNERS: dict[str, type[Learner]] = Registry()


def register_learner(learner: type[Learner]) -> type[Learner]:
    """Class decorator: makes a learner available by its ``name``, to `make_learner` and in a `RunSpec`."""
    if not (
        isinstance(learner, type) and issubclass(learner, Learner) and isinstance(getattr(learner, "name", None), str)
    ):
        name = getattr(learner, "__name__", repr(learner))
        raise TaclError(f"{name} must be a subclass of Learner with a class attribute name = '...'.")
    refuse_second(LEARNERS, "learner", learner.name, learner)
    LEARNERS[learner.name] = learner
    return learner


def make_learner(name: str, network: Network, **settings) -> Learner:
    """Make a learner by name, e.g. ``make_learner("ta_agem", network, sampling_rate=0.1)``.

    name: sgd, sgd_lr_adapt, bgd, agem, ta_agem, ogd, ta_ogd, or one that `register_learner` added.
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


#: For each annotated type: its name in messages, and the types a value may have.
_KINDS = {
    bool: ("True or False", bool),
    int: ("a whole number", int),
    float: ("a number", (int, float)),
    str: ("a word", str),
}


def _check_kind(learner: str, setting: str, value: object) -> None:
    """A setting must have its annotated type, or else the type of its default."""
    parameter = _parameters(learner)[setting]
    annotated = parameter.annotation
    allowed = get_args(annotated) or (annotated if isinstance(annotated, type) else type(parameter.default),)
    kinds = [_KINDS[kind] for kind in allowed if kind in _KINDS]
    if not kinds or (value is None and type(None) in allowed):
        return  # the learner itself checks other types
    if not any(isinstance(value, types) and isinstance(value, bool) == (types is bool) for _, types in kinds):
        words = [word for word, _ in kinds] + ["None"] * (type(None) in allowed)
        raise TaclError(f"{setting} of {learner} must be {' or '.join(words)}, not {value!r}.")


def settings_of(name: str) -> dict[str, object]:
    """The settings of a learner and their defaults."""
    return {setting: parameter.default for setting, parameter in _parameters(name).items()}


def _parameters(learner: str) -> dict[str, inspect.Parameter]:
    parameters = inspect.signature(LEARNERS[learner].__init__).parameters.values()
    return {p.name: p for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY}

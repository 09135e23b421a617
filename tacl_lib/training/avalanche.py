"""The kit's methods in Avalanche's own loop, on its benchmarks (``pip install 'tacl-lib[avalanche]'``; Avalanche 0.6).

    strategy = Naive(model=model, optimizer=SGD(model.parameters(), lr=1e-3), plugins=[TaAgemPlugin(classes=10)], ...)

A plugin hands the gradient of the batch, which Avalanche has computed with its own criterion, to the kit's learner, and
gives back what the learner makes of it; your optimiser makes the step. No task label and no end of an experience is
looked at, so that streams without boundaries are welcome; `OgdPlugin`, whose method must be told, is the exception.
Memories have a constant size: a step costs the same at the thousandth experience as at the tenth.
"""

import copy

import torch
from avalanche.benchmarks.utils import as_taskaware_classification_dataset
from avalanche.training.plugins import SupervisedPlugin
from avalanche.training.storage_policy import ExemplarsBuffer
from torch.utils.data import TensorDataset

from tacl_lib.core.learners import Learner, make_learner
from tacl_lib.core.memory import ClusterMemory
from tacl_lib.core.randomness import generator
from tacl_lib.engine.dense import DenseGradient
from tacl_lib.engine.fitting import trained
from tacl_lib.engine.module_network import ModuleNetwork
from tacl_lib.errors import TaclError


class _Follower(ModuleNetwork):
    """Avalanche's model as a network of one run: its weights and the gradient of its batch are those of the model."""

    def __init__(self, model: torch.nn.Module, seed: int, sample: torch.Tensor, classes: int, device):
        """sample: ``[channels, height, width]`` or flat."""
        if sample.dim() not in (1, 3):
            raise TaclError(f"samples must be [channels, height, width] or flat, not {list(sample.shape)}.")
        shape = (*sample.shape[1:], sample.shape[0]) if sample.dim() == 3 else ()
        super().__init__((seed,), lambda: copy.deepcopy(model), shape, classes, device, features=sample.numel())
        self._model, self._loss, self._gradient = model, None, None
        self.result: torch.Tensor | None = None  #: the gradient that the learner would follow, times its rate: ``[p]``

    @property
    def _own(self) -> list[torch.nn.Parameter]:
        return list(trained(self._model).values())

    def follow(self) -> None:
        """Take over the weights of the model."""
        with torch.no_grad():
            weights = torch.cat([parameter.flatten() for parameter in self._own])
            if len(weights) != self.parameter_count:
                raise TaclError(
                    "the model has grown since the first step; a plugin of the kit needs one of fixed size."
                )
            self.flat.copy_(weights)

    def lead(self) -> None:
        """Give the model the weights of this network, and nothing for its optimiser to do."""
        with torch.no_grad():
            pieces = self.flat.split([parameter.numel() for parameter in self._own])
            for parameter, piece in zip(self._own, pieces, strict=True):
                parameter.copy_(piece.view_as(parameter))
                parameter.grad = None

    def note(self, loss: torch.Tensor) -> None:
        """Avalanche has computed the loss of the batch and its gradient."""
        pieces = [torch.zeros_like(p) if p.grad is None else p.grad for p in self._own]
        self._gradient = DenseGradient(torch.cat([piece.flatten() for piece in pieces])[None])
        self._loss = loss.detach().view(1, 1)

    def give_back(self, rate: float) -> None:
        """What the learner made of it becomes the model's gradient. rate: that the optimiser will multiply it with."""
        pieces = self.result.div(rate).split([parameter.numel() for parameter in self._own])
        for parameter, piece in zip(self._own, pieces, strict=True):
            if parameter.grad is not None:
                parameter.grad.copy_(piece.view_as(parameter))

    def loss_gradient(self, x, y, weight=None):
        return super().loss_gradient(x, y, weight) if weight is not None else (self._loss, self._gradient)

    def add(self, gradient, factor) -> None:
        self.result = -(gradient.vector * factor)[0]


class _Plugin(SupervisedPlugin):
    """What all have in common. settings: of the learner of that name, see `tacl_lib.core.learners`."""

    name: str

    def __init__(self, classes: int, seed: int = 0, **settings):
        """classes: how many outputs the model has. seed: of the memory's random numbers."""
        super().__init__()
        self.classes, self.seed, self.settings = classes, seed, settings
        self.network: _Follower | None = None
        self.learner: Learner | None = None  #: of the kit, with its memory; there from the first step on

    def before_training_iteration(self, strategy, **kwargs):
        if self.network is None:
            sample = strategy.mb_x[0]
            self.network = _Follower(strategy.model, self.seed, sample, self.classes, strategy.device)
            self.learner = make_learner(self.name, self.network, **self._of_learner(strategy))

    def _of_learner(self, strategy) -> dict:
        """The settings; where a gradient goes through the optimiser, the rate is the optimiser's."""
        return {"rate": strategy.optimizer.param_groups[0]["lr"], **self.settings}

    @staticmethod
    def _batch(strategy) -> tuple[torch.Tensor, torch.Tensor]:
        """Avalanche's batch as the kit has it: one run, channels last, flat."""
        return _flat(strategy.mb_x)[None], strategy.mb_y[None]


class TaAgemPlugin(_Plugin):
    """TA-A-GEM: gradients that would undo what the cluster memory holds are projected."""

    name = "ta_agem"

    def after_backward(self, strategy, **kwargs):
        from tacl_lib.core.learners.agem import agem_step

        x, y = self._batch(strategy)
        self.network.follow()
        self.network.note(strategy.loss)
        with torch.no_grad():
            agem_step(self.network, self.learner.rate, x, y, self.learner.draw_reference())
        self.network.give_back(self.learner.rate)

    def after_update(self, strategy, **kwargs):
        self.network.follow()
        self.learner.remember(*self._batch(strategy))


class TaOgdPlugin(_Plugin):
    """TA-OGD: gradients are made orthogonal to the model gradients in the cluster memory.

    The paper's scheduler changes what is handed to the optimiser; ``adapt_rate=False`` leaves rates to the optimiser.
    """

    name = "ta_ogd"

    def after_backward(self, strategy, **kwargs):
        from tacl_lib.core.learners.ogd import ogd_step

        self.network.follow()
        self.network.note(strategy.loss)
        ogd_step(self.network, self.learner.stored, self.learner.scheduler, *self._batch(strategy))
        self.network.give_back(self.learner.rate)

    def after_update(self, strategy, **kwargs):
        self.network.follow()
        self.learner.remember(*self._batch(strategy))


class OgdPlugin(TaOgdPlugin):
    """OGD: as TA-OGD, but model gradients are stored when an experience ends, which must mean that a task has."""

    name = "ogd"

    def __init__(self, classes: int, seed: int = 0, **settings):
        super().__init__(classes, seed, **settings)
        self._ended = 0

    def after_update(self, strategy, **kwargs):
        pass

    def after_training_exp(self, strategy, **kwargs):
        data = strategy.experience.dataset
        drawn = generator(self.seed, "end of task", self._ended).permutation(len(data))
        chosen = [data[int(row)][:2] for row in drawn[: self.learner.samples_per_task]]
        x = torch.stack([torch.as_tensor(x) for x, _ in chosen]).to(strategy.device)
        y = torch.tensor([int(label) for _, label in chosen], device=strategy.device)
        self.network.follow()
        self.learner.end_task(_flat(x)[None], y[None])
        self._ended += 1


class BgdPlugin(_Plugin):
    """BGD. It moves means and deviations itself, by passes of its own with the cross-entropy as their loss: of
    Avalanche's step only the batch is used, and the optimiser finds nothing to do."""

    name = "bgd"

    def _of_learner(self, strategy) -> dict:
        return self.settings

    def after_backward(self, strategy, **kwargs):
        self.network.follow()
        self.learner.step(*self._batch(strategy))
        self.network.lead()


class ClusterBuffer(ExemplarsBuffer):
    """A storage policy for Avalanche's `ReplayPlugin`: exemplars are kept in the clusters of a `ClusterMemory`.

        memory = ClusterMemory(clusters=10, classes=10)
        ReplayPlugin(memory.geometry.capacity, storage_policy=ClusterBuffer(memory))

    `ReplayPlugin` looks at its buffer when an experience begins and fills it when one ends, so this needs experiences;
    it does not matter whether they are tasks.
    """

    def __init__(self, memory: ClusterMemory, every: int = 10, seed: int = 0):
        """every: one sample of so many is offered to the memory, as one of each batch in the paper."""
        super().__init__(memory.geometry.capacity)
        self.memory, self.every, self.seed, self._ended = memory, every, seed, 0

    def post_adapt(self, agent, exp):
        order = generator(self.seed, "exemplars", self._ended).permutation(len(exp.dataset))
        self._ended += 1
        for row in order[:: self.every]:
            x, y, *_ = exp.dataset[int(row)]
            self.memory.add(torch.as_tensor(x), int(y))
        held = [sample for cluster in self.memory.contents() for sample in cluster]
        data = TensorDataset(torch.stack([one["x"] for one in held]), torch.stack([one["y"] for one in held]).long())
        data.targets = data.tensors[1].tolist()
        self.buffer = as_taskaware_classification_dataset(data)

    def resize(self, strategy, new_size: int):
        raise TaclError("a cluster memory has a constant size; make another one with other clusters.")


def _flat(x: torch.Tensor) -> torch.Tensor:
    """``[n, channels, height, width]`` or ``[n, features]`` as the kit has it: ``[n, features]``, channels last."""
    return x.permute(0, 2, 3, 1).flatten(1) if x.dim() == 4 else x

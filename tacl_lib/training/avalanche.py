"""The kit's methods in Avalanche's own loop, on its benchmarks (``pip install 'tacl-lib[avalanche]'``; Avalanche 0.6).

    strategy = Naive(model=model, optimizer=SGD(model.parameters(), lr=1e-3), plugins=[TaAgemPlugin(classes=10)], ...)

Avalanche computes the gradient of a batch with its own criterion; a plugin passes it to the kit's learner and returns
the learner's gradient, with which your optimiser takes the step. Plugins ignore task labels and the ends of
experiences, so streams need no boundaries; only `OgdPlugin` must be told when a task ends. Memories have a constant
size: a step costs as much at the thousandth experience as at the tenth.
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
    """Avalanche's model as a network of one run, with the model's weights and the gradient of its batch."""

    def __init__(self, model: torch.nn.Module, seed: int, sample: torch.Tensor, classes: int, device):
        """sample: ``[channels, height, width]`` or flat."""
        if sample.dim() not in (1, 3):
            raise TaclError(f"samples must be [channels, height, width] or flat, not {list(sample.shape)}.")
        shape = (*sample.shape[1:], sample.shape[0]) if sample.dim() == 3 else ()
        super().__init__((seed,), lambda: copy.deepcopy(model), shape, classes, device, features=sample.numel())
        self._model, self._loss, self._gradient = model, None, None
        self.result: torch.Tensor | None = None  #: the learner's gradient, times its rate: ``[p]``

    @property
    def _own(self) -> list[torch.nn.Parameter]:
        return list(trained(self._model).values())

    def follow(self) -> None:
        """Copy the model's weights."""
        with torch.no_grad():
            weights = torch.cat([parameter.flatten() for parameter in self._own])
            if len(weights) != self.parameter_count:
                raise TaclError(
                    "the model has grown since the first step; the kit's plugins need a model of fixed size."
                )
            self.flat.copy_(weights)

    def lead(self) -> None:
        """Copy this network's weights to the model, and leave its optimiser nothing to do."""
        with torch.no_grad():
            pieces = self.flat.split([parameter.numel() for parameter in self._own])
            for parameter, piece in zip(self._own, pieces, strict=True):
                parameter.copy_(piece.view_as(parameter))
                parameter.grad = None

    def note(self, loss: torch.Tensor) -> None:
        """Take the loss of the batch and its gradient, which Avalanche has computed."""
        pieces = [torch.zeros_like(p) if p.grad is None else p.grad for p in self._own]
        self._gradient = DenseGradient(torch.cat([piece.flatten() for piece in pieces])[None])
        self._loss = loss.detach().view(1, 1)

    def give_back(self, rate: float) -> None:
        """Make the learner's gradient the model's. rate: by which the optimiser will multiply it."""
        pieces = self.result.div(rate).split([parameter.numel() for parameter in self._own])
        for parameter, piece in zip(self._own, pieces, strict=True):
            if parameter.grad is not None:
                parameter.grad.copy_(piece.view_as(parameter))

    def loss_gradient(self, x, y, weight=None):
        return super().loss_gradient(x, y, weight) if weight is not None else (self._loss, self._gradient)

    def add(self, gradient, factor) -> None:
        self.result = -(gradient.vector * factor)[0]


class _Plugin(SupervisedPlugin):
    """The base of all plugins. settings: of the learner of that name, see `tacl_lib.core.learners`."""

    name: str

    def __init__(self, classes: int, seed: int = 0, **settings):
        """classes: how many outputs the model has. seed: of the memory's random numbers."""
        super().__init__()
        self.classes, self.seed, self.settings = classes, seed, settings
        self.network: _Follower | None = None
        self.learner: Learner | None = None  #: the kit's, with its memory; exists from the first step on

    def before_training_iteration(self, strategy, **kwargs):
        if self.network is None:
            sample = strategy.mb_x[0]
            self.network = _Follower(strategy.model, self.seed, sample, self.classes, strategy.device)
            self.learner = make_learner(self.name, self.network, **self._of_learner(strategy))

    def _of_learner(self, strategy) -> dict:
        """The learner's settings; the rate is the optimiser's, which takes the step."""
        return {"rate": strategy.optimizer.param_groups[0]["lr"], **self.settings}

    @staticmethod
    def _batch(strategy) -> tuple[torch.Tensor, torch.Tensor]:
        """Avalanche's batch in the kit's form: one run, channels last, flat."""
        return _flat(strategy.mb_x)[None], strategy.mb_y[None]


class TaAgemPlugin(_Plugin):
    """TA-A-GEM: projects gradients that conflict with the samples in the cluster memory."""

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
    """TA-OGD: makes gradients orthogonal to the model gradients in the cluster memory.

    The paper's scheduler scales the gradient for the optimiser; ``adapt_rate=False`` leaves the rate to the optimiser.
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
    """OGD: like TA-OGD, but stores model gradients at the end of an experience, which must be the end of a task."""

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
    """BGD. It updates means and deviations itself, in passes of its own with cross-entropy as the loss: of Avalanche's
    step it uses only the batch, and it leaves the optimiser nothing to do."""

    name = "bgd"

    def _of_learner(self, strategy) -> dict:
        return self.settings

    def after_backward(self, strategy, **kwargs):
        self.network.follow()
        self.learner.step(*self._batch(strategy))
        self.network.lead()


class ClusterBuffer(ExemplarsBuffer):
    """A storage policy for Avalanche's `ReplayPlugin`, which keeps exemplars in the clusters of a `ClusterMemory`.

        memory = ClusterMemory(clusters=10, classes=10)
        ReplayPlugin(memory.geometry.capacity, storage_policy=ClusterBuffer(memory))

    `ReplayPlugin` reads its buffer when an experience begins and fills it when one ends, so experiences are needed, but
    they need not be tasks.
    """

    def __init__(self, memory: ClusterMemory, every: int = 10, seed: int = 0):
        """every: one sample in this many is offered to the memory, like one per batch in the paper."""
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
        raise TaclError("a cluster memory has a constant size; create another one with other clusters.")


def _flat(x: torch.Tensor) -> torch.Tensor:
    """``[n, channels, height, width]`` or ``[n, features]`` in the kit's form: ``[n, features]``, channels last."""
    return x.permute(0, 2, 3, 1).flatten(1) if x.dim() == 4 else x

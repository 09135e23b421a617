"""Operations of a step: what a GPU is asked to start, and so what a step of small networks costs there."""

from unittest import mock

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from tacl_lib.core.learners import TaskAwareLearner, make_learner
from tacl_lib.engine.mlp import Mlp
from tacl_lib.names import METHODS


class _Counter(TorchDispatchMode):
    """Counts operations. Views, and questions about a tensor's device, start nothing."""

    count = 0

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        self.count += operation.namespace == "aten" and not operation.is_view
        return operation(*args, **(kwargs or {}))


class _AnyGenerator(torch.Generator):
    """Without a GPU torch can make no generator for one; fake numbers need none."""

    def __new__(cls, device=None):
        return super().__new__(cls, "cpu")


def operations(method: str, sizes: tuple[int, ...], runs: int, batch: int) -> int:
    """Of one step with a memory that is in use, on a GPU, which need not be there: tensors without numbers do."""
    with FakeTensorMode(), mock.patch.object(torch, "Generator", _AnyGenerator), torch.no_grad():
        learner = make_learner(method, Mlp(range(runs), sizes, device="cuda"))
        x = torch.empty(runs, batch, sizes[0], device="cuda")
        y = torch.zeros(runs, batch, dtype=torch.int64, device="cuda")
        if isinstance(learner, TaskAwareLearner):
            learner.end_task(x, y)
        learner.step(x, y)
        with _Counter() as counter:
            learner.step(x, y)
    return counter.count


def measured(sizes: tuple[int, ...], runs: int, batch: int) -> dict[str, int]:
    return {method: operations(method, sizes, runs, batch) for method in METHODS}

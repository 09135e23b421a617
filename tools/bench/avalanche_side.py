"""A-GEM of Avalanche, in an environment of its own: makes so many steps on request and says how long they took.

Run as a script by `avalanche_env`; imports nothing of the kit. One line of JSON comes in per block,
``{"threads": 1, "steps": 100}``, one goes out. The strategy's own loop makes the iterations: at the start of a
block a plugin waits for the request, so that blocks can take turns with other contenders.
"""

import json
import os
import sys
import time
import warnings

# Answers go to the first stdout; whatever the libraries print goes elsewhere.
answers = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)
warnings.simplefilter("ignore")

import torch  # noqa: E402
from avalanche import __version__  # noqa: E402
from avalanche.benchmarks import benchmark_from_datasets  # noqa: E402
from avalanche.benchmarks.utils import as_taskaware_classification_dataset  # noqa: E402
from avalanche.training.plugins import AGEMPlugin, EvaluationPlugin, SupervisedPlugin  # noqa: E402
from avalanche.training.supervised import Naive  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils.data import TensorDataset  # noqa: E402


class Blocks(SupervisedPlugin):
    """Times iterations in blocks. First in the list of plugins, so that A-GEM's reference gradient counts."""

    def __init__(self):
        super().__init__()
        self.active, self.left = False, 0

    def before_training_iteration(self, strategy, **kwargs):
        if not self.active:
            return
        if self.left == 0:
            line = sys.stdin.readline()
            if not line:
                sys.exit(0)  # the bench has all it wanted
            request = json.loads(line)
            torch.set_num_threads(request["threads"])
            self.left, self.seconds, self.first = request["steps"], 0.0, time.perf_counter()
        self.start = time.perf_counter()

    def after_training_iteration(self, strategy, **kwargs):
        if not self.active:
            return
        now = time.perf_counter()
        self.seconds += now - self.start
        self.left -= 1
        if self.left == 0:
            print(json.dumps({"seconds": self.seconds, "with_loading": now - self.first}), file=answers)


def experience(count: int) -> object:
    """Ten classes about ten random means, already tensors."""
    labels = torch.randint(10, (count,))
    dataset = TensorDataset(0.5 * torch.rand(10, 784)[labels] + 0.5 * torch.rand(count, 784), labels)
    dataset.targets = labels.tolist()
    return as_taskaware_classification_dataset(dataset)


def main() -> None:
    torch.manual_seed(0)
    layers = nn.Linear(784, 200), nn.ReLU(), nn.Linear(200, 200), nn.ReLU(), nn.Linear(200, 10)
    model, blocks = nn.Sequential(*layers), Blocks()
    strategy = Naive(
        model=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=1e-3),
        criterion=nn.CrossEntropyLoss(),
        train_mb_size=10,
        train_epochs=1,
        plugins=[blocks, AGEMPlugin(patterns_per_experience=300, sample_size=10)],
        evaluator=EvaluationPlugin(),  # no metric and no logger
    )
    first, second = benchmark_from_datasets(train=[experience(300), experience(6000)]).train_stream
    strategy.train(first, num_workers=0)  # after it the memory holds 300 samples
    print(json.dumps({"avalanche-lib": __version__, "torch": torch.__version__}), file=answers)
    blocks.active, strategy.train_epochs = True, 10**9
    strategy.train(second, num_workers=0)


if __name__ == "__main__":
    main()

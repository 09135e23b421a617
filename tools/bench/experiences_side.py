"""The kit's TA-A-GEM in Avalanche's loop, on a long stream of small experiences: what a step takes early and late.

Run as a script by `avalanche_env`, in Avalanche's environment. One line of JSON comes in,
``{"experiences": 1000}``, one goes out.
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
from avalanche.training.plugins import EvaluationPlugin, SupervisedPlugin  # noqa: E402
from avalanche.training.supervised import Naive  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils.data import TensorDataset  # noqa: E402

from tacl_lib.training.avalanche import TaAgemPlugin  # noqa: E402

STEPS, AROUND = 3, 10  #: batches of an experience, and experiences that are measured on each side


class Clock(SupervisedPlugin):
    """Times whole iterations. First in the list of plugins, so that the reference gradient counts."""

    def __init__(self):
        super().__init__()
        self.experience, self.seconds = 0, []

    def before_training_iteration(self, strategy, **kwargs):
        self.begun = time.perf_counter()

    def after_training_iteration(self, strategy, **kwargs):
        self.seconds.append((self.experience, time.perf_counter() - self.begun))


def experience():
    labels = torch.randint(10, (10 * STEPS,))
    dataset = TensorDataset(torch.rand(len(labels), 784), labels)
    dataset.targets = labels.tolist()
    return benchmark_from_datasets(train=[as_taskaware_classification_dataset(dataset)]).train_stream[0]


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model, clock = nn.Sequential(nn.Linear(784, 200), nn.ReLU(), nn.Linear(200, 10)), Clock()
    strategy = Naive(
        model=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=1e-3),
        criterion=nn.CrossEntropyLoss(),
        train_mb_size=10,
        train_epochs=1,
        plugins=[clock, TaAgemPlugin(classes=10)],
        evaluator=EvaluationPlugin(),  # no metric and no logger
    )
    print(json.dumps({"avalanche-lib": __version__, "torch": torch.__version__}), file=answers)
    count = json.loads(sys.stdin.readline())["experiences"]
    for clock.experience in range(count + AROUND):
        strategy.train(experience(), num_workers=0)

    def at(middle: int) -> list[float]:
        return [seconds for number, seconds in clock.seconds if abs(number - middle) < AROUND]

    print(json.dumps({"early": at(AROUND), "late": at(count)}), file=answers)


if __name__ == "__main__":
    main()

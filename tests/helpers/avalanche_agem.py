"""A-GEM of Avalanche on given weights and batches, in an environment of its own; imports nothing of the kit.

    python avalanche_agem.py given.npz found.npz

given: weights and biases of a perceptron ([in, out]), two experiences of images and labels in their order, and the size
of a batch. found: the parameters after each step of the second experience. The memory holds the whole first experience,
and a reference batch is all of it, so that no random number of Avalanche's is left.
"""

import sys

import numpy as np
import torch
from avalanche.benchmarks import benchmark_from_datasets
from avalanche.benchmarks.utils import as_taskaware_classification_dataset
from avalanche.training.plugins import AGEMPlugin, EvaluationPlugin, SupervisedPlugin
from avalanche.training.supervised import Naive
from torch import nn
from torch.utils.data import TensorDataset


class Path(SupervisedPlugin):
    """Writes down the parameters after each step."""

    def __init__(self):
        super().__init__()
        self.steps = []

    def after_update(self, strategy, **kwargs):
        self.steps.append(torch.cat([p.detach().flatten() for p in strategy.model.parameters()]).numpy().copy())


def main() -> None:
    given = np.load(sys.argv[1])
    layers = []
    for number in range(int(given["layers"])):
        weight, bias = torch.from_numpy(given[f"w{number}"]), torch.from_numpy(given[f"b{number}"])
        linear = nn.Linear(*weight.shape)
        with torch.no_grad():
            linear.weight.copy_(weight.T)
            linear.bias.copy_(bias)
        layers += [linear, nn.ReLU()]
    model, path = nn.Sequential(*layers[:-1]), Path()
    experiences = []
    for name in ("first", "second"):
        dataset = TensorDataset(torch.from_numpy(given[f"{name}_x"]), torch.from_numpy(given[f"{name}_y"]))
        dataset.targets = given[f"{name}_y"].tolist()
        experiences.append(as_taskaware_classification_dataset(dataset))
    size = len(given["first_y"])
    strategy = Naive(
        model=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=float(given["rate"])),
        criterion=nn.CrossEntropyLoss(),
        train_mb_size=int(given["batch"]),
        train_epochs=1,
        plugins=[AGEMPlugin(patterns_per_experience=size, sample_size=size), path],
        evaluator=EvaluationPlugin(),
    )
    for experience in benchmark_from_datasets(train=experiences).train_stream:
        strategy.train(experience, shuffle=False, num_workers=0)
    np.savez(sys.argv[2], path=np.stack(path.steps))


if __name__ == "__main__":
    main()

"""The vocabulary: what things are called, in which order they stand, and how they look. Defined here and nowhere else.

Keys are the names in specs and files. A method of the paper is a learner's file and a line here; learners, policies and
datasets of a user need no line: they stand after the paper's.
"""

from typing import NamedTuple


class Method(NamedTuple):
    """A method of the paper, and the line that shows it in figures."""

    title: str
    colour: str
    dash: tuple[float, ...]  #: lengths of ink and gap in line widths; empty: solid
    marker: str
    width: float = 1.5
    aware: bool = False  #: told when a task ends: shown in grey, for context, and on disjoint tasks only


class Titled(NamedTuple):
    """What something is called, by us and in the paper's tables."""

    title: str
    printed: str


class Metric(NamedTuple):
    """What a metric is called, and which end of it is good."""

    title: str
    of: str  #: what is averaged, in a few words
    higher_is_better: bool


#: In the order of the paper's tables. Colours stay apart for the three common kinds of colour blindness.
METHODS = {
    "sgd": Method("SGD", "#c79200", (1, 1), "v"),
    "sgd_lr_adapt": Method("SGD lr adapt", "#2f9fd0", (4, 1.2, 1, 1.2), "^"),
    "bgd": Method("BGD", "#c065a8", (3, 1.2), "s"),
    "ta_ogd": Method("TA-OGD", "#004c94", (7, 1.5), "D", 2.0),
    "ta_agem": Method("TA-A-GEM", "#c93a06", (), "o", 2.2),
    "ogd": Method("OGD", "#878787", (5, 2, 1, 2), "d", 1.2, aware=True),
    "agem": Method("A-GEM", "#1a1a1a", (9, 2.5), "X", 1.2, aware=True),
}
TASK_AWARE = tuple(name for name, method in METHODS.items() if method.aware)

DATASETS = {
    "mnist": Titled("MNIST", "MNIST"),
    "fashion_mnist": Titled("Fashion-MNIST", "Fashion MNIST"),
    "notmnist": Titled("notMNIST", "NOT MNIST"),
    "cifar10": Titled("CIFAR-10", "CIFAR10"),
    "svhn": Titled("SVHN", "SVHN"),
}
EMBEDDED = {"digits": "Digits"}  #: datasets that are not the paper's, and are always there

SPLITS = {
    "permutation": Titled("Permutation", "perm"),
    "rotation": Titled("Rotation", "rot"),
    "class": Titled("Class split", "class"),
}
EXPERIMENTS = {"disjoint": "disjoint tasks", "continuous": "continuous change"}

METRICS = {
    "average_accuracy": Metric("Average validation accuracy", "over the tasks trained on so far", True),
    "first_task_accuracy": Metric("Validation accuracy of the first task", "of the first task", True),
    "forgetting": Metric("Forgetting of the first task", "best accuracy so far minus the present one", False),
}

#: How a memory finds a place for a newcomer; the first two are the paper's.
POLICIES = {
    "clustering": "Clustering",
    "random": "Random assignment",
    "fifo": "First in, first out",
    "reservoir": "Reservoir",
}
SAMPLING_RATES = (0.01, 0.1, 1.0)  #: of the paper's study

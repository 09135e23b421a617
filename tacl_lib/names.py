"""The vocabulary: what things are called, their order, and how they look. Defined here and nowhere else.

Keys are the names used in specs and files. A method of the paper is one learner's file and one line here; a user's own
learners, policies and datasets need no line: they come after the paper's, under their own names.
"""

from typing import NamedTuple


class Method(NamedTuple):
    """A method of the paper, and the line that shows it in figures."""

    title: str
    colour: str
    dash: tuple[float, ...]  #: lengths of ink and gap in line widths; empty: solid
    marker: str
    width: float = 1.5
    aware: bool = False  #: it is told when a task ends: shown in grey, for context, on disjoint tasks only


class Titled(NamedTuple):
    """Our title, and the paper's spelling in its tables."""

    title: str
    printed: str


class Metric(NamedTuple):
    """A metric's title, and whether high values are good."""

    title: str
    of: str  #: what is averaged
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
EMBEDDED = {"digits": "Digits"}  #: not in the paper, but always available

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

#: The paper's study of the memory: how it places a newcomer, and how often it gets one.
POLICIES = {"clustering": "Clustering", "random": "Random assignment"}
SAMPLING_RATES = (0.01, 0.1, 1.0)

_TITLED = {"method": METHODS, "dataset": DATASETS, "split": SPLITS, "metric": METRICS}
_TITLES = {kind: {name: known.title for name, known in of_kind.items()} for kind, of_kind in _TITLED.items()}
_TITLES |= {"experiment": EXPERIMENTS, "policy": POLICIES, "dataset": _TITLES["dataset"] | EMBEDDED}


def title(kind: str, name: str) -> str:
    """The title of a method, dataset, split, metric, experiment or policy; a user's own has its name for a title."""
    return _TITLES[kind].get(name, name)


def printed(kind: str, name: str) -> str:
    """A dataset or split as the paper's tables spell it; a user's own by its name."""
    known = _TITLED[kind]
    return known[name].printed if name in known else name

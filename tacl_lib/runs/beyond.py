"""Beyond the paper: larger networks, in runs small enough for two cores. `tacl beyond` executes them.

The paper's perceptron, a small convolutional network and a narrow ResNet see the same streams; TA-A-GEM gets three
memories: clusters of pixels, clusters of the network's last hidden layer, and random assignment. None of this is
comparable with the paper or counts among its numbers: the runs have a folder of their own.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from tacl_lib.engine.networks import make_network
from tacl_lib.runs.cost import shape_of
from tacl_lib.runs.grid import Job
from tacl_lib.runs.profiles import Profile
from tacl_lib.runs.store import REFERENCE

#: the runs that come with the project
STORED = REFERENCE / "beyond"


class Shape(NamedTuple):
    """A network to compare."""

    title: str
    network: str
    settings: dict


class Variant(NamedTuple):
    """A learner to compare, with the settings that differ from its defaults."""

    title: str
    learner: str
    settings: dict


SHAPES = (
    Shape("MLP", "mlp", {}),
    Shape("CNN", "cnn", {"width": 8}),
    Shape("ResNet", "resnet", {"width": 8}),
)
VARIANTS = (
    Variant("SGD", "sgd", {}),
    Variant("TA-A-GEM", "ta_agem", {}),
    Variant("TA-A-GEM, features", "ta_agem", {"space": "features"}),
    Variant("TA-A-GEM, random", "ta_agem", {"policy": "random"}),
    Variant("TA-OGD", "ta_ogd", {}),
    Variant("OGD", "ogd", {}),
    Variant("A-GEM", "agem", {}),
)
#: in the order of execution: stopping early leaves whole columns
COLUMNS = (
    ("fashion_mnist", "class"),
    ("cifar10", "class"),
    ("fashion_mnist", "rotation"),
    ("cifar10", "rotation"),
)
#: size of a memory of samples: smaller than in the paper, because fewer arrivals compete for places
PLACES = 90
STORED_GRADIENTS = 297  #: by TA-OGD in the paper
PROFILES = {
    "beyond": Profile(
        name="beyond",
        seeds=(0, 1, 2),
        datasets=("fashion_mnist", "cifar10"),
        study_dataset="fashion_mnist",
        run={"epochs": 2, "task_count": 5, "degrees_per_task": 36.0, "train_limit": 450, "test_limit": 200},
        rate=0.02,
        learners={
            "agem": {"reference_batch": 64, "samples_per_task": PLACES // 5},
            "ta_agem": {"reference_batch": 64},
            "ogd": {"samples_per_task": 20},
            "ta_ogd": {"clusters": 33},
        },
    ),
    "smoke": Profile(
        name="smoke",
        seeds=(0, 1),
        datasets=("digits",),
        study_dataset="digits",
        run={"epochs": 1, "task_count": 2, "train_limit": 30, "test_limit": 20},
        rate=0.02,
        learners={
            "agem": {"reference_batch": 10, "samples_per_task": 10},
            "ta_agem": {"reference_batch": 10, "clusters": 3},
            "ogd": {"samples_per_task": 4},
            "ta_ogd": {"clusters": 3},
        },
    ),
}


def columns(profile: Profile) -> list[tuple[str, str]]:
    """The profile's columns: dataset and split."""
    known = [column for column in COLUMNS if column[0] in profile.datasets]
    return known or [(dataset, "class") for dataset in profile.datasets]


def job(profile: Profile, column: tuple[str, str], shape: Shape, variant: Variant) -> Job:
    """The runs of a network and a learner in a column."""
    own = dict(variant.settings)
    if variant.learner == "ta_agem" and "clusters" not in profile.learners["ta_agem"]:
        own["clusters"] = PLACES // 3 // (2 if column[1] == "class" else 10)  # clusters of 3 in a pool for each class
    spec = profile.spec(*column, "disjoint", variant.learner, **own)
    return Job(replace(spec, network=shape.network, network_settings=shape.settings), profile.seeds)


def jobs(profile: Profile) -> list[Job]:
    return [job(profile, c, shape, variant) for c in columns(profile) for shape in SHAPES for variant in VARIANTS]


def sizes(profile: Profile) -> Iterator[tuple[str, Shape, int, int]]:
    """For each dataset and network, the number of weights, and the bytes of a run's stored gradients."""
    for dataset in profile.datasets:
        shape = shape_of(dataset)[1:]
        for of in SHAPES:
            network = make_network(of.network, (0,), shape, 2, **of.settings)
            members = network.stored_gradients(STORED_GRADIENTS).members
            members = members.tensors() if hasattr(members, "tensors") else [t for part in members for t in part]
            yield dataset, of, network.parameter_count, sum(tensor.nbytes for tensor in members)

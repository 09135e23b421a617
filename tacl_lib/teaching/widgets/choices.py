"""What can be chosen in the memory builder, from names to memories in front of a stream."""

from dataclasses import dataclass

from tacl_lib.core.memory import POLICIES
from tacl_lib.core.streams import Stream
from tacl_lib.core.tasks import Tasks, make_tasks
from tacl_lib.data import available, load
from tacl_lib.errors import TaclError, unknown_name
from tacl_lib.names import EXPERIMENTS, SPLITS
from tacl_lib.teaching.widgets.filling import Filling

#: What the policies do, in a few words; one that a user has added goes by its name.
POLICY_TITLES = {
    "clustering": "clustering: to the nearest mean",
    "random": "random: to any cluster",
    "reservoir": "reservoir: all alike likely to stay",
    "fifo": "fifo: the newest only",
}


@dataclass(frozen=True)
class Choice:
    """The settings of one press of the button."""

    dataset: str = "digits"
    split: str = "class"
    experiment: str = "disjoint"
    epochs: int = 4  #: per task, or per pair of tasks where the stream is continuous
    pool_per_class: bool = False
    clusters: int = 20  #: Q, of each pool
    cluster_size: int = 4  #: P
    sampling_rate: float = 1.0
    policies: tuple[str, ...] = ("clustering", "random")
    seed: int = 0

    def __post_init__(self):
        names = [("dataset", self.dataset, available()), ("split", self.split, SPLITS)]
        names += [("experiment", self.experiment, EXPERIMENTS)]
        names += [("memory policy", policy, POLICIES) for policy in self.policies]
        for kind, name, valid in names:
            if name not in valid:
                raise unknown_name(kind, name, valid)
        if len(self.policies) not in (1, 2):
            raise TaclError(f"one policy can be shown, or two side by side, not {len(self.policies)}.")

    @property
    def images(self) -> tuple[str, str, int]:
        """What the tasks depend on."""
        return self.dataset, self.split, self.seed

    def tasks(self) -> Tasks:
        """The tasks; this is what takes time."""
        return make_tasks(load(self.dataset, progress=False), self.split, (self.seed,))

    def filling(self, tasks: Tasks) -> Filling:
        """Empty memories, one per policy, in front of the stream."""
        return Filling(
            Stream(tasks, self.experiment, epochs=self.epochs),
            self.policies,
            clusters=self.clusters,
            cluster_size=self.cluster_size,
            pool_per_class=self.pool_per_class,
            sampling_rate=self.sampling_rate,
        )

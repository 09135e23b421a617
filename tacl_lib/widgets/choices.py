"""What can be chosen in the memory builder, from names to memories in front of a stream."""

from dataclasses import dataclass

from tacl_lib.data import load
from tacl_lib.streams import Stream
from tacl_lib.tasks import Tasks, make_tasks
from tacl_lib.widgets.filling import Filling

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

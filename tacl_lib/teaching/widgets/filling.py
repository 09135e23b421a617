"""Fill memories from a stream, without any training: several policies see the same samples."""

from collections.abc import Sequence

from tacl_lib.core.memory import ArrivalSampler, Geometry, sample_memory
from tacl_lib.core.streams import Batch, Stream
from tacl_lib.errors import TaclError
from tacl_lib.training.events import EventLog, EventRecorder


class Filling:
    """One memory per policy, fed with the same samples.

    These are the samples, and the places, that TA-A-GEM would choose with the same settings and seed: what enters
    its memory does not depend on what its network has learned.
    """

    def __init__(
        self,
        stream: Stream,
        policies: Sequence[str],
        *,
        clusters: int,
        cluster_size: int,
        pool_per_class: bool = True,
        sampling_rate: float = 1.0,
    ):
        tasks = stream.tasks
        self.stream, self.policies = stream, tuple(policies)
        self.geometry = Geometry(tasks.classes if pool_per_class else 1, clusters, cluster_size).checked()
        offered = int(stream.steps * sampling_rate + 1e-9)
        if self.geometry.pools * clusters > offered:
            raise TaclError(
                f"Q = {clusters} needs {self.geometry.pools * clusters:,} samples to open all clusters, but this "
                f"stream offers {offered:,}; choose a smaller Q, more epochs or a higher sampling rate."
            )
        self.steps = 0
        device = tasks.train.images.device
        runs = len(tasks.seeds)
        self._memories = [sample_memory(runs, tasks.features, self.geometry, name, device) for name in self.policies]
        self._recorders = [EventRecorder(self.geometry, runs) for _ in self.policies]
        keys = self.geometry.capacity  # as TA-A-GEM draws them, so that both choose the same samples
        self._arrivals = ArrivalSampler(tasks.seeds, sampling_rate, pool_per_class, keys, device)
        self._batches = (batch for epoch in stream.epochs for batch in stream.batches(epoch))

    @property
    def done(self) -> bool:
        return self.steps >= self.stream.steps

    def advance(self, steps: int) -> None:
        """Go on by so many steps, or to the end."""
        for _ in range(min(steps, self.stream.steps - self.steps)):
            batch = next(self._batches)
            if self._arrivals.due(self.steps):
                self._remember(batch)
            self.steps += 1

    def _remember(self, batch: Batch) -> None:
        chosen = self._arrivals.choose(self.steps, batch.x, batch.y)
        for memory, recorder in zip(self._memories, self._recorders, strict=True):
            placement = memory.add(chosen.item, chosen.pool, chosen.uniform)
            recorder.note(self.steps, placement, chosen.position, batch.task, batch.row)

    def logs(self, run: int = 0) -> list[EventLog]:
        """The event log of one run so far, one per policy."""
        return [recorder.logs()[run] for recorder in self._recorders]

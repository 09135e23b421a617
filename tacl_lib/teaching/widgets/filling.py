"""Fill memories from a stream, without any training: several policies see the same samples."""

from collections.abc import Iterator, Sequence

import torch

from tacl_lib.core.learners.base import Sampling
from tacl_lib.core.memory import EventLog, Geometry, sample_memory
from tacl_lib.core.memory.events import EventRecorder
from tacl_lib.core.randomness import Uniforms
from tacl_lib.core.streams import Batch, Stream
from tacl_lib.errors import TaclError


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
        self.stream, self.policies, self.pool_per_class = stream, tuple(policies), pool_per_class
        self.geometry = Geometry(tasks.classes if pool_per_class else 1, clusters, cluster_size).checked()
        self.sampling = Sampling(sampling_rate)
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
        self._uniforms = Uniforms(tasks.seeds, "memory", 2 + self.geometry.capacity, device)
        self._run = torch.arange(runs, device=device)
        self._batches = (batch for epoch in stream.epochs for batch in stream.batches(epoch))

    @property
    def done(self) -> bool:
        return self.steps >= self.stream.steps

    def advance(self, steps: int) -> None:
        """Go on by so many steps, or to the end."""
        for _ in range(min(steps, self.stream.steps - self.steps)):
            batch = next(self._batches)
            if self.sampling.due(self.steps):
                self._remember(batch)
            self.steps += 1

    def in_parts(self, steps: int) -> Iterator[int]:
        """Fill to the end, and say after every so many steps how many are done."""
        while not self.done:
            self.advance(steps)
            yield self.steps

    def _remember(self, batch: Batch) -> None:
        uniform = self._uniforms(self.steps)
        chosen = (uniform[:, 0] * batch.x.shape[1]).long()
        sample, label = batch.x[self._run, chosen], batch.y[self._run, chosen]
        pool = label if self.pool_per_class else torch.zeros_like(label)
        for memory, recorder in zip(self._memories, self._recorders, strict=True):
            placement = memory.add((sample, label), pool, uniform[:, 1])
            recorder.note(self.steps, placement, chosen, batch.task, batch.row)

    def logs(self, run: int = 0) -> list[EventLog]:
        """The event log of one run so far, one per policy."""
        return [recorder.logs()[run] for recorder in self._recorders]

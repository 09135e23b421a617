"""The reference runs and the user's own, read as one store."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from tacl_lib.runs.spec import RunSpec
from tacl_lib.runs.store import OWN, REFERENCE, ReadOnce, Store
from tacl_lib.training.record import Record


class Together(ReadOnce):
    """Both stores; where both have a run, the user's own counts. Whatever is written goes to the user's."""

    def __init__(self, own: Path | str = OWN, reference: Path | str = REFERENCE):
        super().__init__(own)
        self.own, self.reference = Store(own), Store(reference)

    def __bool__(self) -> bool:
        return bool(self.own) or bool(self.reference)

    def path(self, spec: RunSpec, seed: int) -> Path:
        own, other = self.own.path(spec, seed), self.reference.path(spec, seed)
        return other if other.exists() and not own.exists() else own

    def runs(self) -> Iterator[tuple[RunSpec, Record]]:
        yield from super().runs()
        yield from ((spec, record) for spec, record in self.reference.runs() if not self._hidden(spec, record.seed))

    def descriptions(self) -> Iterator[tuple[RunSpec, int, dict]]:
        yield from super().descriptions()
        yield from (found for found in self.reference.descriptions() if not self._hidden(*found[:2]))

    def own_seeds(self, spec: RunSpec, seeds: Sequence[int]) -> list[int]:
        """Which of these runs are the user's own."""
        if self.own.folder.resolve() == self.reference.folder.resolve():
            return []
        return [seed for seed in seeds if self.own.path(spec, seed).exists()]

    def _hidden(self, spec: RunSpec, seed: int) -> bool:
        """Whether the user has the same run, or the two stores are one."""
        return self.own.path(spec, seed).exists()

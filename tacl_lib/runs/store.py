"""The store: one file per finished run, named by the hash of its spec."""

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

import pandas as pd

from tacl_lib import places
from tacl_lib.core.metrics import summary
from tacl_lib.data.dataset import ANOTHER_SET
from tacl_lib.errors import TaclError
from tacl_lib.names import METRICS
from tacl_lib.runs.spec import RunSpec, spec_from
from tacl_lib.training.record import DamagedFile, Record, read_about, read_record

OWN, REFERENCE = places.RESULTS, places.REFERENCE  #: the user's runs, and those that come with the project


class Store:
    """A folder of records, one file for each run and seed, named by the hash of the run's settings.

    Every file is a finished run: it was written completely, then renamed.
    """

    def __init__(self, folder: Path | str):
        if not isinstance(folder, (str, Path)):
            raise TaclError(f"a store is a folder, such as Store('results'), not {folder!r}.")
        self.folder = Path(folder)
        if self.folder.is_file():
            raise TaclError(f"{self.folder} is a file; a store is a folder of records.")

    def __bool__(self) -> bool:
        """Whether it holds any runs."""
        return any(RUN_FILE.fullmatch(path.name) for path in self.folder.glob("*-*.parquet"))

    def path(self, spec: RunSpec, seed: int) -> Path:
        """The file of a run's record, whether or not it exists."""
        return self.folder / f"{spec.name()}-{seed}.parquet"

    def checkpoint(self, spec: RunSpec, seeds: Sequence[int]) -> Path:
        """The checkpoint of the unfinished stack of these seeds."""
        return self.folder / "unfinished" / f"{spec.name()}-{'_'.join(map(str, seeds))}.pt"

    def lock(self, spec: RunSpec, seed: int) -> Path:
        """The lock held by the process that executes this run."""
        return self.folder / "unfinished" / f"{spec.name()}-{seed}.lock"

    def sweep(self, spec: RunSpec, seeds: Sequence[int]) -> None:
        """Remove half-written files of these runs. Call this only while holding their locks."""
        for seed in seeds:
            for part in self.folder.glob(f".{spec.name()}-{seed}.*.part"):
                part.unlink(missing_ok=True)
        for part in self.folder.glob(f"unfinished/.{self.checkpoint(spec, seeds).name}.*.part"):
            part.unlink(missing_ok=True)

    def missing(self, spec: RunSpec, seeds: Sequence[int]) -> list[int]:
        """The seeds of a spec without a finished run."""
        return [seed for seed in seeds if not self.path(spec, seed).exists()]

    def write(self, spec: RunSpec, records: Sequence[Record]) -> None:
        """Store the finished runs of a spec."""
        for record in records:
            record.write(self.path(spec, record.seed))

    def read(self, spec: RunSpec, seed: int) -> Record | None:
        """A run's record, or None. A damaged file is set aside with a warning, and counts as missing."""
        return _read(self.path(spec, seed))

    def runs(self) -> Iterator[tuple[RunSpec, Record]]:
        """Every finished run with its spec, except those of other result versions."""
        for path in self._files():
            record = _read(path)
            spec = _spec_of(path, record and record.info)
            if spec is not None and path == self.path(spec, record.seed):
                yield spec, record

    def descriptions(self) -> Iterator[tuple[RunSpec, int, dict]]:
        """Spec, seed and circumstances of every finished run; does not read the numbers."""
        for path in self._files():
            seed, info = _read(path, read_about) or (None, None)
            spec = _spec_of(path, info)
            if spec is not None and path == self.path(spec, seed):
                yield spec, seed, info

    def _files(self) -> list[Path]:
        """The records in the folder. Other files are ignored, with one warning."""
        found, foreign = [], []
        for path in sorted(self.folder.glob("*.parquet")):
            if RUN_FILE.fullmatch(path.name):
                found.append(path)
            elif not path.name.endswith(".events.parquet") and path not in _NAMED:
                foreign.append(path.name)
                _NAMED.add(path)
        if foreign:
            warnings.warn(
                f"ignored in {self.folder}, because they are not runs of the kit: {', '.join(foreign)}.", stacklevel=3
            )
        return found

    def catalogue(self) -> dict[RunSpec, list[int]]:
        """Each spec with finished runs, and their seeds."""
        found: dict[str, tuple[RunSpec, list[int]]] = {}
        for spec, seed, _ in self.descriptions():
            found.setdefault(spec.name(), (spec, []))[1].append(seed)
        return {spec: sorted(seeds) for spec, seeds in found.values()}

    def records(self, spec: RunSpec, seeds: Sequence[int]) -> list[Record]:
        """The finished runs of a spec with these seeds."""
        found = (self.read(spec, seed) for seed in seeds)
        return [record for record in found if record is not None]

    def notes(self, jobs: Iterable[tuple[RunSpec, Sequence[int]]]) -> dict[str, str]:
        """What the runs note about data other than the published set: dataset → note."""
        found: dict[str, dict[str, None]] = {}
        for spec, seeds in jobs:
            for seed in seeds:
                about = _read(self.path(spec, seed), read_about)
                note = _note(about[1]) if about else ""
                if note:
                    found.setdefault(spec.dataset, {})[note] = None
        return {dataset: "; in other runs: ".join(notes) for dataset, notes in found.items()}

    def summaries(self, jobs: Iterable[tuple[RunSpec, Sequence[int]]] | None = None) -> pd.DataFrame:
        """One row per run: experiment, dataset, split, method, seed, the three metrics, the name of its spec,
        another_set (whether its images are another set than the published one) and network (``mlp`` is the paper's).

        jobs: specs and seeds to look for; None takes every run in the store.
        """
        if jobs is None:
            runs = self.runs()
        else:
            runs = ((spec, record) for spec, seeds in jobs for record in self.records(spec, seeds))
        rows = [
            {
                "experiment": spec.experiment,
                "dataset": spec.dataset,
                "split": spec.split,
                "method": spec.learner,
                "seed": record.seed,
                **summary(record.accuracy, record.seen),
                "spec": spec.name(),
                "another_set": _note(record.info).startswith(ANOTHER_SET),
                "network": spec.network,
            }
            for spec, record in runs
        ]
        about = ["spec", "another_set", "network"]
        return pd.DataFrame(rows, columns=["experiment", "dataset", "split", "method", "seed", *METRICS, *about])


class ReadOnce(Store):
    """A store that reads each file only once, for callers that need the same runs often."""

    def __init__(self, folder: Path | str):
        super().__init__(folder)
        self._known: dict[Path, Record | None] = {}

    def read(self, spec: RunSpec, seed: int) -> Record | None:
        path = self.path(spec, seed)
        if path not in self._known:
            self._known[path] = super().read(spec, seed)
        return self._known[path]


#: The file name of a run: the hash of its spec, and its seed.
RUN_FILE = re.compile(r"[0-9a-f]{16}-\d+\.parquet")
_NAMED: set[Path] = set()  # foreign files that have been reported

#: The types of a stored run's circumstances, as far as it has them; tables, report and widgets rely on these.
_KINDS = {"spec": dict, "data": dict, "versions": dict, "wall_seconds_of_stack": float}
_KINDS |= dict.fromkeys(("finished", "machine", "cpu", "instructions", "blas", "noise", "device", "commit"), str)


def check_info(path: Path, info: dict) -> None:
    """Raise a DamagedFile unless a stored run's circumstances have the types with which they are written."""
    odd = [name for name, kind in _KINDS.items() if name in info and not isinstance(info[name], kind)]
    for part in ("versions", "data") if not odd else ():
        odd += [name for name, text in info.get(part, {}).items() if not isinstance(text, str | None)]
    if not odd and not _is_moment(info.get("finished")):
        odd.append("finished")
    if odd:
        raise DamagedFile(path, f"its entry {odd[0]!r} is not as a run writes it")


def _is_moment(text: str | None) -> bool:
    """Whether a text is a time with a time zone; the oldest runs have none."""
    try:
        return text is None or datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _note(info: dict) -> str:
    """What a run notes about its data, if they are not the published set."""
    return info.get("data", {}).get("note") or ""


def _read(path: Path, reader: Callable = read_record):
    """What the reader returns for a file; None if it does not exist, or was damaged and has been set aside."""
    if not path.exists():
        return None
    try:
        found = reader(path)
        check_info(path, found.info if isinstance(found, Record) else found[1])
        return found
    except DamagedFile as error:
        _set_aside(path, error)
        return None


def _spec_of(path: Path, info: dict | None) -> RunSpec | None:
    """The spec in a run's circumstances; None if there are none, or if they describe no run."""
    if info is None:
        return None
    try:
        return spec_from(info["spec"])
    except (TaclError, LookupError, TypeError, AttributeError, ValueError) as error:
        _set_aside(path, DamagedFile(path, f"it has no valid description of its run: {type(error).__name__}"))
        return None


def _set_aside(path: Path, error: DamagedFile) -> None:
    if places.INSTALLED and path.is_relative_to(places.PROJECT):  # a package's folder is its installer's
        again = "pip install --force-reinstall --no-deps tacl-lib"
        warnings.warn(f"{error} It is ignored; to get an intact copy: {again}", stacklevel=5)
        return
    try:
        path.replace(path.with_suffix(".damaged"))
        warnings.warn(f"{error} It was set aside and will be run again.", stacklevel=5)
    except FileNotFoundError:  # another process was faster
        warnings.warn(f"{error} It will be run again.", stacklevel=5)
    except OSError:
        warnings.warn(
            f"{error} It is ignored; it could not be set aside, because the folder is read-only.", stacklevel=5
        )

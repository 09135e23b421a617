"""Import finished runs from someone else:  tacl merge FOLDER [--into results] [--logs first|all]

Each file is read completely, its digests are checked, and its name must be the hash of the spec inside. Every file is
reported on a line, taken or refused; no stored run is replaced.
"""

import argparse
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from tacl_lib.core.learners import LEARNERS
from tacl_lib.core.tasks import checked_seeds
from tacl_lib.errors import TaclError
from tacl_lib.runs.spec import RunSpec, spec_from
from tacl_lib.runs.store import OWN, RUN_FILE, Store, check_info
from tacl_lib.training.record import Record, carries_digest, read_record

TAKEN, THERE, REFUSED = "taken", "already there", "refused"
LOGS = ("first", "all")


class Answer(NamedTuple):
    """The verdict on a file."""

    file: str
    verdict: str  #: taken, already there or refused
    reason: str  #: why it was refused, or which run it is

    def line(self) -> str:
        return f"{self.verdict:14}{self.file}  {self.reason}"


def merge(source: Path | str, target: Store, logs: str = "first") -> Iterator[Answer]:
    """Import the runs of a folder, file by file.

    logs: which memory logs to keep: ``"first"``, those of the first run of each spec, enough for figures and widgets,
    or ``"all"``.
    """
    source = Path(source)
    files = sorted(path for path in source.glob("*.parquet") if RUN_FILE.fullmatch(path.name))
    if not files:
        raise TaclError(f"there are no runs in {source}; name a folder with files such as 0123456789abcdef-0.parquet.")
    for path in files:
        try:
            spec, record = _read(path)
            there = _there(target, spec, record)
            if not there:
                keep = logs == "all" or not _has_log(target, spec)
                target.write(spec, [record if keep else replace(record, events=None)])
        except TaclError as error:
            yield Answer(path.name, REFUSED, str(error))
            continue
        yield Answer(path.name, THERE if there else TAKEN, _what(spec, record))


def _read(path: Path) -> tuple[RunSpec, Record]:
    """A run that is what it claims to be, executed by known code."""
    record = read_record(path)  # verifies digests, types and ranges
    check_info(path, record.info)
    if not carries_digest(path):
        raise TaclError("it has no digest, so it cannot be checked for damage.")
    try:
        spec = spec_from(record.info["spec"])
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise TaclError(f"it has no valid description of its run ({type(error).__name__}).") from error
    checked_seeds((record.seed,))
    if spec.learner not in LEARNERS:
        raise TaclError(
            f"the learner {spec.learner!r} is not known here; name the plugin that registers it with --plugin."
        )
    if path.name != f"{spec.name()}-{record.seed}.parquet":
        raise TaclError(
            f"its settings belong in {spec.name()}-{record.seed}.parquet: it was renamed, or comes from another "
            f"version of {spec.learner}."
        )
    if not {"tacl", "torch", "numpy"} <= set(record.info.get("versions", {})):
        raise TaclError("it does not record the versions it was run with.")
    commit = record.info.get("commit", "unknown")
    if commit.endswith("+"):
        raise TaclError(f"it was run with uncommitted changes to {commit[:-1]}; commit them and run again.")
    return spec, record


def _there(target: Store, spec: RunSpec, record: Record) -> bool:
    """Whether the same run is stored already; one with other numbers is refused."""
    known = target.read(spec, record.seed)
    if known is None:
        return False
    if _numbers(known) != _numbers(record):
        raise TaclError(
            "the same run is stored with other numbers; `tacl verify` shows which of the two this machine reproduces."
        )
    return True


def _numbers(record: Record) -> str:
    return replace(record, events=None).digest()


def _has_log(target: Store, spec: RunSpec) -> bool:
    return any(target.folder.glob(f"{spec.name()}-*.events.parquet"))


def _what(spec: RunSpec, record: Record) -> str:
    made = record.info["versions"]
    return (
        f"{spec.experiment} {spec.dataset} {spec.split} {spec.learner}, seed {record.seed}, torch {made['torch']}, "
        f"commit {record.info.get('commit', 'unknown')}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="tacl merge", description=__doc__.split("\n")[0].split(":")[0] + ".")
    parser.add_argument("folder", type=Path, help="the folder with someone else's finished runs")
    parser.add_argument("--into", type=Path, default=OWN, help="the store that takes them; default: results")
    parser.add_argument("--logs", choices=LOGS, default="first", help="which memory logs to keep; default: first")
    options = parser.parse_args(arguments)
    answers = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            for answer in merge(options.folder, Store(options.into), options.logs):
                print(answer.line())
                answers.append(answer)
    except OSError as error:  # a folder that cannot be read
        sys.exit(f"merge: {error}")
    counts = [sum(answer.verdict == verdict for answer in answers) for verdict in (TAKEN, THERE, REFUSED)]
    print("{} taken, {} already there, {} refused.".format(*counts))
    if counts[2]:
        sys.exit(1)

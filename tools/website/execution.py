"""Notebooks with their outputs: executed once, and kept until something that they could depend on changes."""

import hashlib
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

ROOT = Path(__file__).parents[2]
TIMEOUT = 1200  #: seconds that a cell may take
#: Experiments, in this order, in one folder: the last ones show what the first ones have run.
CHAINED = ("06_experiment", "07_clustering_study", "08_tables_and_figures", "09_calibration")


def executed(paths: Sequence[Path], kept: Path, profile: str) -> dict[Path, NotebookNode]:
    """Every notebook with its outputs, in the order of ``paths``; ``kept`` is the folder of those of earlier calls.

    A function that is not written yet is replaced by the solution, as for a student who goes on without it.
    """
    kept.mkdir(parents=True, exist_ok=True)
    single = [[path] for path in paths if path.stem not in CHAINED]
    chain = sorted((path for path in paths if path.stem in CHAINED), key=lambda path: CHAINED.index(path.stem))
    with ThreadPoolExecutor(max_workers=max(1, min(4, (os.cpu_count() or 1)))) as pool:
        # The longest first, so that no process waits for it at the end.
        for done in [pool.submit(_executed, part, kept, profile) for part in [chain, *single] if part]:
            done.result()
    return {path: nbformat.read(_place(path, kept, profile), 4) for path in paths}


def _executed(chain: Sequence[Path], kept: Path, profile: str) -> None:
    if all(_place(path, kept, profile).exists() for path in chain):
        return
    for path in chain:
        print(f"executing {path.stem} …", flush=True)
        made = nbformat.read(path, 4)
        folder = _folder(kept, path)
        environment = os.environ | {"TACL_PROFILE": profile, "TACL_PROGRESS": str(folder.parent / "progress.json")}
        client = NotebookClient(
            made, timeout=TIMEOUT, store_widget_state=True, resources={"metadata": {"path": str(folder)}}
        )
        client.execute(env=environment)
        for old in kept.glob(f"{path.stem}-*.ipynb"):
            old.unlink()
        nbformat.write(made, _place(path, kept, profile))


def _folder(kept: Path, path: Path) -> Path:
    """Where a notebook runs: beside the figures, but with results of its own, so that nothing of a user is changed."""
    home = kept / "home" / ("experiments" if path.stem in CHAINED else path.stem)
    folder = home / path.parent.name
    folder.mkdir(parents=True, exist_ok=True)
    (home / "figures").mkdir(exist_ok=True)
    for name, there in (("tacl_lib", ROOT / "tacl_lib"), ("figures/paper", ROOT / "figures" / "paper")):
        if not (home / name).exists():
            (home / name).symlink_to(there, target_is_directory=True)
    return folder


def _place(path: Path, kept: Path, profile: str) -> Path:
    state = hashlib.sha256(path.read_bytes() + profile.encode() + _library())
    return kept / f"{path.stem}-{state.hexdigest()[:16]}.ipynb"


@cache
def _library() -> bytes:
    """A digest of the library and of the runs that come with the project; scripts of widgets change no output."""
    state = hashlib.sha256()
    files = [*(ROOT / "tacl_lib").rglob("*"), *(ROOT / "results" / "reference").glob("*.parquet")]
    for path in sorted(files):
        if path.is_file() and path.suffix != ".js" and "__pycache__" not in path.parts:
            state.update(str(path.relative_to(ROOT)).encode() + hashlib.sha256(path.read_bytes()).digest())
    return state.digest()

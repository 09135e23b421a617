"""Writing the generated files of all sets."""

from pathlib import Path

from tacl_lib.files import write_whole
from tacl_lib.teaching.coursework.source import read_sets
from tacl_lib.teaching.coursework.versions import marking_scheme, release, solution


def generated(coursework: Path) -> dict[Path, str]:
    """What the generated files should hold, by path."""
    files = {}
    for problem_set in read_sets(coursework / "source"):
        place = Path(problem_set.name) / problem_set.path.name
        files[coursework / "release" / place] = release(problem_set)
        files[coursework / "solutions" / place] = solution(problem_set)
        files[coursework / "marking" / f"{problem_set.name}.md"] = marking_scheme(problem_set)
    return files


def leftovers(coursework: Path, files: dict[Path, str]) -> list[Path]:
    """Files in the generated folders that no source makes any more."""
    there = (path for name in ("release", "solutions", "marking") for path in (coursework / name).rglob("*"))
    return sorted(
        path for path in there if path.is_file() and path not in files and ".ipynb_checkpoints" not in path.parts
    )


def generate(coursework: Path) -> list[Path]:
    """Write them all, remove what no source makes any more, and say which there are."""
    files = generated(coursework)
    for path, text in files.items():
        write_whole(path, lambda part, text=text: part.write_text(text, encoding="utf-8"))
    for path in leftovers(coursework, files):
        path.unlink()
    return sorted(files)

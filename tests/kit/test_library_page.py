"""The recipes of LIBRARY.md work as they stand there."""

import re
import subprocess
import sys

from examples import example, printed_by


def test_the_recipes_work(tmp_path):
    """One after the other in one process, as in a notebook, and in an empty folder."""
    code = "\n".join(example("LIBRARY.md", name) for name in ("loop", "store", "fields"))
    loop, first, second, fields = printed_by({"recipes": code}, tmp_path)["recipes"].splitlines()
    assert re.fullmatch(r"loss \d\.\d\d, [1-9]\d+ samples in the memory", loop)
    assert first.startswith("0 {'average_accuracy': 0.")
    assert second.startswith("1 {'average_accuracy': 0.")
    assert fields == "{'x': [5, 8], 'y': [5], 'logits': [5, 3]} 4"
    assert len(list(tmp_path.glob("my_results/*.parquet"))) >= 2


def test_the_plugin_works(tmp_path):
    (tmp_path / "my_methods.py").write_text(example("LIBRARY.md", "plugin"))
    command = "-m tacl_lib run --plugin my_methods.py --dataset dark_digits --learner my_replay --hidden 8, --epochs 1"
    more = "--train-limit 30 --test-limit 20 --seeds 0"
    done = subprocess.run(
        [sys.executable, *command.split(), *more.split()], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "average_accuracy" in done.stdout


def test_the_reference_lists_settings():
    from website.conf import _listed

    lines = [
        "A learner.",
        "",
        "rate: η. size: P, which goes on",
        "    in a second line.",
        "steps, seeds: whole numbers.",
        "",
        "Literally: code.",
        "    an_example: 5",
        "Create new instance of Step(loss)",
    ]
    _listed(None, "class", "Learner", None, None, lines)
    assert lines == [
        "A learner.",
        "",
        "",
        "* **rate**: η. size: P, which goes on",
        "  in a second line.",
        "* **steps, seeds**: whole numbers.",
        "",
        "Literally: code.",
        "    an_example: 5",
    ]

"""The examples of the documentation, run together in one process: importing torch for each would take longer."""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
RUNNER = """
import contextlib, io, json, sys, traceback

printed = {}
for name, code in json.load(sys.stdin).items():
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            exec(compile(code, name, "exec"), {"__name__": "__main__"})
    except Exception:
        out.write(traceback.format_exc())
    printed[name] = out.getvalue()
print(json.dumps(printed))
"""


def example(page: str, name: str) -> str:
    """The Python blocks between the marks of an example, as one program."""
    text = (ROOT / page).read_text(encoding="utf-8")
    marked = text.split(f"<!-- example: {name} -->")[1].split("<!-- /example -->")[0]
    return "\n".join(re.findall(r"```python\n(.*?)```", marked, re.S))


def printed_by(programs: dict[str, str], folder: Path) -> dict[str, str]:
    """What each program prints, with its traceback if it fails; each has names of its own."""
    command = [sys.executable, "-c", RUNNER]
    done = subprocess.run(command, cwd=folder, input=json.dumps(programs), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)

"""axe-core, which looks for what keeps people with disabilities out; it comes from npm."""

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_RUN = """async (selector) => {
    const found = await axe.run(selector, {resultTypes: ['violations']});
    return found.violations.filter(one => ['serious', 'critical'].includes(one.impact)).map(one => [
        one.id, one.help, one.nodes.map(node => node.html.slice(0, 160) + ' ' + node.any.map(a => a.message).join(' '))
    ]);
}"""


@cache
def _script(folder: Path) -> str:
    """axe's code, from node_modules of the project or fetched with npm; skips where neither is there."""
    here = ROOT / "node_modules" / "axe-core" / "axe.min.js"
    if not here.exists():
        if not shutil.which("npm") or os.environ.get("TACL_OFFLINE"):
            pytest.skip("axe-core is not in node_modules, and npm cannot be asked for it.")
        command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", folder, "axe-core@4"]
        fetched = subprocess.run(command, capture_output=True, text=True, timeout=120)
        if fetched.returncode:
            pytest.skip(f"npm has no axe-core for us: {fetched.stderr.strip().splitlines()[-1:]}")
        here = folder / "node_modules" / "axe-core" / "axe.min.js"
    return here.read_text(encoding="utf-8")


def serious(page, folder: Path, selector: str) -> list[str]:
    """What axe finds serious or critical in parts of a page, as sentences."""
    page.evaluate(_script(folder))
    found = page.evaluate(_RUN, selector)
    return [f"{name}: {about} ({len(nodes)} times)\n  " + "\n  ".join(nodes[:4]) for name, about, nodes in found]

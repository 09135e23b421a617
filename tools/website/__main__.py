"""The site, ready for any static host:  make site

Notebooks are executed once; their outputs are kept in build/website, until a notebook or the library changes.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import numpy as np
import torch

from tacl_lib.core.streams import Stream
from tacl_lib.core.tasks import make_tasks
from tacl_lib.data import load
from tacl_lib.errors import TaclError
from tacl_lib.teaching import widgets
from tacl_lib.teaching.widgets.filling import Filling
from tacl_lib.teaching.widgets.history import MemoryHistory
from tacl_lib.teaching.widgets.recording import recording
from website import live, pages
from website.execution import ROOT, executed

WORK, SITE = ROOT / "build" / "website", ROOT / "build" / "site"
MOST = 40e6  #: bytes of the whole site
STEPS = 100_000  #: of the player, at least
CLUSTERS, SIZE = 20, 4


def long_run() -> MemoryHistory:
    """A memory filled from the digits for 100,000 steps; what enters it needs no training."""
    tasks = make_tasks(load("digits", progress=False), "class")
    steps = Stream(tasks, epochs=1).steps
    stream = Stream(tasks, epochs=-(-STEPS // steps))
    filling = Filling(stream, ("clustering",), clusters=CLUSTERS, cluster_size=SIZE, pool_per_class=False)
    with torch.inference_mode():
        filling.advance(stream.steps)
    return MemoryHistory(filling.logs()[0], tasks, steps=stream.steps)


def _recorded() -> dict:
    """The long run's recording; made once, as it takes a minute."""
    kept = WORK / f"player-{STEPS}-{CLUSTERS}-{SIZE}.npz"
    if not kept.exists():
        print(f"filling a memory for {STEPS:,} steps …", flush=True)
        made = recording(long_run())
        kept.parent.mkdir(parents=True, exist_ok=True)
        parts = {name: np.frombuffer(part, np.uint8) for name, part in made.items() if name != "meta"}
        np.savez(kept, meta=json.dumps(made["meta"]), **parts)
    with np.load(kept) as found:
        return {name: json.loads(str(found[name])) if name == "meta" else found[name].tobytes() for name in found.files}


def fill_in(source: Path) -> None:
    """Put the live parts into the pages that name them."""
    side, without = _recorded(), "The memory player needs JavaScript."
    folder, meta = source / "_static" / "live", side["meta"]
    events = np.frombuffer(side["events"], "<i4").reshape(4, -1)
    last = {place: task for _, place, _, task in events.T.tolist()}  # of the arrivals at a place the last one stays
    held = np.bincount(list(last.values()), minlength=len(meta["tasks"]))
    landscape = widgets.loss_landscape()
    values = {
        "steps": f"{meta['steps']:,}",
        "clusters": meta["pools"] * meta["of_pool"],
        "size": meta["size"],
        "places": meta["pools"] * meta["of_pool"] * meta["size"],
        "held": ", ".join(f"{count} of task {task}" for task, count in enumerate(held)),
        "player": live.element({"kind": "memory", "state": {"_sides": [side]}}, folder, without),
        "projection": '<div class="tacl-live" data-kind="projection"></div>',
        "landscape": live.element(
            {"kind": "landscape", "state": {name: getattr(landscape, name) for name in _LANDSCAPE}},
            folder,
            landscape.scene.sentence,
        ),
    }
    for name in ("index.md", "play.md"):
        text = (source / name).read_text(encoding="utf-8")
        for key, value in values.items():
            text = text.replace(f"{{{{ {key} }}}}", str(value))
        (source / name).write_text(text, encoding="utf-8")


_LANDSCAPE = ("start", "order", "_methods", "_fixed", "_scene")


def build(profile: str) -> None:
    begun = time.monotonic()
    notebooks = [*sorted(ROOT.glob(pages.LESSONS))]
    ready = executed(notebooks, WORK / "executed", profile)
    print(f"notebooks are ready after {time.monotonic() - begun:.0f} s", flush=True)
    for path in sorted(ROOT.glob(pages.COURSEWORK)):
        ready[path] = nbformat.read(path, 4)
    source = WORK / "source"
    pages.stage(source, ready)
    fill_in(source)
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-q", "-c", str(Path(__file__).parent), "-j", "2"]
    command += [
        "-d",
        str(WORK / "doctrees"),
        "-D",
        f"html_static_path={source / '_static'}",
        "-D",
        f"html_extra_path={WORK / 'extra'}",
        str(source),
        str(SITE),
    ]
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tools")])
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": paths}, cwd=ROOT)
    if done.returncode:
        raise TaclError("Sphinx could not make the site; the reason is above.")
    size = sum(path.stat().st_size for path in SITE.rglob("*") if path.is_file())
    count = len(list(SITE.rglob("*.html")))
    print(
        f"{count} pages, {size / 1e6:.1f} MB, in {time.monotonic() - begun:.0f} s: {SITE.relative_to(ROOT)}/index.html"
    )
    if size > MOST:
        raise TaclError(f"the site has {size / 1e6:.1f} MB; it must stay below {MOST / 1e6:.0f} MB.")


def main() -> None:
    parser = argparse.ArgumentParser(prog="make site", description="The site, in build/site.")
    parser.add_argument("--profile", default="smoke", help="of the experiments in notebooks 06 to 08")
    try:
        build(parser.parse_args().profile)
    except TaclError as error:
        sys.exit(f"site: {error}")


if __name__ == "__main__":
    main()

"""The README's screenshots:  make pictures  (needs Chromium and playwright)

Lessons are run from top to bottom in a real JupyterLab; a screenshot shows the output of one cell.
"""

import io
import sys
import tempfile
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))  # JupyterLab and browser are those of the tests

from browser.conftest import FLAGS, chromium  # noqa: E402
from browser.lab import Lab, running_jupyterlab  # noqa: E402
from browser.notebook import Notebook  # noqa: E402

FIGURES = ROOT / "figures"
#: lesson → a line of the cell to show, and whether with its code
CELLS = {
    "00_start_here": ("player = widgets.memory_player()", False),
    "01_catastrophic_forgetting": ("Watch the first task die", False),
    "02_agem": ("widgets.loss_landscape", True),
    "03_ogd": ("playground.method.index = 1", True),
    "04_clustering_memory": ("Who is in the memory after five tasks?", False),
    "05_task_agnostic": ("capstone.board(MyTaAgem)", True),
    "10_your_own_method_and_data": ('figures["letters"]', True),
}
PLAYER = "from tacl_lib.teaching import widgets\n\nwidgets.memory_player()"
FRAMES, PACE, LAST = 60, 220, 3000  #: of the animation: how many, and milliseconds that each and the last is seen
ACROSS = 880  #: pixels


def lesson(lab: Lab, name: str) -> None:
    line, with_code = CELLS[name]
    with lab.open(ROOT / "notebooks" / f"{name}.ipynb") as notebook:
        page = notebook.page
        page.keyboard.press("Control+b")  # without the list of files
        cell = page.locator(".jp-CodeCell", has_text=line).first
        shown = cell if with_code else cell.locator(".jp-Cell-outputArea")
        page.wait_for_timeout(3000)  # figures take the new width
        if name == "00_start_here":  # a player opens at the start
            cell.locator(".tacl-memory .step").press("End")
        shown.evaluate("(element) => element.scrollIntoView({block: 'start'})")
        page.wait_for_timeout(2000)
        picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    path = FIGURES / "lessons" / f"{name}.png"
    picture.quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)


def memory(lab: Lab) -> None:
    """The memory player from the first step to the last, as an animation."""
    with lab.open([PLAYER]) as notebook:
        notebook.page.keyboard.press("Control+b")
        notebook.page.wait_for_timeout(4000)
        shown = notebook.page.locator(".jp-Cell-outputArea").first
        shown.evaluate("(element) => element.scrollIntoView({block: 'start'})")
        frames = [_frame(notebook, step) for step in _steps(notebook)]
    colours = frames[-1].quantize(128, dither=Image.Dither.NONE)  # the same in all frames, so that little changes
    frames = [frame.quantize(palette=colours, dither=Image.Dither.NONE) for frame in frames]
    durations = [PACE] * (len(frames) - 1) + [LAST]
    settings = {"save_all": True, "loop": 0, "optimize": True, "disposal": 1}
    frames[0].save(FIGURES / "memory.gif", append_images=frames[1:], duration=durations, **settings)


def _steps(notebook: Notebook) -> list[int]:
    last = int(notebook.page.locator(".tacl-memory .step").get_attribute("max"))
    return [round(number * last / (FRAMES - 1)) for number in range(FRAMES)]


def _frame(notebook: Notebook, step: int) -> Image.Image:
    notebook.page.locator(".tacl-memory .step").fill(str(step))
    at_step = f"Step {step:,} of"
    notebook.wait_until(lambda: at_step in notebook.text(), at_step)
    notebook.page.wait_for_timeout(50)
    whole = notebook.page.locator(".tacl-memory").first.bounding_box()
    clip = {name: whole[name] for name in ("x", "y", "width")} | {"height": whole["height"] - 24}  # no empty line
    picture = Image.open(io.BytesIO(notebook.page.screenshot(clip=clip))).convert("RGB")
    return picture.resize((ACROSS, round(picture.height * ACROSS / picture.width)), Image.Resampling.LANCZOS)


def main(names: list[str]) -> None:
    known = ["memory", *CELLS]
    if unknown := [name for name in names if name not in known]:
        sys.exit(f"pictures: unknown name {unknown[0]!r}; choose one of: {', '.join(known)}.")
    names = names or known
    with tempfile.TemporaryDirectory() as folder, running_jupyterlab(Path(folder)) as server, sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium(), args=FLAGS)
        lab = Lab(server, browser)
        for name in names:
            memory(lab) if name == "memory" else lesson(lab, name)
            print(name, flush=True)
        browser.close()


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except pytest.skip.Exception as missing:  # what the tests do where there is no browser
        sys.exit(f"pictures: {missing}")

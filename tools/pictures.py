"""The README's pictures of the lessons, from a real JupyterLab:  make pictures  (needs Chromium and playwright)

Each lesson is run from top to bottom; the picture shows the output of one cell.
"""

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

SIZE = {"width": 1280, "height": 800}
#: lesson → a line of the cell to show, and whether with its code
CELLS = {
    "00_start_here": ("player = widgets.memory_player()", False),
    "01_catastrophic_forgetting": ("Watch the first task die", False),
    "02_agem": ("widgets.projection_playground()", True),
    "03_ogd": ("playground.method.index = 1", True),
    "04_clustering_memory": ("widgets.memory_player(log, tasks)", False),
    "05_task_agnostic": ("from tacl_lib.report.figures.parts import METRICS", False),
    "10_your_own_method_and_data": ('figures["letters"]', True),
}


def main(lessons: list[str]) -> None:
    unknown = [lesson for lesson in lessons if lesson not in CELLS]
    if unknown:
        sys.exit(f"pictures: there is none of {unknown[0]}; choose some of {', '.join(CELLS)}.")
    with tempfile.TemporaryDirectory() as folder, running_jupyterlab(Path(folder)) as server, sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium(), args=FLAGS)
        lab = Lab(server, browser)
        for lesson in lessons or CELLS:
            line, with_code = CELLS[lesson]
            with lab.open(ROOT / "notebooks" / f"{lesson}.ipynb") as notebook:
                page = notebook.page
                page.set_viewport_size(SIZE)
                page.keyboard.press("Control+b")  # without the list of files
                cell = page.locator(".jp-CodeCell", has_text=line).first
                shown = cell if with_code else cell.locator(".jp-Cell-outputArea")
                page.wait_for_timeout(3000)  # figures take the new width
                shown.evaluate("(element) => element.scrollIntoView({block: 'start'})")
                page.wait_for_timeout(2000)
                path = ROOT / "figures" / "lessons" / f"{lesson}.png"
                page.screenshot(path=path)
            with Image.open(path) as picture:
                picture.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
            print(path.relative_to(ROOT), flush=True)
        browser.close()


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except pytest.skip.Exception as missing:  # what the tests do where there is no browser
        sys.exit(f"pictures: {missing}")

"""The widgets in Jupyter Notebook 7, where that is installed: pip install notebook."""

import importlib.util
import re

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from .lab import running_jupyterlab
from .notebook import Notebook

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("notebook") is None, reason="Notebook 7 is not installed."),
]
IMPORT = "from tacl_lib.teaching import widgets\n"
#: a widget → what a visitor sees of it
WIDGETS = {
    "memory_player()": ".tacl-memory canvas.thumbs",
    "memory_builder(epochs=1)": ".tacl-view .widget-dropdown",
    "loss_landscape()": ".tacl-land svg",
    "quiz('02_agem')": ".tacl-quiz fieldset",
    "projection_playground()": ".js-plotly-plot .main-svg",
    "scheduler_lab()": ".js-plotly-plot .main-svg",
    "forgetting_explorer()": ".js-plotly-plot .main-svg",
}


@pytest.fixture(scope="module")
def shown(browser, tmp_path_factory):
    """A page of Notebook 7 with every widget."""
    with running_jupyterlab(tmp_path_factory.mktemp("notebook7"), "notebook") as server:
        cells = [new_code_cell(f"{IMPORT}widgets.{call}") for call in WIDGETS]
        kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
        nbformat.write(new_notebook(cells=cells, metadata=kernel), server.folder / "all.ipynb")
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(f"{server.url}/notebooks/all.ipynb?token={server.token}")
        notebook = Notebook(page)
        page.locator(".jp-Notebook .jp-CodeCell").last.wait_for()
        page.locator(".jp-NotebookKernelStatus, .jp-Notebook-ExecutionIndicator").first.wait_for(state="attached")
        notebook.start_all()
        assert notebook._within(300_000, "every", r"/\d/.test(prompt) || failed || empty"), (
            "the cells were still running"
        )
        yield notebook
        page.close()


def test_every_widget_is_shown_in_notebook_7(shown):
    assert "/lab" not in shown.page.url
    for number, (call, seen) in enumerate(WIDGETS.items()):
        cell = shown.page.locator(".jp-CodeCell").nth(number)
        cell.scroll_into_view_if_needed()
        cell.locator(seen).first.wait_for()
        assert cell.locator('[data-mime-type="application/vnd.jupyter.error"]').count() == 0, call
    shown.screenshot("notebook7")


def test_the_player_obeys_keys_and_the_landscape_its_kernel_in_notebook_7(shown):
    page = shown.page
    player = page.locator(".tacl-memory .step").first
    for key in ("End", "ArrowLeft", "ArrowLeft"):
        player.press(key)
    assert page.locator(".tacl-memory .said").first.inner_text().startswith("Step 625 of 628")
    said = page.locator(".tacl-land .said")
    before = said.inner_text()
    page.locator(".tacl-land .start").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    shown.wait_until(lambda: said.inner_text() != before and re.search(r"\d\.\d\d", said.inner_text()), "another walk")

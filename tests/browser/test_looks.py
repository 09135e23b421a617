"""How the widgets look to a person: in the dark, on a small screen, while other cells run, without eyes or a mouse."""

import pytest

from . import axe

IMPORT = "from tacl_lib.teaching import widgets\n"
CELLS = {
    "player": "widgets.memory_player()",
    "builder": "builder = widgets.memory_builder(epochs=2)\nbuilder.start()\nbuilder",
    "playground": "widgets.projection_playground()",
    "scheduler": "widgets.scheduler_lab()",
    "explorer": "explorer = widgets.forgetting_explorer()\nexplorer.dataset.value = 'svhn'\nexplorer",
}
DRAWN = [name for name in CELLS if name not in ("player", "builder")]  #: by plotly
ROOM = 672  #: pixels of a screen 800 high that JupyterLab leaves to a notebook
LONG = 25  #: seconds that the next cell runs

# All texts of a figure that reach over its edge, or over each other.
_TEXTS = """(figure) => {
    const frame = figure.getBoundingClientRect();
    const texts = [...figure.querySelectorAll('text')].filter(text => text.textContent.trim());
    const boxes = texts.map(text => [text.textContent, text.getBoundingClientRect()]).filter(([, box]) => box.width);
    const cut = boxes.filter(([, box]) => box.left < frame.left - 1 || box.right > frame.right + 1
        || box.top < frame.top - 1 || box.bottom > frame.bottom + 1).map(([text]) => text);
    const over = [];
    boxes.forEach(([one, a], i) => boxes.slice(i + 1).forEach(([two, b]) => {
        const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (wide > 3 && high > 4) over.push(`${one} / ${two}`);
    }));
    return {cut, over};
}"""

# Words that have no room: of the kit's own sentences none may be cut off.
_CUT = """(view) => [...view.querySelectorAll(
    '.widget-html-content, .widget-label, button, .said, .story, figcaption')].filter(part =>
    part.textContent.trim() && (part.scrollWidth > part.clientWidth + 2 || part.scrollHeight > part.clientHeight + 6)
    && getComputedStyle(part).display !== 'inline').map(part => part.textContent.trim().slice(0, 80))"""


@pytest.fixture(scope="module", params=["dark", pytest.param("light", marks=pytest.mark.slow)])
def shown(lab, request):
    """Every widget in one notebook at 1280 × 800, without the list of files."""
    with lab.open([IMPORT + cell for cell in CELLS.values()], dark=request.param == "dark") as notebook:
        notebook.page.keyboard.press("Control+b")
        for number in range(len(DRAWN)):
            notebook.figure(number).model()
        notebook.page.wait_for_timeout(1500)  # figures take the new width
        yield notebook


def view_of(notebook, name: str):
    number = list(CELLS).index(name)
    return notebook.page.locator(".jp-CodeCell").nth(number).locator(".tacl-view, .tacl-memory").first


@pytest.mark.parametrize("name", CELLS)
def test_every_widget_fits_a_small_screen_and_nothing_is_cut_or_covered(shown, name):
    view = view_of(shown, name)
    view.evaluate("(element) => element.scrollIntoView({block: 'start'})")
    shown.screenshot(f"{name}_{'dark' if 'dark' in str(shown.page.evaluate(_THEME)) else 'light'}")
    if name == "explorer":  # its folds may lie below, its charts and numbers may not
        end = view.locator("table").first.bounding_box()
        assert end["y"] + end["height"] - view.bounding_box()["y"] <= ROOM
    else:
        assert view.bounding_box()["height"] <= ROOM
    if name in DRAWN:
        texts = shown.figure(DRAWN.index(name)).locator.evaluate(_TEXTS)
        assert texts == {"cut": [], "over": []}
    assert view.evaluate(_CUT) == []


_HEADING = "(view) => getComputedStyle(view.querySelector('.widget-html-content div, .title')).color"
_THEME = "() => document.body.dataset.jpThemeName.toLowerCase()"


def test_axe_finds_nothing_serious_in_either_theme(shown, tmp_path_factory):
    """Contrast of all words, names of all controls, order of headings, and what else axe knows."""
    assert axe.serious(shown.page, tmp_path_factory.mktemp("npm"), ".tacl-view, .tacl-memory") == []


def test_words_have_the_colours_of_the_theme_and_figures_are_light_cards(shown):
    dark = "dark" in shown.page.evaluate(_THEME)
    for name in CELLS:
        view = view_of(shown, name)
        colour = view.evaluate(_HEADING)
        light = sum(int(part) for part in colour.strip("rgba()").split(",")[:3]) > 3 * 128
        assert light == dark
        card = view.locator(".main-svg, figure").first
        assert card.evaluate("(card) => getComputedStyle(card).backgroundColor") == "rgb(255, 255, 255)"


def test_a_widget_is_complete_while_the_cells_after_it_still_run(lab):
    """As with “Run All Cells”: the kernel is busy and hears nothing."""
    cells = [IMPORT + CELLS["builder"], f"import time\n\ntime.sleep({LONG})", "print('the ' + 'end')"]
    with lab.open(cells, run=False) as notebook:
        notebook.start_all()
        said = notebook.page.locator(".tacl-memory .said")
        notebook.wait_until(lambda: said.count() == 2, "two memories")
        notebook.wait_until(lambda: all("Step 313 of 314" in t for t in said.all_inner_texts()), "the last step")
        assert "the end" not in notebook.text()  # or it would prove nothing

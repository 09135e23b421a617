"""A notebook in the browser: run it, use its widgets as a person does, read its figures."""

import json
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

PATIENCE = 60_000  #: milliseconds until a test gives up; the machine may be busy
RUN_PATIENCE = 300_000  #: … until all cells have been run

# What plotly draws, as JSON: typed arrays become lists, numbers that JSON does not know become null.
_MODEL = """(figure) => JSON.stringify({data: figure.data, layout: figure.layout}, (key, value) => {
    if (value && value._inputArray) value = value._inputArray;
    return ArrayBuffer.isView(value) ? Array.from(value) : value;
})"""

# Where a point of the data is on the screen.
_PLACE = """(figure, [x, y, xaxis, yaxis]) => {
    const frame = figure.getBoundingClientRect(), layout = figure._fullLayout;
    const across = layout[xaxis], down = layout[yaxis];
    return [frame.left + across._offset + across.d2p(x), frame.top + down._offset + down.d2p(y)];
}"""


class Notebook:
    """A page that shows one notebook. ``page`` is playwright's, for all that has no helper here."""

    def __init__(self, page) -> None:
        self.page = page
        page.set_default_timeout(PATIENCE)

    def wait_for_kernel(self) -> None:
        """Wait until the page has a kernel that is ready: before that, cells that are run are silently dropped."""
        self.page.wait_for_selector(".jp-Notebook")
        self.page.get_by_text(re.compile(r"\| Idle$")).first.wait_for()

    def start_all(self) -> None:
        """Menu Run → Run All Cells, without waiting for any."""
        for _ in range(5):
            self.page.get_by_role("menuitem", name="Run", exact=True).click()
            self.page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
            # A page that is not yet connected forgets what it was asked to run.
            if self._within(5_000, "some", r"/\*|\d/.test(prompt)"):
                break

    def run_all(self) -> None:
        """Run all cells and wait until each has its number; an error in a cell is an error here."""
        self.start_all()
        done = self._within(RUN_PATIENCE, "every", r"/\d/.test(prompt) || failed || empty")
        errors = self.page.locator('[data-mime-type="application/vnd.jupyter.error"]').all_inner_texts()
        assert not errors, "\n".join(errors)
        assert done, "the cells were still running"
        self.page.get_by_text(re.compile(r"\| Idle$")).first.wait_for()

    def _within(self, milliseconds: int, quantity: str, condition: str) -> bool:
        """Whether some or every code cell fulfils a condition before the time is over."""
        from playwright.sync_api import TimeoutError

        try:
            self.page.wait_for_function(
                f"""() => [...document.querySelectorAll('.jp-CodeCell')].{quantity}(cell => {{
                    const prompt = cell.querySelector('.jp-InputPrompt').textContent;
                    const empty = !cell.querySelector('.cm-content')?.textContent.trim();
                    const failed = cell.querySelector('[data-mime-type="application/vnd.jupyter.error"]');
                    return {condition};
                }})""",
                timeout=milliseconds,
            )
        except TimeoutError:
            return False
        return True

    # Controls are found by the label that a person reads.

    def control(self, label: str):
        """The widget (slider, drop-down list, check box …) with this label."""
        return self.page.locator(".widget-label", has_text=_exactly(label)).first.locator("xpath=..")

    def press(self, label: str, *keys: str) -> None:
        """Focus the slider with this label and press keys: ``press("step", "End", "ArrowLeft")``."""
        handle = self.control(label).locator(".noUi-handle").first
        handle.focus()
        for key in keys:
            handle.press(key)

    def slider_value(self, label: str) -> str:
        """The number that is written beside a slider."""
        return self.control(label).locator(".widget-readout").inner_text()

    def choose(self, label: str, option: str) -> None:
        """Choose an option of the drop-down list with this label."""
        self.control(label).locator("select").select_option(label=option)

    def button(self, label: str):
        """The button with this text or, where it shows an icon only, this title."""
        named = self.page.locator("button.jupyter-button, .widget-play button")
        return named.filter(has_text=_exactly(label)).or_(self.page.locator(f'button[title="{label}"]')).first

    def click(self, label: str) -> None:
        """Click the button with this text or title."""
        self.button(label).click()

    def text(self) -> str:
        """All that the outputs say."""
        return "\n".join(self.page.locator(".jp-OutputArea-output").all_inner_texts())

    def figure(self, number: int = 0) -> "Figure":
        """The figure with this number, from the top of the notebook."""
        return Figure(self.page.locator(".js-plotly-plot").nth(number), self.page)

    def wait_until(self, true: Callable[[], bool], what: str) -> None:
        """Wait until something holds; fail with a sentence if it does not."""
        deadline = time.monotonic() + PATIENCE / 1000
        while not true():
            assert time.monotonic() < deadline, f"never seen: {what}"
            self.page.wait_for_timeout(50)

    def screenshot(self, name: str, target=None) -> Path | None:
        """A screenshot of the page (or of one locator) in the folder TACL_SCREENSHOTS, where that is set."""
        folder = os.environ.get("TACL_SCREENSHOTS")
        if not folder:
            return None
        path = Path(folder) / f"{name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        (target or self.page).screenshot(path=path)
        return path


class Figure:
    """A plotly figure. Its model is what the browser draws, not what the kernel believes."""

    def __init__(self, locator, page) -> None:
        self.locator = locator
        self._page = page

    def model(self) -> SimpleNamespace:
        """``data`` (list of dicts) and ``layout`` (dict) as plotly.js holds them."""
        self.locator.wait_for()
        return SimpleNamespace(**json.loads(self.locator.evaluate(_MODEL)))

    def wait_for(self, true: Callable[[SimpleNamespace], bool], what: str) -> SimpleNamespace:
        """The model, as soon as something holds of it."""
        deadline = time.monotonic() + PATIENCE / 1000
        while not true(model := self.model()):
            assert time.monotonic() < deadline, f"never seen in the figure: {what}"
            self._page.wait_for_timeout(50)
        return model

    def click(self, x: float, y: float, xaxis: str = "xaxis", yaxis: str = "yaxis") -> None:
        """Click where this point of the data is; the axes are named as in the layout ("xaxis2")."""
        self._page.mouse.move(*self._place(x, y, xaxis, yaxis))
        self._page.wait_for_timeout(150)  # plotly looks for the point below the pointer at most every 50 ms
        self._page.mouse.click(*self._place(x, y, xaxis, yaxis))

    def hover(self, x: float, y: float, xaxis: str = "xaxis", yaxis: str = "yaxis") -> str:
        """Point at a place of the data; the text that then appears."""
        self._page.mouse.move(*self._place(x, y, xaxis, yaxis))
        self.locator.locator(".hoverlayer text").first.wait_for()
        return " | ".join(self.locator.locator(".hoverlayer text").all_text_contents())

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Press at a point of the data, move to another, release."""
        self._page.mouse.move(*self._place(*start))
        self._page.wait_for_timeout(150)
        self._page.mouse.down()
        self._page.mouse.move(*self._place(*end), steps=8)
        self._page.mouse.up()

    def _place(self, x: float, y: float, xaxis: str = "xaxis", yaxis: str = "yaxis") -> tuple[float, float]:
        self.locator.scroll_into_view_if_needed()
        return tuple(self.locator.evaluate(_PLACE, [x, y, xaxis, yaxis]))


def _exactly(label: str):
    return re.compile(rf"^\s*{re.escape(label)}\s*$")

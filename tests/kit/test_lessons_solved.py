"""Lessons with every function written run from top to bottom, and slides are made of what they show.

That they run skipped is nbval's business.
"""

import re
from functools import cache
from pathlib import Path

import pytest
from browser.conftest import FLAGS, chromium
from nbclient import NotebookClient

from tacl_lib.teaching.lessons import slides
from tacl_lib.teaching.lessons.build import notebook
from tacl_lib.teaching.lessons.plan import read_plan
from tacl_lib.teaching.lessons.source import ExerciseText, read

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
SOURCES = sorted((NOTEBOOKS / "source").glob("*.md"))

#: from an empty cell: what the capstone of lesson 5 asks for, with nothing but a gradient from the kit
CAPSTONE = """\
class MyTaAgem:
    def __init__(self, network, classes, seed):
        self.network, self.random = network, random.Random(seed)
        self.pools = [[] for _ in range(classes)]

    def step(self, x, y):
        g = loss_gradient(self.network, x, y)
        stored = [(z, label) for label, pool in enumerate(self.pools) for cluster in pool for z in cluster]
        if stored:
            x_ref, y_ref = zip(*self.random.sample(stored, min(60, len(stored))), strict=True)
            g_ref = loss_gradient(self.network, torch.stack(x_ref), torch.tensor(y_ref))
            if g @ g_ref < 0:
                g = g - (g @ g_ref) / (g_ref @ g_ref) * g_ref
        self.network.w = self.network.w - LR * g
        row = self.random.randrange(len(y))
        pool = self.pools[int(y[row])]
        if len(pool) < 20:
            pool.append([x[row]])
        else:
            cluster = min(pool, key=lambda c: float(((torch.stack(c).mean(0) - x[row]) ** 2).sum()))
            cluster.append(x[row])
            del cluster[:-3]
"""


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    """solved(name): a lesson, executed once with everything written."""

    @cache
    def executed(name):
        made = notebook(NOTEBOOKS / "source" / f"{name}.md", solved=True)
        for cell in made.cells:
            if cell.source.endswith("MyTaAgem = None"):
                cell.source = CAPSTONE
        NotebookClient(made, timeout=600, resources={"metadata": {"path": str(NOTEBOOKS)}}).execute()
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TACL_PROGRESS", str(tmp_path_factory.mktemp("progress") / "progress.json"))
        yield executed


@pytest.mark.slow
@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_a_lesson_runs_with_everything_written(path, solved):
    made = solved(path.stem)
    said = "".join(o.get("text", "") for c in made.cells if c.cell_type == "code" for o in c.outputs)
    for part in read(path):
        if isinstance(part, ExerciseText):
            assert re.search(rf"✓ {part.name}: right in \d+ cases", said)
    assert "not written yet" not in said
    if "capstone.board" in path.read_text(encoding="utf-8"):
        assert "✓ As good as the library's." in said


# Of the slide that is shown, with all answers: how far its content reaches, in pixels of a slide of 1280 × 720.
_REACH = """() => {
    const slide = Reveal.getCurrentSlide(), at = slide.getBoundingClientRect(), scale = Reveal.getScale();
    const parts = [...slide.querySelectorAll('*')].filter((part) => !part.closest('aside, defs, [clip-path]'));
    const boxes = parts.map((part) => part.getBoundingClientRect()).filter((box) => box.width && box.height);
    return [Math.max(...boxes.map((box) => box.right - at.left)) / scale,
            Math.max(...boxes.map((box) => box.bottom - at.top)) / scale];
}"""


@pytest.mark.slow
def test_slides_fit_and_ask_the_web_for_nothing(solved, tmp_path):
    """Each slide of each plan, in a browser without the web."""
    browser_path = chromium()
    sync_api = pytest.importorskip("playwright.sync_api")
    plans = sorted(slides.PLANS.glob("*.md"))
    for plan in plans:  # before playwright owns the event loop
        (tmp_path / f"{plan.stem}.html").write_text(slides.deck(plan, solved), encoding="utf-8")
    too_large, asked, wrong = [], [], []
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=FLAGS)
        for plan in plans:
            page = browser.new_page(viewport={"width": 1280, "height": 720})
            page.on("request", lambda request: asked.append(request.url))
            page.on("pageerror", lambda error: wrong.append(str(error)))
            page.goto((tmp_path / f"{plan.stem}.html").as_uri())
            page.wait_for_function("Reveal.isReady()")
            count = page.evaluate("Reveal.getTotalSlides()")
            assert count == len(read_plan(plan))
            for number in range(count):
                page.evaluate(f"Reveal.slide({number}, 0, 99)")
                right, bottom = page.evaluate(_REACH)
                if right > 1281 or bottom > 721:
                    too_large.append(
                        (plan.stem, page.evaluate("Reveal.getCurrentSlide().innerText")[:40], right, bottom)
                    )
        browser.close()
    assert too_large == []
    assert wrong == []
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []

"""The site as a visitor sees it: nothing is asked of another host, links lead somewhere, all works without a kernel."""

import functools
import http.server
import re
import subprocess
import sys
import threading
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import numpy as np
import pytest

from tacl_lib.teaching.widgets.landscape_state import METHODS, ORDERS, scene
from tacl_lib.teaching.widgets.projection_state import agem_state, ogd_state

from . import axe

pytestmark = pytest.mark.slow  # all notebooks are executed for it
ROOT = Path(__file__).parents[2]
SITE = ROOT / "build" / "site"
LOOKED_AT = (
    "index",
    "play",
    "notebooks/02_agem",
    "results/reference/README",
    "coursework/release/set1_forgetting/set1",
)
MOST = 40e6  #: bytes


@pytest.fixture(scope="module")
def site():
    """The address of the site, made now; what was executed before is not executed again."""
    done = subprocess.run([sys.executable, "-m", "website"], cwd=ROOT / "tools", capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=SITE))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


class Page(HTMLParser):
    """Where the links of a page lead, what it loads, and which anchors it has."""

    def __init__(self, path: Path):
        super().__init__()
        self.links, self.loads, self.anchors = [], [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        known = dict(attributes)
        self.anchors |= {known[name] for name in ("id", "name") if known.get(name)}
        if tag == "a" and known.get("href"):
            self.links.append(known["href"])
        if tag in ("img", "script", "iframe", "source") and known.get("src"):
            self.loads.append(known["src"])
        if tag == "link" and known.get("rel") not in ("canonical",) and known.get("href"):
            self.loads.append(known["href"])


def pages() -> dict[str, Page]:
    return {
        str(path.relative_to(SITE)): Page(path) for path in sorted(SITE.rglob("*.html")) if "_static" not in path.parts
    }


def test_every_link_leads_somewhere_and_all_that_is_loaded_is_there(site):
    known, broken = pages(), []
    for name, page in known.items():
        for link in (*page.links, *page.loads):
            to = urlsplit(urljoin(f"{site}/{name}", link))
            if link.startswith(("data:", "mailto:")) or (to.netloc not in site and link in page.links):
                continue  # a link to the web is for the visitor to follow; nothing may be loaded from there
            path = unquote(to.path).lstrip("/") or "index.html"
            anchor = unquote(to.fragment)
            there = to.netloc in site and (SITE / path).is_file()
            if not there or (anchor and path in known and link in page.links and anchor not in known[path].anchors):
                broken.append(f"{name}: {link}")
    assert len(known) > 40
    assert broken == []


def test_all_that_the_issue_names_is_there_and_it_is_small(site):
    for name in (
        *(f"notebooks/{path.stem}.html" for path in (ROOT / "notebooks").glob("*.ipynb")),
        *(f"results/reference/{path.stem}.html" for path in (ROOT / "results/reference").glob("*.md")),
        *(f"notebooks/teaching/{path.stem}.html" for path in (ROOT / "notebooks/teaching").glob("*.md")),
        "figures/paper/README.html",
        "coursework/release/set3_memory/set3.html",
        "notebooks/glossary.html",
        "reference/core.html",
        "data.html",
        "search.html",
    ):
        assert (SITE / name).is_file(), name
    files = [path for path in SITE.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < MOST
    assert [path for path in files if "solutions" in path.parts or "marking" in path.parts] == []
    assert "class tacl_lib.core.memory.cluster_memory.ClusterMemory" in _text(SITE / "reference/core.html")


def _text(path: Path) -> str:
    return " ".join(re.sub(r"<[^>]+>", "", path.read_text(encoding="utf-8")).split())


@pytest.fixture(params=["light", "dark"])
def opened(browser, site, request):
    """A page without the web, and a list of all that it complained of or asked for elsewhere."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, color_scheme=request.param)
    page, said = context.new_page(), []
    page.set_default_timeout(120_000)

    def asked(route):
        if route.request.url.startswith(site):
            route.continue_()
        else:
            said.append(f"asked for {route.request.url}")
            route.abort()

    page.route(re.compile(r"^https?:"), asked)
    page.on("requestfailed", lambda failed: said.append(f"failed: {failed.url}"))
    page.on("response", lambda answer: said.append(f"{answer.status}: {answer.url}") if answer.status >= 400 else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    yield page, said
    context.close()


SHOWN = "[...document.querySelectorAll('.tacl-live')].every(each => each.dataset.shown === 'yes')"
UNSEEN = """[...document.images].filter(each => each.loading !== 'lazy' && !each.naturalWidth)
    .map(each => each.src.slice(0, 80))"""


@pytest.mark.parametrize("opened", ["light"], indirect=True)
def test_every_page_loads_without_the_web_and_shows_all_outputs(opened, site):
    page, said = opened
    for name in pages():
        page.goto(f"{site}/{name}", wait_until="networkidle")
        page.wait_for_function(SHOWN)
        assert (name, page.evaluate(UNSEEN), said) == (name, [], [])
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, f"{name} is too wide"


def test_executed_notebooks_have_their_outputs(site):
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        text = (SITE / "notebooks" / f"{path.stem}.html").read_text(encoding="utf-8")
        assert text.count('class="cell_output') > 2, path.name
        assert "Traceback (most recent call last)" not in text, path.name


@pytest.mark.parametrize("opened", ["light"], indirect=True)
def test_a_phone_has_room_for_every_page(opened, site):
    page, said = opened
    page.set_viewport_size({"width": 390, "height": 844})
    for name in LOOKED_AT:
        page.goto(f"{site}/{name}.html")
        page.wait_for_function(SHOWN)
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, name
    assert said == []


def test_axe_finds_nothing_serious(opened, site, tmp_path_factory):
    page, _ = opened
    folder = tmp_path_factory.mktemp("npm")
    for name in LOOKED_AT:
        page.goto(f"{site}/{name}.html")
        page.wait_for_function(SHOWN)
        assert (name, axe.serious(page, folder, "main, article, nav")) == (name, [])


@pytest.mark.parametrize("opened", ["light"], indirect=True)
def test_search_finds(opened, site):
    page, said = opened
    page.goto(f"{site}/search.html?q=projection")
    page.locator("#search-results li a").first.wait_for()
    assert said == []


@pytest.mark.parametrize("opened", ["light"], indirect=True)
def test_the_player_shows_another_step_when_the_slider_moves_and_plays_by_keyboard(opened, site, record_property):
    page, said = opened
    page.goto(f"{site}/play.html")
    page.wait_for_function(SHOWN)
    drawn = "document.querySelector('.tacl-memory .thumbs').toDataURL()"
    slider = page.locator(".tacl-memory .step")
    first, said_first = page.evaluate(drawn), page.locator(".tacl-memory .said").inner_text()
    assert int(slider.get_attribute("max")) >= 100_000 - 1
    slider.focus()
    page.keyboard.press("ArrowRight")
    assert page.locator(".tacl-memory .said").inner_text().startswith("Step 1 of 100,")
    page.keyboard.press("End")
    last = page.evaluate(drawn)
    assert last != first
    assert page.locator(".tacl-memory .said").inner_text() != said_first
    page.keyboard.press("Home")
    assert page.evaluate(drawn) == first
    page.locator(".tacl-memory .play").focus()
    page.keyboard.press("Space")
    page.wait_for_function("document.querySelector('.tacl-memory').dataset.rate")
    page.keyboard.press("Space")
    assert int(slider.input_value()) > 30
    rate = page.evaluate("document.querySelector('.tacl-memory').dataset.rate")
    record_property("frames_per_second", rate)
    print(f"the player drew {rate} frames a second over {slider.get_attribute('max')} steps")
    page.locator(".tacl-memory .follow").select_option("3")
    assert page.locator(".tacl-memory .story").inner_text().startswith("Cluster 3 ")
    assert said == []


@pytest.mark.parametrize("opened", ["light"], indirect=True)
def test_the_landscape_and_the_playground_compute_what_the_library_does(opened, site):
    page, _ = opened
    page.goto(f"{site}/data.html")
    fixed = {"edge": 3.0, "names": METHODS}
    for start, order in (((-0.2, 2.2), ORDERS[0]), ((2.9, -1.3), ORDERS[1]), ((-3.0, 3.0), ORDERS[1])):
        found = page.evaluate(
            "async (given) => (await import('/_static/landscape_scene.js')).scene(...given)",
            [list(start), order, list(METHODS), fixed],
        )
        expected = scene(start, order)
        assert found["sentence"] == expected.sentence
        np.testing.assert_allclose(found["learned"], expected.learned, atol=1e-9)
        for name, walk in expected.walks.items():
            np.testing.assert_allclose(found["walks"][name]["points"], walk.points, atol=1e-9)
            np.testing.assert_allclose(found["walks"][name]["loss"], walk.old_loss, atol=1e-9)
    pairs = [
        ((-1.1, 0.9), (1.1, 0.4)),
        ((0.5, 1.4), (1.1, 0.4)),
        ((-1, 0), (1, 0)),
        ((0, 0), (1, 0)),
        ((1, 1), (0, 0)),
        ((0, 1), (1, 0)),
    ]
    for g, ref in pairs:
        found = page.evaluate("async (given) => (await import('/_static/projection.js')).agem(...given)", [g, ref])
        expected = agem_state(g, ref)
        assert found["sentence"] == expected.sentence()
        np.testing.assert_allclose(found["result"], expected.result, atol=1e-12)
    axes = np.eye(3).tolist()
    for stored in ([], axes[:1], axes[:2], axes, [axes[0], axes[0]], [[1.0, 0.2, 0.1], [0.3, 1.0, -0.4]]):
        found = page.evaluate(
            "async (given) => (await import('/_static/projection.js')).ogd(...given)", [[0.7, 0.4, 0.9], stored]
        )
        expected = ogd_state([0.7, 0.4, 0.9], stored)
        assert found["sentence"] == expected.sentence()
        np.testing.assert_allclose(found["result"], expected.result, atol=1e-12)
    page.goto(f"{site}/play.html")
    page.wait_for_function(SHOWN)
    before = page.locator(".tacl-land .said").inner_text()
    page.locator(".tacl-land .start").focus()
    for _ in range(8):
        page.keyboard.press("ArrowDown")
    page.wait_for_function("(before) => document.querySelector('.tacl-land .said').textContent !== before", arg=before)
    words = page.locator(".tacl-projection .said").first
    before = words.inner_text()
    page.locator(".tacl-projection input").first.focus()
    page.keyboard.press("Home")
    assert words.inner_text() != before

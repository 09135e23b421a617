"""The report of a reproduction as a reader sees it: on a laptop, in the dark, on a phone."""

from datetime import UTC, datetime

import pytest

from tacl_lib.report.page import Times, write_report
from tacl_lib.runs import run
from tacl_lib.runs.grid import Job
from tacl_lib.runs.profiles import PROFILES
from tacl_lib.runs.store import Store

from . import axe

pytestmark = pytest.mark.slow  # its figures take half a minute
LOOKS = {
    "light": {"viewport": {"width": 1280, "height": 800}},
    "dark": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True},
}
_IN_SIGHT = """(part) => {
    const box = part.getBoundingClientRect();
    return box.height > 0 && box.top >= 0 && box.top < innerHeight;
}"""


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The reference runs, a run of one's own, and a dataset that is missing."""
    room, smoke = tmp_path_factory.mktemp("report"), PROFILES["smoke"]
    job = Job(smoke.spec("digits", "class", "disjoint", "sgd"), (0, 1))
    store = Store(room / "results")
    store.write(job.spec, run(*job, progress=False))
    now, missing = datetime.now(UTC), {"svhn": "SVHN is not available from any source."}
    return write_report(room, smoke, [job], missing, store, Times(now, now, now))


@pytest.fixture(params=LOOKS)
def shown(browser, report, request):
    """The report in a page, with all that the page complained of or asked for."""
    context = browser.new_context(**LOOKS[request.param])
    page, said = context.new_page(), []
    page.on("console", lambda message: said.append(message.text))
    page.on("request", lambda asked: said.append(asked.url) if not asked.url.startswith(("data:", "file:")) else None)
    page.goto(report.as_uri())
    yield page, said
    context.close()


def test_it_fits_and_asks_for_nothing_and_its_policy_forbids_nothing_of_it(shown):
    page, said = shown
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    broken = page.evaluate("[...document.images].filter(each => !each.naturalWidth).length")
    assert (broken, said) == (0, [])
    assert page.evaluate("document.images.length") > 10


def test_axe_finds_nothing_serious(shown, tmp_path_factory):
    page, _ = shown
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert axe.serious(page, tmp_path_factory.mktemp("npm"), "html") == []


def test_the_first_screen_has_the_finding_its_picture_and_the_agreement(shown):
    page, _ = shown
    for part in (".finding", ".number", "#overview img"):
        assert page.locator(part).first.evaluate(_IN_SIGHT), part


def test_the_four_questions_are_answered_side_by_side(shown):
    page, _ = shown
    boxes = page.locator(".glance > div")
    assert boxes.locator("h2").all_inner_texts() == [
        "How well reproduced",
        "Forgets least on class split",
        "What was reduced",
        "What is missing",
    ]
    assert "TA-A-GEM on Fashion-MNIST" in boxes.nth(1).inner_text()
    assert "SVHN" in boxes.nth(3).inner_text()


def test_a_figure_opens_large_and_closes_where_it_was(shown):
    page, _ = shown
    picture = page.locator("#disjoint_mnist img")
    picture.scroll_into_view_if_needed()
    small, at = picture.bounding_box()["width"], _scrolled(page)
    picture.click()
    page.wait_for_function("document.querySelector('#disjoint_mnist').matches(':target')")
    assert picture.bounding_box()["width"] > small
    page.locator("#disjoint_mnist .close").click()
    page.wait_for_function("!document.querySelector('#disjoint_mnist').matches(':target')")
    page.wait_for_timeout(700)  # it scrolls smoothly
    assert abs(_scrolled(page) - at) < page.viewport_size["height"]
    assert picture.evaluate(_IN_SIGHT)


def _scrolled(page) -> float:
    return page.evaluate("scrollY")

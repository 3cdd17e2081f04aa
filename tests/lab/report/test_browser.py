"""The page in a browser: what only that can tell of widths, colours, keys, paper and requests."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from warpladder.lab.report.examine import Examiner
from warpladder.lab.report.gather import gather
from warpladder.lab.report.page import render

pytestmark = pytest.mark.large

api = pytest.importorskip("playwright.sync_api")
pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

PHONE = {"width": 360, "height": 740}
LAPTOP = {"width": 1366, "height": 768}


@pytest.fixture(scope="module")
def browser():
    with api.sync_playwright() as play:
        own = play.chromium.executable_path
        found = own if Path(own).exists() else shutil.which("chromium")
        if found is None:
            pytest.skip(
                "there is no Chromium: apt install chromium, or playwright install chromium"
            )
        # Root may not use the browser's own sandbox; what it reads is ours.
        browser = play.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A real ladder, for its long lines and wide tables."""
    page = tmp_path_factory.mktemp("report") / "report.html"
    document = gather(["primer"], ["updates"], Examiner.on_simulator())
    assert document["ok"]
    page.write_text(render(document), encoding="utf-8")
    return page


@pytest.fixture
def open_at(browser, report):
    contexts = []

    def opened(size, **settings):
        context = browser.new_context(viewport=size, **settings)
        contexts.append(context)
        page = context.new_page()
        page.said, page.asked = [], []
        page.on("console", lambda message: page.said.append(message.text))
        page.on("pageerror", lambda fault: page.said.append(str(fault)))
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto(report.as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()


def unfold(page):
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")


def test_nothing_is_asked_for_and_nothing_goes_wrong(open_at, report):
    page = open_at(LAPTOP)
    unfold(page)
    page.mouse.wheel(0, 20_000)
    assert page.asked == [report.as_uri()]
    assert page.said == []


@pytest.mark.parametrize("size", [PHONE, LAPTOP], ids=["phone", "laptop"])
def test_the_page_never_scrolls_sideways(open_at, size):
    page = open_at(size)
    for prepare in (lambda _page: None, unfold):
        prepare(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    # The wide ones do, in their boxes.
    assert page.evaluate(
        "[...document.querySelectorAll('.scroll')].some(one => one.scrollWidth > one.clientWidth)"
    )


def test_letters_on_a_phone_can_be_read(open_at):
    page = open_at(PHONE)
    heights = page.evaluate(
        "[...document.querySelectorAll('figure svg text')].filter(one => one.textContent.trim())"
        ".map(one => one.getBBox().height * one.ownerSVGElement.getScreenCTM().a)"
    )
    assert heights
    assert min(heights) >= 9


def test_dark_and_light_are_as_the_reader_wishes(open_at):
    ground = "getComputedStyle(document.body).backgroundColor"
    letters = "getComputedStyle(document.querySelector('figure svg text')).fill"
    light, dark = (open_at(LAPTOP, color_scheme=scheme) for scheme in ("light", "dark"))
    for what, brighter, darker in ((ground, light, dark), (letters, dark, light)):
        assert _brightness(brighter.evaluate(what)) > 180
        assert _brightness(darker.evaluate(what)) < 60


def _brightness(colour):
    """Return the mean of ``rgb(1, 2, 3)``."""
    parts = colour[colour.index("(") + 1 : -1].split(",")[:3]
    return sum(map(float, parts)) / 3


def test_keys_reach_links_folds_and_boxes(open_at):
    page = open_at(LAPTOP)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "To the report"
    first = page.locator("article details summary").first
    first.focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.parentElement.open")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "scroll"


def test_the_button_unfolds_and_folds(open_at):
    page = open_at(LAPTOP)
    count = "document.querySelectorAll('main details[open]').length"
    every = page.evaluate("document.querySelectorAll('main details').length")
    page.get_by_role("button", name="Unfold all source").click()
    assert page.evaluate(count) == every
    page.get_by_role("button", name="Fold all source").click()
    assert page.evaluate(count) == 0


def test_without_scripts_folds_still_work_and_no_button_does_nothing(open_at):
    page = open_at(LAPTOP, java_script_enabled=False)
    assert not page.get_by_role("button", name="Unfold all source").is_visible()
    page.locator("article details summary").first.click()
    assert page.locator("article details table.source").first.is_visible()


def test_motion_is_left_out_where_that_is_wished(open_at):
    behaviour = "getComputedStyle(document.documentElement).scrollBehavior"
    assert open_at(LAPTOP, reduced_motion="reduce").evaluate(behaviour) == "auto"


def test_on_paper_all_is_unfolded_and_nothing_to_click_on_is_left(open_at, tmp_path):
    page = open_at(LAPTOP)
    page.evaluate(
        "addEventListener('beforeprint', () => { window.folded = "
        "document.querySelectorAll('main details:not([open])').length })"
    )
    page.pdf(path=tmp_path / "report.pdf", format="A4")
    assert page.evaluate("window.folded") == 0
    assert page.evaluate("document.querySelectorAll('main details[open]').length") == 0
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible()

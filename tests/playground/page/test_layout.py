"""The page fits screens and people: wide and narrow, light and dark, with and without a mouse."""

import os
from pathlib import Path

import pytest

pytestmark = pytest.mark.browser
STATIC = Path(__file__).parents[3] / "docs" / "_static"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 390])
def test_the_page_fits(visit, width, scheme):
    page = visit(viewport={"width": width, "height": 900}, color_scheme=scheme, device_scale_factor=1)
    page.until("document.getElementById('penaltywords').textContent !== ''")
    page.page.wait_for_timeout(500)
    assert page.page.evaluate("document.documentElement.scrollWidth") <= width
    outside = """[...document.querySelectorAll('main button, main input, main select, main section')].filter(
      e => e.getBoundingClientRect().right > innerWidth + 1).length"""
    assert page.page.evaluate(outside) == 0
    dark = page.page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0] < 128")
    assert dark == (scheme == "dark")
    if os.environ.get("MERCER_PICTURES"):  # the documentation shows what the test saw
        page.page.screenshot(path=STATIC / f"play-{width}-{scheme}.png", full_page=width > 400)


def test_the_button_changes_light_and_dark_in_pictures_too(page):
    ink = "Bokeh.documents[0].get_model_by_name('plane').below[0].axis_label_text_color"
    before = page.page.evaluate(ink)
    page.page.click("#theme")
    assert page.page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.page.evaluate(ink) != before


def test_everything_has_a_name(page):
    nameless = """[...document.querySelectorAll('button, select, textarea, input')].filter(e =>
      !(e.labels?.length || e.getAttribute('aria-label') || e.textContent.trim())).map(e => e.outerHTML)"""
    assert page.page.evaluate(nameless) == []


def test_the_keyboard_alone_draws_moves_erases_and_learns(page):
    before = page.count()
    keyboard = page.page.keyboard

    def reach(selector):
        for _ in range(120):
            keyboard.press("Tab")
            if page.page.evaluate(f"document.activeElement.matches({selector!r})"):
                return
        pytest.fail(f"the key Tab does not lead to {selector}")

    page.page.evaluate("document.activeElement.blur()")
    reach("#byhand summary")
    keyboard.press("Enter")
    reach("#handx")
    keyboard.press("Control+a")
    keyboard.type("1.5")
    reach("#handy")
    keyboard.press("Control+a")
    keyboard.type("1.25")
    reach("#handadd")
    keyboard.press("Enter")
    page.until(f"Bokeh.documents[0].get_model_by_name('points').data.x.length === {before + 1}")
    assert (page.column("points", "x")[-1], page.column("points", "y")[-1]) == (1.5, 1.25)
    reach("#handerase")
    keyboard.press("Enter")
    page.until(f"Bokeh.documents[0].get_model_by_name('points').data.x.length === {before}")
    reach("#kernel")
    keyboard.press("Control+a")
    keyboard.type("Polynomial(3, 1.0)")
    keyboard.press("Enter")
    reach("#learner")
    keyboard.press("ArrowUp")
    page.settle()
    assert "Polynomial" in page.page.input_value("#kernel")
    assert page.page.input_value("#learner") != "svm"

"""The page in a real browser: no errors, no requests, readable on a phone."""

import html
import json
import re
import shutil
import subprocess

import pytest

from mercer.report import render_report

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), "chromium")
pytestmark = pytest.mark.browser

# A frame is as narrow as a phone where a window cannot be, and belongs to the page that measures it.
WRAPPER = """<!doctype html><meta charset="utf-8"><iframe width="{width}" height="800" style="border:0"
srcdoc="{page}"></iframe><pre id="found"></pre><script>
const frame = document.querySelector("iframe");
frame.onload = () => {{
  const page = frame.contentDocument, view = frame.contentWindow;
  const seen = element => element.getBoundingClientRect();
  const scale = svg => svg ? seen(svg).width / svg.viewBox.baseVal.width : 1;
  const size = element => parseFloat(view.getComputedStyle(element).fontSize) * scale(element.ownerSVGElement);
  document.getElementById("found").textContent = JSON.stringify({{
    title: page.title,
    width: page.documentElement.scrollWidth,
    wide: [...page.querySelectorAll("main *")].filter(e => !e.closest(".scroll, pre")).map(seen)
      .filter(box => box.right > {width} + 1 || box.left < -1).length,
    letters: Math.min(...[...page.querySelectorAll("svg text, p, td, th, li, figcaption")].map(size)),
    loaded: view.performance.getEntriesByType("resource").length,
    scripts: page.scripts.length,
  }});
}};
</script>"""


def visit(page, folder, width):
    """Return what a page looks like at a width, and what the browser wrote on its console."""
    file = folder / "wrapper.html"
    file.write_text(WRAPPER.format(width=width, page=html.escape(page)), encoding="utf-8")
    command = [
        BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run",
        f"--user-data-dir={folder / 'profile'}", "--enable-logging=stderr", "--virtual-time-budget=5000",
        "--window-size=1400,900", "--dump-dom", file.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    found = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.DOTALL)[1]
    return json.loads(html.unescape(found)), [line for line in done.stderr.splitlines() if "CONSOLE" in line]


@pytest.mark.parametrize("width", [390, 1200])
@pytest.mark.parametrize("kind", ["regression", "classification", "combined"])
def test_the_page_fits_and_is_quiet(kind, width, request, tmp_path):
    model = request.getfixturevalue(kind)
    found, console = visit(render_report(model), tmp_path, width)
    assert console == []
    assert found["title"].endswith(model.report_.task)
    assert found["width"] <= width
    assert found["wide"] == 0
    assert found["letters"] >= 10
    assert found["loaded"] == 0
    assert found["scripts"] == 0


def test_the_browser_would_tell_of_errors_and_of_pages_that_are_too_wide(tmp_path):
    bad = '<html><head><title>bad</title></head><body><main><div style="width:900px">x</div></main>'
    found, console = visit(bad + "<script>console.error('seen'); missing()</script></body></html>", tmp_path, 390)
    assert found["width"] >= 900
    assert found["wide"] == 1
    assert any("seen" in line for line in console)
    assert any("missing is not defined" in line for line in console)

"""The playground in a real browser, as a person has it: started by the command, opened at the address it prints."""

import shutil
import signal
import subprocess
import sys
from urllib.parse import urlsplit

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE = 20_000  # milliseconds
FIND = "Bokeh.documents[0].get_model_by_name"


class Visitor:
    """A page of the playground, with everything it said and asked for."""

    def __init__(self, page, address):
        self.page, self.said, self.asked = page, [], []
        page.on(
            "console", lambda message: self.said.append(message.text) if message.type in ("error", "warning") else None
        )
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))
        self.open(address)

    def open(self, address):
        self.page.goto("about:blank")  # an address that differs after # only would not be loaded again
        self.page.goto(address)
        self.page.wait_for_selector("html[data-ready]")
        self.until("document.getElementById('numbers').children.length > 0 || !document.getElementById('note').hidden")

    def settle(self):
        """Wait until everything that was asked for has been answered."""
        self.page.wait_for_timeout(30)
        self._wait("mercer.isQuiet()")

    def until(self, expression):
        """Wait for something to be true on the page, and for answers."""
        self._wait(expression)
        self.settle()

    def _wait(self, expression):
        # Playwright's own function is a text that the page would have to run, which its rules forbid.
        for _ in range(PATIENCE // 20):
            if self.page.evaluate(expression):
                return
            self.page.wait_for_timeout(20)
        pytest.fail(f"this did not become true: {expression}")

    def column(self, source, name):
        """Return a column of a picture's data."""
        return self.page.evaluate(f"Array.from({FIND}('{source}').data.{name})")

    def count(self):
        return len(self.column("points", "x"))

    def locate(self, i):
        """Return where point i is on the screen."""
        return self.place(self.column("points", "x")[i], self.column("points", "y")[i])

    def place(self, x, y, figure="plane"):
        """Return where a place of a picture is on the screen."""
        return self.page.evaluate(
            f"""([x, y]) => {{
              const view = Bokeh.index.find_one({FIND}('{figure}')), box = view.el.getBoundingClientRect();
              return [box.left + view.frame.x_scale.compute(x), box.top + view.frame.y_scale.compute(y)];
            }}""",
            [x, y],
        )

    def write_kernel(self, text):
        self.page.fill("#kernel", text)
        self.page.press("#kernel", "Enter")
        self.settle()

    def text(self, selector):
        return self.page.inner_text(selector)

    def link(self):
        """Return the address that restores what is seen."""
        self.page.wait_for_timeout(400)  # the address follows with a pause
        self.settle()
        return self.page.url


@pytest.fixture(scope="session")
def browser():
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.fail("these tests need Chromium on the path; make test-browser installs it")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield running
        running.close()


@pytest.fixture(scope="session")
def address():
    command = [sys.executable, "-m", "mercer", "play", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        line = next(line for line in process.stdout if "http://" in line)
        yield line.strip()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0
        assert [line for line in process.stderr if "bug" in line or "Traceback" in line] == []


@pytest.fixture
def visit(browser, address):
    """Return a function that opens the playground; at the end no page may have complained or asked anybody else."""
    visitors, contexts = [], []

    def open_page(fragment="", expect=(), **options):
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **options})
        contexts.append(context)
        visitor = Visitor(context.new_page(), address + fragment)
        visitor.expected = expect
        visitors.append(visitor)
        return visitor

    yield open_page
    host = urlsplit(address).netloc
    for visitor in visitors:
        said = [text for text in visitor.said if not any(part in text for part in visitor.expected)]
        assert said == []
        foreign = [url for url in visitor.asked if url.startswith("http") and urlsplit(url).netloc != host]
        assert foreign == []
    for context in contexts:
        context.close()


@pytest.fixture
def page(visit):
    return visit()

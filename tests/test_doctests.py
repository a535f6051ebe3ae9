"""Every example in a docstring, in the README and in the guide runs and prints what it says."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import mercer

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
ROOT = Path(__file__).parents[1]
MODULES = sorted(
    name for _, name, _ in pkgutil.walk_packages(mercer.__path__, "mercer.") if not name.endswith("_native")
)
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("**/*.md")])


@pytest.mark.parametrize("name", ["mercer", *MODULES])
def test_the_examples_of_a_module_run(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    assert result.failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_examples_of_a_page_run(page):
    blocks = re.findall(r"^```(?:python|\{doctest\}|pycon)\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    # A block of plain code runs as it stands; one with prompts must also print what the page shows.
    names: dict[str, object] = {}
    for block in blocks:
        if ">>>" not in block:
            exec(compile(block, str(page), "exec"), names)
            continue
        test = doctest.DocTestParser().get_doctest(block, names, page.name, str(page), 0)
        runner = doctest.DocTestRunner(optionflags=FLAGS)
        runner.run(test, clear_globs=False)
        names = test.globs
        assert runner.failures == 0

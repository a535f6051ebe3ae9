"""Every example in a docstring runs and prints what it says; tests/test_docs.py does the same for pages."""

import doctest
import importlib
import pkgutil

import pytest

import mercer

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
MODULES = sorted(
    name for _, name, _ in pkgutil.walk_packages(mercer.__path__, "mercer.") if not name.endswith("_native")
)


@pytest.mark.parametrize("name", ["mercer", *MODULES])
def test_the_examples_of_a_module_run(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    assert result.failed == 0

"""Tests that take an entry of the zoo run over all of it, or over the kernels that obey a law."""

import pytest

from ..zoo import OTHERS, POINTS, choose

LAWS = ("psd", "unit", "shifts", "strict", "finite", "numeric", "picklable", "checks_numbers", "takes_rows")


def pytest_generate_tests(metafunc):
    """Run tests over the zoo: over all of it, or over the kernels that should obey some law."""
    for name in ("entry", *LAWS):
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, choose(None if name == "entry" else name))


@pytest.fixture
def points():
    return POINTS.copy()


@pytest.fixture
def others():
    return OTHERS.copy()

"""Searches that have time, and are quick where what is tested does not depend on the families of kernels."""

import numpy as np
import pytest

from mercer.auto import base
from mercer.auto.search import base as search_base
from mercer.auto.search.learned import list_families


@pytest.fixture(scope="session", autouse=True)
def _no_haste():
    """Let nothing depend on how busy the machine is, unless a test gives a budget."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base, "default_budget", lambda n: 3600.0)
        yield


@pytest.fixture
def thresholds_only(monkeypatch):
    """Let searches learn one family of kernels, beside a linear one."""
    monkeypatch.setattr(search_base, "list_families", lambda rows: {"thresholds": list_families(rows)["thresholds"]})


@pytest.fixture
def combined(monkeypatch, thresholds_only):
    """Let every model be a quarter of the first candidate and three quarters of the last."""

    def combine(self, trials, most):
        return np.array([0.25] + [0.0] * (len(trials) - 2) + [0.75])

    monkeypatch.setattr(search_base.TableSearch, "combine", combine)

"""Time runs out, but never below nothing."""

from __future__ import annotations

import math

from mercer.auto.search.time import TimeBudget


def test_no_budget_is_never_used_up():
    assert TimeBudget(math.inf).left == math.inf


def test_what_is_left_is_never_negative():
    assert TimeBudget(1e-9).left == 0.0

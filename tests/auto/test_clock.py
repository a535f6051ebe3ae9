"""Time runs out, but never below nothing."""

from __future__ import annotations

import math

from mercer.auto._clock import Clock


def test_no_budget_is_never_used_up():
    assert Clock(math.inf).left == math.inf


def test_what_is_left_is_never_negative():
    assert Clock(1e-9).left == 0.0

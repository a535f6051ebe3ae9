"""Times are read as people write them."""

from __future__ import annotations

import math

import pytest

from mercer.auto._clock import Clock, parse_seconds


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90.0), ("5m", 300.0), ("1.5 h", 5400.0), ("2 min", 120.0), ("7", 7.0), (3, 3.0)]
)
def test_times(text, seconds):
    assert parse_seconds(text) == seconds


@pytest.mark.parametrize("wrong", ["soon", "-5m", 0, "", [], "5 parsecs", float("nan")])
def test_anything_else_is_refused(wrong):
    with pytest.raises(ValueError, match="budget must be a positive number of seconds or a text such as '90s'"):
        parse_seconds(wrong)


def test_no_budget_is_never_used_up():
    assert Clock(parse_seconds(None)).left == math.inf


def test_what_is_left_is_never_negative():
    assert Clock(1e-9).left == 0.0

"""Numbers and times are read and shown as people write them."""

from __future__ import annotations

import math

import pytest

from mercer.words import find_close, parse_seconds, round_number, show_budget, show_duration, show_number, show_seconds


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90.0), ("5m", 300.0), ("1.5 h", 5400.0), ("2 min", 120.0), ("7", 7.0), (3, 3.0)]
)
def test_times_are_read_as_people_write_them(text, seconds):
    assert parse_seconds(text) == seconds


@pytest.mark.parametrize("wrong", ["soon", "-5m", 0, "", [], "5 parsecs", float("nan")])
def test_what_is_no_time_is_refused(wrong):
    with pytest.raises(ValueError, match="budget must be a positive number of seconds or a text such as '90s'"):
        parse_seconds(wrong)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (-3.0, "-3"), (12345.678, "12,346"), (1234.5678, "1,234.6"), (1e20, "1e+20"), (math.nan, "–"),
     (math.inf, "∞"), (-math.inf, "−∞"), (0.99951, "0.9995")],
)  # fmt: skip
def test_numbers_have_four_digits_and_whole_ones_all(value, text):
    assert show_number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0 µs"), (2e-5, "20 µs"), (0.9994, "999 ms"), (0.9996, "1.0 s"), (99.9, "99.9 s"), (99.96, "1 min 40 s"),
     (3599.6, "1 h 0 min"), (48 * 3600, "2 days")],
)  # fmt: skip
def test_times_from_microseconds_to_days(value, text):
    assert show_seconds(value) == text


def test_numbers_and_times_are_short():
    assert [round_number(x) for x in (0.0, -0.00165, 1e-12, 999.9, 1e12)] == [
        "0",
        "-0.00165",
        "1e-12",
        "1e+03",
        "1e+12",
    ]
    assert [show_duration(x) for x in (0.0, 59.0, 3599.0, 3600.0, float("inf"))] == [
        "0 s", "59 s", "59 min 59 s", "1 h 0 min", "–"
    ]  # fmt: skip


@pytest.mark.parametrize("seconds", [0.5, 42, 300, 7200])
def test_a_budget_that_is_shown_can_be_given(seconds):
    assert parse_seconds(show_budget(seconds)) == seconds


@pytest.mark.parametrize(
    ("name", "known", "close"),
    [
        ("prise", ["price", "rooms"], "price"),
        ("age", ["Age ", "wage"], "Age "),  # case and blanks aside it is the same
        ("age", ["Age", "AGE"], None),  # and so is the other
        ("x", ["y", "xy"], None),
        ("income", ["outcome", "price"], None),
        ("y", [], None),
    ],
)
def test_a_name_is_suggested_only_if_it_is_close_and_no_other_is(name, known, close):
    assert find_close(name, known) == close

"""Dates are the same days however they are written, and the calendar is the usual one."""

from __future__ import annotations

import datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.auto.tables.dates import compute_parts, find_dates, find_parts, name_parts, parse_dates

LAW = settings(max_examples=30, deadline=None, derandomize=True)

DATES = st.lists(st.dates(datetime.date(1931, 1, 1), datetime.date(2030, 12, 31)), min_size=1, max_size=20)
SPELLINGS = [
    "%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%b %d %Y", "%d %B %Y", "%B %d, %Y", "%d-%b-%y", "%a, %d %b %Y", "%Y %b %d",
    "%Y-%m-%dT00:00:00Z", "%d %B %Y 12:00 AM",
]  # fmt: skip


def count_days(dates):
    return [float((date - datetime.date(1970, 1, 1)).days) for date in dates]


def read(cells):
    """Read cells as the column that they are."""
    day_first = find_dates(cells, np.ones(len(cells), dtype=int))
    return None if day_first is None else parse_dates(cells, day_first).tolist()


@pytest.mark.parametrize("spelling", SPELLINGS)
@LAW
@given(dates=DATES)
def test_all_spellings_of_a_date_are_one_day(spelling, dates):
    cells = [date.strftime(spelling) for date in dates]
    assert read(cells) == count_days(dates)


@pytest.mark.parametrize("order", ["%d/%m/%Y", "%m/%d/%Y", "%d-%m-%y", "%m/%d/%y"])
@LAW
@given(dates=DATES)
def test_a_day_above_twelve_decides_which_part_is_the_month(order, dates):
    dates = [*dates, datetime.date(1998, 6, 30)]
    assert read([date.strftime(order) for date in dates]) == count_days(dates)


def test_without_evidence_days_come_first_only_between_points():
    assert read(["05/06/2001"]) == count_days([datetime.date(2001, 5, 6)])
    assert read(["05.06.2001"]) == count_days([datetime.date(2001, 6, 5)])


def test_months_and_years_are_their_first_days():
    first = datetime.date(1962, 8, 1)
    cells = ["Aug-62", "August 1962", "1962-08", "1962, August", "Aug. 1962", "1962/8"]
    assert read(cells) == count_days([first] * 6)
    assert read([*cells, "1962"])[-1] == count_days([datetime.date(1962, 1, 1)])[0]


def test_times_are_parts_of_days_in_greenwich():
    cells = ["1970-01-01 06:00", "01/01/1970 6:00 PM", "1970-01-01T12:00:00+06:00", "1970-01-01 12:00 am"]
    assert parse_dates(cells).tolist() == [0.25, 0.75, 0.25, 0.0]
    precise = ["2020-01-01 10:11:12.5", "2021-03-04T05:06:07"]
    expected = np.array(precise, dtype="datetime64[us]").astype(np.int64) / 1e6 / 86400
    np.testing.assert_array_equal(parse_dates(precise), expected)
    np.testing.assert_array_equal(parse_dates([*precise, "x"])[:2], expected)


@pytest.mark.parametrize(
    "cell", ["2020-02-30", "0000-00-00", "31/31/2000", "2020-01-01 25:00", "Marvel-62", "may", "12:30", "x" * 60, "5"]
)
def test_what_is_no_date(cell):
    assert np.isnan(parse_dates([cell, "2020-01-01"])[0])


@LAW
@given(st.lists(st.dates(datetime.date(1931, 1, 1)), min_size=10, max_size=20), st.integers(0, 9))
def test_a_stray_cell_changes_no_other(dates, place):
    cells = [date.strftime("%d/%m/%Y") for date in dates] + ["31/12/1999"]
    found = read([*cells[:place], "unknown day", *cells[place:]])
    assert np.isnan(found.pop(place))
    assert found == read(cells)


def test_mostly_other_words_are_no_dates():
    assert read(["May", "June", "red"]) is None
    assert read([*["2020-01-01"] * 8, "red", "blue"]) is None


def test_parts_of_the_calendar_are_those_that_vary():
    days = np.arange(0.0, 400.0)
    assert find_parts(days) == ["season", "weekday"]
    assert find_parts(days[:100]) == ["weekday"]
    assert find_parts(days[:100] / 24) == ["weekday", "hour"]
    assert find_parts(days[:5]) == []
    months = np.arange("1990-01", "2000-01", dtype="datetime64[M]").astype("datetime64[D]").astype(float)
    assert find_parts(months) == ["season"]
    assert find_parts(7 * days) == ["season"]


@LAW
@given(st.datetimes(datetime.datetime(1800, 1, 1), datetime.datetime(2200, 1, 1)))
def test_the_calendar_is_that_of_python(moment):
    days = (moment - datetime.datetime(1970, 1, 1)) / datetime.timedelta(days=1)
    parts = ["season", "weekday", "hour"]
    found = dict(zip(name_parts(parts), compute_parts(np.array([days]), parts)[0], strict=True))
    turns = {
        "season": (moment - datetime.datetime(moment.year, 1, 1)) / datetime.timedelta(days=365.25),
        "weekday": moment.weekday() / 7,
        "hour": (moment - datetime.datetime.combine(moment.date(), datetime.time())) / datetime.timedelta(days=1),
    }
    for part, turn in turns.items():
        assert found[f"{part} sin"] == pytest.approx(np.sin(2 * np.pi * turn), abs=1e-8)
        assert found[f"{part} cos"] == pytest.approx(np.cos(2 * np.pi * turn), abs=1e-8)
    assert found["weekend"] == (moment.weekday() >= 5)


def test_rows_without_a_date_have_no_parts():
    assert compute_parts(np.array([np.nan]), ["season", "weekday"]).tolist() == [[0.0] * 5]

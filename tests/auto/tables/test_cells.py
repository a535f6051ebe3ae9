"""Cells of text are the numbers that people mean by them, whatever else is in the column."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.auto.tables.cells import find_numbers, is_mark, parse_numbers

LAW = settings(max_examples=30, deadline=None, derandomize=True)

STRAY = ["ask us", "see page 4", "12-14", "1.2.3", "two", "5 / 8", "1_000", "#12", "inf"]


def read(cells):
    """Read cells as the column that they are."""
    found = find_numbers(cells, np.ones(len(cells), dtype=int))
    return None if found is None else parse_numbers(cells, *found).tolist()


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["5.06%", "1%", "-3.5 %"], [5.06, 1.0, -3.5]),
        (["$1,234", "$5", "-$7.50", "$-8", "(9)", "($1,000)"], [1234.0, 5.0, -7.5, -8.0, -9.0, -1000.0]),
        (["€ 12", "EUR 13", "€14,000"], [12.0, 13.0, 14000.0]),
        (["1 234", "12", "1 234 567"], [1234.0, 12.0, 1234567.0]),
        (["1\u202f234", "1\u00a0500", "7"], [1234.0, 1500.0, 7.0]),
        (["1,234.5", "1,000", "2.25"], [1234.5, 1000.0, 2.25]),
        (["12.345,6", "12,5", "3"], [12345.6, 12.5, 3.0]),
        (["1.234.567", "1.000", "12"], [1234567.0, 1000.0, 12.0]),
        (["1'234.5", "7'000", "1"], [1234.5, 7000.0, 1.0]),
        (["+3", "1e5", "−4", ".5", "6."], [3.0, 1e5, -4.0, 0.5, 6.0]),
        (["12 kg", "7kg", "1,000 Kg", "3"], [12.0, 7.0, 1000.0, 3.0]),
        (["70 km/h", "80 km/h", "120 km/h"], [70.0, 80.0, 120.0]),
        (["0", "1"], [0.0, 1.0]),
        (["2", "10\n", "3"], [2.0, 10.0, 3.0]),
    ],
)
def test_spellings_of_numbers(cells, numbers):
    assert read(cells) == numbers


@pytest.mark.parametrize(
    "cells",
    [
        ["00123", "00124", "00200"],
        ["01234", "94110", "10001"],
        ["red", "blue", "3"],
        ["1st", "2nd", "3rd"],
        ["90-100", "80-89", "1-2"],
        ["39__38", "39__00", "40__11"],
        ["10:30", "11:30", "12:00"],
        ["3 kg", "4 m", "5 s"],
        ["-", "none", "?"],
    ],
)
def test_what_is_no_number(cells):
    assert read(cells) is None


def test_marks_are_neither_numbers_nor_counted():
    cells = ["?", "-", "--", "n/a", "N/A", "NA", "null", "none", "nan", "missing", ".", "#N/A", " ", "1", "2", "3"]
    assert all(map(is_mark, cells[:-3]))
    assert find_numbers(cells, np.full(16, 100)) == (".", "")


@LAW
@given(
    st.lists(st.integers(-(10**9), 10**9).map(lambda i: i / 100), min_size=27, max_size=40, unique=True),
    st.sampled_from(STRAY),
    st.integers(0, 26),
    st.sampled_from(["{:,.2f}", "{:.2f}%", "${:,.2f}", "{:.2f} kg", "{:.2f}"]),
)
def test_a_stray_cell_changes_no_other(values, stray, place, spelling):
    cells = [spelling.format(value) for value in values]
    found = read([*cells[:place], stray, *cells[place:]])
    assert np.isnan(found.pop(place))
    assert found == values == read(cells)


@LAW
@given(st.lists(st.integers(-(10**9), 10**9).map(lambda i: i / 1000), min_size=3, max_size=30, unique=True))
def test_either_decimal_mark_gives_the_same_numbers(values):
    values = [*values, 0.25]  # which only one mark can mean
    english = [f"{value:,.3f}" for value in values[:-1]] + ["0.25"]
    german = [cell.translate(str.maketrans(",.", ".,")) for cell in english]
    np.testing.assert_array_equal(read(english), values)
    np.testing.assert_array_equal(read(german), values)


def test_more_than_a_tenth_of_other_cells_makes_no_numbers():
    numbers = [str(i) for i in range(90)]
    counts = np.ones(91, dtype=int)
    counts[-1] = 10
    assert find_numbers([*numbers, "many"], counts) == (".", "")
    counts[-1] = 11
    assert find_numbers([*numbers, "many"], counts) is None


def test_rows_count_and_not_different_cells():
    cells = ["1", "2", "3", *(f"remark {i}" for i in range(3000))]
    counts = np.r_[np.full(3, 30_000), np.ones(3000, dtype=int)]
    assert find_numbers(cells, counts) == (".", "")
    assert find_numbers(cells, np.ones(3003, dtype=int)) is None


def test_many_different_numbers_are_read_as_few_are():
    values = np.arange(5000) + 0.5
    assert read([f"${value:,.1f}" for value in values]) == values.tolist()

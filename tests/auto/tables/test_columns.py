"""A column is recognised for what it is, and new rows are treated as the rows of the fit."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.auto.tables.columns import learn_column
from mercer.auto.tables.reading import read_column, write_label
from mercer.auto.tables.steps import MISSING, encode_block, read_categories, read_numbers, read_texts, reshape_numbers

WORDS = ["a small brown dog", "two tall green trees", "a cat asleep", "rain in the morning", "nothing at all today"]


def standardize_numbers(step, values):
    return encode_block(step, values, statistics=False)[:, 0]


def kind_of(name, values):
    column, _ = learn_column(name, read_column(name, values))
    return column.kind


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("size", [1.5, 2.0, 3.5], "numeric"),
        ("count", np.arange(5), "numeric"),
        ("nullable", pd.Series([1, None, 3], dtype="Int64"), "numeric"),
        ("numbers as texts", ["1.5", "2", None, "7"], "numeric"),
        ("when", pd.Series(pd.date_range("2024-01-01", periods=4)), "numeric"),
        ("iso", ["2024-01-01", "2024-05-06", None], "numeric"),
        ("day first", ["31/12/2023", "1/2/2024", "?"], "numeric"),
        ("prices", ["$1,000", "$250", "-", "$3"], "numeric"),
        ("zip", ["00123", "00124", "00123"], "categorical"),
        ("none is a word", ["none", "some", "none"], "categorical"),
        ("floats", np.random.default_rng(0).normal(size=200), "numeric"),
        ("days", [datetime.date(2024, 1, 1), datetime.date(2024, 2, 1)], "numeric"),
        ("waited", pd.Series(pd.to_timedelta([1, 2, 3], unit="h")), "numeric"),
        ("colour", ["red", "blue", "red", "red"], "categorical"),
        ("happy", [True, False, True], "categorical"),
        ("happy or not", [True, None, False], "categorical"),
        ("code", pd.Categorical([1, 2, 1]), "categorical"),
        ("mixture", [1.5, "x", 1.5], "categorical"),
        ("said", WORDS, "text"),
        ("constant", [3.0, 3.0], "ignored"),
        ("same", ["x", "x"], "ignored"),
        ("empty", [None, None], "ignored"),
        ("only marks", ["?", "NA", " "], "ignored"),
        ("id", np.arange(30), "ignored"),
        ("customer_id", [f"c{i}" for i in range(30)], "ignored"),
        ("plate", [f"XY {i}" for i in range(30)], "ignored"),
        ("hash", [f"{7919**9 * i:030x}" for i in range(1, 31)], "ignored"),
        ("page", [f"example.org/about-{word}" for word in "abcdefghijklmnopqrstuvwxyz"], "text"),
        ("Unnamed: 0", np.arange(30), "ignored"),
        ("solid", np.arange(30), "numeric"),
        ("paid", np.arange(30), "numeric"),
    ],
)
def test_kinds(name, values, kind):
    assert kind_of(name, values) == kind


def test_every_column_says_what_was_done_and_counts():
    column, _ = learn_column("size", read_column("size", [1.0, np.nan, 2.0, 2.0]))
    assert (column.missing, column.distinct) == (1, 2)
    assert "median" in column.treatment
    column, _ = learn_column("id", read_column("id", np.arange(30)))
    assert "id" in column.treatment


def test_stray_cells_are_missing_and_named():
    cells = [str(i) for i in range(100)]
    cells[7:90:10] = [f"about {i}" for i in range(9)]
    cells[3] = "n/a"
    column, step = learn_column("age", read_column("age", cells))
    assert (column.kind, column.missing, column.n_stray) == ("numeric", 10, 9)
    assert column.stray == tuple((7 + 10 * i, f"about {i}") for i in range(5))
    assert "9 stray cells counted as missing: 'about 0' in row 7, " in column.treatment
    assert column.treatment.endswith(" …")
    found = encode_block(step, read_column("age", ["50", "soon", "?", None]), statistics=False)
    assert found[:, 1].tolist() == [0.0, 1.0, 1.0, 1.0]


def test_a_column_without_stray_cells_refuses_them_later_but_not_marks():
    _, step = learn_column("age", read_column("age", [1.0, 2.0, 5.0]))
    assert np.isnan(read_numbers(step, read_column("age", ["4", "?", "-", "none"]))).tolist() == [
        False,
        True,
        True,
        True,
    ]
    with pytest.raises(ValueError, match=r"column 'age' held numbers .* row 2 is 'old'"):
        read_numbers(step, read_column("age", ["4", "-", "old"]))
    _, step = learn_column("day", read_column("day", ["2024-01-01", "2024-01-05"]))
    with pytest.raises(ValueError, match=r"column 'day' held dates .* row 0 is 'soon'"):
        read_numbers(step, read_column("day", ["soon"]))


@pytest.mark.parametrize("spelling", ["{:,.2f}", "{:.2f}%", "${:,.2f}", "{:.2f} kg", "  {:.2f} "])
def test_spelled_numbers_are_encoded_like_plain_ones(spelling):
    values = np.round(1000 * np.random.default_rng(0).normal(size=60), 2)
    cells = [spelling.format(value) for value in values]
    _, plain = learn_column("x", read_column("x", values))
    _, spelled = learn_column("x", read_column("x", cells))
    expected = encode_block(plain, read_column("x", values), statistics=False)
    np.testing.assert_array_equal(encode_block(spelled, read_column("x", cells), statistics=False), expected)
    np.testing.assert_array_equal(encode_block(spelled, read_column("x", values), statistics=False), expected)


def test_spelled_dates_are_encoded_like_real_ones():
    days = pd.Series(pd.date_range("2020-01-03", periods=500, freq="2D"))
    _, real = learn_column("day", read_column("day", days))
    expected = encode_block(real, read_column("day", days), statistics=False)
    assert expected.shape == (500, 6)
    for spelling in ("%Y-%m-%d", "%d/%m/%Y", "%b %d %Y"):
        cells = days.dt.strftime(spelling)
        _, step = learn_column("day", read_column("day", cells))
        np.testing.assert_array_equal(encode_block(step, read_column("day", cells), statistics=False), expected)
        np.testing.assert_array_equal(encode_block(step, read_column("day", days), statistics=False), expected)


def test_few_missing_values_are_no_information():
    values = np.arange(1000.0)
    values[:5] = np.nan
    assert not learn_column("x", read_column("x", values))[1]["flagged"]
    values[5] = np.nan
    assert learn_column("x", read_column("x", values))[1]["flagged"]


def test_missing_numbers_are_at_the_median_and_new_gaps_too():
    _, step = learn_column("size", read_column("size", [1.0, np.nan, 2.0, 9.0]))
    assert step["flagged"]
    np.testing.assert_array_equal(standardize_numbers(step, read_column("size", [2.0, None])), [0.0, 0.0])


def test_standardised_numbers_have_unit_spread():
    values = 50.0 + 7.0 * np.random.default_rng(0).normal(size=2000)
    _, step = learn_column("x", read_column("x", values))
    found = standardize_numbers(step, read_column("x", values))
    assert abs(np.median(found)) < 1e-12
    assert found.std() == pytest.approx(1.0, abs=0.05)


def test_a_long_tail_is_bent_by_the_logarithm():
    values = np.exp(1.5 * np.random.default_rng(0).normal(size=500))
    column, step = learn_column("income", read_column("income", values))
    assert "logarithm" in column.treatment
    found = standardize_numbers(step, read_column("income", values))
    assert abs(np.mean(found**3)) < 0.5
    assert np.isfinite(standardize_numbers(step, read_column("income", [0.0, -5.0, 1e12]))).all()


def test_a_long_tail_that_reaches_zero_is_bent_too():
    values = np.r_[np.zeros(20), np.exp(1.5 * np.random.default_rng(0).normal(size=500))]
    column, step = learn_column("income", read_column("income", values))
    assert "logarithm" in column.treatment
    assert np.isfinite(standardize_numbers(step, read_column("income", values))).all()


def test_extreme_values_leave_only_ranks():
    values = np.r_[np.random.default_rng(0).normal(size=300), -1e9, 1e9]
    column, step = learn_column("x", read_column("x", values))
    assert "ranks" in column.treatment
    assert np.abs(standardize_numbers(step, read_column("x", values))).max() < 10


@given(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=60))
def test_bending_and_scaling_keep_the_order(values):
    array = np.array(values)
    column, step = learn_column("x", read_column("x", array))
    if column.kind == "numeric":
        order = np.argsort(array, kind="stable")
        found = standardize_numbers(step, read_column("x", array))[order]
        assert (np.diff(found) >= 0).all()
        assert np.isfinite(found).all()


def test_ties_take_the_middle_of_their_ranks():
    step = {"shape": "ranks", "knots": [0.0, 1.0, 1.0, 1.0, 2.0], "offset": 0.0}
    assert reshape_numbers(np.array([1.0]), step)[0] == pytest.approx(0.0)


def test_missing_is_a_category_of_its_own():
    column, step = learn_column("colour", read_column("colour", ["red", None, "blue", "red"]))
    assert step["categories"] == ["red", MISSING, "blue"]
    assert read_categories(read_column("colour", ["red", None, "green"])).tolist() == ["red", MISSING, "green"]
    assert "1 missing" in column.treatment


@pytest.mark.parametrize("hold", [list, pd.Series, lambda v: pd.Series(v, dtype=object), pl.Series, np.array])
def test_strings_are_the_same_whatever_holds_them(hold):
    strings = ["b", " ", "a", "?", "b", "c", "NA"]
    found = read_column("x", hold(strings))
    assert (found.kind, found.levels, found.data.tolist()) == ("strings", ["b", "a", "c"], [0, -1, 1, -1, 0, 2, -1])


def test_truth_values_and_numbers_are_not_the_same():
    found = read_column("x", np.array([True, 1, "a", 1.0, np.nan], dtype=object))
    assert (found.levels, found.data.tolist()) == (["True", "1", "a"], [0, 1, 2, 1, -1])


def test_a_category_is_the_same_whether_it_is_a_number_or_a_text():
    assert {write_label("x", value) for value in (2, 2.0, "2", np.int64(2))} == {"2"}


def test_texts_have_blanks_around_so_that_short_ones_have_words_too():
    found = read_texts(read_column("said", ["Hello  World", None]))
    assert found.tolist() == ["  hello world  ", "    "]


def test_infinite_numbers_are_refused_with_row_and_column():
    with pytest.raises(ValueError, match="column 'size': row 1 is infinite"):
        learn_column("size", read_column("size", [1.0, np.inf]))
    _, step = learn_column("size", read_column("size", [1.0, 2.0]))
    with pytest.raises(ValueError, match="column 'size': row 0 is infinite"):
        standardize_numbers(step, read_column("size", [-np.inf]))


def test_texts_where_numbers_were_are_refused_with_row_and_column():
    _, step = learn_column("size", read_column("size", [1.0, 2.0]))
    with pytest.raises(ValueError, match=r"column 'size' held numbers .* row 1 is 'large'"):
        standardize_numbers(step, read_column("size", ["1.0", "large"]))


@pytest.mark.parametrize("value", [{"a": 1}, [1, 2]])
def test_other_objects_are_refused(value):
    with pytest.raises(TypeError, match="column 'x'"):
        read_column("x", np.array([value, "a"], dtype=object) if isinstance(value, dict) else pd.Series([value, "a"]))


def test_complex_numbers_are_refused():
    with pytest.raises(TypeError, match="complex"):
        read_column("x", np.array([1j]))


def test_whole_numbers_beyond_all_floats_are_infinite():
    found = read_column("x", [10**400, 1, -(10**400)])
    assert (found.kind, found.data.tolist()) == ("numbers", [np.inf, 1.0, -np.inf])
    with pytest.raises(ValueError, match="column 'x': row 0 is infinite"):
        learn_column("x", found)

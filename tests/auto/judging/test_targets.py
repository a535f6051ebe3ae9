"""Targets as people have them."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.auto.judging.cells import rank_values
from mercer.auto.judging.targets import are_numbers, describe_targets, read_targets

PRICES = [float(i) for i in range(40)]


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=30))
def test_numbers_are_read_as_they_are(values):
    found = read_targets(np.array(values), "regression")
    assert found.values.tolist() == values
    assert found.kept.tolist() == list(range(len(values)))
    assert (found.odd, list(found.missing)) == ((), [])


@given(st.integers(0, 40), st.sampled_from(["sold", "on request", "12a"]))
def test_an_odd_cell_changes_no_other(place, text):
    cells = [f"${value:,.2f}" for value in PRICES]
    cells.insert(place, text)
    found = read_targets(cells, "regression")
    assert found.values.tolist() == PRICES
    assert found.odd == ((place, text),)
    assert sorted([*found.kept, place]) == list(range(41))
    assert are_numbers(cells)


def test_series_of_every_library_say_the_same():
    cells = [*map(str, PRICES), None, "sold", "?"]
    for y in (
        cells,
        np.array(cells, dtype=object),
        pd.Series(cells),
        pl.Series(cells),
        pd.Series(cells, dtype="category"),
    ):
        found = read_targets(y, "regression")
        assert found.values.tolist() == PRICES
        assert (found.odd, list(found.missing)) == (((41, "sold"),), [40, 42])


def test_infinite_targets_are_odd_and_too_many_are_an_error():
    found = read_targets(np.array([*PRICES, np.inf]), "regression")
    assert found.odd == ((40, "inf"),)
    with pytest.raises(ValueError, match=r"Input y contains infinity: the target of row 1 is inf; replace it"):
        read_targets(np.array([1.0, np.inf]), "regression")


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_a_target_that_is_missing_everywhere_is_an_error(task):
    with pytest.raises(ValueError, match="missing in all 2 rows"):
        read_targets([None, np.nan], task)


def test_words_are_no_numbers():
    assert not are_numbers(["a", "b", "1"])
    assert not are_numbers([None])
    with pytest.raises(
        ValueError, match="2 of 3 targets are no numbers, such as 'a' in row 0; correct them, or predict"
    ):
        read_targets(["a", "b", "1"], "regression")
    with pytest.raises(ValueError, match="Complex data not supported"):
        read_targets(np.array([1j, 2.0]), "regression")


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([1, 2, None, 1], [1, 2, 1]),
        (["a", None, "?", " ", "b"], ["a", "b"]),
        ([1.0, np.nan, 0.0], [1.0, 0.0]),
        ([True, False, None], [True, False]),
        ([1, "1", 1.0, "a"], ["1", "1", "1", "a"]),
        ([1, True, 0], ["1", "True", "0"]),
        ([datetime.date(2024, 5, 1), None], ["2024-05-01"]),
        (["yes", "no"], ["yes", "no"]),
    ],
)
def test_labels_are_kept_and_only_those_of_several_kinds_become_texts(labels, expected):
    found = read_targets(labels, "classification")
    assert found.values.tolist() == expected
    assert [type(value) for value in found.values.tolist()] == [type(value) for value in expected]
    assert found.mixed == (len({type(v) is str or type(v) for v in labels if v is not None and v == v} - {float}) > 1)
    assert sorted([*found.kept, *found.missing]) == list(range(len(labels)))
    np.unique(found.values)  # they have an order


def test_sentences_name_rows_and_what_is_there():
    found = read_targets([*map(str, range(400)), *["sold"] * 7, None], "regression")
    odd, missing = describe_targets(found, "price")
    assert odd.startswith("7 rows left out because 'price' is no number there: row 400 ('sold'), row 401")
    assert odd.endswith("row 404 ('sold') and 2 others.")
    assert missing == "1 row left out because 'price' is missing there: row 407."
    assert "line 2" in describe_targets(read_targets([None, 1.0], "regression"), "y", lambda row: f"line {row + 2}")[0]
    (mixed,) = describe_targets(read_targets([1, "1"], "classification"), "y")
    assert "compared as texts" in mixed
    assert describe_targets(read_targets([1.0, 2.0], "regression"), "y") == ()


def test_places_of_cells_have_the_order_of_numbers_where_they_are():
    assert rank_values(["10", "9", "100"])[0].tolist() == [1, 0, 2]
    assert rank_values(["b", "a", None, "10"])[0].tolist() == [2, 1, 3, 0]
    assert rank_values(np.array([np.nan, np.nan]))[0].tolist() == [0, 0]
    assert rank_values(pd.Series(pd.to_datetime(["2024-05-02", None, "2024-05-01"])))[0].tolist() == [1, 2, 0]


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_no_rows_are_no_targets(task):
    found = read_targets([], task)
    assert (len(found.values), len(found.kept), found.odd, len(found.missing)) == (0, 0, (), 0)

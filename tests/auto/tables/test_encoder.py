"""Tables become arrays or frames that kernels take, the same way at every call."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer.auto import TableEncoder
from mercer.kernels import Gaussian, Overlap, Spectrum

REORDERED = {"check_dataframe_column_names_consistency": "columns are found by name, whatever their order"}


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    sizes = rng.normal(size=40)
    sizes[3] = np.nan
    return pd.DataFrame(
        {
            "colour": rng.choice(["red", "green", "blue"], size=40),
            "size": sizes,
            "said": [f"sentence number {i} of {rng.integers(1000)}" for i in range(40)],
            "row_id": np.arange(40),
            "weight": rng.normal(size=40),
        }
    )


@parametrize_with_checks(
    [TableEncoder(), TableEncoder("overlap", texts="strings")], expected_failed_checks=lambda e: REORDERED
)
def test_scikit_learn_accepts_the_transformer(estimator, check):
    check(estimator)


def test_numbers_alone_become_an_array(table):
    encoder = TableEncoder().fit(table[["size", "weight"]])
    found = encoder.transform(table[["size", "weight"]])
    assert isinstance(found, np.ndarray)
    assert encoder.get_feature_names_out().tolist() == ["size", "weight", "size missing"]
    assert found[3].tolist()[::2] == [0.0, 1.0]
    named = encoder.variant(output="frame").transform(table[["size", "weight"]])
    assert list(named.columns) == ["size", "weight", "size missing"]


def test_mixed_tables_become_frames_that_kernels_take(table):
    encoder = TableEncoder("overlap", texts="strings").fit(table)
    found = encoder.transform(table)
    assert list(found.columns) == ["size", "weight", "size missing", "colour", "said"]
    k = Gaussian().on(encoder.place("numeric")) + Overlap().on(encoder.place("categorical"))
    k += Spectrum(3).normalize().on(encoder.place("text"))
    K = k(found)
    assert np.isfinite(K).all()
    np.testing.assert_allclose(np.diag(K), 3.0)


def test_indicators_are_one_where_the_category_is(table):
    found = TableEncoder("indicators").fit(table[["colour", "weight"]])
    rows, names = found.transform(table[["colour", "weight"]]), found.get_feature_names_out().tolist()
    for colour in ("red", "green", "blue"):
        np.testing.assert_array_equal(rows[:, names.index(f"colour={colour}")], table["colour"] == colour)


def test_two_categories_need_one_indicator():
    table = pd.DataFrame({"answer": ["yes", "no", "no", "no"]})
    encoder = TableEncoder("indicators").fit(table)
    assert encoder.get_feature_names_out().tolist() == ["answer=yes"]
    assert encoder.transform(table)[:, 0].tolist() == [1.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("categories", ["overlap", "indicators"])
def test_an_unseen_category_is_unlike_all_others(table, categories):
    encoder = TableEncoder(categories).fit(table[["colour"]])
    new, seen = encoder.transform(pd.DataFrame({"colour": ["violet"]})), encoder.transform(table[["colour"]])
    if categories == "overlap":
        assert Overlap()(new, seen).max() == 0.0
    else:
        assert np.linalg.norm(seen - new, axis=1).min() == 1.0


def test_columns_are_found_by_name_and_others_are_ignored(table):
    encoder = TableEncoder("overlap").fit(table)
    expected = encoder.transform(table)
    shuffled = table[table.columns[::-1]].assign(extra=1)
    pd.testing.assert_frame_equal(encoder.transform(shuffled), expected)


def test_a_missing_column_is_named(table):
    with pytest.raises(ValueError, match="1 of the 5 columns of the fit are missing: 'size'"):
        TableEncoder().fit(table).transform(table.drop(columns="size"))


def test_polars_and_pandas_give_the_same_values(table):
    frame = TableEncoder("overlap").fit(table)
    other = TableEncoder("overlap").fit(pl.from_pandas(table))
    assert other.columns_ == frame.columns_
    expected, found = frame.transform(table), other.transform(pl.from_pandas(table))
    assert isinstance(found, pl.DataFrame)
    for name in expected.columns:
        assert found[name].to_list() == expected[name].tolist()


def test_object_arrays_work_without_names(table):
    array = table[["colour", "weight"]].to_numpy()
    encoder = TableEncoder("overlap").fit(array)
    found = encoder.transform(array)
    assert (encoder.place("numeric"), encoder.place("categorical")) == ([0], [1])
    k = Gaussian().on(encoder.place("numeric")) + Overlap().on(encoder.place("categorical"))
    np.testing.assert_allclose(np.diag(k(found)), 2.0)


def test_what_is_learned_is_plain(table):
    json.dumps(TableEncoder().fit(table).steps_, default=np.ndarray.tolist)


def test_trees_get_numbers_as_they_are_and_gaps_as_gaps(table):
    rows, choices = TableEncoder().fit(table).plain(table)
    assert choices.tolist() == [True, False, False]
    assert np.isnan(rows[3, 1])
    np.testing.assert_array_equal(rows[:, 2], table["weight"])
    assert set(rows[:, 0]) == {0.0, 1.0, 2.0}


def test_a_table_of_nothing_useful_is_a_constant():
    table = pd.DataFrame({"one": [1, 1, 1], "two": ["x", "x", "x"]})
    assert TableEncoder().fit_transform(table).tolist() == [[0.0]] * 3


def test_repeated_names_and_empty_tables_are_refused():
    with pytest.raises(ValueError, match="Expected unique column names"):
        TableEncoder().fit(pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]))
    with pytest.raises(ValueError, match="at least one row"):
        TableEncoder().fit(pd.DataFrame({"a": []}))


def test_parameters_are_checked(table):
    with pytest.raises(ValueError, match="categories must be one of"):
        TableEncoder("onehot").fit(table)

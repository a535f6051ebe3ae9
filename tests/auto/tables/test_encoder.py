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
REFUSED = {"check_dtype_object": "targets that are no numbers are refused in other words"}


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
    [TableEncoder(), TableEncoder("statistics"), TableEncoder("overlap", texts="strings")],
    expected_failed_checks=lambda e: REORDERED | (REFUSED if e.categories == "statistics" else {}),
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


# -- the matrix ---------------------------------------------------------------------------------------------------


@pytest.fixture
def wild():
    """A table of everything that people's tables hold."""
    rng = np.random.default_rng(1)
    n = 300
    prices = [f"${value:,.2f}" for value in rng.exponential(5000, n)]
    prices[5], prices[6] = "ask", "-"
    towns = np.array([f"{a}{b}ville" for a in ("north", "south", "green") for b in ("field", "wood", "lake", "moor")])
    days = pd.Series(pd.to_datetime("2001-05-03") + pd.to_timedelta(rng.integers(0, 900, n), unit="D"))
    return pd.DataFrame(
        {
            "price": prices,
            "town": rng.choice(towns, n),
            "day": days.dt.strftime("%d/%m/%Y"),
            "street": [f"{town} street {i}" for town in towns for i in range(25)],
            "shop": rng.choice([f"{town} {i}" for town in towns for i in range(10)], n),
            "size": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "new": rng.random(n) < 0.5,
        }
    )


def test_everything_becomes_one_matrix_of_floats(wild):
    encoder = TableEncoder()
    found = encoder.fit_transform(wild)
    assert found.dtype == np.float64
    assert np.isfinite(found).all()
    assert found.shape == (300, len(encoder.get_feature_names_out()))
    assert len(set(encoder.get_feature_names_out())) == found.shape[1]
    assert [column.kind for column in encoder.columns_] == [
        "numeric", "categorical", "numeric", "text", "categorical", "numeric", "categorical",
    ]  # fmt: skip
    assert encoder.columns_[0].stray == ((5, "ask"),)


@pytest.mark.parametrize("categories", ["indicators", "overlap"])
def test_rows_of_the_fit_are_encoded_the_same_again_alone_and_together(wild, categories):
    encoder = TableEncoder(categories, output="frame")
    found = encoder.fit_transform(wild)
    pd.testing.assert_frame_equal(encoder.transform(wild), found)
    for row in (0, 5, 6, 299):
        alone = encoder.transform(wild.iloc[[row]])
        pd.testing.assert_frame_equal(alone, found.iloc[[row]].reset_index(drop=True))


def test_blocks_share_out_the_output_by_the_columns_of_the_table(wild):
    encoder = TableEncoder("statistics").fit(wild, np.arange(300.0))
    blocks, names = encoder.blocks(), encoder.get_feature_names_out()
    assert sorted(place for block in blocks for place in block) == list(range(len(names)))
    for column, block in zip(wild.columns, blocks, strict=True):
        assert all(name.startswith(column) for name in names[block])


def test_frames_of_either_library_and_arrays_give_the_same_matrix(wild):
    expected = TableEncoder().fit_transform(wild)
    np.testing.assert_array_equal(TableEncoder().fit_transform(pl.from_pandas(wild)), expected)
    np.testing.assert_array_equal(TableEncoder().fit_transform(wild.to_numpy(dtype=object)), expected)
    np.testing.assert_array_equal(TableEncoder().fit(wild).transform(pl.from_pandas(wild)), expected)


def test_columns_of_new_rows_may_be_missing_altogether(wild):
    encoder = TableEncoder().fit(wild)
    found = encoder.transform(wild.head(3).assign(**dict.fromkeys(wild.columns)))
    assert np.isfinite(found).all()
    empty = encoder.transform(wild.head(3).astype(object).assign(**dict.fromkeys(wild.columns, "")))
    np.testing.assert_array_equal(empty, found)


def test_the_rarest_of_many_categories_have_a_count_and_letters(wild):
    encoder = TableEncoder().fit(wild[["shop"]])
    names = encoder.get_feature_names_out().tolist()
    assert names[40:] == ["shop: count", *(f"shop: words {i}" for i in range(1, 9))]
    rows = encoder.transform(wild[["shop"]])
    counts = wild["shop"].map(wild["shop"].value_counts())
    order = np.argsort(rows[:, 40])
    assert (np.diff(counts.to_numpy()[order]) >= 0).all()
    assert rows[:, 40].mean() == pytest.approx(0.0, abs=1e-12)
    unseen = encoder.transform(pd.DataFrame({"shop": ["northfieldville 99"]}))[0]
    assert unseen[:40].sum() == 0.0
    assert unseen[40] < rows[:, 40].min()


def test_codes_have_no_letters_to_compare():
    codes = pd.DataFrame({"code": [f"x{i % 60}" for i in range(200)]})
    assert TableEncoder().fit(codes).get_feature_names_out().tolist()[40:] == ["code: count"]


def test_trees_get_the_most_frequent_of_many_categories_and_dates_as_days(wild):
    rows, choices = TableEncoder().fit(wild).plain(wild)
    assert choices.tolist() == [False, True, False, True, False, True]
    day = pd.to_datetime(wild["day"], format="%d/%m/%Y")
    np.testing.assert_array_equal(rows[:, 2], (day - pd.Timestamp(0)) / pd.Timedelta(days=1))
    many = pd.DataFrame({"code": [f"x{i}" for i in range(300)] * 2})
    codes = TableEncoder().fit(many).plain(many)[0][:, 0]
    assert (len(np.unique(codes[~np.isnan(codes)])), np.nanmax(codes)) == (254, 253.0)


# -- statistics of targets ----------------------------------------------------------------------------------------


def test_statistics_are_for_columns_of_many_categories(wild):
    y = np.random.default_rng(0).normal(size=(300, 2))
    names = TableEncoder("statistics").fit(wild, y).get_feature_names_out()
    assert [name for name in names if ": mean" in name] == [
        "town: mean 1", "town: mean 2", "shop: mean 1", "shop: mean 2",
    ]  # fmt: skip


def test_only_training_rows_have_statistics_of_other_rows(wild):
    y = np.random.default_rng(0).normal(size=300)
    encoder = TableEncoder("statistics")
    trained, again = encoder.fit_transform(wild, y), encoder.transform(wild)
    means = np.array([": mean" in name for name in encoder.get_feature_names_out()])
    np.testing.assert_array_equal(trained[:, ~means], again[:, ~means])
    assert (trained[:, means] != again[:, means]).any(axis=1).mean() > 0.9
    changed = y.copy()
    changed[17] = 1e6
    np.testing.assert_array_equal(TableEncoder("statistics").fit_transform(wild, changed)[17], trained[17])


def test_relearning_keeps_columns_and_learns_statistics(wild):
    y = np.random.default_rng(0).normal(size=300)
    first = TableEncoder().fit(wild)
    other, rows = first.variant(categories="statistics").relearn(wild, y)
    np.testing.assert_array_equal(rows, TableEncoder("statistics").fit_transform(wild, y))
    assert not any("statistics" in step for step in first.steps_)
    half, rows = other.relearn(wild[:100], y[:100])
    assert rows.shape == (100, len(other.get_feature_names_out()))
    assert half.columns_ == first.columns_
    assert half.transform(wild).shape == (300, rows.shape[1])


def test_statistics_without_targets_are_refused(wild):
    with pytest.raises(ValueError, match="requires y to be passed"):
        TableEncoder("statistics").fit(wild)
    with pytest.raises(ValueError, match="requires y to be passed"):
        TableEncoder().fit(wild).variant(categories="statistics").transform(wild)
    with pytest.raises(ValueError, match="this encoder has 'indicators'"):
        TableEncoder().fit(wild).relearn(wild, np.zeros(300))

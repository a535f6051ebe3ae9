"""Distributions: histograms of numbers and dates, shares of levels."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.auto import TableEncoder
from mercer.auto.judging.distributions import (
    MOST_BINS,
    MOST_COLUMNS,
    MOST_LEVELS,
    describe_distributions,
    describe_numbers,
    describe_target,
)

NUMBERS = st.lists(st.one_of(st.just(np.nan), st.floats(-1e6, 1e6), st.integers(0, 5).map(float)), min_size=1)


@given(NUMBERS)
@settings(max_examples=40, deadline=None)
def test_every_number_is_in_one_bin_and_edges_ascend(cells):
    values = np.array(cells)
    found = describe_numbers("x", values)
    present = values[~np.isnan(values)]
    assert found.missing == pytest.approx(np.mean(np.isnan(values)))
    assert len(found.shares) <= max(MOST_BINS, 1)
    if len(present):
        assert sum(found.shares) == pytest.approx(1.0)
        assert len(found.edges) == len(found.shares) + 1
        assert (np.diff(found.edges) >= 0).all()
        assert found.summary == (present.min(), np.median(present), present.max())


def test_a_histogram_is_that_of_numpy():
    values = np.random.default_rng(0).normal(size=1000)
    found = describe_numbers("x", values)
    counts, edges = np.histogram(values, MOST_BINS)
    np.testing.assert_allclose(found.edges, edges)
    np.testing.assert_allclose(found.shares, counts / 1000)


def test_few_different_numbers_have_a_bin_each():
    found = describe_numbers("rooms", np.repeat([1.0, 2.0, 5.0], [10, 20, 10]))
    assert found.edges == (0.5, 1.5, 3.5, 6.5)
    assert found.shares == (0.25, 0.5, 0.25)


def test_one_number_far_out_does_not_hide_the_others():
    values = np.append(np.random.default_rng(0).uniform(size=500), 1e6)
    found = describe_numbers("income", values)
    assert found.edges[-1] < 2.0
    assert max(found.shares) < 0.2
    assert found.summary[-1] == 1e6


def test_levels_are_counted_without_those_that_are_missing():
    frame = pd.DataFrame({"town": ["a"] * 5 + ["b"] * 3 + [None] * 2, "size": np.arange(10.0)})
    town, size = describe_distributions(frame, TableEncoder().fit(frame))
    assert (town.levels, town.shares, town.missing, town.others) == (("a", "b"), (0.625, 0.375), pytest.approx(0.2), 0)
    assert size.levels == ()


def test_of_many_levels_the_most_frequent_are_kept():
    codes = np.concatenate([np.full(30 - i, i) for i in range(20)])
    found = describe_target("y", codes, [f"class {i}" for i in range(20)])
    assert found.levels == tuple(f"class {i}" for i in range(MOST_LEVELS))
    assert found.others == 20 - MOST_LEVELS
    assert found.shares[0] == pytest.approx(30 / len(codes))


def test_dates_are_days_and_texts_and_ids_have_no_distribution():
    frame = pd.DataFrame(
        {
            "sold": pd.date_range("1970-01-02", periods=25),
            "note": [f"some words about row {i} and more" for i in range(25)],
            "id": np.arange(25),
        }
    )
    (found,) = describe_distributions(frame, TableEncoder().fit(frame))
    assert (found.name, found.dates) == ("sold", True)
    assert found.summary == (1.0, 13.0, 25.0)


def test_of_many_columns_the_first_are_described_and_those_asked_for():
    wide = np.random.default_rng(0).normal(size=(20, MOST_COLUMNS + 5))
    encoder = TableEncoder().fit(wide)
    names = [found.name for found in describe_distributions(wide, encoder, {f"x{MOST_COLUMNS + 2}"})]
    assert names == [f"x{j}" for j in range(MOST_COLUMNS)] + [f"x{MOST_COLUMNS + 2}"]

"""Averages of targets are those of the categories, and no row's own target is in its average."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import KFold
from sklearn.preprocessing import TargetEncoder

from mercer.auto.tables import statistics
from mercer.auto.tables.statistics import check_goals, cross_fit, find_pull, learn_statistics

LAW = settings(max_examples=30, deadline=None, derandomize=True)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 12, 200)
    return codes, (0.5 * codes + rng.normal(size=200))[:, None]


def find_pull_of(codes, y):
    y = (y - y.mean()) / y.std()
    counts = np.bincount(codes)
    return find_pull(counts, np.bincount(codes, weights=y), float(y @ y))


def test_statistics_are_those_of_scikit_learn_in_other_units(rows):
    codes, y = rows
    pull, target = find_pull_of(codes, y[:, 0]), y[:, 0]
    theirs = TargetEncoder(smooth=pull, target_type="continuous").fit(codes[:, None], target)
    expected = (theirs.encodings_[0] - target.mean()) / target.std()
    np.testing.assert_allclose(learn_statistics(codes, 12, y)[:-1, 0], expected)


def test_cross_fitted_statistics_are_those_of_scikit_learn_in_other_units(rows, monkeypatch):
    codes, y = rows
    monkeypatch.setattr(statistics, "LEAST", 5.0)
    monkeypatch.setattr(statistics, "MOST", 5.0)
    folds = KFold(5, shuffle=True, random_state=statistics.SEED)
    encoder = TargetEncoder(smooth=5.0, target_type="continuous", cv=folds)
    theirs = encoder.fit_transform(codes[:, None], y[:, 0])[:, 0]
    ours = cross_fit(codes, 12, y)[:, 0]
    for fit, held in folds.split(codes):
        mean, deviation = y[fit].mean(), y[fit].std()
        np.testing.assert_allclose(ours[held], (theirs[held] - mean) / deviation)


@LAW
@given(
    st.lists(st.tuples(st.integers(0, 4), st.floats(-10, 10)), min_size=2, max_size=40),
    st.integers(0, 1000),
    st.floats(-1e6, 1e6),
)
def test_no_rows_own_target_is_in_its_statistic(pairs, row, other):
    codes, y = np.array([code for code, _ in pairs]), np.array([[value] for _, value in pairs])
    row %= len(pairs)
    changed = y.copy()
    changed[row] = other
    assert cross_fit(codes, 5, y)[row] == cross_fit(codes, 5, changed)[row]


@LAW
@given(st.floats(0.1, 100.0), st.floats(-100.0, 100.0))
def test_units_of_targets_do_not_matter(scale, shift):
    rng = np.random.default_rng(1)
    codes, y = rng.integers(0, 4, 40), rng.normal(size=(40, 1))
    np.testing.assert_allclose(learn_statistics(codes, 4, scale * y + shift), learn_statistics(codes, 4, y), atol=1e-8)


def test_the_pull_is_the_variance_within_over_that_between():
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(400), 25)
    y = 0.5 * rng.normal(size=400)[codes] + 2.0 * rng.normal(size=10_000)
    assert find_pull_of(codes, y) == pytest.approx(16.0, rel=0.25)
    assert find_pull_of(codes, rng.normal(size=10_000)) > 100


def test_unknown_and_unseen_categories_are_average():
    found = learn_statistics(np.array([0, 0, 2, -1]), 3, np.array([[1.0], [2.0], [3.0], [9.0]]))
    assert found[1, 0] == found[-1, 0] == 0.0
    assert (learn_statistics(np.array([-1]), 3, np.ones((1, 1))) == 0.0).all()
    assert (cross_fit(np.array([0]), 1, np.ones((1, 1))) == 0.0).all()
    assert cross_fit(np.array([-1, -1, 0, 0, 1]), 2, np.arange(5.0)[:, None])[:2].tolist() == [[0.0], [0.0]]


def test_targets_are_columns_and_of_many_classes_the_most_frequent():
    assert check_goals([1, 2, 3], 3).shape == (3, 1)
    two = np.eye(2)[[0, 1, 1]]
    assert check_goals(two, 3).tolist() == [[0.0], [1.0], [1.0]]
    labels = np.repeat(np.arange(12), np.arange(1, 13))
    np.testing.assert_array_equal(check_goals(np.eye(12)[labels], len(labels)), np.eye(12)[labels][:, 2:])
    with pytest.raises(ValueError, match=r"call fit\(X, y\)"):
        check_goals(None, 3)
    with pytest.raises(ValueError, match="as columns of 0 and 1"):
        check_goals(["a", "b", "c"], 3)

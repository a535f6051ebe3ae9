"""Shares are counts, and the band is that of the binomial distribution."""

import math

import numpy as np
import pandas as pd
import pytest

from mercer import SVC, KernelRidge, KernelRidgeClassifier
from mercer.inspection import CoverageDisplay
from mercer.kernels import Gaussian


@pytest.fixture
def noisy():
    """Points whose noise grows along the only column."""
    rng = np.random.default_rng(5)
    X = rng.uniform(0, 1, size=(700, 1))
    return X, np.sin(6 * X[:, 0]) + (0.02 + 0.6 * X[:, 0]) * rng.normal(size=700)


@pytest.fixture
def ridge(noisy):
    return KernelRidge(0.3, kernel=Gaussian(0.3), fit_intercept=True).fit(noisy[0][:100], noisy[1][:100])


def test_shares_of_intervals_are_counts(ridge, noisy, is_legible):
    X, y = (part[100:] for part in noisy)
    display = CoverageDisplay.from_estimator(ridge, X, y, coverages=[0.9, 0.5])
    assert display.nominal.tolist() == [0.5, 0.9]
    for share, coverage in zip(display.observed[0], (0.5, 0.9), strict=True):
        ends = ridge.predict_interval(X, coverage)
        assert share == sum(low <= t <= high for t, (low, high) in zip(y, ends, strict=True)) / 600
    (line,) = [line for line in display.ax_.lines if line.get_label() == "KernelRidge"]
    np.testing.assert_array_equal(line.get_ydata(), display.observed[0])
    is_legible(display.figure_)


def test_shares_of_sets_are_counts(blobs, is_legible):
    X, y = blobs
    models = {"ridge": KernelRidgeClassifier().fit(X[::2], y[::2]), "machine": SVC().fit(X[::2], y[::2])}
    display = CoverageDisplay.from_estimators(models, X[1::2], y[1::2], coverages=[0.7, 0.9])
    for row, model in zip(display.observed, models.values(), strict=True):
        for share, coverage in zip(row, (0.7, 0.9), strict=True):
            sets = model.predict_set(X[1::2], coverage)
            held = [label in model.classes_[own] for label, own in zip(y[1::2], sets, strict=True)]
            assert share == np.mean(held)
    assert display.ax_.get_ylabel() == "labels in their set"
    is_legible(display.figure_)


def test_the_band_holds_95_percent_of_a_binomial_share_and_no_end_could_be_left_out(ridge, noisy):
    X, y = (part[100:160] for part in noisy)
    display = CoverageDisplay.from_estimator(ridge, X, y, coverages=[0.8])
    chances = [math.comb(60, k) * 0.8**k * 0.2 ** (60 - k) for k in range(61)]
    low, high = np.rint(60 * display.band[0]).astype(int)
    assert sum(chances[:low]) <= 0.025 < sum(chances[: low + 1])
    assert sum(chances[high + 1 :]) <= 0.025 < sum(chances[high:])


def test_bins_show_where_intervals_of_one_width_hold_too_often_and_too_rarely(ridge, noisy, is_legible):
    X, y = (part[100:] for part in noisy)
    display = CoverageDisplay.from_estimator(ridge, X, y, by=0, bins=6, method=["jackknife+", "local"])
    assert display.counts.sum() == 600
    assert display.counts.min() >= 99  # equally many, but for ties
    ends = ridge.predict_interval(X, 0.9, "jackknife+")
    for i, (left, right) in enumerate(zip(display.edges[:-1], display.edges[1:], strict=True)):
        own = (X[:, 0] >= left) & ((X[:, 0] < right) | (i == 5))
        assert display.counts[i] == own.sum()
        assert display.observed[0, i] == np.mean((ends[own, 0] <= y[own]) & (y[own] <= ends[own, 1]))
    plain, local = np.abs(display.observed - 0.9).max(axis=1)
    assert local < plain
    assert np.ptp(display.observed[0]) > 0.15
    is_legible(display.figure_)


def test_levels_have_a_bin_each_and_keep_their_names(blobs):
    X, y = blobs
    model = KernelRidgeClassifier().fit(X[::2], y[::2])
    display = CoverageDisplay.from_estimator(model, X[1::2], y[1::2], by=pd.Series(y[1::2], name="place"))
    assert display.levels == ["east", "north", "west"]
    assert display.ax_.get_xlabel() == "place"
    sets = model.predict_set(X[1::2], 0.9)
    np.testing.assert_allclose(
        display.observed[0], [sets[y[1::2] == c, i].mean() for i, c in enumerate(model.classes_)]
    )
    each = CoverageDisplay.from_estimator(model, X[1::2], y[1::2], by=y[1::2], conditional=True)
    assert (each.observed >= display.observed - 0.2).all()
    table = pd.DataFrame(X[1::2], columns=["u", "v"]).assign(half=np.arange(len(X[1::2])) % 2)
    named = KernelRidgeClassifier(kernel=Gaussian().on([0, 1])).fit(table, y[1::2])
    assert CoverageDisplay.from_estimator(named, table, y[1::2], by="half").levels == ["0", "1"]


def test_what_cannot_be_counted_is_refused_with_a_reason(ridge, noisy, blobs):
    X, y = noisy
    with pytest.raises(ValueError, match="coverage must lie between 0 and 1"):
        CoverageDisplay.from_estimator(ridge, X, y, coverages=[0.5, 1.5])
    with pytest.raises(ValueError, match="one coverage in bins"):
        CoverageDisplay.from_estimator(ridge, X, y, coverages=[0.5, 0.9], by=0)
    with pytest.raises(ValueError, match="an array of 700 values; got shape"):
        CoverageDisplay.from_estimator(ridge, X, y, by=[1.0, 2.0])
    with pytest.raises(ValueError, match="bins must be a whole number"):
        CoverageDisplay.from_estimator(ridge, X, y, by=0, bins=0)
    with pytest.raises(ValueError, match="missing or infinite"):
        CoverageDisplay.from_estimator(ridge, X, y, by=np.where(y > 0, y, np.nan))
    with pytest.raises(ValueError, match="up to 20 levels"):
        CoverageDisplay.from_estimator(ridge, X, y, by=np.arange(700).astype(str))
    with pytest.raises(ValueError, match="not both"):
        CoverageDisplay.from_estimators([ridge, SVC().fit(*blobs)], X, y)
    with pytest.raises(ValueError, match=r"must have shape \(700,\)"):
        CoverageDisplay.from_estimator(ridge, X, y[:-1])

"""Bands and widths are those of predict_interval, and points outside of them are marked."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC, KernelRidge
from mercer.inspection import IntervalDisplay
from mercer.kernels import Gaussian


@pytest.fixture
def noisy():
    """Points whose noise grows along the first of two columns."""
    rng = np.random.default_rng(4)
    X = rng.uniform(0, 1, size=(120, 2))
    return X, np.sin(6 * X[:, 0]) + (0.05 + 0.5 * X[:, 0]) * rng.normal(size=120)


@pytest.fixture
def ridge():
    return KernelRidge(0.1, kernel=Gaussian(0.3), fit_intercept=True)


def by_label(ax, word):
    (found,) = [artist for artist in ax.collections if word in str(artist.get_label())]
    return np.asarray(found.get_offsets())


def test_one_input_has_a_band_with_points_outside_marked(wave, ridge, is_legible):
    X, y = wave
    model = ridge.fit(X[::2], y[::2])
    display = IntervalDisplay.from_estimator(model, X[1::2], y[1::2], coverage=0.6)
    np.testing.assert_array_equal(display.bands[0], model.predict_interval(display.grid[:, None], 0.6))
    lower, upper = model.predict_interval(X[1::2], 0.6).T
    out = (y[1::2] < lower) | (y[1::2] > upper)
    assert 0 < out.sum() < 25
    drawn = np.column_stack([X[1::2, 0], y[1::2]])
    np.testing.assert_array_equal(by_label(display.ax_, f"{out.sum()} outside"), drawn[out])
    np.testing.assert_array_equal(by_label(display.ax_, f"{25 - out.sum()} inside"), drawn[~out])
    is_legible(display.figure_)


def test_several_columns_have_widths_against_one_or_against_the_prediction(noisy, ridge, is_legible):
    X, y = noisy
    model = ridge.fit(X[:60], y[:60])
    table = pd.DataFrame(X[60:], columns=["a", "b"])
    ends = model.predict_interval(X[60:], 0.8, "local")
    for feature, x in ((1, X[60:, 1]), (None, model.predict(X[60:]))):
        display = IntervalDisplay.from_estimator(model, X[60:], coverage=0.8, feature=feature, method="local")
        np.testing.assert_allclose(by_label(display.ax_, "points"), np.column_stack([x, ends[:, 1] - ends[:, 0]]))
        assert display.outside is None
    named = IntervalDisplay.from_estimator(KernelRidge(0.1, kernel=Gaussian()).fit(table, y[60:]), table, feature="b")
    assert named.ax_.get_xlabel() == "b"
    is_legible(named.figure_)


def test_methods_of_a_model_and_several_models_have_panels_of_the_same_scale(noisy, ridge, is_legible):
    X, y = noisy
    model = ridge.fit(X[:60], y[:60])
    display = IntervalDisplay.from_estimator(model, X[60:], y[60:], method=["jackknife+", "local"])
    assert len(display.ax_) == 2
    assert display.ax_[0].get_ylim() == display.ax_[1].get_ylim()
    for i, method in enumerate(("jackknife+", "local")):
        np.testing.assert_array_equal(display.intervals[i], model.predict_interval(X[60:], 0.9, method))
    is_legible(display.figure_)
    piped = make_pipeline(StandardScaler(), KernelRidge(0.1, kernel=Gaussian())).fit(X[:60], y[:60])
    both = IntervalDisplay.from_estimators({"one": model, "two": piped}, X[60:], y[60:])
    assert [ax.get_legend().get_title().get_text() for ax in both.ax_] == ["one", "two"]
    scaled = piped[0].transform(X[60:])
    np.testing.assert_array_equal(both.intervals[1], piped[1].predict_interval(scaled))


def test_infinite_intervals_are_counted_and_not_drawn(noisy):
    X, y = noisy
    model = KernelRidge(0.1, kernel=Gaussian()).fit(X[:5], y[:5])
    with pytest.warns(UserWarning, match="needs at least 9 points"):
        display = IntervalDisplay.from_estimator(model, X[60:], y[60:])
    assert display.ax_.texts[0].get_text() == "60 of 60 intervals are infinite, and not drawn"


def test_what_has_no_intervals_is_refused_with_a_reason(noisy, ridge):
    X, y = noisy
    with pytest.raises(ValueError, match="LinearRegression has no predict_interval"):
        IntervalDisplay.from_estimator(LinearRegression().fit(X, y), X, y)
    with pytest.raises(ValueError, match="SVC is a classifier; use SetDisplay"):
        IntervalDisplay.from_estimator(SVC().fit(X, y > 0), X, y)
    model = ridge.fit(X, y)
    with pytest.raises(ValueError, match="got both"):
        IntervalDisplay.from_estimators([model, model], X, y, method=["local", "full"])
    with pytest.raises(ValueError, match="no column 'z'; there are"):
        IntervalDisplay.from_estimator(model, X, y, feature="z")
    with pytest.raises(ValueError, match="up to 4 panels"):
        IntervalDisplay.from_estimators([model] * 5, X, y)
    with pytest.raises(ValueError, match="one target, and the model has 2"):
        IntervalDisplay.from_estimator(KernelRidge(kernel=Gaussian()).fit(X, np.column_stack([y, y])), X)

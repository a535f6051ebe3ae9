"""The curve is the prediction, the band the interval, the rings the support vectors."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import (
    SVC,
    SVR,
    SVRCV,
    KernelNeighborsRegressor,
    KernelRidge,
    KernelRidgeCV,
    NuSVR,
    ParzenDensity,
    ParzenRegressor,
)
from mercer.inspection import FitDisplay
from mercer.kernels import Gaussian

REGRESSORS = {
    "ridge": KernelRidge(0.1, kernel=Gaussian(0.5)),
    "ridge path": KernelRidgeCV(kernel=Gaussian(), length_scales=[0.3, 1.0]),
    "SVR": SVR(C=5.0, epsilon=0.2),
    "NuSVR": NuSVR(nu=0.3),
    "SVRCV": SVRCV([1.0, 10.0], [0.3, 1.0]),
    "neighbours": KernelNeighborsRegressor(3, kernel=Gaussian()),
    "Parzen": ParzenRegressor(length_scale=0.3),
    "pipeline": make_pipeline(StandardScaler(), SVR()),
}


def by_label(artists, word):
    (found,) = [artist for artist in artists if word in str(artist.get_label())]
    return found


@pytest.mark.parametrize("name", REGRESSORS)
def test_the_curve_is_the_prediction(name, wave, is_legible):
    X, y = wave
    model = REGRESSORS[name].fit(X, y)
    ax = FitDisplay.from_estimator(model, X, y).ax_
    x, f = by_label(ax.lines, "f(x)").get_data()
    np.testing.assert_allclose(f, model.predict(x[:, None]))
    assert x[0] < X.min()
    assert x[-1] > X.max()
    np.testing.assert_array_equal(by_label(ax.collections, "data").get_offsets(), np.column_stack([X[:, 0], y]))
    is_legible(ax.figure)


@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_the_band_is_the_interval(coverage, wave):
    X, y = wave
    model = KernelRidge(0.1, kernel=Gaussian(0.5)).fit(X, y)
    display = FitDisplay.from_estimator(model, X, y, coverage=coverage)
    expected = model.predict_interval(display.grid[:, None], coverage)
    band = by_label(display.ax_.collections, f"{100 * coverage:g} % interval").get_paths()[0].vertices
    for x, ends in zip(display.grid[::50], expected[::50], strict=True):
        np.testing.assert_allclose(np.unique(band[band[:, 0] == x, 1]), ends)


def test_ends_at_infinity_are_left_out():
    X, y = np.arange(4.0)[:, None], np.arange(4.0)
    display = FitDisplay.from_estimator(KernelRidge(0.1, kernel=Gaussian()).fit(X, y), X, y)
    assert np.isinf(display.interval).all()
    assert "interval" not in [text.get_text() for text in display.ax_.get_legend().get_texts()]


@pytest.mark.parametrize("model", [SVR(C=5.0, epsilon=0.2), NuSVR(nu=0.3)], ids=["SVR", "NuSVR"])
def test_a_machine_has_a_tube_and_support_vectors(model, wave):
    X, y = wave
    model.fit(X, y)
    epsilon = getattr(model, "epsilon_", getattr(model, "epsilon", None))
    ax = FitDisplay.from_estimator(model, X, y).ax_
    x, above = by_label(ax.lines, "tube").get_data()
    np.testing.assert_allclose(above, model.predict(x[:, None]) + epsilon)
    rings = by_label(ax.collections, "support vectors").get_offsets()
    np.testing.assert_array_equal(rings, np.column_stack([X[model.support_, 0], y[model.support_]]))


def test_points_the_machine_was_not_fitted_to_have_no_rings(wave):
    X, y = wave
    model = SVR().fit(X, y)
    assert FitDisplay.from_estimator(model, X + 0.1, y).support is None


def test_without_targets_points_are_ticks(wave):
    X, y = wave
    ax = FitDisplay.from_estimator(KernelRidge(0.1, kernel=Gaussian()).fit(X, y), X).ax_
    np.testing.assert_array_equal(by_label(ax.lines, "data").get_xdata(), X[:, 0])


def test_models_without_intervals_are_drawn_without_unless_asked(wave):
    X, y = wave
    line = np.linspace(0.0, 1.0, 40).reshape(-1, 1)
    model = KernelRidge(0, kernel=Gaussian(), solver="spectral").fit(line, line[:, 0])
    assert FitDisplay.from_estimator(model, X, y).interval is None
    assert FitDisplay.from_estimator(model, X, y, coverage=None).interval is None
    with pytest.raises(ValueError, match="cannot be told from rounding"):
        FitDisplay.from_estimator(model, X, y, coverage=0.9)
    with pytest.raises(ValueError, match="LinearRegression has no predict_interval"):
        FitDisplay.from_estimator(LinearRegression().fit(X, y), X, y, coverage=0.9)


def test_what_has_to_be_fitted_again_is_drawn_only_if_asked_for(wave):
    X, y = wave
    model = SVR().fit(X, y)
    assert FitDisplay.from_estimator(model, X, y).interval is None
    assert FitDisplay.from_estimator(model, X, y, coverage=0.8).interval.shape == (400, 2)
    assert model.interval_plan_.method == "cv+"


def test_one_of_several_features_and_names_from_frames(wave):
    X, y = wave
    table = pd.DataFrame({"time": X[:, 0], "load": np.linspace(0, 1, 50)})
    target = pd.Series(y, name="speed")
    model = KernelRidge(0.1, kernel=Gaussian()).fit(table, target)
    display = FitDisplay.from_estimator(model, table, target, feature="time", fixed={"load": 0.25})
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("time", "speed")
    rows = pd.DataFrame({"time": display.grid, "load": 0.25})
    np.testing.assert_allclose(display.prediction, model.predict(rows))
    assert display.ax_.texts[0].get_text() == "slice: load = 0.25"


def test_a_slice_through_many_features_says_so_in_the_picture(is_legible):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 13))
    model = KernelRidge(1.0, kernel=Gaussian(4.0)).fit(X, X[:, 0])
    display = FitDisplay.from_estimator(model, X, X[:, 0], feature=0)
    assert display.ax_.texts[0].get_text() == "slice: 12 others at their medians"
    fixed = FitDisplay.from_estimator(model, X, X[:, 0], feature=0, fixed={3: 1.5, 4: 0.0})
    assert fixed.ax_.texts[0].get_text() == "slice: x3 = 1.5, x4 = 0, 10 others at their medians"
    is_legible(fixed.figure_)


def test_several_models_have_a_line_each_with_its_label(wave, is_legible):
    X, y = wave
    models = {"ridge": REGRESSORS["ridge"].fit(X, y), "machine": REGRESSORS["SVR"].fit(X, y)}
    display = FitDisplay.from_estimators(models, X, y)
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == ["data", "ridge", "machine"]
    for label, model in models.items():
        x, f = by_label(display.ax_.lines, label).get_data()
        np.testing.assert_allclose(f, model.predict(x[:, None]))
    looks = {(line.get_color(), line.get_linestyle()) for line in display.ax_.lines}
    assert len({colour for colour, _ in looks}) == len({style for _, style in looks}) == 2
    is_legible(display.figure_)


def test_ten_curves_differ_in_colour_or_line(wave):
    X, _ = wave
    powers = [lambda rows, p=p: rows[:, 0] ** p for p in range(10)]
    lines = FitDisplay.from_estimators(powers, X).ax_.lines[1:]
    assert len({(line.get_color(), line.get_linestyle()) for line in lines}) == 10


def test_a_list_is_labelled_by_classes(wave):
    X, y = wave
    models = [SVR(C=1.0).fit(X, y), KernelRidge(0.1, kernel=Gaussian()).fit(X, y), SVR(C=9.0).fit(X, y), np.sin]
    display = FitDisplay.from_estimators(models, X, y)
    assert [fit.label for fit in display.fits] == ["SVR 1", "KernelRidge", "SVR 2", "sin"]


def test_an_expansion_is_drawn_as_the_function_that_it_is(wave):
    X, y = wave
    f = KernelRidge(0.1, kernel=Gaussian(0.5)).fit(X, y).expansion_
    display = FitDisplay.from_function(2 * f, X, y, label="2f")
    np.testing.assert_allclose(display.prediction, 2 * f(display.grid[:, None]))
    assert by_label(display.ax_.lines, "2f") is not None


def test_a_density_is_drawn_with_an_area_of_one(is_legible):
    X = np.random.default_rng(0).normal(size=(200, 1))
    density = ParzenDensity(length_scale=0.3).fit(X)
    display = FitDisplay.from_estimator(density, X, margin=0.5)
    np.testing.assert_allclose(np.log(display.prediction), density.score_samples(display.grid[:, None]))
    assert np.trapezoid(display.prediction, display.grid) == pytest.approx(1.0, abs=1e-3)
    assert display.ax_.get_ylabel() == "density"
    assert display.ax_.get_ylim()[0] == 0
    np.testing.assert_array_equal(by_label(display.ax_.lines, "data").get_xdata(), X[:, 0])
    is_legible(display.figure_)


def test_mistakes_are_explained(wave):
    X, y = wave
    with pytest.raises(ValueError, match="use DecisionDisplay"):
        FitDisplay.from_estimator(SVC().fit(X, y > 0), X, y)
    wide = np.column_stack([X, X])
    with pytest.raises(ValueError, match="one feature, and X has 2: say which by feature=0"):
        FitDisplay.from_estimator(KernelRidge().fit(wide, y), wide, y)
    with pytest.raises(ValueError, match="draws one target, and the model has 2"):
        FitDisplay.from_estimator(KernelRidge().fit(X, np.column_stack([y, y])), X)
    with pytest.raises(ValueError, match="must have as many targets; got 2"):
        FitDisplay.from_estimator(KernelRidge().fit(X, y), X, y[:2])
    ridge = KernelRidge().fit(X, y)
    with pytest.raises(ValueError, match="one model or more"):
        FitDisplay.from_estimators([], X, y)
    with pytest.raises(TypeError, match="a mapping from labels to models or a list"):
        FitDisplay.from_estimators(ridge, X, y)
    with pytest.raises(TypeError, match="functions of points, got int"):
        FitDisplay.from_estimators({"a": 3}, X, y)
    with pytest.raises(TypeError, match="is an estimator; use from_estimator"):
        FitDisplay.from_function(ridge, X, y)
    with pytest.raises(ValueError, match="StandardScaler has neither predict nor score_samples"):
        FitDisplay.from_estimator(StandardScaler().fit(X), X)

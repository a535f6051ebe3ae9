"""The band is the mean ± multiples of the deviation, the lines are draws of the posterior."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVR, KernelRidge, KernelRidgeCV
from mercer.inspection import PosteriorDisplay
from mercer.kernels import Gaussian


@pytest.fixture
def ridge(wave):
    return KernelRidge(0.05, kernel=Gaussian(0.5)).fit(*wave)


def find_band(ax, label):
    (band,) = [artist for artist in ax.collections if artist.get_label() == label]
    return band.get_paths()[0].vertices


def test_bands_are_the_mean_plus_and_minus_deviations(ridge, wave, is_legible):
    display = PosteriorDisplay.from_estimator(ridge)
    mean, deviation = ridge.predict(display.grids[0][:, None], return_std=True)
    for z, label in ((1.0, "± 1 deviation"), (2.0, "± 2 deviations")):
        drawn = find_band(display.ax_, label)
        for i in range(0, 400, 57):
            ends = drawn[drawn[:, 0] == display.grids[0][i], 1]
            np.testing.assert_allclose(np.unique(ends), mean[i] + z * deviation[i] * np.array([-1.0, 1.0]))
    np.testing.assert_array_equal(display.points, wave[0])  # the training points, without being given
    np.testing.assert_array_equal(display.y, wave[1])
    is_legible(display.figure_)


def test_new_observations_vary_by_the_noise_more(ridge, wave):
    X, y = wave
    mean = KernelRidge(0.05 / len(y), kernel=Gaussian(0.5), scaling="mean").fit(X, y)  # the same in the mean form
    for model in (ridge, mean):
        assert model.noise_variance_ == pytest.approx(0.05)
        display = PosteriorDisplay.from_estimator(model, X, y, observations=True)
        deviation = model.predict(display.grids[0][:, None], return_std=True)[1]
        np.testing.assert_allclose(display.spread, np.sqrt(deviation**2 + 0.05))
    both = KernelRidge([0.1, 0.2], kernel=Gaussian()).fit(X, np.column_stack([y, y]))
    np.testing.assert_array_equal(both.noise_variance_, [0.1, 0.2])


def test_lines_are_draws_of_the_posterior(ridge):
    display = PosteriorDisplay.from_estimator(ridge, samples=3, random_state=7)
    np.testing.assert_array_equal(display.draws, ridge.sample(display.grids[0][:, None], 3, 7))
    lines = [line for line in display.ax_.lines if line.get_color() != "none" and len(line.get_xdata()) == 400]
    assert len(lines) == 4  # with the mean
    assert PosteriorDisplay.from_estimator(ridge, samples=0).draws is None


def test_two_inputs_have_a_map_of_the_mean_and_one_of_the_deviation(is_legible):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(30, 2))
    model = KernelRidgeCV(alphas=[0.1], kernel=Gaussian()).fit(X, X[:, 0] * X[:, 1])
    display = PosteriorDisplay.from_estimator(model, grid_resolution=15)
    first, second = display.grids
    mean, deviation = model.predict([[first[3], second[8]]], return_std=True)
    assert display.mean[8, 3] == pytest.approx(mean[0])
    assert display.deviation[8, 3] == pytest.approx(deviation[0])
    assert len(display.ax_) == 2
    is_legible(display.figure_)
    panels = plt.subplots(2, 1)[1]
    assert display.plot(panels).ax_ == tuple(panels)
    with pytest.raises(ValueError, match="has 2 panels here"):
        display.plot(plt.subplots()[1])


def test_one_of_several_columns_of_a_frame_behind_a_scaler(wave):
    X, y = wave
    table = pd.DataFrame({"time": X[:, 0], "load": np.linspace(0, 1, 50), "heat": 1.0})
    model = make_pipeline(StandardScaler(), KernelRidge(0.1, kernel=Gaussian())).fit(table, y)
    display = PosteriorDisplay.from_estimator(
        model, table, pd.Series(y, name="speed"), features="time", fixed={"load": 0.2}
    )
    rows = pd.DataFrame({"time": display.grids[0], "load": 0.2, "heat": 1.0})
    mean, deviation = model.predict(rows, return_std=True)
    np.testing.assert_allclose(display.mean, mean)
    np.testing.assert_allclose(display.deviation, deviation)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("time", "speed")
    assert display.ax_.texts[0].get_text() == "slice: load = 0.2, heat = 1"


def test_what_cannot_be_drawn_is_refused_with_a_reason(ridge, wave):
    X, y = wave
    with pytest.raises(ValueError, match="SVR has none; IntervalDisplay"):
        PosteriorDisplay.from_estimator(SVR().fit(X, y), X, y)
    with pytest.raises(ValueError, match="y is given without X"):
        PosteriorDisplay.from_estimator(ridge, y=y)
    with pytest.raises(ValueError, match="does not keep its training points"):
        PosteriorDisplay.from_estimator(make_pipeline(StandardScaler(), ridge).fit(X, y))
    with pytest.raises(ValueError, match="one target, and the model has 2"):
        PosteriorDisplay.from_estimator(KernelRidge(kernel=Gaussian()).fit(X, np.column_stack([y, y])), X)
    wide = KernelRidge(kernel=Gaussian()).fit(np.column_stack([X] * 3), y)
    with pytest.raises(ValueError, match="one input or two"):
        PosteriorDisplay.from_estimator(wide, features=[0, 1, 2])
    with pytest.raises(ValueError, match="say which by feature"):
        PosteriorDisplay.from_estimator(wide)

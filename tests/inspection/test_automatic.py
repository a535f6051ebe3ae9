"""Displays look through automatic models and pipelines at the model that has the kernel."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from mercer import SVC
from mercer.auto import AutoClassifier, AutoRegressor
from mercer.inspection import DecisionDisplay, FitDisplay, GramDisplay, KernelDisplay, SpectrumDisplay


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {"size": rng.normal(size=60), "age": rng.normal(size=60), "place": rng.choice(["north", "south"], 60)}
    )


@pytest.fixture(scope="module")
def price(frame):
    target = pd.Series(3.0 + frame["size"] + (frame["place"] == "north"), name="price")
    return AutoRegressor("ridge", kernel="Gaussian(2.0)", random_state=0).fit(frame, target), target


def test_the_curve_of_an_automatic_model_has_the_other_columns_at_their_middle(frame, price):
    model, target = price
    display = FitDisplay.from_estimator(model, frame, target, feature="size")
    most = frame["place"].mode()[0]
    rows = pd.DataFrame({"size": display.grid, "age": frame["age"].median(), "place": most})
    np.testing.assert_allclose(display.prediction, model.predict(rows))
    np.testing.assert_allclose(display.interval, model.predict_interval(rows, 0.9))
    assert display.ax_.get_ylabel() == "price"


def test_matrix_spectrum_and_kernel_are_those_of_the_model_it_chose(frame, price):
    model, _ = price
    encoded = model.encoder_.transform(frame)
    K = model.model_.kernel_(encoded)
    np.testing.assert_allclose(GramDisplay.from_estimator(model, frame, order="given").matrix, K, rtol=1e-6)
    spectrum = SpectrumDisplay.from_estimator(model)
    np.testing.assert_allclose(spectrum.eigenvalues.sum(), np.trace(K), rtol=1e-6)
    assert spectrum.alpha == pytest.approx(float(model.model_.alpha))
    profile = KernelDisplay.from_estimator(model)
    np.testing.assert_allclose(profile.profiles[0], np.exp(-(profile.x**2) / 8))


def test_the_regions_of_an_automatic_classifier_are_what_it_predicts(frame):
    labels = np.where(frame["size"] + frame["age"] > 0, "yes", "no")
    model = AutoClassifier("svm", kernel="Gaussian(2.0)", random_state=0).fit(frame[["size", "age"]], labels)
    display = DecisionDisplay.from_estimator(model, frame[["size", "age"]], labels, grid_resolution=30)
    grid = np.stack(np.meshgrid(display.xx0, display.xx1), axis=-1).reshape(-1, 2)
    drawn = np.asarray(display.classes)[display.predicted.ravel()]
    np.testing.assert_array_equal(drawn, model.predict(pd.DataFrame(grid, columns=["size", "age"])))
    assert display.vectors is None  # they are encoded


def test_frames_of_polars_work(frame):
    table, labels = pl.DataFrame({"a": frame["size"], "b": frame["age"]}), frame["size"] > 0
    display = DecisionDisplay.from_estimator(SVC().fit(table, labels), table, labels)
    assert display.names == ("a", "b")

"""Partial dependence is the mean over the data, for every kind of table and model."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.inspection import partial_dependence
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC, KernelLogisticRegression, KernelPCA, KernelRidge
from mercer.auto import AutoRegressor
from mercer.inspection import DependenceDisplay
from mercer.kernels import Gaussian


@pytest.fixture
def table():
    return np.random.default_rng(0).normal(size=(70, 3))


@pytest.fixture(scope="module")
def homes():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({
        "size": rng.gamma(4.0, 20.0, 80),
        "age": rng.uniform(0, 80, 80),
        "place": rng.choice(["north", "south"], 80),
        "sold": pd.Timestamp("2000-01-01") + pd.to_timedelta(rng.integers(0, 8000, 80), unit="D"),
    })  # fmt: skip
    price = 2 * frame["size"] + 30 * (frame["place"] == "north")
    return AutoRegressor("ridge", kernel="Gaussian(2.0)", random_state=0).fit(frame, price), frame


def mean_at(model, X, **cells):
    rows = X.copy()
    for name, value in cells.items():
        rows[name] = value
    return float(np.mean(model.predict(rows)))


def test_one_feature_of_an_array_is_as_scikit_learn_has_it(table, is_legible):
    model = make_pipeline(StandardScaler(), KernelRidge(0.1, kernel=Gaussian())).fit(table, np.sin(table[:, 1]))
    display = DependenceDisplay.from_estimator(model, table, 1)
    grid = np.array(display.grids[0])
    expected = partial_dependence(model, table, [1], custom_values={1: grid}, kind="average")["average"][0]
    np.testing.assert_allclose(display.values[0], expected, atol=1e-10)
    line = display.ax_.lines[0]
    np.testing.assert_allclose(line.get_xydata(), np.column_stack([grid, expected]), atol=1e-10)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("x1", "mean prediction")
    assert display.ax_.texts[0].get_text() == "mean over 70 rows"
    is_legible(display.figure_)


def test_two_features_are_a_map_of_means_over_the_rows(table, is_legible):
    model = KernelRidge(0.1, kernel=Gaussian()).fit(table, table[:, 0] * table[:, 2])
    display = DependenceDisplay.from_estimator(model, table, (0, 2))
    assert display.values.shape == (1, 20, 20)
    assert display.rows == 50  # so that there are 20,000 predictions
    few = DependenceDisplay.from_estimator(model, table[:50], (0, 2))  # all rows are in its means
    for i, j in ((0, 0), (3, 17), (19, 5)):
        rows = table[:50].copy()
        rows[:, 0], rows[:, 2] = few.grids[0][i], few.grids[1][j]
        np.testing.assert_allclose(few.values[0, i, j], model.predict(rows).mean(), atol=1e-10)
    assert display.figure_.axes[1].get_ylabel() == "mean prediction"
    is_legible(display.figure_)


def test_levels_are_points_and_dates_are_dates(homes, is_legible):
    model, frame = homes
    levels = DependenceDisplay.from_estimator(model, frame, "place")
    means = dict(zip(levels.grids[0], levels.values[0], strict=True))
    assert means == {place: pytest.approx(mean_at(model, frame, place=place)) for place in ("north", "south")}
    assert [text.get_text() for text in levels.ax_.get_xticklabels()] == list(levels.grids[0])
    dates = DependenceDisplay.from_estimator(model, frame, "sold")
    day = pd.Timestamp("1970-01-01") + pd.to_timedelta(dates.grids[0][4], unit="D")
    assert dates.values[0, 4] == pytest.approx(mean_at(model, frame, sold=day))
    dates.figure_.canvas.draw()
    assert any("20" in text.get_text() for text in dates.ax_.get_xticklabels())
    is_legible(levels.figure_)
    is_legible(dates.figure_)


@pytest.mark.parametrize("features", [("place", "age"), ("age", "place")])
def test_levels_beside_numbers_are_a_line_for_each_level(homes, features, is_legible):
    model, frame = homes
    display = DependenceDisplay.from_estimator(model, frame, features)
    assert display.ax_.get_xlabel() == "age"
    for line in display.ax_.lines[:2]:
        place = line.get_label().removeprefix("place = ")
        x, y = line.get_xydata()[7]
        assert y == pytest.approx(mean_at(model, frame, place=place, age=x))
    is_legible(display.figure_)


def test_classes_have_mean_probabilities(blobs):
    X, y = blobs
    model = KernelLogisticRegression(kernel=Gaussian()).fit(X, y)
    display = DependenceDisplay.from_estimator(model, X, 0)
    assert display.outputs == ["east", "north", "west"]
    assert display.ax_.get_ylabel() == "mean probability"
    np.testing.assert_allclose(display.values.sum(axis=0), 1.0)
    rows = np.column_stack([np.full(75, display.grids[0][3]), X[:, 1]])
    np.testing.assert_allclose(display.values[:, 3], model.predict_proba(rows).mean(axis=0))
    one = DependenceDisplay.from_estimator(model, X, (0, 1), target="west")
    assert one.figure_.axes[1].get_ylabel() == "mean probability of west"


def test_classifiers_without_probabilities_have_shares(moons):
    X, y = moons
    model = SVC().fit(X, y)
    display = DependenceDisplay.from_estimator(model, X, 1)
    rows = np.column_stack([X[:, 0], np.full(80, display.grids[0][5])])
    assert display.values[0, 5] == pytest.approx(np.mean(model.predict(rows) == 1))
    assert display.ax_.get_ylabel() == "share of rows predicted of 1"


def test_frames_of_polars_work(table):
    frame = pl.DataFrame({"a": table[:, 0], "b": table[:, 1]})
    model = KernelRidge(0.1, kernel=Gaussian()).fit(frame, table[:, 0])
    display = DependenceDisplay.from_estimator(model, frame, "a")
    same = DependenceDisplay.from_estimator(model, frame.to_pandas(), "a")
    np.testing.assert_allclose(display.values, same.values)


def test_mistakes_are_explained(table, blobs, homes):
    model = KernelRidge().fit(table, table[:, 0])
    with pytest.raises(ValueError, match="no column 'age'; there are 'x0', 'x1', 'x2'"):
        DependenceDisplay.from_estimator(model, table, "age")
    with pytest.raises(ValueError, match="one column or two"):
        DependenceDisplay.from_estimator(model, table, (0, 1, 2))
    with pytest.raises(ValueError, match="must be different, got 'x0' twice"):
        DependenceDisplay.from_estimator(model, table, (0, "x0"))
    X, y = blobs
    classifier = KernelLogisticRegression().fit(X, y)
    with pytest.raises(ValueError, match=r"there are 3; say which by target='east'"):
        DependenceDisplay.from_estimator(classifier, X, (0, 1))
    with pytest.raises(ValueError, match="no class 'south'; there are 'east', 'north', 'west'"):
        DependenceDisplay.from_estimator(classifier, X, 0, target="south")
    with pytest.raises(ValueError, match="draws one target, and the model has 2"):
        DependenceDisplay.from_estimator(KernelRidge().fit(table, table[:, :2]), table, 0)
    with pytest.raises(ValueError, match="KernelPCA has no predict"):
        DependenceDisplay.from_estimator(KernelPCA(2).fit(table), table, 0)
    with pytest.raises(ValueError, match=r"needs a table.*got \(70,\)"):
        DependenceDisplay.from_estimator(model, table[:, 0], 0)

"""Importances are what permuting costs, with errors that say how sure that is."""

import numpy as np
import pandas as pd
import pytest
from sklearn.inspection import permutation_importance
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC, KernelLogisticRegression, KernelRidge
from mercer.auto import AutoRegressor
from mercer.inspection import ImportanceDisplay
from mercer.kernels import Gaussian


@pytest.fixture
def sums():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = 3.0 * X[:, 2] + X[:, 0] + 0.1 * rng.normal(size=400)
    model = make_pipeline(StandardScaler(), KernelRidge(0.01, kernel=Gaussian(5.0))).fit(X[:100], y[:100])
    return model, X[100:], y[100:]


def test_columns_come_by_what_permuting_them_costs_as_scikit_learn_has_it(sums, is_legible):
    model, X, y = sums
    display = ImportanceDisplay.from_estimator(model, X, y, repeats=10)
    assert display.names[:2] == ["x2", "x0"]
    reference = permutation_importance(
        model, X, y, scoring="neg_root_mean_squared_error", n_repeats=30, random_state=1
    )  # fmt: skip
    order = [int(name[1:]) for name in display.names]
    np.testing.assert_allclose(display.values, reference.importances_mean[order], atol=0.15)
    assert np.all(np.diff(display.values) <= 0)
    assert display.ax_.get_xlabel() == "rise of the RMSE when the column is permuted"
    assert display.ax_.texts[0].get_text() == "300 rows, 10 permutations of each column"
    is_legible(display.figure_)


def test_bars_and_their_errors_are_drawn_most_important_on_top(sums):
    display = ImportanceDisplay.from_estimator(*sums)
    widths = [bar.get_width() for bar in display.ax_.patches]
    np.testing.assert_allclose(widths, display.values)
    assert display.ax_.get_ylim() == (3.5, -0.5)
    (lines,) = [c for c in display.ax_.collections if hasattr(c, "get_segments")]
    ends = np.array([segment[:, 0] for segment in lines.get_segments()])
    np.testing.assert_allclose(ends, display.values[:, None] + display.errors[:, None] * [-1, 1], atol=1e-12)


def test_errors_cover_what_other_rows_would_have_said():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2000, 2))
    y = X[:, 0] + rng.normal(size=2000)
    model = KernelRidge(1.0, kernel=Gaussian(5.0)).fit(X[:200], y[:200])
    parts = [ImportanceDisplay.from_estimator(model, X[i : i + 200], y[i : i + 200]) for i in range(200, 2000, 200)]
    firsts = np.array([part.values[part.names.index("x0")] for part in parts])
    told = np.mean([part.errors[part.names.index("x0")] for part in parts])
    assert 0.5 < told / np.std(firsts, ddof=1) < 2.0


def test_columns_that_are_not_used_have_none(sums):
    _, X, y = sums
    model = KernelRidge(1e-3, kernel=Gaussian().on([2])).fit(X, y)
    display = ImportanceDisplay.from_estimator(model, X, y)
    np.testing.assert_array_equal(display.values[1:], 0.0)


@pytest.mark.parametrize("metric", ["auto", "share of errors", "log-loss"])
def test_classes_are_measured_by_errors_or_log_loss(moons, metric):
    X, y = moons
    model = KernelLogisticRegression(kernel=Gaussian()).fit(X, y)
    display = ImportanceDisplay.from_estimator(model, X, y, metric=metric, repeats=3)
    assert display.metric == ("share of errors" if metric == "auto" else metric)
    assert set(display.names) == {"x0", "x1"}
    assert display.values[0] > 0.05


def test_labels_may_be_words_and_classifiers_without_probabilities_do(blobs):
    X, y = blobs
    display = ImportanceDisplay.from_estimator(SVC().fit(X, y), X, y)
    assert display.metric == "share of errors"
    assert display.values[0] > 0.1


def test_automatic_models_and_frames_have_names(is_legible):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=80), "place": rng.choice(["north", "south"], 80)})
    price = frame["size"] + 5.0 * (frame["place"] == "north")
    model = AutoRegressor("ridge", kernel="Gaussian(2.0)", random_state=0).fit(frame, price)
    display = ImportanceDisplay.from_estimator(model, frame, price)
    assert display.names == ["place", "size"]
    is_legible(display.figure_)


def test_the_least_important_of_many_are_counted(sums):
    display = ImportanceDisplay.from_estimator(*sums, max_columns=2)
    assert len(display.names) == 2
    assert display.note.endswith(", 2 columns of less importance left out")


def test_the_same_seed_gives_the_same_picture(sums):
    one, two = (ImportanceDisplay.from_estimator(*sums, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(one.values, two.values)


def test_mistakes_are_explained(sums, moons):
    model, X, y = sums
    with pytest.raises(ValueError, match=r"a y of shape \(300,\); got \(2,\)"):
        ImportanceDisplay.from_estimator(model, X, y[:2])
    with pytest.raises(ValueError, match="'auto', 'RMSE', 'mean absolute error'; got 'log-loss'"):
        ImportanceDisplay.from_estimator(model, X, y, metric="log-loss")
    machine = SVC().fit(*moons)
    with pytest.raises(ValueError, match="must be one of 'auto', 'share of errors'; got 'log-loss'"):
        ImportanceDisplay.from_estimator(machine, *moons, metric="log-loss")
    with pytest.raises(ValueError, match="labels the classifier does not know: 7"):
        ImportanceDisplay.from_estimator(machine, moons[0], np.full(80, 7))

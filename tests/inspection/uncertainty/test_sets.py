"""Points of the triangle are probabilities, their looks are sets, and bars are counts."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC, KernelLogisticRegression, KernelRidge
from mercer.inspection import SetDisplay
from mercer.inspection.uncertainty.sets import CORNERS


@pytest.fixture
def logistic(blobs):
    return KernelLogisticRegression().fit(blobs[0][::2], blobs[1][::2])


def test_points_of_the_triangle_are_probabilities_in_barycentric_coordinates(logistic, blobs, is_legible):
    X, y = (part[1::2] for part in blobs)
    display = SetDisplay.from_estimator(logistic, X, y, coverage=0.95)
    np.testing.assert_array_equal(display.sets, logistic.predict_set(X, 0.95))
    back = np.linalg.solve(np.vstack([CORNERS.T, np.ones(3)]), np.vstack([display.places.T, np.ones(len(X))])).T
    np.testing.assert_allclose(back, logistic.predict_proba(X), atol=1e-12)
    np.testing.assert_allclose(back.sum(axis=1), 1.0)
    assert [text.get_text() for text in display.ax_.texts] == ["east", "north", "west"]
    is_legible(display.figure_)


def test_every_set_has_a_look_of_its_own_and_is_counted():
    sets = np.array([[i >> c & 1 for c in range(3)] for i in range(8)] + [[1, 0, 0]], dtype=bool)
    chances = np.random.default_rng(0).dirichlet([1.0, 1.0, 1.0], 9)
    codes = np.array([0, 1, 1, 1, 2, 2, 2, 2, 0])  # the first two sets, and no others, miss theirs
    display = SetDisplay(classes=["a", "b", "c"], sets=sets, coverage=0.9, chances=chances, codes=codes).plot()
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == [
        "no class: 1", "a: 2", "b: 1", "c: 1", "a or b: 1", "a or c: 1", "b or c: 1", "all three: 1",
        "2 miss their class",
    ]  # fmt: skip
    marks = [line for line in display.ax_.lines if line.get_marker() not in ("None", "")]
    assert len({line.get_marker() for line in marks}) == 8
    (empty,) = [line for line in marks if line.get_label().startswith("no class")]
    np.testing.assert_allclose(np.ravel(empty.get_data()), chances[0] @ CORNERS)
    (rings,) = [artist for artist in display.ax_.collections if "miss" in artist.get_label()]
    np.testing.assert_allclose(rings.get_offsets(), chances[:2] @ CORNERS)


def test_without_probabilities_bars_show_how_large_the_sets_of_each_class_are(blobs, is_legible):
    X, y = blobs
    model = SVC().fit(X[::2], y[::2])
    display = SetDisplay.from_estimator(model, X[1::2], y[1::2], coverage=0.95)
    assert display.places is None
    sizes = model.predict_set(X[1::2], 0.95).sum(axis=1)
    rows = {"all points": np.ones(len(sizes), dtype=bool)} | {name: y[1::2] == name for name in model.classes_}
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == list(rows)
    for bars, size in zip(display.ax_.containers, np.unique(sizes), strict=True):
        np.testing.assert_allclose(
            [bar.get_width() for bar in bars], [np.mean(sizes[own] == size) for own in rows.values()]
        )
    said = [text.get_text() for text in display.ax_.texts]
    assert said == [f"{100 * display.held[own].mean():.0f} % hold" for own in rows.values()]
    is_legible(display.figure_)


def test_empty_and_full_sets_are_told_apart_in_bars():
    sets = np.array([[0, 0], [1, 0], [1, 1]], dtype=bool)
    ax = SetDisplay(classes=["a", "b"], sets=sets, coverage=0.5).plot().ax_
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["no class", "1 class", "all 2"]
    assert len({bars[0].get_hatch() for bars in ax.containers}) == 3
    np.testing.assert_allclose([bars[0].get_x() for bars in ax.containers], [0, 1 / 3, 2 / 3])


def test_two_classes_behind_a_scaler_have_bars(moons):
    X, y = moons
    model = make_pipeline(StandardScaler(), KernelLogisticRegression()).fit(X[::2], y[::2])
    display = SetDisplay.from_estimator(model, X[1::2], coverage=0.9)
    np.testing.assert_array_equal(display.sets, model[-1].predict_set(model[0].transform(X[1::2]), 0.9))
    assert display.held is None
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == ["all points"]


def test_what_has_no_sets_is_refused_with_a_reason(logistic, blobs, wave):
    with pytest.raises(ValueError, match="KernelRidge is no classifier; IntervalDisplay"):
        SetDisplay.from_estimator(KernelRidge().fit(*wave), wave[0])
    with pytest.raises(ValueError, match="LogisticRegression has no predict_set"):
        SetDisplay.from_estimator(LogisticRegression().fit(*blobs), blobs[0])
    with pytest.raises(ValueError, match="does not know: south"):
        SetDisplay.from_estimator(logistic, blobs[0][:2], ["east", "south"])

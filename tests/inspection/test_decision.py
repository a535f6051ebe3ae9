"""Regions are what the model predicts, margins where it says so, rings on its vectors."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.contour import QuadContourSet
from matplotlib.markers import MarkerStyle
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import (
    SVC,
    SVCCV,
    ImportVectorMachine,
    KernelLogisticRegression,
    KernelNeighborsClassifier,
    KernelPerceptron,
    KernelRidge,
    KernelRidgeClassifier,
    NuSVC,
    OneClassSVM,
    ParzenClassifier,
)
from mercer.inspection import DecisionDisplay
from mercer.kernels import Gaussian

CLASSIFIERS = {
    "SVC": SVC(C=10.0),
    "NuSVC": NuSVC(nu=0.3),
    "SVCCV": SVCCV([1.0, 10.0], [0.3, 1.0]),
    "logistic": KernelLogisticRegression(),
    "import vectors": ImportVectorMachine(),
    "ridge": KernelRidgeClassifier(),
    "perceptron": KernelPerceptron(kernel=Gaussian(0.7)),
    "neighbours": KernelNeighborsClassifier(3, kernel=Gaussian()),
    "Parzen": ParzenClassifier(length_scale=0.5),
    "pipeline": make_pipeline(StandardScaler(), SVC(C=10.0)),
}


def legend_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def lines_of(ax, style):
    """Return the points of all boundaries ("solid") or margins ("dashed")."""
    if style == "solid":
        return np.concatenate([line.get_xydata() for line in ax.lines])
    margins = [c for c in ax.collections if isinstance(c, QuadContourSet)]
    return np.concatenate([path.vertices for c in margins for path in c.get_paths()])


def classes_around(model, points, radius):
    """Return which classes are predicted in a ring of points around each point, shape (points, 24)."""
    angles = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    ring = points[:, None] + np.stack([np.cos(angles), np.sin(angles)], axis=-1) * radius
    return model.predict(ring.reshape(-1, 2)).reshape(len(points), 24)


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("data", ["moons", "blobs"])
def test_regions_are_what_the_model_predicts(name, data, request, is_legible):
    X, y = request.getfixturevalue(data)
    model = CLASSIFIERS[name].fit(X, y)
    display = DecisionDisplay.from_estimator(model, X, y, grid_resolution=60)
    grid = np.stack(np.meshgrid(display.xx0, display.xx1), axis=-1).reshape(-1, 2)
    np.testing.assert_array_equal(np.asarray(model.classes_)[display.predicted.ravel()], model.predict(grid))
    assert legend_of(display.ax_)[: len(model.classes_)] == [str(label) for label in model.classes_]
    is_legible(display.figure_)


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("data", ["moons", "blobs"])
def test_every_point_of_a_boundary_is_next_to_a_change_of_the_predicted_class(name, data, request):
    X, y = request.getfixturevalue(data)
    model = CLASSIFIERS[name].fit(X, y)
    display = DecisionDisplay.from_estimator(model, X, y, grid_resolution=60)
    origin = np.array([display.xx0[0], display.xx1[0]])
    steps = np.array([display.xx0[1], display.xx1[1]]) - origin
    points = np.concatenate(display.boundary)
    offsets = np.abs((points - origin) / steps - np.round((points - origin) / steps)).min(axis=1)
    exact = offsets < 1e-9  # on a line of the grid; the others are amid a cell, where three regions meet
    assert exact.sum() > 20
    around = classes_around(model, points, np.where(exact, 0.01, 0.8)[:, None, None] * steps)
    assert (around != around[:, :1]).any(axis=1).all()


def test_points_have_the_colour_and_marker_of_their_class(moons):
    X, y = moons
    display = DecisionDisplay.from_estimator(SVC().fit(X, y), X, y)
    zero, one = [c for c in display.ax_.collections if c.get_label() in ("0", "1")]
    np.testing.assert_array_equal(zero.get_offsets(), X[y == 0])
    np.testing.assert_array_equal(one.get_offsets(), X[y == 1])
    assert not np.allclose(zero.get_facecolor(), one.get_facecolor())
    circle = MarkerStyle("o").get_path()
    assert len(zero.get_paths()[0].vertices) == len(circle.vertices) != len(one.get_paths()[0].vertices)


def test_the_boundary_of_a_machine_is_where_f_is_0_and_its_margins_where_f_is_1(moons):
    X, y = moons
    model = SVC(C=10.0).fit(X, y)
    ax = DecisionDisplay.from_estimator(model, X, y).ax_
    np.testing.assert_allclose(model.decision_function(lines_of(ax, "solid")), 0.0, atol=5e-3)
    np.testing.assert_allclose(np.abs(model.decision_function(lines_of(ax, "dashed"))), 1.0, atol=5e-3)


def test_margins_of_probabilities_are_at_a_tenth_and_nine_tenths(moons):
    X, y = moons
    model = KernelLogisticRegression().fit(X, y)
    ax = DecisionDisplay.from_estimator(model, X, y).ax_
    odds = np.sort(model.predict_proba(lines_of(ax, "dashed")), axis=1)[:, 0]
    np.testing.assert_allclose(odds, 0.1, atol=2e-3)
    assert "probability 0.1 and 0.9" in legend_of(ax)


def test_support_vectors_are_ringed(moons):
    X, y = moons
    model = SVC().fit(X, y)
    ax = DecisionDisplay.from_estimator(model, X, y).ax_
    (rings,) = [c for c in ax.collections if "support" in str(c.get_label())]
    np.testing.assert_array_equal(rings.get_offsets(), model.support_vectors_)
    assert rings.get_label() == f"{len(model.support_)} support vectors"


def test_import_vectors_are_ringed(moons):
    X, y = moons
    model = ImportVectorMachine().fit(X, y)
    ax = DecisionDisplay.from_estimator(model, X, y).ax_
    (rings,) = [c for c in ax.collections if "import" in str(c.get_label())]
    np.testing.assert_array_equal(rings.get_offsets(), model.import_vectors_)


def test_the_vectors_of_a_pipeline_are_shown_where_the_data_is(moons):
    X, y = moons
    model = make_pipeline(StandardScaler(), SVC()).fit(X * [1.0, 100.0], y)
    display = DecisionDisplay.from_estimator(model, X * [1.0, 100.0], y)
    np.testing.assert_allclose(display.vectors, (X * [1.0, 100.0])[model[-1].support_])


def test_margins_and_vectors_can_be_left_out(moons):
    X, y = moons
    display = DecisionDisplay.from_estimator(SVC().fit(X, y), X, y).plot(margins=False, vectors=False)
    assert legend_of(display.ax_) == ["0", "1", "boundary"]


def test_without_labels_regions_are_named_and_points_are_plain(moons):
    X, y = moons
    ax = DecisionDisplay.from_estimator(SVC().fit(X, y), X).ax_
    assert legend_of(ax)[:3] == ["0", "1", "data"]


def test_novelty_detection_has_inliers_and_outliers(moons):
    X, _ = moons
    model = OneClassSVM(nu=0.2).fit(X)
    display = DecisionDisplay.from_estimator(model, X)
    assert legend_of(display.ax_)[:2] == ["outliers", "inliers"]
    np.testing.assert_allclose(model.decision_function(lines_of(display.ax_, "solid")), 0.0, atol=5e-3)


def test_other_features_stay_at_their_medians_or_where_told(moons):
    X, y = moons
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"left": X[:, 0], "noise": rng.normal(size=80), "up": X[:, 1]})
    model = SVC(C=10.0).fit(table, y)
    for fixed, value in ((None, table["noise"].median()), ({"noise": 2.0}, 2.0)):
        display = DecisionDisplay.from_estimator(model, table, y, features=("left", "up"), fixed=fixed)
        assert display.ax_.get_xlabel() == "left"
        assert display.ax_.get_ylabel() == "up"
        corner = pd.DataFrame({"left": [display.xx0[-1]], "noise": [value], "up": [display.xx1[0]]})
        assert display.predicted[0, -1] == model.predict(corner)[0]
        line = pd.DataFrame(np.concatenate(display.boundary), columns=["left", "up"])
        line.insert(1, "noise", value)
        np.testing.assert_allclose(model.decision_function(line), 0.0, atol=5e-3)
        assert display.ax_.texts[0].get_text() == f"slice: noise = {value:.3g}"
        np.testing.assert_array_equal(display.vectors, np.asarray(model.support_vectors_)[:, [0, 2]])


def test_features_of_an_array_go_by_position(moons):
    X, y = moons
    wide = np.column_stack([np.zeros(80), X])
    display = DecisionDisplay.from_estimator(SVC().fit(wide, y), wide, y, features=(1, 2))
    assert display.names == ("x1", "x2")


def test_it_draws_on_axes_that_are_given(moons):
    X, y = moons
    figure, axes = plt.subplots(1, 2)
    display = DecisionDisplay.from_estimator(SVC().fit(X, y), X, y, ax=axes[1])
    assert display.ax_ is axes[1]
    assert display.figure_ is figure
    assert not axes[0].collections


def test_mistakes_are_explained(moons):
    X, y = moons
    model = SVC().fit(X, y)
    wide = np.column_stack([X, X])
    with pytest.raises(ValueError, match=r"two features, and X has 4: say which by features=\(0, 1\)"):
        DecisionDisplay.from_estimator(SVC().fit(wide, y), wide, y)
    with pytest.raises(ValueError, match="two features, and X has 1: add one"):
        DecisionDisplay.from_estimator(model, X[:, :1], y)
    with pytest.raises(ValueError, match="two features, got"):
        DecisionDisplay.from_estimator(model, X, y, features=(1, 1))
    with pytest.raises(ValueError, match="no column 'age'"):
        DecisionDisplay.from_estimator(model, X, y, features=("age", 1))
    with pytest.raises(ValueError, match="FitDisplay draws regressors"):
        DecisionDisplay.from_estimator(KernelRidge().fit(X, y), X, y)
    with pytest.raises(ValueError, match="labels the classifier does not know: 7"):
        DecisionDisplay.from_estimator(model, X, np.where(y == 0, 7, y))
    with pytest.raises(ValueError, match="must have as many labels; got 3"):
        DecisionDisplay.from_estimator(model, X, y[:3])
    with pytest.raises(ValueError, match="rows of numbers"):
        DecisionDisplay.from_estimator(model, ["text"] * 80, y)
    with pytest.raises(ValueError, match="columns of numbers"):
        DecisionDisplay.from_estimator(model, pd.DataFrame({"a": ["u"] * 80, "b": X[:, 0]}), y)

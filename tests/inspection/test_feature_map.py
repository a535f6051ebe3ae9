"""The circle becomes a plane, and inner products of what is drawn are the kernel."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC, KernelNeighborsClassifier, KernelPCA
from mercer.inspection import FeatureMapDisplay
from mercer.kernels import Cosine, Gaussian, Linear, Polynomial

CIRCLE = Polynomial(degree=2, offset=0.0)


@pytest.fixture
def disc():
    X = np.random.default_rng(0).uniform(-1.5, 1.5, size=(150, 2))
    return X, np.where((X**2).sum(axis=1) < 1, "inside", "outside")


def test_inner_products_of_the_features_are_the_kernel(disc, is_legible):
    X, y = disc
    display = FeatureMapDisplay.from_kernel(CIRCLE, X, y)
    np.testing.assert_allclose(display.features @ display.features.T, CIRCLE(X), atol=1e-12)
    left, right = display.ax_
    assert right.name == "3d"
    assert (left.get_title(), right.get_title()) == ("input space", "feature space")
    assert right.get_ylabel() == r"$\sqrt{2}\,x_{0} x_{1}$"
    is_legible(display.figure_)


def test_the_boundary_lies_in_the_plane_of_the_machine(disc):
    X, y = disc
    model = SVC(C=100.0, kernel=CIRCLE).fit(X, y)
    display = FeatureMapDisplay.from_estimator(model, X, y)
    w, b = display.plane[:3], display.plane[3]
    np.testing.assert_allclose(display.features @ w + b, model.decision_function(X), atol=1e-6)
    size = np.abs(model.decision_function(X)).max()
    for curve, image in zip(display.boundary, display.boundary_features, strict=True):
        np.testing.assert_allclose(model.decision_function(curve) / size, 0.0, atol=2e-3)
        np.testing.assert_allclose((image @ w + b) / size, 0.0, atol=2e-3)
    np.testing.assert_allclose(np.linalg.norm(np.concatenate(display.boundary), axis=1), 1.0, atol=0.15)
    assert len(display.ax_[1].collections) == 3  # two classes and the plane


def test_larger_spaces_show_their_principal_directions(disc, is_legible):
    X, y = disc
    display = FeatureMapDisplay.from_estimator(SVC(kernel=Gaussian()).fit(X, y), X, y)
    expected = KernelPCA(3, kernel=Gaussian(), eigen_solver="dense").fit_transform(X)
    np.testing.assert_allclose(np.abs(display.features), np.abs(expected), atol=1e-9)
    assert display.plane is None
    K = Gaussian()(X)
    H = np.eye(150) - 1 / 150
    share = np.linalg.eigvalsh(H @ K @ H)[-1] / np.trace(H @ K @ H)
    assert display.feature_names[0] == f"1st direction ({100 * share:.0f} %)"
    is_legible(display.figure_)


def test_a_kernel_with_two_features_is_drawn_in_the_plane(disc):
    X, _ = disc
    display = FeatureMapDisplay.from_kernel(Linear(), X)
    np.testing.assert_array_equal(display.features, X)
    assert display.ax_[1].name != "3d"
    halves = X @ [1.0, 0.5] > 0.2
    model = SVC(C=100.0, kernel=Linear()).fit(X, halves)
    display = FeatureMapDisplay.from_estimator(model, X, halves)
    np.testing.assert_allclose(X @ display.plane[:2] + display.plane[2], model.decision_function(X), atol=1e-6)
    (line,) = [line.get_xydata() for line in display.ax_[1].lines if len(line.get_xydata()) == 2]
    np.testing.assert_allclose(line @ display.plane[:2] + display.plane[2], 0.0, atol=1e-6)


@pytest.fixture
def line():
    x = np.random.default_rng(1).uniform(-2, 2, size=(80, 1))
    return x, np.where(np.abs(x[:, 0]) < 1, "inside", "outside")


def test_one_input_becomes_the_parabola_and_a_threshold_a_line(line, is_legible):
    x, y = line
    kernel = Polynomial(degree=2, offset=1.0)
    model = SVC(C=100.0, kernel=kernel).fit(x, y)
    display = FeatureMapDisplay.from_estimator(model, x, y)
    left, right = display.ax_
    np.testing.assert_allclose(display.features, np.column_stack([np.sqrt(2) * x, x**2]))
    np.testing.assert_allclose(display.curve[:, 1], display.curve[:, 0] ** 2 / 2)
    np.testing.assert_allclose(right.lines[0].get_xydata(), display.curve)
    assert (left.get_xlabel(), right.get_ylabel()) == ("x0", "$x_{0}^{2}$")
    for colour, own in zip(left.collections, right.collections, strict=False):
        np.testing.assert_array_equal(colour.get_facecolor(), own.get_facecolor())
        np.testing.assert_allclose(np.sqrt(2) * np.asarray(colour.get_offsets())[:, 0], own.get_offsets()[:, 0])
        np.testing.assert_array_equal(np.asarray(colour.get_offsets())[:, 1], 0.0)
    np.testing.assert_allclose(np.ravel(display.boundary), [-1, 1], atol=0.1)
    np.testing.assert_allclose(model.decision_function(np.concatenate(display.boundary)), 0.0, atol=0.02)
    w, b = display.plane[:2], display.plane[2]
    np.testing.assert_allclose(display.features @ w + b, model.decision_function(x), atol=1e-6)
    (drawn,) = [each.get_xydata() for each in right.lines if len(each.get_xydata()) == 2]
    np.testing.assert_allclose(drawn @ w + b, 0.0, atol=1e-6)
    is_legible(display.figure_)


@pytest.mark.parametrize(
    ("kernel", "dimension"),
    [(Polynomial(2, 0.0), 1), (Polynomial(2, 1.0), 2), (Polynomial(3, 1.0), 3), (Cosine(1.0), 2), (Gaussian(), 3)],
)
def test_one_input_has_as_many_axes_as_the_kernel_has_features(line, kernel, dimension, is_legible):
    x, y = line
    display = FeatureMapDisplay.from_estimator(SVC(kernel=kernel).fit(x, y), x, y)
    assert display.features.shape == (80, dimension)
    assert display.curve.shape == (200, dimension)
    assert all(image.shape == (1, dimension) for image in display.boundary_features)
    assert (display.ax_[1].name == "3d") == (dimension == 3)
    is_legible(display.figure_)


def test_axes_choose_features_by_position_or_by_name(disc, is_legible):
    X, y = disc
    model = SVC(C=100.0, kernel=Polynomial(2, 1.0)).fit(X, y)
    display = FeatureMapDisplay.from_estimator(model, X, y, axes=("x0^2", "x1^2"))
    np.testing.assert_allclose(display.features, X**2)
    assert display.feature_names == ["$x_{0}^{2}$", "$x_{1}^{2}$"]
    assert display.ax_[1].name != "3d"
    assert display.plane is None  # it has weights on features that are not drawn
    for curve, image in zip(display.boundary, display.boundary_features, strict=True):
        np.testing.assert_allclose(image, curve**2)
    by_number = FeatureMapDisplay.from_kernel(Polynomial(2, 1.0), X, y, axes=(3, 5))
    np.testing.assert_allclose(by_number.features, display.features)
    deep = FeatureMapDisplay.from_kernel(Polynomial(2, 1.0), X, y, axes=(1, 2, 4))
    np.testing.assert_allclose(deep.features[:, 2], np.sqrt(2) * X[:, 0] * X[:, 1])
    assert deep.ax_[1].name == "3d"
    is_legible(display.figure_)


def test_axes_of_an_infinite_space_choose_principal_directions(disc):
    X, _ = disc
    display = FeatureMapDisplay.from_kernel(Gaussian(), X, axes=(1, 3))
    expected = KernelPCA(4, kernel=Gaussian(), eigen_solver="dense").fit_transform(X)[:, [1, 3]]
    np.testing.assert_allclose(np.abs(display.features), np.abs(expected), atol=1e-9)
    assert [name[:3] for name in display.feature_names] == ["2nd", "4th"]


def test_constant_features_are_left_out(disc):
    X, _ = disc
    display = FeatureMapDisplay.from_kernel(Linear() + 2.0, X)
    np.testing.assert_allclose(display.features, X)


def test_points_that_are_all_the_same_are_one_point():
    display = FeatureMapDisplay.from_kernel(Gaussian(), np.ones((5, 2)))
    np.testing.assert_allclose(display.features, 0.0, atol=1e-7)
    display.figure_.canvas.draw()


def test_a_pipeline_is_mapped_as_its_kernel_sees_the_data(disc):
    X, y = disc
    model = make_pipeline(StandardScaler(), SVC(C=100.0, kernel=CIRCLE)).fit(X * [1.0, 50.0], y)
    display = FeatureMapDisplay.from_estimator(model, X * [1.0, 50.0], y)
    np.testing.assert_allclose(display.features @ display.features.T, CIRCLE(model[0].transform(X * [1.0, 50.0])))
    decision = model.decision_function(X * [1.0, 50.0])
    np.testing.assert_allclose(display.features @ display.plane[:3] + display.plane[3], decision, atol=1e-6)


def test_classifiers_without_a_plane_have_a_boundary_too(disc):
    X, y = disc
    model = KernelNeighborsClassifier(3, kernel=CIRCLE).fit(X, y)
    display = FeatureMapDisplay.from_estimator(model, X, y)
    assert display.plane is None
    assert len(display.boundary) > 0


def test_axes_that_do_not_exist_are_listed(disc):
    X, _ = disc
    listed = r"no feature 'x7'; axes are names or positions of 0: 'x0\^2', 1: 'x0 x1', 2: 'x1\^2'$"
    with pytest.raises(ValueError, match=listed):
        FeatureMapDisplay.from_kernel(CIRCLE, X, axes=("x0^2", "x7"))
    with pytest.raises(ValueError, match="no feature 3; axes are names or positions of 0"):
        FeatureMapDisplay.from_kernel(CIRCLE, X, axes=(0, 3))
    with pytest.raises(ValueError, match=r"150 principal directions, numbers from 0 to 149; got 'x0'"):
        FeatureMapDisplay.from_kernel(Gaussian(), X, axes=(0, "x0"))
    with pytest.raises(ValueError, match="one, two or three features"):
        FeatureMapDisplay.from_kernel(CIRCLE, X, axes=(0, 1, 2, 3))
    with pytest.raises(ValueError, match="different features"):
        FeatureMapDisplay.from_kernel(CIRCLE, X, axes=(0, 0))
    with pytest.raises(ValueError, match="and 12 more"):
        FeatureMapDisplay.from_kernel(Polynomial(7, 1.0), X, axes=(0, 99))


def test_names_come_from_frames(disc):
    X, y = disc
    display = FeatureMapDisplay.from_estimator(
        SVC(kernel=CIRCLE).fit(frame := pd.DataFrame(X, columns=["age", "body_mass"]), y), frame, y
    )
    assert display.ax_[0].get_xlabel() == "age"
    assert display.feature_names[0] == r"$\mathrm{age}^{2}$"
    display.figure_.canvas.draw()  # the names are mathematics that can be set


def test_mistakes_are_explained(disc):
    X, y = disc
    with pytest.raises(ValueError, match=r"1 or 2 features, got shape \(150, 3\)"):
        FeatureMapDisplay.from_kernel(CIRCLE, np.column_stack([X, X[:, 0]]))
    with pytest.raises(ValueError, match="projection='3d'"):
        FeatureMapDisplay.from_kernel(CIRCLE, X, y, ax=plt.subplots(1, 2)[1])
    with pytest.raises(ValueError, match=r"y must have shape \(150,\)"):
        FeatureMapDisplay.from_kernel(CIRCLE, X, y[:2])
    with pytest.raises(ValueError, match="up to 12 classes, and y has 150 values"):
        FeatureMapDisplay.from_kernel(CIRCLE, X, X[:, 0])

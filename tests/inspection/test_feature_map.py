"""The circle becomes a plane, and inner products of what is drawn are the kernel."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from mercer import SVC, KernelPCA
from mercer.inspection import FeatureMapDisplay
from mercer.kernels import Gaussian, Linear, Polynomial

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
    X, y = disc
    display = FeatureMapDisplay.from_kernel(Linear(), X)
    np.testing.assert_array_equal(display.features, X)
    assert display.ax_[1].name != "3d"
    assert FeatureMapDisplay.from_estimator(SVC(kernel=Linear()).fit(X, y), X, y).plane is None


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
    with pytest.raises(ValueError, match=r"2 features, got shape \(150, 3\)"):
        FeatureMapDisplay.from_kernel(CIRCLE, np.column_stack([X, X[:, 0]]))
    with pytest.raises(ValueError, match="projection='3d'"):
        FeatureMapDisplay.from_kernel(CIRCLE, X, y, ax=plt.subplots(1, 2)[1])
    with pytest.raises(ValueError, match=r"y must have shape \(150,\)"):
        FeatureMapDisplay.from_kernel(CIRCLE, X, y[:2])
    with pytest.raises(ValueError, match="up to 12 classes, and y has 150 values"):
        FeatureMapDisplay.from_kernel(CIRCLE, X, X[:, 0])

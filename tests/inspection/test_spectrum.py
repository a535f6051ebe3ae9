"""Eigenvalues and degrees of freedom against their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import pyplot as plt
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import (
    SVC,
    SVCCV,
    SVR,
    Gram,
    KernelClassifier,
    KernelLogisticRegression,
    KernelRidge,
    KernelRidgeClassifier,
    KernelRidgeCV,
    NuSVC,
)
from mercer.inspection import SpectrumDisplay
from mercer.inspection.eigen import count_degrees
from mercer.kernels import Gaussian, Matern, Sigmoid


def test_eigenvalues_are_those_of_the_matrix(wave, is_legible):
    X, _ = wave
    display = SpectrumDisplay.from_kernel(Matern(0.5), X, alpha=0.1)
    expected = np.linalg.svd(Matern(0.5)(X), compute_uv=False)
    np.testing.assert_allclose(display.ax_[0].lines[0].get_ydata(), expected, rtol=1e-8)
    assert display.ax_[0].get_yscale() == "log"
    is_legible(display.figure_)


def test_degrees_of_freedom_are_the_trace_of_the_map_to_fitted_values(wave):
    X, y = wave
    model = KernelRidge(0.3, kernel=Gaussian()).fit(X, y)
    display = SpectrumDisplay.from_estimator(model)
    K = Gaussian()(X)
    expected = np.trace(np.linalg.solve(K + 0.3 * np.eye(50), K))
    assert display.dof_at(0.3) == pytest.approx(expected)
    assert display.dof_at(0.3) == pytest.approx(model.diagnose().effective_dof)
    alphas, dof = display.ax_[1].lines[0].get_data()
    np.testing.assert_allclose(np.interp(0.3, alphas, dof), expected, rtol=0.02)


def test_the_penalty_of_the_model_is_marked_on_both_sides(wave):
    X, y = wave
    display = SpectrumDisplay.from_estimator(KernelRidge(0.3, kernel=Gaussian()).fit(X, y))
    left, right = display.ax_
    assert left.lines[1].get_ydata()[0] == 0.3
    np.testing.assert_allclose(np.ravel(right.lines[2].get_data()), [0.3, display.dof_at(0.3)])
    assert right.get_legend().get_texts()[0].get_text().startswith("α = 0.3: ")


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=20), st.floats(1e-6, 1e6), st.floats(1.01, 100))
def test_degrees_of_freedom_fall_with_the_penalty_and_stay_below_the_rank(values, alpha, factor):
    small, large = count_degrees(np.array(values), np.array([alpha, factor * alpha]))
    assert 0 <= large <= small <= np.count_nonzero(values) + 1e-9


@pytest.mark.parametrize("scaling", ["sum", "mean"])
def test_the_mean_form_is_shown_in_the_sum_form(scaling, wave):
    X, y = wave
    model = KernelRidge(0.01, kernel=Gaussian(), scaling=scaling).fit(X, y)
    assert SpectrumDisplay.from_estimator(model).alpha == pytest.approx(0.01 * (50 if scaling == "mean" else 1))


def test_paths_and_classifiers_show_the_penalty_they_chose(wave, moons):
    model = KernelRidgeCV(kernel=Gaussian()).fit(*wave)
    assert SpectrumDisplay.from_estimator(model).alpha == model.alpha_
    model = KernelRidgeClassifier().fit(*moons)
    assert SpectrumDisplay.from_estimator(model).alpha == model.alpha_
    assert SpectrumDisplay.from_estimator(KernelLogisticRegression(0.2).fit(*moons)).alpha == 0.2


def test_a_sample_is_scaled_to_all_points(wave):
    X, _ = wave
    display = SpectrumDisplay.from_kernel(Gaussian(), X, max_points=20)
    assert display.eigenvalues.sum() == pytest.approx(50)  # the trace of the whole matrix
    assert "from 20 of 50 points" in display.ax_[0].get_legend().get_texts()[0].get_text()


def test_matrices_lazy_matrices_and_precomputed_models_agree(wave):
    X, y = wave
    K = Gaussian()(X)
    expected = SpectrumDisplay.from_kernel(Gaussian(), X).eigenvalues
    np.testing.assert_allclose(SpectrumDisplay.from_gram(K).eigenvalues, expected, atol=1e-9)
    np.testing.assert_allclose(SpectrumDisplay.from_gram(Gram(Gaussian(), X)).eigenvalues, expected, atol=1e-9)
    model = KernelRidge(0.1, kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(SpectrumDisplay.from_estimator(model).eigenvalues, expected, atol=1e-9)


def test_negative_eigenvalues_are_counted_and_not_drawn(wave):
    X, _ = wave
    display = SpectrumDisplay.from_kernel(Sigmoid(scale=1.0, offset=-1.0), X)
    assert "negative ones left out" in display.ax_[0].get_legend().get_texts()[0].get_text()
    assert (display.ax_[0].lines[0].get_ydata() > 0).all()


def test_it_draws_on_a_pair_of_axes(wave):
    _, axes = plt.subplots(1, 2)
    display = SpectrumDisplay.from_kernel(Gaussian(), wave[0], ax=axes)
    assert display.ax_ == (axes[0], axes[1])


@pytest.mark.parametrize(("C", "scaling"), [(0.5, "sum"), (10.0, "sum"), (800.0, "mean")])
def test_the_penalty_that_is_marked_for_a_machine_is_the_one_it_has(C, scaling, moons, is_legible):
    X, y = moons
    model = SVC(C=C, kernel=Gaussian(), tol=1e-8, scaling=scaling).fit(X, y)
    display = SpectrumDisplay.from_estimator(model, X)
    letter, count = ("m", 80) if scaling == "mean" else ("1", 1)
    assert display.alpha == count / (2 * C)
    # Σ hinge + α‖f‖², solved by Newton's method for any loss, has the same minimiser.
    same = KernelClassifier("hinge", display.alpha, kernel=Gaussian(), tol=1e-8).fit(X, y)
    np.testing.assert_allclose(same.decision_function(X), model.decision_function(X), atol=2e-3)
    left, right = display.ax_
    assert (
        left.get_legend().get_texts()[1].get_text() == f"C = {C:.3g}, penalty α = {letter}/(2C) = {count / (2 * C):.3g}"
    )
    assert left.lines[1].get_ydata()[0] == count / (2 * C)
    assert right.get_legend().get_texts()[0].get_text().endswith("degrees of freedom of ridge")
    is_legible(display.figure_)


def test_searches_regressions_and_pipelines_of_machines_have_a_penalty_too(moons, wave):
    X, y = moons
    model = SVCCV([0.5, 5.0], [0.5, 1.0]).fit(X, y)
    assert SpectrumDisplay.from_estimator(model, X).alpha == 1 / (2 * model.C_)
    assert SpectrumDisplay.from_estimator(SVR(C=4.0).fit(*wave), wave[0]).weight == 4.0
    pipeline = make_pipeline(StandardScaler(), SVC(C=2.0, kernel=Gaussian())).fit(X, y)
    display = SpectrumDisplay.from_estimator(pipeline, X)
    assert display.alpha == 0.25
    expected = np.linalg.eigvalsh(Gaussian()(pipeline[0].transform(X)))[::-1]
    np.testing.assert_allclose(display.eigenvalues, expected, atol=1e-9)
    assert SpectrumDisplay.from_estimator(model, X, alpha=3.0).weight is None


def test_machines_need_their_points_and_matrices_are_square(moons):
    X, y = moons
    model = SVC(kernel=Gaussian()).fit(X, y)
    with pytest.raises(ValueError, match="does not keep its training points; pass them as X"):
        SpectrumDisplay.from_estimator(model)
    assert SpectrumDisplay.from_estimator(NuSVC(nu=0.3, kernel=Gaussian()).fit(X, y), X).alpha is None
    with pytest.raises(ValueError, match="square"):
        SpectrumDisplay.from_gram(X)

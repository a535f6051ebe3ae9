"""The gradient of the leave-one-out error against finite differences, and the error against refits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from mercer.kernels import (
    Custom,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    PowerExponential,
    RationalQuadratic,
    exp,
)
from mercer.solvers.ridge.loo_gradient import inner_gradient, leave_one_out

STEP = 1e-5
KERNELS = [
    Gaussian(1.3),
    Gaussian([0.7, 1.0, 2.0]),
    Matern(0.5, [1.0, 2.0, 3.0]),
    Matern(1.5, [1.0, 0.8, 3.0]),
    Matern(2.5, 2.0),
    Matern(0.8, [1.0, 2.0, 3.0]),
    RationalQuadratic(1.5, 0.7),
    RationalQuadratic([1.0, 2.0, 0.5], 0.7),
    PowerExponential(1.5, 0.7, 1.3),
    PowerExponential(1.2, 1.1, [1.0, 2.0, 0.5]),
    Laplacian([1.0, 2.0, 3.0]),
    2.0 * Gaussian([1.0, 2.0, 3.0]) + Polynomial(2, 1.0) * Matern(1.5, [1.0, 2.0]).on([0, 2]),
    Gaussian([1.0, 2.0, 3.0]) * Gaussian([3.0, 2.0, 1.0]) + Gaussian([1.0, 2.0, 3.0]),
    (Gaussian([1.0, 2.0, 3.0]) + Linear()).normalize(),
    exp(Matern(2.5, [1.0, 2.0, 3.0])),
    Periodic() * Gaussian([1.0, 2.0, 3.0]),
]


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    y = np.c_[np.sin(X[:, 0]) + X[:, 1], X[:, 2] ** 2 + 3.0]
    return X, y, rng.uniform(0.5, 2.0, size=30)


def slope(error, value):
    return (error(value * np.exp(STEP)) - error(value * np.exp(-STEP))) / (2 * STEP)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_gradient_is_what_finite_differences_say(kernel, fit_intercept, data):
    X, y, weights = data

    def error(k, alpha):
        options = {"weights": weights, "fit_intercept": fit_intercept, "gradient": False}
        return leave_one_out(k, X, y, alpha, **options).error

    found = leave_one_out(kernel, X, y, 0.1, weights=weights, fit_intercept=fit_intercept)
    assert found.error == pytest.approx(error(kernel, 0.1), rel=1e-12)
    assert found.by_log_alpha == pytest.approx(slope(lambda alpha: error(kernel, alpha), 0.1), abs=1e-7, rel=1e-6)
    values = kernel.hyperparameters()
    assert list(found.by_log_hyperparameter) == list(values)
    for name, value in values.items():
        expected = slope(lambda v, name=name: error(kernel.with_hyperparameters({name: v}), 0.1), value)
        assert found.by_log_hyperparameter[name] == pytest.approx(expected, abs=1e-7, rel=1e-6), name


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_residuals_are_those_of_refitting_without_each_point(data, fit_intercept, weighted):
    X, y, weights = data
    weights = weights if weighted else np.ones(len(X))
    kernel, alpha = Matern(1.5, [1.0, 2.0, 3.0]), 0.3
    found = leave_one_out(
        kernel, X, y, alpha, weights=weights if weighted else None, fit_intercept=fit_intercept, gradient=False
    )
    for i in range(len(X)):
        rest = np.arange(len(X)) != i
        A = kernel(X[rest]) + alpha * np.diag(1.0 / weights[rest])
        # The system with an intercept, bordered by its condition 1ᵀc = 0.
        if fit_intercept:
            A = np.block([[A, np.ones((len(A), 1))], [np.ones((1, len(A))), np.zeros((1, 1))]])
        c = np.linalg.solve(A, np.r_[y[rest], np.zeros((1, 2))] if fit_intercept else y[rest])
        row = kernel(X[[i]], X[rest])
        expected = (np.c_[row, 1.0] if fit_intercept else row) @ c
        np.testing.assert_allclose(y[i] - found.residuals[i], expected[0], atol=1e-10)
    assert found.error == pytest.approx(np.average(np.mean(found.residuals**2, axis=1), weights=weights), rel=1e-12)
    assert found.by_log_hyperparameter == {}


def test_the_product_with_all_derivatives_is_that_of_each_matrix(data):
    X, _, _ = data
    M = np.random.default_rng(1).normal(size=(30, 30))
    M = M + M.T
    for kernel in KERNELS:
        found = inner_gradient(kernel, X, M)
        for name, derivative in kernel.gradient(X).items():
            assert found[name] == pytest.approx(float(np.vdot(M, derivative)), abs=1e-10), (kernel, name)


def test_length_scales_far_from_the_origin_keep_their_digits(data):
    X, _, _ = data
    M = np.eye(30) + 1.0
    kernel = Gaussian([1.0, 2.0, 3.0])
    near, far = inner_gradient(kernel, X, M), inner_gradient(kernel, X + 1e5, M)
    assert far == pytest.approx(near, rel=1e-8)


def test_sparse_data_gives_the_gradient_of_dense_data(data):
    X, y, _ = data
    kernel = Gaussian([1.0, 2.0, 3.0])
    dense, other = leave_one_out(kernel, X, y, 0.1), leave_one_out(kernel, sparse.csr_array(X), y, 0.1)
    assert other.by_log_hyperparameter == pytest.approx(dense.by_log_hyperparameter, rel=1e-9)


def test_kernels_on_objects_have_an_error_and_a_gradient_by_the_penalty():
    words = ["a", "bb", "ccc", "dddd", "eeeee"]
    kernel = Custom(lambda a, b: float(min(len(a), len(b))))
    found = leave_one_out(kernel, words, np.arange(5.0), 0.1)
    expected = slope(lambda alpha: leave_one_out(kernel, words, np.arange(5.0), alpha, gradient=False).error, 0.1)
    assert found.by_log_alpha == pytest.approx(expected, rel=1e-6)


def test_a_matrix_without_inverse_is_an_error_that_asks_for_a_larger_alpha():
    with pytest.raises(np.linalg.LinAlgError, match="take a larger alpha"):
        leave_one_out(-1.0 * Gaussian(), np.zeros((3, 1)), np.zeros(3), 1e-3)


@pytest.mark.parametrize("alpha", [0.0, -1.0, float("nan")])
def test_alpha_must_be_positive(alpha):
    with pytest.raises(ValueError, match="positive alpha"):
        leave_one_out(Gaussian(), np.eye(3), np.zeros(3), alpha)


def test_one_point_cannot_be_left_out():
    with pytest.raises(ValueError, match="at least 2 points"):
        leave_one_out(Gaussian(), np.eye(1), np.zeros(1), 1.0)

"""The diagnosis holds the decomposition K = UΛUᵀ that its numbers and the coefficients come from."""

import numpy as np
import pytest

from mercer import KernelRidge
from mercer.kernels import Gaussian, Linear, Polynomial
from mercer.solvers.plan import SPECTRAL_LIMIT

rng = np.random.default_rng(3)
X = rng.normal(size=(40, 2))
Y = np.stack([np.sin(X[:, 0]) + 0.1 * rng.normal(size=40), X[:, 1] ** 2], axis=1)
KERNELS = [Gaussian(0.8), Polynomial(2, 1.0), Linear()]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_decomposition_is_that_of_the_gram_matrix(kernel):
    found = KernelRidge(0.3, kernel=kernel).fit(X, Y[:, 0]).diagnose()
    U, eigenvalues = found.eigenvectors, found.eigenvalues
    K = kernel(X)
    np.testing.assert_allclose(U * eigenvalues @ U.T, K, atol=1e-12 * np.trace(K))
    np.testing.assert_allclose(U.T @ U, np.eye(40), atol=1e-12)
    assert (np.diff(eigenvalues) <= 0).all()
    np.testing.assert_allclose(eigenvalues, np.linalg.eigvalsh(K)[::-1], atol=1e-12 * np.trace(K))
    assert found.spectrum is eigenvalues


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("solver", ["spectral", "cholesky"])
@pytest.mark.parametrize("alpha", [0.01, 3.0])
def test_the_coefficients_are_those_of_the_decomposition(kernel, solver, alpha):
    model = KernelRidge(alpha, kernel=kernel, solver=solver).fit(X, Y)
    found = model.diagnose()
    expected = found.eigenvectors / (found.eigenvalues + alpha) @ found.eigenvectors.T @ Y
    np.testing.assert_allclose(model.dual_coef_, expected, rtol=1e-7, atol=1e-8 * np.abs(expected).max())
    share = (found.eigenvalues / (found.eigenvalues + alpha)).sum()
    assert found.effective_dof == pytest.approx(share)


def test_weights_stand_on_both_sides_of_the_matrix():
    weights, alpha = rng.uniform(0.5, 2.0, size=40), 0.2
    model = KernelRidge(alpha, kernel=Gaussian()).fit(X, Y[:, 0], sample_weight=weights)
    found, roots = model.diagnose(), np.sqrt(weights)
    U, eigenvalues = found.eigenvectors, found.eigenvalues
    np.testing.assert_allclose(U * eigenvalues @ U.T, roots[:, None] * Gaussian()(X) * roots, atol=1e-12)
    expected = roots * (U / (eigenvalues + alpha) @ U.T @ (roots * Y[:, 0]))
    np.testing.assert_allclose(model.dual_coef_, expected, rtol=1e-8, atol=1e-9)


def test_of_many_points_a_sample_is_decomposed(monkeypatch):
    monkeypatch.setattr("mercer.solvers.ridge.diagnosis.SPECTRAL_LIMIT", 20)
    assert SPECTRAL_LIMIT > 20
    found = KernelRidge(0.3, kernel=Gaussian()).fit(X, Y[:, 0]).diagnose()
    assert (found.n, found.total) == (10, 40)
    assert found.eigenvectors.shape == (10, 10)
    assert found.eigenvalues.shape == (10,)

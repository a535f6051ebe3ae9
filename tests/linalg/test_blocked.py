"""Cholesky factor, substitution and inverse block by block: the same as LAPACK's, and nothing above the diagonal."""

import numpy as np
import pytest
from scipy.linalg import cho_solve, cholesky, solve_triangular

from mercer.kernels import Gaussian
from mercer.linalg import blocked as _blocked
from mercer.linalg import triangles as shared_triangles
from mercer.solvers import Cholesky, Problem


def positive(n, dtype=np.float64):
    X = np.random.default_rng(n).normal(size=(n, 3))
    return np.asfortranarray(Gaussian()(X) + 0.5 * np.eye(n), dtype=dtype)


@pytest.fixture(params=[(4, 6), (5, 3), (64, 64)])
def sizes(request, monkeypatch):
    for name, value in zip(("BLOCK", "CHUNK"), request.param, strict=True):
        monkeypatch.setattr(_blocked, name, value)


@pytest.mark.parametrize("n", [1, 4, 5, 17, 40])
def test_everything_equals_lapack_and_leaves_the_upper_triangle_alone(n, sizes):
    A = positive(n)
    L, work = cholesky(A, lower=True), A.copy(order="F")
    assert _blocked.factor(work)
    np.testing.assert_allclose(np.tril(work), L, atol=1e-12)
    np.testing.assert_array_equal(np.triu(work, 1), np.triu(A, 1))
    V = np.random.default_rng(0).normal(size=(n, 2))
    np.testing.assert_allclose(_blocked.substitute(work, V), cho_solve((L, True), V), atol=1e-10)
    _blocked.invert(work)
    np.testing.assert_allclose(np.tril(work), solve_triangular(L, np.eye(n), lower=True), atol=1e-10)
    np.testing.assert_array_equal(np.triu(work, 1), np.triu(A, 1))


def test_a_matrix_that_is_not_positive_definite_is_told(sizes):
    A = positive(20)
    A[12, 12] = -1.0
    assert not _blocked.factor(A)


def test_the_solver_gives_the_same_answers_with_blocks(sizes, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(70, 2)), rng.normal(size=(70, 2))
    problem = Problem(Gaussian(), X, y, fit_intercept=True)
    alpha = np.array([0.1, 0.7])
    expected = Cholesky().prepare(problem).solve(alpha, loo=True)
    monkeypatch.setattr(shared_triangles, "LARGE", 10)
    found = Cholesky().prepare(problem).solve(alpha, loo=True)
    np.testing.assert_allclose(found.coef, expected.coef, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(found.loo, expected.loo, rtol=1e-4, atol=1e-5)

"""Diagonals of inverses: float32 where many rows are summed up, and float64 where that would be seen."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import lapack

from mercer.kernels import Gaussian
from mercer.linalg.band import Rotation, band_form
from mercer.solvers import Banded, Problem, Spectral
from mercer.solvers.ridge import diagonals
from mercer.solvers.ridge.diagonals import InverseDiagonals


@pytest.fixture(autouse=True)
def few_points_are_many(monkeypatch):
    monkeypatch.setattr(diagonals, "SINGLE", 1)


def banded_matrix(n, decay, scale, seed):
    """Return B, Q and the matrix of eigenvalues that fall to 10^-decay of the first."""
    Q, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(n, n)))
    K = scale * (Q * np.logspace(0, -decay, n)) @ Q.T
    K = (K + K.T) / 2
    return *band_form(K.copy(order="F"), min(5, n - 1) or 1), K


def factor(B, alpha):
    shifted = B.copy(order="F")
    shifted[0] += alpha
    L, failed = lapack.dpbtrf(shifted, lower=1)
    assert not failed
    return L


@settings(deadline=None, max_examples=40)
@given(
    n=st.integers(2, 80),
    decay=st.floats(0, 20),
    scale=st.sampled_from([1e-150, 1e-30, 1.0, 1e30, 1e150]),
    share=st.sampled_from([1e-10, 1e-6, 1e-2, 1.0, 1e6]),
    seed=st.integers(0, 99),
)
def test_a_diagonal_is_that_of_the_inverse_at_every_scale(n, decay, scale, share, seed):
    B, Q, K = banded_matrix(n, decay, scale, seed)
    alpha = share * scale
    values, vectors = np.linalg.eigh(K / scale)
    wanted = (vectors**2 @ (1.0 / (np.maximum(values, 0.0) + share))) / scale
    np.testing.assert_allclose(InverseDiagonals(Q).find(factor(B, alpha), alpha), wanted, rtol=2e-5)


def test_some_entries_are_those_of_all():
    B, Q, K = banded_matrix(50, 8.0, 1.0, 0)
    rows = np.array([3, 0, 49])
    wanted = np.diag(np.linalg.inv(K + 1e-4 * np.eye(50)))[rows]
    np.testing.assert_allclose(InverseDiagonals(Q).find_rows(factor(B, 1e-4), rows), wanted, rtol=1e-10)


def test_where_float32_is_seen_to_be_wrong_all_is_done_in_float64(monkeypatch):
    B, Q, K = banded_matrix(50, 8.0, 1.0, 0)
    image, asked = Rotation.image, []

    def spoilt(self, dtype):
        asked.append(dtype)
        return image(self, dtype) * (1 + 1e-4 * (dtype is np.float32))

    monkeypatch.setattr(Rotation, "image", spoilt)
    found = InverseDiagonals(Q)
    for alpha in (1e-4, 1.0):
        wanted = np.diag(np.linalg.inv(K + alpha * np.eye(50)))
        np.testing.assert_allclose(found.find(factor(B, alpha), alpha), wanted, rtol=1e-10)
    assert asked == [np.float32, np.float64]


@pytest.mark.parametrize("heavy", [1.0, 1e3, 1e6])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_point_that_decides_the_intercept_is_left_out_as_exactly_as_others(heavy, fit_intercept):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.sin(X[:, :1]) + 3.0
    weights = np.ones(60)
    weights[7] = heavy
    problem = Problem(Gaussian(0.5), X, y, weights=weights, fit_intercept=fit_intercept)
    alphas = np.array([1e-3, 1.0, 1e6])
    ours, theirs = (solver.prepare(problem).loo(alphas) for solver in (Banded(), Spectral()))
    np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-9)


def test_the_path_of_many_points_agrees_with_eigenvalues(monkeypatch):
    monkeypatch.undo()
    X = np.random.default_rng(0).normal(size=(1200, 3))
    X[0] = 30.0  # far from all others
    problem = Problem(Gaussian(1.0), X, np.sin(X[:, :1]), fit_intercept=True)
    alphas = np.logspace(-6, 2, 3)
    ours, theirs = (solver.prepare(problem).path(alphas, loo=True) for solver in (Banded(), Spectral()))
    for mine, other in zip(ours, theirs, strict=True):
        assert not np.array_equal(mine.loo, other.loo)  # in float32, where it is of use
        np.testing.assert_allclose(mine.loo, other.loo, rtol=1e-5, atol=1e-9)

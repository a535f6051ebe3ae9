"""The banded form of a symmetric matrix, and triangular systems with a band."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import solve_triangular

from mercer import _native
from mercer.linalg.band import band_form


def dense(B, n):
    """Return the symmetric matrix with these diagonals."""
    half = sum(np.diag(B[i, : n - i], -i) for i in range(min(len(B), n)))
    return half + np.tril(half, -1).T


@settings(deadline=None, max_examples=30)
@given(n=st.integers(1, 150), width=st.integers(1, 60), rank=st.integers(0, 150), seed=st.integers(0, 99))
def test_a_matrix_is_its_band_in_rotated_coordinates(n, width, rank, seed):
    factor = np.random.default_rng(seed).normal(size=(n, rank))
    K = factor @ factor.T
    B, rotation = band_form(K.copy(order="F"), width)
    Q = rotation.image(np.float64)
    np.testing.assert_allclose(Q.T @ Q, np.eye(n), atol=1e-12)
    np.testing.assert_allclose(Q @ dense(B, n) @ Q.T, K, atol=1e-11 * max(1, np.abs(K).max()))


@pytest.mark.parametrize("width", [1, 4, 40])
def test_a_matrix_that_is_banded_already_stays(width):
    K = np.diag(np.arange(1.0, 31.0)) + np.diag(np.ones(29), 1) + np.diag(np.ones(29), -1)
    B, Q = band_form(K.copy(), width)
    np.testing.assert_allclose(np.abs(dense(B, 30)), K, atol=1e-13)
    np.testing.assert_allclose(np.abs(Q.image(np.float64)), np.eye(30), atol=1e-13)


def test_many_panels_and_several_products_of_reflections_agree_with_eigenvalues():
    A = np.random.default_rng(0).normal(size=(700, 700))
    A = A + A.T
    B, rotation = band_form(A.copy(order="F"), 32)
    Q = rotation.image(np.float64)
    np.testing.assert_allclose(np.linalg.eigvalsh(dense(B, 700)), np.linalg.eigvalsh(A), atol=1e-10)
    np.testing.assert_allclose(Q @ dense(B, 700) @ Q.T, A, atol=1e-11)


@pytest.mark.parametrize("columns", [1, 3])
def test_a_rotation_turns_columns_as_its_entries_do(columns):
    rng = np.random.default_rng(columns)
    A = rng.normal(size=(200, 200))
    rotation = band_form(A + A.T, 7)[1]
    Q, X = rotation.image(np.float64), rng.normal(size=(200, columns))
    np.testing.assert_allclose(rotation.turn(X), Q @ X, atol=1e-12)
    np.testing.assert_allclose(rotation.turn_back(X), Q.T @ X, atol=1e-12)
    np.testing.assert_allclose(rotation.image(np.float32), Q, atol=1e-5)


def test_a_matrix_is_overwritten_in_fortran_order_alone():
    K = np.eye(20) + 1.0
    kept, lost = K.copy(order="C"), K.copy(order="F")
    band_form(kept, 3), band_form(lost, 3)
    np.testing.assert_array_equal(kept, K)
    assert not np.array_equal(lost, K)


@pytest.mark.parametrize("isa", _native.isas())
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "width", "columns"), [(1, 0, 1), (7, 9, 5), (64, 8, 200), (333, 96, 400), (500, 3, 61)])
def test_squares_are_those_of_a_triangular_solve(n, width, columns, dtype, isa, threads):
    rng = np.random.default_rng(n)
    entries = rng.normal(size=(n, width + 1)) / np.sqrt(width + 1)
    entries[:, 0] = 2.0 + rng.uniform(size=n)
    L = np.zeros((n, n))
    for j in range(n):
        L[j : j + width + 1, j] = entries[j, : n - j]
    right = rng.normal(size=(n, columns))
    out = np.full(columns, np.nan)
    _native.band_squares(entries, right.astype(dtype), out, threads, isa)
    wanted = (solve_triangular(L, right, lower=True) ** 2).sum(axis=0)
    np.testing.assert_allclose(out, wanted, rtol=1e-11 if dtype is np.float64 else 3e-5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"right": np.ones((4, 2))}, "right must have shape"),
        ({"out": np.ones(3)}, "out must have shape"),
        ({"columns": np.ones((5, 0))}, "at least"),
        ({"columns": np.ones((5, 2), order="F")}, "C-contiguous"),
        ({"columns": np.ones((5, 2), np.float32)}, "float64"),
        ({"right": np.ones((5, 2), int)}, "float32 or float64"),
        ({"threads": 0}, "threads"),
    ],
)
def test_squares_of_what_does_not_fit_together_are_refused(change, message):
    given = {"columns": np.ones((5, 2)), "right": np.ones((5, 2)), "out": np.ones(2), "threads": 1} | change
    with pytest.raises((TypeError, ValueError), match=message):
        _native.band_squares(**given)

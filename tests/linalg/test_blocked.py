"""Cholesky factor, substitution and inverse block by block: the same as LAPACK's, and nothing above the diagonal."""

import os
import signal
import tracemalloc

import numpy as np
import pytest
from scipy.linalg import cho_solve, cholesky, solve_triangular

from mercer.kernels import Gaussian
from mercer.linalg import blocked as _blocked
from mercer.linalg import triangles as shared_triangles
from mercer.models import KernelRidge
from mercer.solvers import Cholesky, Problem


def positive(n, dtype=np.float64):
    X = np.random.default_rng(n).normal(size=(n, 3))
    return np.asfortranarray(Gaussian()(X) + 0.5 * np.eye(n), dtype=dtype)


@pytest.fixture(params=[(4, 6, 3), (5, 3, 4), (64, 64, 16)])
def sizes(request, monkeypatch):
    for name, value in zip(("BLOCK", "CHUNK", "PANEL"), request.param, strict=True):
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


@pytest.mark.parametrize("order", ["F", "C"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_part_of_a_larger_matrix_is_factored_in_its_place(dtype, order, sizes):
    whole = np.full((50, 50), 7.0, dtype=dtype, order=order)
    whole[3:43, 3:43] = positive(40, dtype)
    expected = cholesky(whole[3:43, 3:43].astype(float), lower=True)
    assert _blocked.factor(whole[3:43, 3:43])
    np.testing.assert_allclose(np.tril(whole[3:43, 3:43]), expected, atol=1e-5 if dtype == np.float32 else 1e-12)
    whole[3:43, 3:43] = 7.0
    assert (whole == 7.0).all()


def test_a_matrix_in_the_other_order_is_factored_too(sizes):
    A = np.ascontiguousarray(positive(40))
    expected, upper = cholesky(A, lower=True), np.triu(A, 1)
    assert _blocked.factor(A)
    np.testing.assert_allclose(np.tril(A), expected, atol=1e-12)
    np.testing.assert_array_equal(np.triu(A, 1), upper)


@pytest.mark.parametrize("order", ["F", "C"])
def test_neither_order_of_a_matrix_takes_a_copy_of_it(order):
    n = 600
    A = np.asarray(positive(n), order=order)
    tracemalloc.start()
    assert _blocked.factor(A)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < A.nbytes / 4


def freeze(A):
    A.flags.writeable = False
    return A


@pytest.mark.parametrize(
    "A",
    [
        np.eye(3, dtype=int),
        np.ones((3, 2)),
        np.eye(8)[::2, ::2],
        np.eye(3)[::-1],
        np.broadcast_to(np.ones(3), (3, 3)),
        freeze(np.eye(3)),
    ],
    ids=["int", "3×2", "every second", "backwards", "one row", "read-only"],
)
def test_what_cannot_be_factored_in_its_place_is_refused(A):
    with pytest.raises(ValueError, match="square array of floats in Fortran or C order that can be written"):
        _blocked.factor(A)


def test_rows_of_a_product_are_so_few_that_it_never_takes_long():
    for start in (0, 1024, 20 * 1024, 200 * 1024):
        rows = _blocked._count_rows(slice(start, start + 1024))
        assert rows == 512 or 2 * rows * 1024 * start <= _blocked.CALL_FLOPS


def test_ctrl_c_ends_a_fit_between_two_blocks_and_leaves_the_model_unfitted(monkeypatch):
    monkeypatch.setattr(_blocked, "PANEL", 32)
    divide, calls = _blocked.divide, []

    def divide_and_press(L, V):
        divide(L, V)
        calls.append(V.shape)
        if len(calls) == 3:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(_blocked, "divide", divide_and_press)
    X = np.random.default_rng(0).normal(size=(300, 2))
    model = KernelRidge(kernel=Gaussian(), solver="cholesky")
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, X[:, 0])
    assert len(calls) == 3
    assert not hasattr(model, "dual_coef_")

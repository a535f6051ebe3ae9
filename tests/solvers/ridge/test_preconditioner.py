"""The low-rank preconditioner, against the dense matrices it stands for."""

import numpy as np
import pytest

from mercer import Gram
from mercer.kernels import Custom, Gaussian, Laplacian, Linear
from mercer.solvers.ridge import preconditioner
from mercer.solvers.ridge.preconditioner import Preconditioner

N = 120


@pytest.fixture
def points():
    return np.random.default_rng(0).normal(size=(N, 3))


def build(kernel, X, noise, rank, seed=0):
    return Preconditioner(Gram(kernel, X, dtype=np.float64), noise, rank, np.random.default_rng(seed))


@pytest.mark.parametrize("rank", [0, 1, 30, N])
def test_applying_it_equals_the_dense_inverse_for_each_column_and_its_alpha(points, rank):
    rng = np.random.default_rng(1)
    noise = rng.uniform(0.2, 3.0, N)
    P = build(Laplacian(), points, noise, rank)
    V = rng.normal(size=(N, 4))
    alpha = np.array([1e-4, 0.1, 0.1, 50.0])
    F = P.pivoted.factor
    assert F.shape == (N, P.rank)
    expected = [np.linalg.solve(F @ F.T + a * np.diag(noise), v) for a, v in zip(alpha, V.T, strict=True)]
    np.testing.assert_allclose(P.solve(V, alpha), np.transpose(expected), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("alpha", [1.0, 1e-3, 1e-5])
def test_many_points_are_preconditioned_in_float32_as_far_as_alpha_allows(monkeypatch, points, alpha):
    monkeypatch.setattr(preconditioner, "LONG", 0)
    P = build(Gaussian(), points, np.ones(N), 40)
    assert P._rows.single
    F = P.pivoted.factor.astype(np.float32).astype(float)
    whole = F @ F.T + alpha * np.eye(N)
    root = np.linalg.cholesky(whole)
    found = P.solve(np.eye(N), np.full(N, alpha))
    assert np.linalg.norm(root.T @ found @ root - np.eye(N), 2) < preconditioner.COARSE
    assert P._rows.single


def test_an_alpha_that_float32_would_lose_is_preconditioned_in_float64(monkeypatch, points):
    V = np.random.default_rng(1).normal(size=(N, 1))
    exact = build(Laplacian(), points, np.ones(N), N).solve(V, np.array([1e-10]))
    monkeypatch.setattr(preconditioner, "LONG", 0)
    P = build(Laplacian(), points, np.ones(N), N)
    assert P._rows.single
    np.testing.assert_allclose(P.solve(V, np.array([1e-10])), exact, rtol=1e-6)
    assert not P._rows.single


@pytest.mark.parametrize("scale", [1e-250, 1e-60, 1e-20, 1e20, 1e50, 1e100, 1e250])
@pytest.mark.parametrize("columns", [1, 6])
def test_kernels_of_any_size_are_preconditioned_alike(monkeypatch, points, scale, columns):
    V = np.random.default_rng(1).normal(size=(N, columns))
    plain = build(Gaussian(), points, np.ones(N), 40).solve(V, np.full(columns, 0.1))
    monkeypatch.setattr(preconditioner, "LONG", 0)
    P = build(scale * Gaussian(), points, np.ones(N), 40)
    found = scale * P.solve(V, np.full(columns, 0.1 * scale))
    np.testing.assert_allclose(found, plain, rtol=1e-4, atol=1e-4 * np.abs(plain).max())


def test_more_values_of_alpha_than_are_kept_give_the_same_as_one_by_one(points):
    P = build(Gaussian(), points, np.ones(N), 40)
    V = np.random.default_rng(1).normal(size=(N, 9))
    alpha = np.logspace(-3, 2, 9)
    together = P.solve(V, alpha)
    for j in range(9):
        np.testing.assert_allclose(together[:, [j]], P.solve(V[:, [j]], alpha[[j]]), rtol=1e-10, atol=1e-10)


def test_applying_it_leaves_its_argument_alone(points):
    V = np.ones((N, 1))
    build(Gaussian(), points, np.ones(N), 10).solve(V, np.array([0.1]))
    assert (V == 1.0).all()


def test_the_residual_trace_is_that_of_the_matrix_left_over(points):
    P = build(Gaussian(), points, np.ones(N), 20)
    left = Gaussian()(points) - P.pivoted.factor @ P.pivoted.factor.T
    assert P.pivoted.residual_trace == pytest.approx(np.trace(left), rel=1e-9)
    assert np.linalg.eigvalsh(left).min() > -1e-12


def test_the_condition_number_does_not_exceed_its_bound(points):
    noise = np.random.default_rng(2).uniform(0.5, 2.0, N)
    P = build(Gaussian(), points, noise, 25)
    A = Gaussian()(points) + 0.1 * np.diag(noise)
    values = np.linalg.eigvals(P.solve(A, np.full(N, 0.1))).real
    assert values.min() > 1 - 1e-9
    assert values.max() <= P.condition_bound(0.1)


def test_growing_keeps_the_pivots_and_lowers_the_residual(points):
    P = build(Gaussian(), points, np.ones(N), 10)
    first, before, columns = P.pivoted.pivots.copy(), P.pivoted.residual_trace, P.pivoted.factor
    P.grow(40)
    assert P.rank == 40
    assert len(set(P.pivoted.pivots.tolist())) == 40
    np.testing.assert_array_equal(P.pivoted.pivots[:10], first)
    np.testing.assert_array_equal(P.pivoted.factor[:, :10], columns)
    assert P.pivoted.residual_trace < before
    K = Gaussian()(points)
    np.testing.assert_allclose(
        (P.pivoted.factor @ P.pivoted.factor.T)[:, P.pivoted.pivots], K[:, P.pivoted.pivots], atol=1e-10
    )


def test_growing_stops_where_nothing_is_left_to_explain(points):
    P = build(Linear(), points, np.ones(N), 2)
    P.grow(50)
    assert P.rank == 3
    assert P.exhausted
    P.grow(60)
    assert P.rank == 3
    np.testing.assert_allclose(P.pivoted.factor @ P.pivoted.factor.T, points @ points.T, atol=1e-10)


def test_it_takes_objects():
    words = ["kernel", "ridge", "colonel", "bridge", "fridge", "eternal"]
    P = build(Custom(lambda x, z: float(len(set(x) & set(z)))), words, np.ones(6), 6)
    K = np.array([[len(set(x) & set(z)) for z in words] for x in words], dtype=float)
    np.testing.assert_allclose(P.solve(K + np.eye(6), np.ones(6)), np.eye(6), atol=1e-9)


def test_an_alpha_below_rounding_still_gives_a_finite_preconditioner(points):
    P = build(Gaussian(5.0), points, np.ones(N), N)
    assert np.isfinite(P.solve(np.ones((N, 1)), np.array([1e-18]))).all()

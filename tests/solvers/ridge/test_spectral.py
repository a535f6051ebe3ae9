"""The spectral solver: one decomposition, every penalty, exact leave-one-out."""

from dataclasses import replace

import numpy as np
import pytest

from mercer.arrays.budget import MemoryBudgetError
from mercer.kernels import Constant, Custom, Gaussian, Linear, Polynomial
from mercer.solvers.base import Problem
from mercer.solvers.ridge.spectral import Spectral

ALPHA = np.array([0.3, 2.0])


def minimum_norm(problem):
    """Return fitted values and leave-one-out residuals at α = 0 with lstsq on features of a Linear kernel."""

    def fit(X, y, w):
        centre = (w @ X / w.sum(), w @ y / w.sum()) if problem.fit_intercept else (np.zeros(X.shape[1]), 0 * y[0])
        root = np.sqrt(w)[:, None]
        slope = np.linalg.lstsq(root * (X - centre[0]), root * (y - centre[1]), rcond=1e-10)[0]
        return lambda Z: (Z - centre[0]) @ slope + centre[1]

    X, y, w = problem.X, problem.y, 1 / problem.noise
    left_out = np.zeros_like(y)
    for i in range(problem.n):
        rest = np.arange(problem.n) != i
        left_out[i] = y[i] - fit(X[rest], y[rest], w[rest])(X[i])
    return fit(X, y, w)(X), left_out


@pytest.mark.parametrize("alpha", [1e-8, 1e-4, 1.0, 1e4])
def test_penalties_of_any_size_are_solved(reference, variant, alpha):
    problem = reference.problem(**variant, kernel=Gaussian(0.5))
    solution = Spectral().prepare(problem).solve(alpha, loo=True)
    coef, intercept = reference.solve(problem, alpha)
    np.testing.assert_allclose(solution.coef, coef, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(solution.intercept, intercept, rtol=1e-7)
    np.testing.assert_allclose(solution.loo, reference.loo(problem, alpha), atol=1e-8)


def test_a_path_equals_separate_solves(reference, variant):
    prepared = Spectral().prepare(reference.problem(**variant))
    alphas = np.array([0.0, 1e-3, 1.0, 50.0])
    path = prepared.path(alphas, loo=True)
    left_out = prepared.loo(alphas)
    assert left_out.shape == (4, 30, 2)
    for alpha, together, residuals in zip(alphas, path, left_out, strict=True):
        alone = prepared.solve(alpha, loo=True)
        np.testing.assert_allclose(together.coef, alone.coef, atol=1e-11)
        np.testing.assert_allclose(together.intercept, alone.intercept, atol=1e-11)
        np.testing.assert_allclose(together.loo, alone.loo, atol=1e-11)
        np.testing.assert_allclose(residuals, alone.loo, atol=1e-11)
        assert np.array_equal(together.alpha, [alpha, alpha])


def test_a_path_may_have_a_penalty_for_each_target(reference):
    prepared = Spectral().prepare(reference.problem(fit_intercept=True))
    path = prepared.path([[1.0, 2.0], [3.0, 1.0]])
    np.testing.assert_allclose(path[0].coef[:, 0], prepared.solve(1.0).coef[:, 0])
    np.testing.assert_allclose(path[1].coef[:, 0], prepared.solve(3.0).coef[:, 0])
    np.testing.assert_allclose(path[0].intercept[1], prepared.solve(2.0).intercept[1])


def test_the_residual_reported_is_the_true_one(reference, variant):
    problem = reference.problem(**variant)
    solution = Spectral().prepare(problem).solve(1e-3)
    expected = reference.residual(problem, solution)
    assert solution.residual < 1e-8
    assert solution.residual == pytest.approx(expected, rel=20, abs=1e-14)  # both are rounding
    wrong = replace(solution, coef=1.5 * solution.coef)
    assert reference.residual(problem, wrong) > 1e-2


def test_the_worked_example_of_four_points_agrees_with_its_closed_forms():
    X, y = np.array([[1.0], [4.0], [6.0], [9.0]]), np.array([[0.8], [4.1], [6.2], [8.5]])
    features = np.hstack([np.ones((4, 1)), X])
    w = np.linalg.solve(features.T @ features + np.eye(2), features.T @ y)
    a = np.linalg.solve(features @ features.T + np.eye(4), y)
    solution = Spectral().prepare(Problem(Linear() + Constant(1.0), X, y)).solve(1.0)
    np.testing.assert_allclose(solution.coef, a, atol=1e-13)
    np.testing.assert_allclose(features.T @ solution.coef, w, atol=1e-13)


def test_the_intercept_is_an_unpenalised_column_of_ones(reference):
    problem = reference.problem(fit_intercept=True, kernel=Linear())
    extended = np.hstack([problem.X, np.ones((30, 1))])
    w = np.linalg.solve(extended.T @ extended + 2.0 * np.diag([1, 1, 1, 0]), extended.T @ problem.y)
    solution = Spectral().prepare(problem).solve(2.0)
    np.testing.assert_allclose(problem.X.T @ solution.coef, w[:3], atol=1e-12)
    np.testing.assert_allclose(solution.intercept, w[3], atol=1e-12)


def test_repeated_points_make_no_difficulty(reference, variant):
    problem = reference.problem(n=12, **variant, kernel=Gaussian(1.0))
    X = np.vstack([problem.X, problem.X])
    weights = None if problem.weights is None else np.tile(problem.weights, 2)
    twice = replace(problem, X=X, y=np.vstack([problem.y, problem.y + 1.0]), weights=weights)
    solution = Spectral().prepare(twice).solve(1e-3, loo=True)
    coef, intercept = reference.solve(twice, 1e-3)
    np.testing.assert_allclose(solution.coef, coef, rtol=1e-7)
    np.testing.assert_allclose(solution.intercept, intercept, atol=1e-8)
    np.testing.assert_allclose(solution.loo, reference.loo(twice, 1e-3), atol=1e-8)


def test_alpha_zero_on_a_singular_matrix_is_the_fit_of_smallest_norm(reference, variant):
    problem = reference.problem(**variant, kernel=Linear())
    solution = Spectral().prepare(problem).solve(0.0, loo=True)
    fitted, left_out = minimum_norm(problem)
    np.testing.assert_allclose(problem.X @ problem.X.T @ solution.coef + solution.intercept, fitted, atol=1e-11)
    np.testing.assert_allclose(solution.loo, left_out, atol=1e-10)
    assert solution.residual < 1e-14


def test_alpha_zero_leave_one_out_holds_where_a_point_is_fitted_exactly(reference, variant):
    problem = reference.problem(n=8, d=2, **variant, kernel=Linear())
    X = np.hstack([problem.X, np.zeros((8, 1))])
    X[2] = [0.3, 0.1, 5.0]  # no other point uses the last feature
    problem = replace(problem, X=X)
    solution = Spectral().prepare(problem).solve(0.0, loo=True)
    np.testing.assert_allclose(solution.loo, minimum_norm(problem)[1], atol=1e-10)


def test_alpha_zero_interpolates_when_the_matrix_is_regular(reference, variant):
    problem = reference.problem(n=12, **variant, kernel=Gaussian(0.5))
    solution = Spectral().prepare(problem).solve(0.0, loo=True)
    coef, intercept = reference.solve(problem, 0.0)
    np.testing.assert_allclose(solution.coef, coef, atol=1e-9)
    np.testing.assert_allclose(solution.intercept, intercept, atol=1e-9)
    np.testing.assert_allclose(solution.loo, reference.loo(problem, 0.0), atol=1e-8)


@pytest.mark.parametrize("alpha", [0.0, 0.7, 1e4])
def test_effective_degrees_of_freedom_are_the_trace_of_the_smoother(reference, variant, alpha):
    problem = replace(reference.problem(**variant, kernel=Linear()), y=np.eye(30))
    prepared = Spectral().prepare(problem)
    solution = prepared.solve(alpha)
    smoother = problem.X @ (problem.X.T @ solution.coef) + solution.intercept
    assert prepared.effective_dof(alpha) == pytest.approx(np.trace(smoother), abs=1e-9)


def test_eigenvalues_are_those_of_the_weighted_matrix_with_rounding_removed(reference):
    problem = reference.problem(weighted=True, kernel=Linear())
    values = Spectral().prepare(problem).eigenvalues
    root = np.sqrt(problem.weights)[:, None]
    expected = np.linalg.svd(root * problem.X, compute_uv=False) ** 2
    np.testing.assert_allclose(values[::-1][:3], expected, rtol=1e-12)
    assert (values[:-3] == 0).all()


def test_a_constant_target_is_all_intercept(reference):
    problem = replace(reference.problem(fit_intercept=True), y=np.full((30, 1), 5.0))
    solution = Spectral().prepare(problem).solve(1.0, loo=True)
    assert solution.intercept == pytest.approx(5.0)
    assert np.abs(solution.coef).max() < 1e-12
    assert np.abs(solution.loo).max() < 1e-12
    assert solution.residual == 0.0


def test_a_single_point_has_nothing_left_when_it_is_left_out():
    one = Problem(Gaussian(), [[1.0]], np.array([[3.0]]), fit_intercept=True)
    solution = Spectral().prepare(one).solve(1.0, loo=True)
    assert solution.intercept == pytest.approx(3.0)
    assert np.isnan(solution.loo).all()
    assert Spectral().prepare(replace(one, fit_intercept=False)).solve(1.0, loo=True).loo == pytest.approx(3.0)


def test_single_precision_data_is_solved_in_double_precision(reference):
    problem = reference.problem(dtype=np.float32)
    solution = Spectral().prepare(problem).solve(ALPHA)
    np.testing.assert_allclose(solution.coef, reference.solve(problem, ALPHA)[0], atol=1e-9)
    assert solution.coef.dtype == np.float64


def test_kernels_that_are_slow_to_evaluate_are_evaluated_once(reference):
    calls = []

    def inner(x, z):
        calls.append(1)
        return float(np.dot(x, z))

    problem = reference.problem(n=10, kernel=Custom(inner))
    prepared = Spectral().prepare(problem)
    before = len(calls)
    assert prepared.solve(1.0).residual < 1e-12
    assert len(calls) == before


@pytest.mark.parametrize("alpha", [-1.0, np.nan, [1.0, 2.0, 3.0], [[1.0], [2.0]]])
def test_penalties_that_make_no_sense_are_refused(reference, alpha):
    with pytest.raises(ValueError, match="alpha must be"):
        Spectral().prepare(reference.problem()).solve(alpha)


def test_a_matrix_beyond_the_budget_is_refused_before_it_is_allocated():
    problem = Problem(Polynomial(degree=2), np.zeros((100_000, 2)), np.zeros((100_000, 1)), memory=10**9)
    with pytest.raises(MemoryBudgetError, match=r"eigendecomposition .* 240.0 GB"):
        Spectral().prepare(problem)

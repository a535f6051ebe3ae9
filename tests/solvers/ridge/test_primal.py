"""The primal solver: explicit features, row block by row block, the same answer as the dual solvers."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from mercer import Expansion
from mercer.arrays.budget import MemoryBudgetError
from mercer.kernels import Constant, Gaussian, Linear, Polynomial, Sinc
from mercer.solvers.base import Problem
from mercer.solvers.ridge.cholesky import Cholesky
from mercer.solvers.ridge.primal.solver import Primal
from mercer.solvers.ridge.spectral import Spectral

ALPHA = np.array([0.3, 2.0])


def test_it_equals_brute_force_with_a_penalty_for_each_target(reference, variant):
    problem = reference.problem(**variant)
    solution = Primal().prepare(problem).solve(ALPHA)
    coef, intercept = reference.solve(problem, ALPHA)
    np.testing.assert_allclose(solution.coef, coef, atol=1e-10)
    np.testing.assert_allclose(solution.intercept, intercept, atol=1e-10)


def test_leave_one_out_equals_fitting_without_each_point(reference, variant):
    problem = reference.problem(**variant)
    solution = Primal().prepare(problem).solve(ALPHA, loo=True)
    np.testing.assert_allclose(solution.loo, reference.loo(problem, ALPHA), atol=1e-8)


@pytest.mark.parametrize("alpha", [1e-8, 1e-4, 1.0, 1e4])
def test_primal_and_dual_agree_for_penalties_of_any_size(reference, variant, alpha):
    problem = reference.problem(**variant)
    one, other = (solver.prepare(problem).solve(alpha, loo=True) for solver in (Primal(), Spectral()))
    k = problem.kernel
    # At 1e-8 the coefficients are residuals divided by alpha: their rounding is, too.
    np.testing.assert_allclose(k(problem.X) @ one.coef, k(problem.X) @ other.coef, atol=1e-9 + 1e-12 / alpha)
    if alpha > 1e-6:  # below, coefficients of the primal solver are the smallest ones with the same f
        np.testing.assert_allclose(one.coef, other.coef, rtol=1e-6, atol=1e-10 + 1e-13 / alpha)
    np.testing.assert_allclose(one.intercept, other.intercept, atol=1e-9)
    np.testing.assert_allclose(one.loo, other.loo, atol=1e-8)


def test_all_three_direct_solvers_agree(reference, variant):
    problem = reference.problem(n=50, q=3, **variant)
    alpha = np.array([1.0, 0.2, 1.0])
    solutions = [solver.prepare(problem).solve(alpha, loo=True) for solver in (Primal(), Spectral(), Cholesky())]
    for solution in solutions[1:]:
        np.testing.assert_allclose(solution.coef, solutions[0].coef, atol=1e-9)
        np.testing.assert_allclose(solution.intercept, solutions[0].intercept, atol=1e-9)
        np.testing.assert_allclose(solution.loo, solutions[0].loo, atol=1e-9)


def test_weights_and_expansion_are_the_same_function(reference, variant):
    problem = reference.problem(**variant)
    solution = Primal().prepare(problem).solve(ALPHA)
    new = np.random.default_rng(1).standard_normal((7, 3))
    f = Expansion(problem.kernel, solution.centers, solution.coef, solution.intercept)
    np.testing.assert_allclose(solution.predict(new), f(new), atol=1e-9)
    assert solution.w.shape == (10, 2)
    phi = solution.feature_map.transform(problem.X)
    np.testing.assert_allclose(phi.T @ solution.coef, solution.w, atol=1e-9)


def test_blocks_of_rows_change_nothing(reference, variant, monkeypatch):
    problem = reference.problem(**variant)
    whole = Primal().prepare(problem).solve(ALPHA, loo=True)
    monkeypatch.setattr("mercer.solvers.ridge.primal.rows.BLOCK_BYTES", 0)
    monkeypatch.setattr("mercer.solvers.ridge.primal.rows.BLOCK_ROWS", 4)
    prepared = Primal().prepare(problem)
    assert len(list(prepared._rows._blocks())) == 8
    parts = prepared.solve(ALPHA, loo=True)
    np.testing.assert_allclose(parts.coef, whole.coef, atol=1e-11)
    np.testing.assert_allclose(parts.intercept, whole.intercept, atol=1e-11)
    np.testing.assert_allclose(parts.loo, whole.loo, atol=1e-11)


def test_data_in_order_and_far_from_the_origin_loses_no_digits(reference, monkeypatch):
    problem = reference.problem(n=60, fit_intercept=True, kernel=Linear())
    X = np.sort(problem.X, axis=0)
    near = Primal().prepare(replace(problem, X=X)).solve(0.1)
    monkeypatch.setattr("mercer.solvers.ridge.primal.rows.BLOCK_BYTES", 0)
    monkeypatch.setattr("mercer.solvers.ridge.primal.rows.BLOCK_ROWS", 10)
    moved = Primal().prepare(replace(problem, X=X + 1e5, y=problem.y + 1e5)).solve(0.1)
    np.testing.assert_allclose(moved.w, near.w, atol=1e-9)


def test_a_path_equals_separate_solves(reference, variant):
    prepared = Primal().prepare(reference.problem(**variant))
    alphas = [1e-3, 1.0, 50.0]
    for alpha, together in zip(alphas, prepared.path(alphas, loo=True), strict=True):
        alone = prepared.solve(alpha, loo=True)
        np.testing.assert_allclose(together.coef, alone.coef, atol=1e-10)
        np.testing.assert_allclose(together.w, alone.w, atol=1e-11)
        np.testing.assert_allclose(together.loo, alone.loo, atol=1e-11)


def test_the_worked_example_of_four_points_agrees_with_its_closed_forms():
    X, y = np.array([[1.0], [4.0], [6.0], [9.0]]), np.array([[0.8], [4.1], [6.2], [8.5]])
    features = np.hstack([X, np.ones((4, 1))])
    w = np.linalg.solve(features.T @ features + np.eye(2), features.T @ y)
    a = np.linalg.solve(features @ features.T + np.eye(4), y)
    solution = Primal().prepare(Problem(Linear() + Constant(1.0), X, y)).solve(1.0)
    np.testing.assert_allclose(solution.w, w, atol=1e-13)
    np.testing.assert_allclose(solution.coef, a, atol=1e-13)
    np.testing.assert_allclose(features.T @ a, w, atol=1e-13)


def test_the_intercept_is_an_unpenalised_column_of_ones(reference):
    problem = reference.problem(fit_intercept=True, kernel=Linear())
    extended = np.hstack([problem.X, np.ones((30, 1))])
    w = np.linalg.solve(extended.T @ extended + 2.0 * np.diag([1, 1, 1, 0]), extended.T @ problem.y)
    solution = Primal().prepare(problem).solve(2.0)
    np.testing.assert_allclose(solution.w, w[:3], atol=1e-12)
    np.testing.assert_allclose(solution.intercept, w[3], atol=1e-12)


def test_effective_degrees_of_freedom_equal_those_of_the_dual(reference, variant):
    problem = reference.problem(**variant, kernel=Linear())
    one, other = Primal().prepare(problem), Spectral().prepare(problem)
    assert one.effective_dof(0.7) == pytest.approx(other.effective_dof(0.7), abs=1e-10)


def test_the_residual_is_that_of_the_normal_equations(reference):
    problem = reference.problem()
    solution = Primal().prepare(problem).solve(0.5)
    phi = solution.feature_map.transform(problem.X)
    left = phi.T @ problem.y - phi.T @ (phi @ solution.w) - 0.5 * solution.w
    recomputed = (np.linalg.norm(left, axis=0) / np.linalg.norm(phi.T @ problem.y, axis=0)).max()
    assert recomputed < 1e-13
    assert solution.residual < 1e-13
    assert solution.converged


@pytest.mark.parametrize("form", [pd.DataFrame, np.float32, sparse.csr_array, np.ndarray.tolist])
def test_frames_lists_sparse_matrices_and_single_precision_are_taken(reference, form):
    problem = reference.problem(fit_intercept=True)
    X = np.float32(problem.X)
    expected = Primal().prepare(replace(problem, X=X.astype(np.float64))).solve(ALPHA)
    given = X if form is np.float32 else form(X.astype(np.float64))
    solution = Primal().prepare(replace(problem, X=given)).solve(ALPHA)
    assert solution.coef.dtype == np.float64
    np.testing.assert_allclose(solution.w, expected.w, atol=1e-5 if form is np.float32 else 1e-11)


def test_the_data_is_left_as_it_was(reference):
    problem = reference.problem(fit_intercept=True, weighted=True, kernel=Linear())
    X, y = problem.X.copy(), problem.y.copy()
    Primal().prepare(problem).solve(ALPHA, loo=True)
    assert np.array_equal(problem.X, X)
    assert np.array_equal(problem.y, y)


def test_maps_that_hold_near_a_centre_are_centred_on_the_data(reference):
    problem = reference.problem(n=150, d=1, kernel=Sinc())
    problem = replace(problem, X=np.clip(problem.X, -2.0, 2.0) + 50.0)
    solution = Primal().prepare(problem).solve(1.0)
    np.testing.assert_allclose(solution.coef, reference.solve(problem, 1.0)[0], atol=1e-8)


def test_a_constant_target_is_all_intercept(reference):
    problem = replace(reference.problem(fit_intercept=True), y=np.full((30, 1), 5.0))
    solution = Primal().prepare(problem).solve(1.0, loo=True)
    assert solution.intercept == pytest.approx(5.0)
    assert np.abs(solution.w).max() < 1e-12
    assert np.abs(solution.loo).max() < 1e-12


@pytest.mark.parametrize("repeated", [False, True])
def test_alpha_zero_is_the_smallest_least_squares_fit(reference, variant, repeated):
    problem = reference.problem(**variant)
    if repeated:  # two columns that are the same: the features are dependent
        problem = replace(problem, X=np.column_stack([problem.X, problem.X[:, :1]]))
    solution = Primal().prepare(problem).solve(0.0, loo=True)
    other = Spectral().prepare(problem).solve(0.0, loo=True)
    K = problem.kernel(problem.X)
    assert solution.converged
    np.testing.assert_allclose(K @ solution.coef + solution.intercept, K @ other.coef + other.intercept, atol=1e-9)
    np.testing.assert_allclose(solution.predict(problem.X), K @ other.coef + other.intercept, atol=1e-9)
    np.testing.assert_allclose((solution.w**2).sum(axis=0), (other.coef * (K @ other.coef)).sum(axis=0), rtol=1e-8)
    np.testing.assert_allclose(solution.loo, other.loo, atol=1e-7)


def test_a_kernel_without_finite_features_is_refused(reference):
    with pytest.raises(ValueError, match=r"finitely many features, but Gaussian"):
        Primal().prepare(reference.problem(kernel=Gaussian()))


def test_objects_without_columns_are_refused():
    with pytest.raises(ValueError, match="table of points"):
        Primal().prepare(Problem(Linear(), ["a", "b"], np.zeros((2, 1))))


def test_too_many_features_for_the_budget_are_refused_before_they_are_allocated():
    problem = Problem(Polynomial(degree=3), np.zeros((10, 100)), np.zeros((10, 1)), memory=10**9)
    with pytest.raises(MemoryBudgetError, match=r"normal equations of 1\d+ features"):
        Primal().prepare(problem)


def test_memory_does_not_grow_with_all_features_of_all_points():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20_000, 12)), rng.standard_normal((20_000, 1))  # 91 features: 14.6 MB in all
    problem = Problem(Polynomial(degree=2, offset=1.0), X, y, fit_intercept=True, memory=6_000_000)
    tracemalloc.start()
    Primal().prepare(problem).solve(1.0, loo=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6_000_000

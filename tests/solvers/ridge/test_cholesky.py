"""The Cholesky solver: a factor in float32 or float64 in the memory of one matrix, refined to a true residual."""

import tracemalloc
import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer.arrays.budget import MemoryBudgetError
from mercer.kernels import Constant, Custom, Gaussian, Linear, Polynomial
from mercer.linalg.triangles import SharedTriangles
from mercer.solvers.base import Problem
from mercer.solvers.ridge.cholesky import Cholesky
from mercer.solvers.ridge.spectral import Spectral

ALPHA = np.array([0.3, 2.0])


@pytest.mark.parametrize("precision", ["auto", "single", "double"])
def test_it_equals_brute_force_with_a_penalty_for_each_target(reference, variant, precision):
    problem = reference.problem(**variant, kernel=Gaussian(1.5))
    solution = Cholesky(precision).prepare(problem).solve(ALPHA)
    coef, intercept = reference.solve(problem, ALPHA)
    np.testing.assert_allclose(solution.coef, coef, atol=1e-7 if precision == "single" else 1e-11)
    np.testing.assert_allclose(solution.intercept, intercept, atol=1e-7 if precision == "single" else 1e-11)
    assert solution.converged


def test_it_equals_the_spectral_solver(reference, variant):
    problem = reference.problem(n=60, q=3, **variant)
    alpha = np.array([0.1, 5.0, 0.1])
    one, other = (solver.prepare(problem).solve(alpha, loo=True) for solver in (Cholesky(), Spectral()))
    np.testing.assert_allclose(one.coef, other.coef, atol=1e-9)
    np.testing.assert_allclose(one.intercept, other.intercept, atol=1e-9)
    np.testing.assert_allclose(one.loo, other.loo, atol=1e-9)


@pytest.mark.parametrize(("precision", "atol"), [("auto", 1e-9), ("double", 1e-9), ("single", 1e-5)])
def test_leave_one_out_equals_fitting_without_each_point(reference, variant, precision, atol):
    problem = reference.problem(**variant, kernel=Gaussian(1.5))
    solution = Cholesky(precision).prepare(problem).solve(ALPHA, loo=True)
    np.testing.assert_allclose(solution.loo, reference.loo(problem, ALPHA), atol=atol)


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("alpha", [1e-8, 1e-4, 1.0, 1e4])
def test_penalties_of_any_size_are_solved(reference, variant, alpha, precision):
    problem = reference.problem(**variant, kernel=Gaussian(0.5))
    solution = Cholesky(precision).prepare(problem).solve(alpha)
    coef, intercept = reference.solve(problem, alpha)
    np.testing.assert_allclose(solution.coef, coef, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(solution.intercept, intercept, rtol=1e-6)


@pytest.mark.parametrize(("alpha", "tolerance"), [(1.0, 1e-8), (1e-3, 1e-8), (1e-3, 1e-10)])
def test_a_factor_in_single_precision_reaches_the_tolerance_in_a_few_steps(reference, variant, alpha, tolerance):
    problem = reference.problem(n=1600, d=5, **variant, kernel=Gaussian(2.0))
    prepared = Cholesky("single" if variant["device"] else "auto", tolerance).prepare(problem)
    solution = prepared.solve(alpha)
    assert prepared._matrix.dtype == np.float32
    assert solution.converged
    assert 1 <= solution.n_iter <= 12
    assert solution.residual <= tolerance
    assert reference.residual(problem, solution) == pytest.approx(solution.residual, rel=1e-2, abs=3e-11)


@pytest.mark.parametrize("alpha", [1e-6, 1e-5, 1e-4])
def test_the_residual_reported_is_the_true_one_in_double_precision(reference, variant, alpha):
    problem = reference.problem(n=200, **variant, kernel=Gaussian(2.0))
    solution = Cholesky("double").prepare(problem).solve(alpha)
    assert solution.n_iter <= 2
    # Rounding of a matrix whose eigenvalues sum up to 200 is all that is left: 4e-8, 4e-9 and 4e-10.
    assert solution.residual <= 200 * np.finfo(float).eps / alpha
    # Which of it is left depends on the order of sums, so that another order finds about as much.
    assert 1 / 10 <= solution.residual / reference.residual(problem, solution) <= 10


def test_a_large_offset_of_the_targets_is_left_to_the_intercept(reference):
    problem = reference.problem(n=100, fit_intercept=True, kernel=Gaussian(1.0))
    far = replace(problem, y=problem.y + 1e6)
    near, moved = (Cholesky("single").prepare(p).solve(0.1) for p in (problem, far))
    np.testing.assert_allclose(moved.coef, near.coef, atol=1e-6)
    np.testing.assert_allclose(moved.intercept, near.intercept + 1e6, rtol=1e-14)


def test_one_matrix_serves_one_penalty_after_another(reference):
    problem = reference.problem(n=700, q=1, weighted=True, kernel=Gaussian(2.0))  # more than a block of columns
    prepared = Cholesky().prepare(problem)
    for alpha in [1.0, 0.01, 1.0, 30.0]:
        solution = prepared.solve(alpha, loo=alpha < 0.1)
        np.testing.assert_allclose(solution.coef, reference.solve(problem, alpha)[0], rtol=1e-8, atol=1e-10)


def test_repeated_points_are_solved_with_a_shift_in_the_factor_only(reference):
    problem = reference.problem(n=40, kernel=Gaussian(3.0))
    twice = replace(problem, X=np.vstack([problem.X] * 2), y=np.vstack([problem.y, problem.y + 1.0]))
    prepared = Cholesky("single", tolerance=1e-7).prepare(twice)
    assert not prepared._matrix.factor(np.full(80, 1e-9))  # singular in float32
    solution = prepared.solve(1e-6)
    assert solution.converged
    assert reference.residual(twice, solution) <= 1e-7
    np.testing.assert_allclose(solution.coef, reference.solve(twice, 1e-6)[0], rtol=1e-5)


def ill_conditioned(reference, memory):
    problem = reference.problem(n=1600, d=2, q=1, kernel=Gaussian(6.0))
    return replace(problem, memory=memory)


def test_a_stalled_refinement_falls_back_to_double_precision(reference):
    problem = ill_conditioned(reference, 2**28)
    prepared = Cholesky().prepare(problem)
    assert prepared._matrix.dtype == np.float32
    solution = prepared.solve(1e-7)
    assert prepared._matrix.dtype == np.float64
    assert solution.converged
    assert reference.residual(problem, solution) < 1e-4  # rounding in float64: ε·1600/1e-7 = 4e-6


def test_without_memory_for_double_precision_a_stall_is_said_once(reference):
    problem = ill_conditioned(reference, 14_000_000)
    prepared = Cholesky().prepare(problem)
    with pytest.warns(ConvergenceWarning, match=r"float64 would do but needs 20\.\d MB") as caught:
        solution = prepared.solve(1e-10)
    assert len(caught) == 1
    assert not solution.converged
    assert solution.residual > 1e-8
    assert solution.residual == pytest.approx(reference.residual(problem, solution), rel=0.5)


def test_values_beyond_the_range_of_single_precision_are_factored_in_double(reference):
    problem = reference.problem(n=1600, q=1, kernel=Polynomial(degree=2, offset=1.0))
    problem = replace(problem, X=1e10 * problem.X)
    prepared = Cholesky().prepare(problem)
    assert prepared._matrix.dtype == np.float64
    with pytest.raises(OverflowError):
        Cholesky("single").prepare(problem)


def test_the_worked_example_of_four_points_agrees_with_its_closed_forms():
    X, y = np.array([[1.0], [4.0], [6.0], [9.0]]), np.array([[0.8], [4.1], [6.2], [8.5]])
    features = np.hstack([np.ones((4, 1)), X])
    solution = Cholesky().prepare(Problem(Linear() + Constant(1.0), X, y)).solve(1.0)
    np.testing.assert_allclose(solution.coef, np.linalg.solve(features @ features.T + np.eye(4), y), atol=1e-13)


def test_a_constant_target_is_all_intercept(reference):
    problem = replace(reference.problem(fit_intercept=True), y=np.full((30, 1), 5.0))
    for precision in ("single", "double"):
        solution = Cholesky(precision).prepare(problem).solve(1.0, loo=True)
        assert solution.intercept == pytest.approx(5.0)
        assert np.abs(solution.coef).max() < 1e-10
        assert solution.converged


def test_targets_of_zero_have_coefficients_of_zero(reference):
    solution = Cholesky("single").prepare(replace(reference.problem(), y=np.zeros((30, 1)))).solve(1.0)
    assert (solution.coef == 0).all()
    assert solution.residual == 0.0
    assert solution.converged


def test_single_precision_data_gives_double_precision_coefficients(reference):
    problem = reference.problem(dtype=np.float32, kernel=Gaussian(1.0))
    solution = Cholesky().prepare(problem).solve(ALPHA)
    np.testing.assert_allclose(solution.coef, reference.solve(problem, ALPHA)[0], atol=1e-10)
    assert solution.coef.dtype == np.float64


def test_kernels_that_are_slow_to_evaluate_are_evaluated_once(reference):
    calls = []

    def inner(x, z):
        calls.append(1)
        return float(np.dot(x, z))

    prepared = Cholesky().prepare(reference.problem(n=10, kernel=Custom(inner)))
    before = len(calls)
    assert prepared.solve(1.0, loo=True).converged
    assert len(calls) == before


def test_alpha_zero_is_refused_with_the_solver_that_takes_it(reference):
    with pytest.raises(ValueError, match=r"alpha > 0.*spectral"):
        Cholesky().prepare(reference.problem()).solve([1.0, 0.0])


def test_a_matrix_that_is_singular_in_double_precision_is_refused_with_the_solver_that_takes_it(reference):
    problem = replace(reference.problem(kernel=Linear()), X=1e6 * np.ones((30, 3)))
    with pytest.raises(np.linalg.LinAlgError, match=r"alpha = 1e-12.*spectral"):
        Cholesky().prepare(problem).solve(1e-12)


@pytest.mark.parametrize("options", [{"precision": "half"}, {"tolerance": 0.0}])
def test_options_that_make_no_sense_are_refused(reference, options):
    with pytest.raises(ValueError, match="must be"):
        Cholesky(**options).prepare(reference.problem())


def test_a_matrix_beyond_the_budget_is_refused_before_it_is_allocated():
    problem = Problem(Gaussian(), np.zeros((100_000, 2)), np.zeros((100_000, 1)), memory=10**9)
    with pytest.raises(MemoryBudgetError, match=r"Cholesky factor .* 40.0 GB"):
        Cholesky().prepare(problem)


@pytest.mark.parametrize("precision", ["single", "double"])
def test_the_peak_is_about_one_matrix(reference, precision):
    n = 2000
    problem = reference.problem(n=n, q=1, kernel=Gaussian(2.0), fit_intercept=True)
    tracemalloc.start()
    Cholesky(precision).prepare(problem).solve(0.1, loo=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    matrix = n * n * (4 if precision == "single" else 8)
    assert peak < matrix + 2.2 * 2**24  # and blocks of columns for the diagonal of the inverse


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_matrix_and_factor_share_one_array(dtype):
    rng = np.random.default_rng(0)
    B = rng.standard_normal((600, 600))
    K = B @ B.T / 600
    shared = SharedTriangles(K.astype(dtype))
    V = rng.standard_normal((600, 3))
    tol = {"rtol": 2e-3, "atol": 2e-3} if dtype == np.float32 else {"rtol": 1e-9, "atol": 1e-9}
    for shift in (1.0, 0.5):
        assert shared.factor(np.full(600, shift))
        np.testing.assert_allclose(shared @ V, K @ V, **tol)
        np.testing.assert_allclose(shared.solve(V), np.linalg.solve(K + shift * np.eye(600), V), **tol)
        expected = np.diag(np.linalg.inv(K + shift * np.eye(600)))
        np.testing.assert_allclose(shared.inverse_diagonal(), expected, **tol)


def test_nothing_is_warned_about_when_all_is_well(reference):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Cholesky("single").prepare(reference.problem()).solve(1.0, loo=True)


def test_leave_one_out_residuals_that_single_precision_cannot_give_are_warned_about(reference):
    problem = reference.problem(n=300, d=2, q=1, kernel=Gaussian(2.0))
    prepared = Cholesky("single", tolerance=1e-3).prepare(problem)
    with pytest.warns(ConvergenceWarning, match=r"leave-one-out residuals are off by \d+%; use precision='double'"):
        prepared.solve(1e-5, loo=True)


def test_leave_one_out_in_auto_precision_is_exact_where_memory_allows(reference):
    problem = reference.problem(n=1600, d=5, q=1, kernel=Gaussian(2.0), fit_intercept=True)
    prepared = Cholesky().prepare(problem)
    prepared.solve(1e-3)
    assert prepared._matrix.dtype == np.float32
    expected = Spectral().prepare(problem).solve(1e-3, loo=True).loo
    np.testing.assert_allclose(prepared.solve(1e-3, loo=True).loo, expected, atol=1e-8)

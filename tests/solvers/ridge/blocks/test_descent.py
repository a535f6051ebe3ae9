"""Block descent, against dense solutions in float64."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer import MemoryBudgetError
from mercer.kernels import Custom, Gaussian, Polynomial, Sigmoid
from mercer.solvers import BlockDescent, Problem, Spectral
from mercer.testing.solvers import measure_gap

N = 240


def make_problem(**options):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    y = np.c_[np.sin(X[:, 0]) + 5, X[:, 1] ** 2] + 0.1 * rng.normal(size=(N, 2))
    return Problem(Gaussian(1.2), X, y, **options)


def solve(problem, alpha, block=60, **options):
    prepared = BlockDescent(block=block, random_state=0, **options).prepare(problem)
    return prepared.solve(np.asarray(alpha, dtype=float))


def check_solution(problem, solution, tolerance=1e-6):
    assert solution.converged
    assert measure_gap(problem, solution, solution.alpha) == pytest.approx(solution.residual, rel=0.05, abs=1e-10)
    truth = Spectral().prepare(problem).solve(solution.alpha)
    noise = problem.noise
    allowed = 4 * tolerance * noise.max() / noise.min() * np.linalg.norm(truth.coef, axis=0)
    assert (np.linalg.norm(solution.coef - truth.coef, axis=0) <= allowed).all()
    np.testing.assert_allclose(solution.intercept, truth.intercept, atol=1e-5)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("fit_intercept", [False, True], ids=["origin", "intercept"])
@pytest.mark.parametrize("alpha", [[0.1, 0.1], [0.1, 3.0]], ids=["one penalty", "two"])
def test_it_finds_the_dense_solution(weighted, fit_intercept, alpha):
    weights = np.random.default_rng(1).uniform(0.3, 3.0, N) if weighted else None
    problem = make_problem(weights=weights, fit_intercept=fit_intercept)
    check_solution(problem, solve(problem, alpha))


def test_a_block_of_all_points_takes_one_step_a_round():
    problem = make_problem()
    solution = solve(problem, [0.1, 0.1], block=10 * N)
    check_solution(problem, solution)
    assert solution.n_iter <= 6  # one that solves and one that looks, in each round of float32 products


@pytest.mark.parametrize("rank", [20, 10_000], ids=["low", "full"])
def test_a_nystroem_block_leads_to_the_same_solution(rank):
    problem = make_problem(fit_intercept=True)
    check_solution(problem, solve(problem, [1.0, 1.0], rank=rank))


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_targets_of_any_size_are_fitted(scale):
    problem = make_problem(fit_intercept=True)
    plain = solve(problem, [0.1, 0.1])
    scaled = solve(replace(problem, y=scale * problem.y), [0.1, 0.1])
    np.testing.assert_allclose(scaled.coef / scale, plain.coef, rtol=1e-3, atol=1e-5)
    assert scaled.converged


def test_points_may_be_repeated():
    problem = make_problem()
    twice = replace(problem, X=np.r_[problem.X, problem.X], y=np.r_[problem.y, problem.y])
    check_solution(twice, solve(twice, [0.1, 0.1]))


def test_one_point_is_enough():
    problem = Problem(Gaussian(), np.zeros((1, 2)), np.array([[3.0]]), fit_intercept=True)
    solution = solve(problem, [1.0])
    assert (solution.converged, solution.coef[0, 0], solution.intercept[0]) == (True, 0.0, 3.0)


def test_kernels_of_other_objects_and_stored_matrices_serve():
    words = [format(i, "b") for i in range(60)]
    kernel = Custom(lambda a, b: float(np.exp(-abs(len(a) - len(b)))))
    problem = Problem(kernel, words, np.arange(60.0)[:, None])
    check_solution(problem, solve(problem, [0.5], block=20))


def test_without_a_penalty_it_refuses():
    with pytest.raises(ValueError, match=r"one positive alpha for each of the 2 outputs.*spectral"):
        solve(make_problem(), [0.0, 1.0])


def test_leave_one_out_residuals_are_refused():
    with pytest.raises(ValueError, match="diagonal of the inverse; use the spectral"):
        BlockDescent().prepare(make_problem()).solve(np.ones(2), loo=True)


@pytest.mark.parametrize("options", [{"tolerance": 0.0}, {"max_iter": 0}, {"block": 0}, {"block": 1.5}, {"rank": True}])
def test_wrong_options_are_named(options):
    with pytest.raises(ValueError, match=f"BlockDescent: {next(iter(options))} must be"):
        BlockDescent(**options)


def test_a_block_beyond_the_budget_is_refused():
    with pytest.raises(MemoryBudgetError, match=r"a block of 200 points needs.*smaller block"):
        solve(make_problem(memory=500_000), [1.0, 1.0], block=200)


def test_an_indefinite_kernel_is_named():
    problem = replace(make_problem(), kernel=Sigmoid(scale=-1.0, offset=-1.0))
    with pytest.warns(ConvergenceWarning, match=r"not positive semi-definite.*k\.certificate"):
        solution = solve(problem, [1e-3, 1e-3])
    assert not solution.converged
    assert np.isfinite(solution.coef).all()


def test_too_few_passes_are_told():
    with pytest.warns(ConvergenceWarning, match="stopped after 2 passes: raise max_iter"):
        solution = solve(make_problem(), [0.01, 0.01], max_iter=2)
    assert solution.residual < 1.0 < 1e6 * solution.residual


def test_steps_that_are_too_long_are_shortened(monkeypatch):
    from mercer.solvers.ridge.blocks import descent

    exact = descent.invert_block
    monkeypatch.setattr(descent, "invert_block", lambda *given: lambda G: 3.0 * exact(*given)(G))
    problem = make_problem()
    check_solution(problem, solve(problem, [0.5, 0.5]))


def test_values_beyond_float32_are_multiplied_in_float64():
    problem = replace(make_problem(), kernel=Polynomial(degree=20, offset=100.0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        solution = solve(problem, [1e38, 1e38], max_iter=5)
    assert np.isfinite(solution.coef).all()

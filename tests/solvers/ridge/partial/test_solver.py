"""A factor of some points and iterations for the others, against dense solutions in float64."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer.arrays.budget import MemoryBudgetError
from mercer.kernels import Gaussian, Laplacian, Matern
from mercer.models import KernelRidge
from mercer.solvers import Cholesky, PartialCholesky, Problem
from mercer.solvers.costs import Sizes
from mercer.solvers.plan import plan_problem
from mercer.solvers.ridge import fit
from mercer.solvers.ridge.partial import solver as module
from mercer.solvers.ridge.partial.solver import best_share
from mercer.testing.solvers import measure_gap

N = 500


@pytest.fixture
def points():
    return np.random.default_rng(0).normal(size=(N, 4))


@pytest.fixture
def targets(points):
    rng = np.random.default_rng(1)
    return np.c_[np.sin(points[:, 0]) + 5, points[:, 1] ** 2] + 0.1 * rng.normal(size=(N, 2))


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("alpha", [[1e-2, 1e-2], [1e-3, 0.5]])
@pytest.mark.parametrize("kernel", [Gaussian(2.0), 1e6 * Laplacian(2.0), Matern(1.5)])
def test_it_finds_what_a_factor_of_all_points_finds(points, targets, fit_intercept, weighted, alpha, kernel):
    weights = np.random.default_rng(2).uniform(0.2, 3.0, N) if weighted else None
    alpha = float(kernel.diag(points[:1])[0]) * np.array(alpha)
    problem = Problem(kernel, points, targets, weights, fit_intercept)
    found = PartialCholesky(eliminated=150, random_state=0).prepare(problem).solve(alpha)
    whole = Cholesky("double").prepare(problem).solve(alpha)
    assert found.converged
    assert found.n_iter > 0
    assert measure_gap(problem, found, alpha) == pytest.approx(found.residual, rel=0.05, abs=1e-9)
    noise = problem.noise[:, None] * alpha  # αW⁻¹c are the errors of the fit, which the certificate bounds
    assert np.linalg.norm(noise * (found.coef - whole.coef)) <= 1e-4 * np.linalg.norm(noise * whole.coef)
    np.testing.assert_allclose(found.intercept, whole.intercept, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found.parts.sum(axis=0), whole.parts.sum(axis=0), rtol=1e-6)


def test_the_certificate_reaches_what_is_asked(points, targets):
    problem = Problem(Laplacian(2.0), points, targets)
    loose, tight = (
        PartialCholesky(tolerance, eliminated=100, random_state=0).prepare(problem).solve(np.full(2, 1e-2))
        for tolerance in (1e-2, 1e-10)
    )
    assert loose.residual <= 1e-2
    assert tight.residual <= 1e-10
    assert loose.n_iter < tight.n_iter


def test_iterations_that_do_not_suffice_are_said_with_what_to_do(points, targets):
    prepared = PartialCholesky(1e-12, max_iter=3, eliminated=5, random_state=0).prepare(
        Problem(Laplacian(0.5), points, targets)
    )
    with pytest.warns(ConvergenceWarning, match="use the Cholesky solver, raise alpha, max_iter or the number"):
        solution = prepared.solve(np.full(2, 1e-5))
    assert not solution.converged


def test_a_fit_that_would_take_too_long_ends_and_goes_on_with_a_factor(points, targets, monkeypatch):
    problem = Problem(Laplacian(0.5), points, targets)
    slow = PartialCholesky(affordable=1, eliminated=5, random_state=0).prepare(problem).attempt(np.full(2, 1e-4))
    assert not slow.converged
    assert slow.residual == np.inf
    assert 0 < slow.n_iter < 100
    np.testing.assert_allclose(slow.intercept, 0.0)
    chosen = plan_problem(problem, np.full(2, 1e-4), "partial")
    monkeypatch.setattr(fit, "_choose_plan", lambda *_, **__: chosen)
    monkeypatch.setattr(fit, "_affordable_steps", lambda *_: 1)
    monkeypatch.setattr(module, "best_share", lambda _: 0.01)
    plan, solution, _ = fit.solve_ridge(problem, np.full(2, 1e-4))
    assert plan.solver == "cholesky"
    assert plan.reason.startswith("partial had not converged after")
    assert solution.converged


def test_where_few_points_explain_all_others_they_precondition_iterations(points, targets, monkeypatch):
    problem = Problem(Gaussian(30.0), points, targets, fit_intercept=True)
    monkeypatch.setattr(module, "Elimination", None)  # which is not needed
    solution = PartialCholesky(random_state=0).prepare(problem).solve(np.full(2, 0.1))
    assert solution.converged
    assert solution.n_iter < 20


@pytest.mark.parametrize("n", [1, 2, 3, 10])
@pytest.mark.parametrize("eliminated", ["auto", 1, 100])
def test_a_few_points_are_no_special_case(points, targets, n, eliminated):
    problem = Problem(Laplacian(1.0), points[:n], targets[:n], fit_intercept=True)
    found = PartialCholesky(1e-8, eliminated=eliminated, random_state=0).prepare(problem).solve(np.full(2, 0.1))
    whole = Cholesky("double").prepare(problem).solve(np.full(2, 0.1))
    assert found.converged
    np.testing.assert_allclose(found.coef, whole.coef, atol=1e-6)
    np.testing.assert_allclose(found.intercept, whole.intercept, atol=1e-6)


def test_progress_is_told_while_it_iterates(points, targets):
    heard = []
    solver = PartialCholesky(eliminated=100, random_state=0, on_iteration=lambda *told: heard.append(told))
    solution = solver.prepare(Problem(Laplacian(1.0), points, targets)).solve(np.full(2, 1e-2))
    assert [steps for steps, _ in heard] == list(range(1, solution.n_iter + 1))
    assert heard[-1][1] < 1e-3 * heard[0][1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tolerance": 0.0}, "tolerance must be between 0 and 1, got 0.0"),
        ({"max_iter": 0}, "max_iter must be a whole number of at least 1, got 0"),
        ({"eliminated": 0}, "eliminated must be 'auto' or a whole number of at least 1, got 0"),
        ({"eliminated": True}, "eliminated must be 'auto' or a whole number of at least 1, got True"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        PartialCholesky(**options)


def test_what_it_cannot_do_is_refused_with_what_can(points, targets):
    prepared = PartialCholesky().prepare(Problem(Gaussian(), points, targets))
    with pytest.raises(ValueError, match="cannot give leave-one-out residuals"):
        prepared.solve(np.ones(2), loo=True)
    with pytest.raises(ValueError, match="needs alpha > 0, got 0: use the spectral solver"):
        prepared.solve(np.zeros(2))
    with pytest.raises(MemoryBudgetError, match=r"half of a 500 × 500 matrix.* or use the conjugate gradient"):
        PartialCholesky().prepare(Problem(Gaussian(), points, targets, memory=10_000))


def test_the_factor_is_the_larger_the_more_iterations_it_saves():
    def share(n, penalty):
        return best_share(Sizes(n, 10, np.inf, 1, 1, 10**10, False, True, share=penalty))

    shares = [share(20_000, penalty) for penalty in (1.0, 1e-1, 1e-2, 1e-3, 1e-4)]
    assert shares == sorted(shares)
    assert share(100_000, 1e-3) < share(20_000, 1e-3) < share(5_000, 1e-3)


def test_small_penalties_of_many_points_are_planned_so_unless_states_are_kept():
    X, y = np.zeros((15_000, 18)), np.zeros((15_000, 1))
    problem, alpha = Problem(Gaussian(4.0), X, y, memory=8 * 10**9), np.array([1e-3])
    found = plan_problem(problem, alpha)
    assert found.solver == "partial"
    assert found.steps > 0
    assert found.memory <= 8 * 10**9
    assert "a factor of" in found.reason
    assert plan_problem(problem, alpha, saved=True).solver != "partial"
    assert plan_problem(problem, alpha, loo=True).solver != "partial"
    assert plan_problem(Problem(Gaussian(4.0), X, y, memory=4 * 10**8), alpha).solver == "cg"


def test_a_model_names_it_and_leaves_points_out_by_a_factor(points, targets):
    model = KernelRidge(1e-2, kernel=Laplacian(1.0), solver="partial", random_state=0, tol=1e-8).fit(points, targets)
    whole = KernelRidge(1e-2, kernel=Laplacian(1.0), solver="cholesky").fit(points, targets)
    assert model.plan_.solver == "partial"
    assert model.converged_
    assert model.residual_ <= 1e-8
    np.testing.assert_allclose(model.predict(points), whole.predict(points), atol=1e-6)
    np.testing.assert_allclose(model.leave_one_out(), whole.leave_one_out(), atol=1e-4)

"""Conjugate gradients, against dense solutions in float64."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer.kernels import Custom, Gaussian, Laplacian, Polynomial, Sigmoid
from mercer.solvers import products
from mercer.solvers.base import Problem
from mercer.solvers.products import RATES, Products, multiply_stored
from mercer.solvers.ridge import fit
from mercer.solvers.ridge.cg import ConjugateGradient
from mercer.testing.solvers import measure_gap

N = 300


@pytest.fixture
def points():
    return np.random.default_rng(0).normal(size=(N, 3))


@pytest.fixture
def targets(points):
    rng = np.random.default_rng(1)
    return np.c_[np.sin(points[:, 0]) + 5, points[:, 1] ** 2, points.sum(axis=1)] + 0.1 * rng.normal(size=(N, 3))


def solve(problem, alpha, **options):
    return ConjugateGradient(random_state=0, **options).prepare(problem).solve(np.asarray(alpha, dtype=float))


def direct(K, problem, alpha):
    """The saddle-point system of c and b, solved densely."""
    n, coef, intercept = problem.n, [], []
    for y, a in zip(problem.y.T, alpha, strict=True):
        A = K + a * np.diag(problem.noise)
        if problem.fit_intercept:
            A = np.block([[A, np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
            y = np.append(y, 0.0)
        c = np.linalg.solve(A, y)
        coef.append(c[:n])
        intercept.append(c[n] if problem.fit_intercept else 0.0)
    return np.transpose(coef), np.array(intercept)


def assert_solves(K, problem, solution, tolerance=1e-6):
    assert solution.converged
    assert solution.residual <= tolerance
    # Rounding of the product itself is all that two residuals may differ by.
    assert measure_gap(problem, solution, solution.alpha) == pytest.approx(solution.residual, rel=0.05, abs=1e-10)
    coef, intercept = direct(K, problem, solution.alpha)
    noise = problem.noise[:, None]
    # The error of c is at most the residual times the condition number of W.
    allowed = 4 * tolerance * noise.max() / noise.min() * np.linalg.norm(coef, axis=0)
    assert (np.linalg.norm(solution.coef - coef, axis=0) <= allowed).all()
    np.testing.assert_allclose(solution.intercept, intercept, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("alpha", [1e-4, 1e-2, 1.0, 1e2])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_solution_is_the_direct_one(points, targets, alpha, fit_intercept, weighted):
    weights = np.random.default_rng(2).uniform(0.2, 5.0, N) if weighted else None
    problem = Problem(Gaussian(), points, targets, weights, fit_intercept)
    solution = solve(problem, [alpha, 3 * alpha, alpha])
    assert_solves(Gaussian()(points), problem, solution)
    assert solution.centers is problem.X
    if fit_intercept:
        np.testing.assert_allclose(solution.coef.sum(axis=0), 0.0, atol=1e-9 * np.abs(solution.coef).sum())


def test_outputs_with_very_different_alphas_are_solved_at_once(points, targets):
    problem = Problem(Laplacian(), points, targets, None, True)
    solution = solve(problem, [1e-3, 1.0, 1e3])
    assert_solves(Laplacian()(points), problem, solution)
    for j in range(3):
        alone = solve(Problem(Laplacian(), points, targets[:, [j]], None, True), solution.alpha[[j]])
        np.testing.assert_allclose(alone.coef[:, 0], solution.coef[:, j], rtol=0, atol=1e-5 * np.abs(alone.coef).max())


def test_a_stricter_tolerance_is_reached_although_iterations_are_in_float32(points, targets):
    problem = Problem(Gaussian(), points, targets)
    prepared = ConjugateGradient(tolerance=1e-10, random_state=0).prepare(problem)
    assert prepared.products.single
    solution = prepared.solve(np.full(3, 0.1))
    assert_solves(Gaussian()(points), problem, solution, 1e-10)


def test_float32_data_is_solved_in_float64(points, targets):
    single = points.astype(np.float32)
    problem = Problem(Gaussian(), single, targets, None, True)
    assert_solves(Gaussian()(single.astype(np.float64)), problem, solve(problem, np.full(3, 1e-2)))


def test_where_float32_is_too_coarse_it_goes_on_in_float64(points, targets):
    problem = Problem(Gaussian(2.0), points, targets)
    prepared = ConjugateGradient(random_state=0).prepare(problem)
    solution = prepared.solve(np.full(3, 1e-7))
    assert not prepared.products.single
    assert solution.converged
    assert measure_gap(problem, solution, solution.alpha) <= 2e-6


def test_values_beyond_float32_are_no_obstacle(targets):
    X = np.linspace(1e6, 2e6, N).reshape(-1, 1)
    kernel = Polynomial(degree=4, offset=0.0)
    problem = Problem(kernel, X, targets)
    solution = solve(problem, np.full(3, 1e44))
    assert solution.converged
    assert solution.residual <= 1e-6


def test_objects_are_solved_with_the_matrix_kept():
    rng = np.random.default_rng(3)
    words = ["".join(rng.choice(list("abcdefgh"), size=5)) for _ in range(60)]
    kernel = Custom(lambda x, z: float(len(set(x) & set(z))))
    K = np.array([[float(len(set(x) & set(z))) for z in words] for x in words])
    problem = Problem(kernel, words, rng.normal(size=(60, 2)), rng.uniform(0.5, 2.0, 60), True)
    prepared = ConjugateGradient(random_state=0).prepare(problem)
    assert prepared.products.stored
    assert_solves(K, problem, prepared.solve(np.array([0.1, 1.0])))


def test_wide_data_has_its_matrix_kept_in_float32():
    X = np.random.default_rng(4).normal(size=(200, 64)) / 8
    problem = Problem(Gaussian(), X, X[:, :2])
    prepared = ConjugateGradient(random_state=0).prepare(problem)
    assert prepared.products.stored
    assert prepared.products.single
    assert_solves(Gaussian()(X), problem, prepared.solve(np.array([1e-2, 1.0])))


def test_nothing_is_kept_that_does_not_fit_half_of_the_budget():
    X = np.random.default_rng(4).normal(size=(400, 64)) / 8
    problem = Problem(Gaussian(), X, X[:, :1], memory=1_200_000)
    prepared = ConjugateGradient(random_state=0).prepare(problem)
    assert not prepared.products.stored
    assert 8 * 400 * prepared.preconditioner.rank < 400_000
    assert_solves(Gaussian()(X), problem, prepared.solve(np.array([1e-2])))


@pytest.mark.parametrize("columns", [1, 5])
def test_a_stored_product_is_the_product(columns):
    rng = np.random.default_rng(5)
    K = rng.normal(size=(5000, 50)).astype(np.float32)
    K = K @ K.T
    V = rng.normal(size=(5000, columns))
    np.testing.assert_allclose(multiply_stored(K, V), K.astype(np.float64) @ V, rtol=0, atol=0.05)
    np.testing.assert_allclose(multiply_stored(K.astype(np.float64), V), K.astype(np.float64) @ V, atol=1e-8)


def test_a_kernel_in_python_too_large_to_keep_is_multiplied_lazily():
    X = list(np.linspace(0, 1, 50))
    kernel = Custom(lambda x, z: np.exp(-abs(x - z)))
    K = Products(Problem(kernel, X, np.zeros((50, 1)), memory=16_000))
    assert not K.stored
    np.testing.assert_allclose(K.fast(np.eye(50)[:, :2]), kernel(X)[:, :2])


def test_the_preconditioner_saves_most_of_the_iterations():
    X = np.random.default_rng(6).normal(size=(1000, 2))
    problem = Problem(Gaussian(), X, np.sin(X[:, :1]))
    with_it = solve(problem, [0.1])
    without = solve(problem, [0.1], rank=0)
    assert with_it.converged
    assert without.converged
    assert 5 * with_it.n_iter < without.n_iter


def test_the_rank_grows_where_many_iterations_are_foreseen(monkeypatch):
    X = np.random.default_rng(7).normal(size=(800, 4))
    problem = Problem(Gaussian(), X, np.sin(X[:, :1]))
    free = replace(RATES["host"], flops=1e14)  # as if factorising were free
    monkeypatch.setitem(RATES, "host", free)
    solver = ConjugateGradient(random_state=0)
    prepared = solver.prepare(problem)
    first = prepared.preconditioner.rank
    solution = prepared.solve(np.array([1e-3]))
    assert prepared.preconditioner.rank > first
    fixed = ConjugateGradient(random_state=0, rank=first).prepare(problem)
    assert fixed.solve(np.array([1e-3])).n_iter > solution.n_iter
    assert fixed.preconditioner.rank == first
    assert_solves(Gaussian()(X), problem, solution)


@pytest.mark.parametrize("alpha", [1e-2, 1e-4])
def test_float32_products_cost_few_iterations_more(alpha):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 4))
    problem = Problem(Gaussian(2.0), X, np.sin(X[:, :1]) + 0.1 * rng.normal(size=(1500, 1)))

    def count(rank, exact):
        prepared = ConjugateGradient(rank=rank, random_state=0).prepare(problem)
        assert prepared.products.single
        if exact:
            prepared.products.give_up_single()
        found = prepared.solve(np.array([alpha]))
        assert prepared.products.single != exact  # it was not given up on the way
        return found.n_iter

    for rank in (200, 400):
        assert count(rank, False) <= 1.3 * count(rank, True) + 2


def test_it_ends_where_more_iterations_are_foreseen_than_are_affordable(points, targets):
    problem = Problem(Laplacian(0.3), points, targets[:, :1])
    patient = ConjugateGradient(rank=2, random_state=0).prepare(problem).attempt(np.array([1e-3]))
    assert patient.converged
    hurried = ConjugateGradient(rank=2, random_state=0, affordable=patient.n_iter // 8).prepare(problem)
    given_up = hurried.attempt(np.array([1e-3]))
    assert not given_up.converged
    assert patient.n_iter // 16 <= given_up.n_iter <= patient.n_iter // 4
    enough = ConjugateGradient(rank=2, random_state=0, affordable=patient.n_iter).prepare(problem)
    assert enough.attempt(np.array([1e-3])).n_iter == patient.n_iter


def test_iterations_that_are_too_many_are_followed_by_a_factor(monkeypatch, points, targets):
    problem = Problem(Laplacian(0.3), points, targets[:, :1])
    monkeypatch.setattr(fit, "plan_problem", _prefer_iterations())
    plan, solution, _ = fit.solve_ridge(problem, np.array([1e-3]), random_state=0)
    assert plan.solver == "cholesky"
    assert "cg had not converged after" in plan.reason
    assert solution.converged


def _prefer_iterations():
    """A plan that expects five iterations of conjugate gradients, which take as long as a factor."""
    planned = fit.plan_problem

    def choose(problem, alpha, solver="auto", **options):
        found = planned(problem, alpha, "cg" if solver == "auto" else solver, **options)
        return replace(found, seconds=1.0, steps=5) if solver == "auto" else replace(found, seconds=1.0)

    return choose


def test_no_convergence_is_one_warning_with_residual_iterations_and_remedy(points, targets):
    problem = Problem(Gaussian(), points, targets)
    with pytest.warns(
        ConvergenceWarning, match=r"residual is .*, above 1.0e-06; it stopped after 3 iterations: raise max_iter"
    ) as seen:
        solution = solve(problem, np.full(3, 1e-4), max_iter=3, rank=0)
    assert len(seen) == 1
    assert not solution.converged
    assert solution.n_iter == 3
    assert solution.residual == pytest.approx(measure_gap(problem, solution, solution.alpha), rel=1e-3)


def test_an_alpha_below_rounding_stops_with_a_warning_instead_of_running_for_ever(targets, points):
    X = np.repeat(points[:30], 10, axis=0)
    with pytest.warns(ConvergenceWarning, match="ConjugateGradient has not converged.*stopped after"):
        assert not solve(Problem(Gaussian(), X, targets), np.full(3, 1e-15)).converged


def test_a_kernel_that_is_not_positive_semi_definite_is_named_as_the_reason(points, targets):
    problem = Problem(Sigmoid(2.0, -1.0) + 0.0 * Gaussian(), points, targets)
    try:
        with pytest.warns(ConvergenceWarning, match="ConjugateGradient has not converged.*stopped after"):
            solve(problem, np.full(3, 1e-3), rank=0, max_iter=200)
    except ValueError as error:
        assert "certificate" in str(error)  # noqa: PT017


def test_constant_targets_need_no_iterations_with_an_intercept(points):
    solution = solve(Problem(Gaussian(), points, np.full((N, 1), 2.5), None, True), [0.1])
    assert solution.converged
    assert solution.residual == 0.0
    np.testing.assert_allclose(solution.intercept, 2.5)
    np.testing.assert_allclose(solution.coef, 0.0, atol=1e-12)


def test_targets_of_zero_beside_others_stay_zero(points, targets):
    problem = Problem(Gaussian(), points, np.c_[targets, np.zeros(N)])
    solution = solve(problem, np.full(4, 0.1))
    assert solution.converged
    assert (solution.coef[:, 3] == 0.0).all()


def test_every_iteration_is_reported(points, targets):
    seen = []
    solution = solve(
        Problem(Gaussian(), points, targets),
        np.full(3, 0.1),
        on_iteration=lambda i, residual: seen.append((i, residual)),
    )
    assert [i for i, _ in seen] == list(range(1, solution.n_iter + 1))
    assert seen[-1][1] < 1e-5


def test_an_exception_from_the_callback_such_as_an_interrupt_comes_through(points, targets):
    def interrupt(iteration, residual):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve(Problem(Gaussian(), points, targets), np.full(3, 0.1), on_iteration=interrupt)


def test_the_same_seed_gives_the_same_solution_and_another_alpha_needs_no_preparation(points, targets):
    prepared = ConjugateGradient(random_state=0).prepare(Problem(Gaussian(), points, targets))
    prepared.solve(np.full(3, 1.0))
    second = prepared.solve(np.full(3, 0.1))
    np.testing.assert_array_equal(second.coef, solve(Problem(Gaussian(), points, targets), np.full(3, 0.1)).coef)


def test_one_point_is_enough():
    solution = solve(Problem(Gaussian(), np.zeros((1, 1)), np.array([[3.0]])), [0.5])
    np.testing.assert_allclose(solution.coef, 2.0, rtol=1e-6)
    with_intercept = solve(Problem(Gaussian(), np.zeros((1, 1)), np.array([[3.0]]), None, True), [0.5])
    np.testing.assert_allclose([with_intercept.coef[0, 0], with_intercept.intercept[0]], [0.0, 3.0])


@pytest.mark.parametrize("alpha", [[0.0], [-1.0], [np.nan], [1.0, 1.0]])
def test_alpha_must_be_positive_and_one_for_each_output(points, targets, alpha):
    with pytest.raises(ValueError, match="one positive alpha for each of the 1 outputs"):
        solve(Problem(Gaussian(), points, targets[:, :1]), alpha)


def test_leave_one_out_is_refused_with_the_solvers_that_have_it(points, targets):
    prepared = ConjugateGradient(random_state=0).prepare(Problem(Gaussian(), points, targets))
    with pytest.raises(ValueError, match="use the spectral, Cholesky or Nyström solver"):
        prepared.solve(np.ones(3), loo=True)


@pytest.mark.parametrize(
    "options", [{"tolerance": 0.0}, {"tolerance": 2}, {"max_iter": 0}, {"rank": -1}, {"rank": "large"}, {"rank": True}]
)
def test_options_are_checked(options):
    with pytest.raises(ValueError, match=f"ConjugateGradient: {next(iter(options))} must be"):
        ConjugateGradient(**options)


def test_converging_gives_no_warning(points, targets):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert solve(Problem(Gaussian(), points, targets), np.full(3, 0.1)).converged


@pytest.mark.parametrize(("tolerance", "exact"), [(1e-3, 0), (1e-8, 1)], ids=["loose", "strict"])
def test_of_very_many_points_float32_certifies_where_a_sample_of_rows_says_that_it_may(
    points, targets, tolerance, exact, monkeypatch
):
    monkeypatch.setattr(products, "MANY", N)
    monkeypatch.setattr(products, "SAMPLE", 50)
    calls = []
    multiply = Products.exact
    monkeypatch.setattr(Products, "exact", lambda self, V: calls.append(1) or multiply(self, V))
    problem = Problem(Gaussian(), points, targets, fit_intercept=True)
    solution = solve(problem, np.full(3, 0.1), tolerance=tolerance)
    assert bool(calls) == bool(exact)
    assert solution.converged
    assert measure_gap(problem, solution, solution.alpha) <= min(tolerance, 1.05 * solution.residual + 1e-10)


def test_what_a_product_lacks_is_seen_in_a_sample_of_its_rows(points, monkeypatch):
    monkeypatch.setattr(products, "SAMPLE", N // 2)
    problem = Problem(Gaussian(), points, np.zeros((N, 1)))
    rng = np.random.default_rng(0)
    V, roots = rng.normal(size=(N, 2)), rng.uniform(0.5, 2.0, size=(N, 1))
    error = rng.normal(size=(N, 2)) * [1.0, 1e-5]
    found = Products(problem).sample_error(V, Gaussian()(points) @ V + error, roots, rng)
    np.testing.assert_allclose(found, np.linalg.norm(roots * error, axis=0), rtol=0.2)

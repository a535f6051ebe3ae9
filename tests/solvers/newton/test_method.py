"""Newton's method for the logistic losses: minimum, certificate, and every way to take a step."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import log_softmax

from mercer.gram import MemoryBudgetError
from mercer.kernels import Custom, Gaussian
from mercer.solvers.base import Problem
from mercer.solvers.centers import choose_centers
from mercer.solvers.newton import features as _newton_features
from mercer.solvers.newton import gram as _newton_gram
from mercer.solvers.newton import method as _newton_method
from mercer.solvers.newton.intercept import find_intercept
from mercer.solvers.newton.method import minimise
from mercer.solvers.newton.plan import SOLVERS, plan_newton
from mercer.solvers.newton.prepared import PreparedNewton
from mercer.solvers.newton.rows import FeatureRows
from mercer.solvers.newton.sums import label_loss


def _data(classes, n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    score = X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.5 * rng.normal(size=n)
    codes = np.digitize(score, np.quantile(score, np.linspace(0, 1, classes + 1)[1:-1]))
    return X, label_loss(codes, classes, rng.uniform(0.5, 2.0, n))


def _problem(X, loss, fit_intercept=True, **options):
    kernel = options.pop("kernel", Gaussian(1.2))
    return Problem(kernel, X, np.zeros((len(X), loss.outputs)), loss.weights, fit_intercept, **options)


def _objective(K, loss, alpha, parameters, fit_intercept):
    """The penalised loss written out, without any of the library's code."""
    n, q = len(K), loss.outputs
    coef = parameters[: n * q].reshape(n, q)
    b = parameters[n * q :] if fit_intercept else np.zeros(q)
    g = K @ coef + b
    if q == 1:
        signs = 2.0 * loss.codes - 1
        losses = np.log1p(np.exp(-signs * g[:, 0]))
    else:
        losses = -log_softmax(g, axis=1)[np.arange(n), loss.codes]
    return loss.weights @ losses + alpha * np.sum(coef * (K @ coef))


def _by_scipy(X, loss, alpha, fit_intercept):
    """The minimum by BFGS in the coordinates in which the norm is Euclidean."""
    K = Gaussian(1.2)(X)
    values, vectors = np.linalg.eigh(K)
    root = vectors / np.sqrt(np.maximum(values, 1e-10))  # c = root u has cᵀKc = |u|²
    n, q = len(X), loss.outputs

    def function(z):
        coef = root @ z[: n * q].reshape(n, q)
        return _objective(K, loss, alpha, np.concatenate([coef.ravel(), z[n * q :]]), fit_intercept)

    def gradient(z):
        u = z[: n * q].reshape(n, q)
        b = z[n * q :] if fit_intercept else np.zeros(q)
        features = K @ root
        residual = loss.residuals(features @ u + b)
        by_u = -features.T @ residual + 2 * alpha * u
        return np.concatenate([by_u.ravel(), -residual.sum(axis=0) if fit_intercept else []])

    start = np.zeros(n * q + (q if fit_intercept else 0))
    return minimize(function, start, jac=gradient, method="BFGS", options={"gtol": 1e-7, "maxiter": 5000}).fun


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("alpha", [1.0, 0.01])
@pytest.mark.parametrize("classes", [2, 3])
def test_every_solver_finds_the_minimum_a_generic_optimiser_finds(classes, alpha, fit_intercept):
    X, loss = _data(classes)
    expected = _by_scipy(X, loss, alpha, fit_intercept)
    for solver in SOLVERS:
        prepared = PreparedNewton(_problem(X, loss, fit_intercept), loss, solver, n_centers=40, random_state=0)
        found = prepared.solve(alpha, tol=1e-11)
        assert found.converged
        assert found.objective == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("classes", [2, 4])
def test_the_gap_is_primal_minus_the_entropy_dual(classes, solver):
    X, loss = _data(classes)
    K, alpha = Gaussian(1.2)(X), 0.1
    prepared = PreparedNewton(_problem(X, loss), loss, solver, n_centers=40, random_state=0)
    for steps in range(3):  # before convergence, where the gap is not all rounding
        prepared._last = None
        found = prepared.solve(alpha, tol=1e-14, max_iter=steps)
        residual = loss.residuals(found.state.outputs)
        hit = np.eye(classes)[loss.codes][:, -loss.outputs :]
        p = hit - residual / loss.weights[:, None]
        p = np.column_stack([1 - p, p]) if classes == 2 else p
        np.testing.assert_allclose(residual.sum(axis=0), 0, atol=1e-11)
        np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-12)
        assert (p >= 0).all()
        entropy = -np.sum(loss.weights[:, None] * p * np.log(p))
        dual = entropy - np.sum(residual * (K @ residual)) / (4 * alpha)
        assert found.gap == pytest.approx(found.objective - dual, rel=1e-6, abs=1e-8)
        assert found.gap > 1e-6


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("classes", [2, 3])
def test_at_the_minimum_coefficients_are_residuals_over_twice_the_penalty(classes, solver):
    X, loss = _data(classes)
    prepared = PreparedNewton(_problem(X, loss), loss, solver, n_centers=40, random_state=0)
    found = prepared.solve(0.05, tol=1e-13)
    _, places, coef = prepared.expand(found.state)
    K = Gaussian(1.2)(X)
    chosen = np.arange(len(X)) if places is None else places
    gradient = K @ loss.residuals(found.state.outputs) - 2 * 0.05 * K[:, chosen] @ coef
    np.testing.assert_allclose(gradient, 0, atol=1e-5)
    assert found.gap <= 1e-13 * found.objective


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_objective_never_rises_even_from_a_bad_start(solver):
    X, loss = _data(3)
    prepared = PreparedNewton(_problem(X, loss), loss, solver, n_centers=40, random_state=0)
    prepared.solve(1e-4)
    prepared._last.coef *= -30.0  # far away, and confidently wrong
    prepared._last.values *= -30.0
    prepared._last.norm2 *= 900.0
    start, found = prepared._last, []
    for steps in range(6):
        prepared._last = start
        found.append(prepared.solve(0.5, max_iter=steps).objective)
    assert found[-1] < found[0]
    assert (np.diff(found) <= 0).all()


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 5), st.floats(0.0, 30.0), st.integers(0, 1000))
def test_residuals_and_curvature_are_derivatives_of_the_loss(classes, size, seed):
    rng = np.random.default_rng(seed)
    codes = np.r_[np.arange(classes), rng.integers(classes, size=4)]
    loss = label_loss(codes, classes, rng.uniform(0.5, 2.0, len(codes)))
    outputs = size * rng.normal(size=(len(codes), loss.outputs))
    direction = rng.normal(size=outputs.shape)
    h = 1e-5
    ahead, behind = outputs + h * direction, outputs - h * direction
    slope = (loss.value(ahead) - loss.value(behind)) / (2 * h)
    assert -np.sum(loss.residuals(outputs) * direction) == pytest.approx(slope, rel=1e-5, abs=1e-6)
    bend = (loss.residuals(behind) - loss.residuals(ahead)) / (2 * h)
    blocks = loss.curvature(outputs, intercept=False).blocks()
    np.testing.assert_allclose(np.einsum("nij,nj->ni", blocks, direction), bend, rtol=1e-4, atol=1e-5)


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 4), st.floats(0.0, 1e4), st.integers(0, 1000))
def test_the_best_intercept_makes_residuals_sum_to_zero(classes, size, seed):
    rng = np.random.default_rng(seed)
    size = size if classes == 2 else min(size, 300.0)  # beyond, several intercepts are a problem of their own
    codes = np.r_[np.arange(classes), rng.integers(classes, size=20)]
    loss = label_loss(codes, classes, rng.uniform(0.5, 2.0, len(codes)))
    values = size * rng.normal(size=(len(codes), loss.outputs))
    b = find_intercept(loss, values, np.zeros(loss.outputs))
    residuals = loss.residuals(values + b)
    # Where |values| is large, rounding of b itself moves probabilities by its size.
    np.testing.assert_allclose(residuals.sum(axis=0), 0, atol=1e-11 * (1 + size) * len(codes))


@pytest.mark.parametrize("classes", [2, 3])
def test_a_root_of_the_curvature_times_its_transpose_is_the_curvature(classes):
    _, loss = _data(classes, n=12)
    outputs = np.random.default_rng(1).normal(size=(12, loss.outputs))
    curvature = loss.curvature(outputs, intercept=True)
    V = np.random.default_rng(2).normal(size=outputs.shape)
    expected = np.einsum("nij,nj->ni", curvature.blocks(), V)
    np.testing.assert_allclose(curvature.half(curvature.half_transposed(V)), expected, atol=1e-14)
    np.testing.assert_allclose(curvature.half(curvature.divide(expected)), expected, atol=1e-14)
    # A step that the constants do not take up leaves the sum of coefficients alone.
    np.testing.assert_allclose(curvature.half(curvature.remove_constants(V)).sum(axis=0), 0, atol=1e-12)


def test_a_factor_in_single_precision_reaches_the_same_gap(monkeypatch):
    X, loss = _data(2, n=200)
    exact = PreparedNewton(_problem(X, loss), loss, "newton").solve(0.01, tol=1e-10)
    tight = _problem(X, loss, memory=500_000)  # too little for float64 copies
    assert _newton_gram._store(tight).dtype == np.float32
    found = PreparedNewton(tight, loss, "newton").solve(0.01, tol=1e-10)
    assert found.converged
    assert found.objective == pytest.approx(exact.objective, rel=1e-9)


def test_blocks_of_features_and_iterated_equations_change_nothing(monkeypatch):
    X, loss = _data(3, n=60)
    whole = PreparedNewton(_problem(X, loss), loss, "nystroem", 15, random_state=0).solve(0.1, tol=1e-11)
    monkeypatch.setattr(_newton_features, "BLOCK", 15 * 7)  # seven rows at a time
    monkeypatch.setattr(_newton_features, "JOINT", 1)
    found = PreparedNewton(_problem(X, loss), loss, "nystroem", 15, random_state=0).solve(0.1, tol=1e-11)
    assert found.converged
    assert found.objective == pytest.approx(whole.objective, rel=1e-10)


def _features(problem, indices, triangle):
    return _newton_features.NystroemFeatures(problem, problem.X[indices], triangle)


def test_features_that_are_computed_again_each_time_change_nothing():
    X, loss = _data(2, n=300)
    problem = _problem(X, loss)
    indices, triangle = choose_centers(problem, 20, np.random.RandomState(0))
    held = _features(problem, indices, triangle)
    lazy = _features(_problem(X, loss, memory=10_000), indices, triangle)
    assert held.stored is not None
    assert lazy.stored is None
    dense = np.concatenate([block for _, block in lazy.blocks()])
    np.testing.assert_allclose(dense, held.stored, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(dense[indices] @ dense.T, Gaussian(1.2)(X[indices], X), atol=1e-9)


def test_features_held_in_single_precision_reach_the_same_minimum():
    X, loss = _data(2, n=300)
    centers = choose_centers(_problem(X, loss), 20, np.random.RandomState(0))
    double, single = (_features(_problem(X, loss, **given), *centers) for given in ({}, {"memory": 100_000}))
    assert [double.stored.dtype, single.stored.dtype] == [np.float64, np.float32]
    spaces = [_newton_features.FeatureSpace(FeatureRows(loss, features), True) for features in (double, single)]
    found = [minimise(space, 0.1) for space in spaces]
    assert found[1].converged
    assert found[1].objective == pytest.approx(found[0].objective, rel=1e-6)


@pytest.mark.parametrize("too_far", [1.0, 5.0])
def test_where_the_objective_shows_nothing_the_gap_judges_each_step(too_far, monkeypatch):
    X, loss = _data(2, n=300)
    centers = choose_centers(_problem(X, loss), 20, np.random.RandomState(0))
    gaps = []

    class Blind(_newton_features.FeatureSpace):
        def residual(self, state, alpha):
            found = super().residual(state, alpha)
            gaps.append(found[1] / (4 * alpha))
            return found

        def step(self, *given, **options):
            length = 1.0 if len(gaps) < 4 else too_far
            return tuple(length * part for part in super().step(*given, **options))

    monkeypatch.setattr(_newton_method, "_blur", lambda objective: np.inf)
    found = minimise(Blind(FeatureRows(loss, _features(_problem(X, loss), *centers)), True), 0.1, tol=1e-12)
    assert found.gap == min(gaps)
    assert (found.gap == gaps[-1]) == found.converged == (too_far == 1.0)


def test_a_warm_start_takes_fewer_steps_to_the_same_minimum():
    X, loss = _data(2, n=80)
    cold = PreparedNewton(_problem(X, loss), loss, "newton").solve(0.01, tol=1e-10)
    prepared = PreparedNewton(_problem(X, loss), loss, "newton")
    prepared.solve(0.012, tol=1e-10)
    warm = prepared.solve(0.01, tol=1e-10)
    assert warm.objective == pytest.approx(cold.objective, rel=1e-9)
    assert warm.n_iter < cold.n_iter


def test_the_plan_follows_size_and_memory():
    def solver(n, **options):
        X = np.zeros((n, 3))
        n_centers = options.pop("n_centers", None)
        return plan_newton(Problem(Gaussian(), X, np.zeros((n, 1)), **options), n_centers=n_centers).solver

    assert solver(500, memory=10**9) == "newton"
    assert solver(5000, memory=10**9) == "newton-cg"
    assert solver(5000, memory=10**9, n_centers=100) == "nystroem"
    assert solver(2_000_000, memory=8 * 10**9) == "nystroem"
    with pytest.raises(MemoryBudgetError, match="memory budget"):
        solver(100_000, memory=10_000)
    problem = Problem(Gaussian(), np.zeros((5000, 3)), np.zeros((5000, 1)), memory=10**7)
    with pytest.raises(MemoryBudgetError, match="solver='newton' for 5000 points needs"):
        plan_newton(problem, "newton")
    with pytest.raises(ValueError, match="solver must be 'auto' or one of"):
        plan_newton(problem, "magic")


def test_a_matrix_that_is_not_positive_semi_definite_is_refused():
    X, loss = _data(2)
    kernel = Custom(lambda x, z: -10.0 * float(x @ z))
    with pytest.raises(np.linalg.LinAlgError, match="not positive"):
        PreparedNewton(_problem(X, loss, kernel=kernel), loss, "newton").solve(1e-3)


SIZES = (1e-12, 1e12)


def _certificate(K, coef, intercept, loss, alpha):
    """Objective, duality gap and what residuals miss a sum of 0 by (beside their sizes), in extended precision."""
    wide = np.longdouble
    K, c, w = K.astype(wide), coef.astype(wide), loss.weights.astype(wide)
    g = K @ c + intercept.astype(wide)
    g = np.column_stack([np.zeros(len(g), wide), g]) if loss.outputs == 1 else g
    g = g - g[np.arange(len(g)), loss.codes][:, None]
    top = g.max(axis=1, keepdims=True)
    logs = g - top - np.log(np.exp(g - top).sum(axis=1, keepdims=True))
    p = np.exp(logs)
    hit = np.arange(loss.classes) == loss.codes[:, None]
    R = w[:, None] * np.where(hit, np.where(hit, 0, p).sum(axis=1, keepdims=True), -p)
    R = R[:, 1:] if loss.outputs == 1 else R
    objective = w @ -logs[np.arange(len(g)), loss.codes] + alpha * np.sum(c * (K @ c))
    r = R - 2 * alpha * c
    return objective, np.sum(r * (K @ r)) / (4 * alpha), np.abs(R.sum(axis=0)).max() / np.abs(R).sum()


@pytest.mark.parametrize(
    ("alpha", "weights", "size", "classes"),
    [
        (alpha, weights, size, classes)
        for alpha, weights, size, classes in product((1e-16, 1.0, 1e6), ("even", "one heavy", "uneven"), SIZES, (2, 3))
        if alpha == 1.0 or weights == "even" or classes == 2  # others take long, and say what others say
    ],
)
def test_a_fit_that_says_converged_has_a_small_gap_in_extended_precision_at_any_scale(classes, size, weights, alpha):
    rng = np.random.default_rng(3)
    X, loss = _data(classes, n=30)
    w = {
        "even": np.ones(30),
        "one heavy": np.where(np.arange(30) == 5, 1e13, 1.0),
        "uneven": 10 ** rng.uniform(-10, 13, 30),
    }
    loss = label_loss(loss.codes, classes, w[weights])
    for solver in ("newton", "newton-cg"):
        problem = _problem(X + 1e8, loss, kernel=size * Gaussian(1.2))
        K = problem.kernel(X + 1e8)
        found = PreparedNewton(problem, loss, solver, random_state=0).solve(alpha, max_iter=6)
        assert found.converged == (found.gap <= 1e-8 * found.objective)
        if found.converged:
            objective, gap, unbalanced = _certificate(K, found.state.coef, found.state.intercept, loss, alpha)
            assert found.objective == pytest.approx(float(objective), rel=1e-9)
            assert gap <= 2e-8 * objective
            assert unbalanced <= 1e-8


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("factor", [1e-12, 1e12])
def test_problems_that_are_equal_up_to_scale_take_the_same_steps(classes, factor):
    X, loss = _data(classes)
    heavier = label_loss(loss.codes, classes, factor * loss.weights)
    for solver in ("newton", "newton-cg", "nystroem"):
        plain = PreparedNewton(_problem(X, loss), loss, solver, 20, 0).solve(0.1)
        larger = _problem(X, loss, kernel=factor * Gaussian(1.2))
        for other, alpha in (
            (PreparedNewton(larger, loss, solver, 20, 0), 0.1 * factor),
            (PreparedNewton(_problem(X, heavier), heavier, solver, 20, 0), 0.1 * factor),
        ):
            found = other.solve(alpha)
            assert found.converged
            assert found.n_iter == plain.n_iter
            np.testing.assert_allclose(found.state.outputs, plain.state.outputs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("weights", [np.r_[1e13, np.ones(29)], np.r_[1e-10, np.full(29, 1e13)]])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_best_intercept_balances_the_residuals_of_light_points_beside_heavy_ones(classes, weights):
    _, loss = _data(classes, n=30)
    loss = label_loss(loss.codes, classes, weights)
    values = np.random.default_rng(0).normal(size=(30, loss.outputs))
    b = find_intercept(loss, values, np.zeros(loss.outputs))
    R = loss.residuals(values + b)
    assert np.abs(R.sum(axis=0)).max() <= 1e-9 * np.abs(R).sum()


@pytest.mark.parametrize("classes", [2, 3])
def test_the_gap_over_the_whole_space_bounds_what_centres_leave_on_the_table(classes):
    X, loss = _data(classes)
    problem = _problem(X, loss)
    best = PreparedNewton(problem, loss, "newton").solve(0.01, tol=1e-12)
    K = problem.kernel(X)
    for centers in (2, 10, 40):
        prepared = PreparedNewton(problem, loss, "nystroem", centers, 0)
        found = prepared.solve(0.01)
        gap = prepared.measure_gap(0.01, found, 0.0).absolute
        _, indices, coef = prepared.expand(found.state)
        full = np.zeros((len(X), loss.outputs))
        full[indices] = coef
        _, exact, _ = _certificate(K, full, found.state.intercept, loss, 0.01)
        assert gap == pytest.approx(float(exact), rel=1e-6, abs=1e-9 * found.objective)
        assert gap >= found.gap
        assert found.objective - best.objective <= gap + 1e-9 * found.objective
    assert PreparedNewton(problem, loss, "newton").measure_gap(0.01, best, 0.0).absolute == best.gap


def test_the_gap_over_the_whole_space_is_left_out_where_it_would_cost_more_than_the_fit(monkeypatch):
    X, loss = _data(2)
    prepared = PreparedNewton(_problem(X, loss), loss, "nystroem", 5, 0)
    found = prepared.solve(0.1)
    monkeypatch.setattr("mercer.solvers.newton.prepared.CHEAP", 0.0)
    assert np.isnan(prepared.measure_gap(0.1, found, 1.0).absolute)
    assert np.isfinite(prepared.measure_gap(0.1, found, 1e12).absolute)

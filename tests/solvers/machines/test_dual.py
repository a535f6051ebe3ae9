"""The evidence of support vector machines: no unit changes it, and exact arithmetic agrees with it."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.kernels import Gaussian, Linear, Precomputed
from mercer.solvers.machines.dual import DualProblem, DualSolution
from mercer.solvers.machines.smo import SMO

MACHINES = ("svc", "svr", "one-class", "nu-svc", "nu-svr")


def fill(upper, total):
    """Return a point of the box [0, upper] whose sum is ``total``, filled from the front."""
    return np.clip(total - np.concatenate([[0.0], np.cumsum(upper)[:-1]]), 0.0, upper)


def machine(name, X, y, bounds, nu=0.3):
    """Return the order of the points, and the problem of a machine with a bound for each of them."""
    n, order, zeros = len(y), np.arange(len(y)), np.zeros(len(y))
    if name == "svc":
        return order, DualProblem(y, np.minimum(0, bounds * y), np.maximum(0, bounds * y), zeros)
    if name == "svr":
        return order, DualProblem(X[:, 0] ** 2, -bounds, bounds, zeros, 0.1)
    if name == "one-class":
        return order, DualProblem(zeros, zeros, bounds, fill(bounds, nu * bounds.sum()))
    if name == "nu-svc":
        order = np.argsort(-y, kind="stable")
        y, bounds, half = y[order], bounds[order], int((y > 0).sum())
        total = nu * min(bounds[:half].sum(), bounds[half:].sum())
        start = np.concatenate([fill(bounds[:half], total), -fill(bounds[half:], total)])
        return order, DualProblem(zeros, np.minimum(0, bounds * y), np.maximum(0, bounds * y), start, second=half)
    half = fill(bounds, nu * bounds.sum() / 2)
    lower, upper = np.concatenate([zeros, -bounds]), np.concatenate([bounds, zeros])
    return order, DualProblem(np.tile(X[:, 0] ** 2, 2), lower, upper, np.concatenate([half, -half]), second=n)


def points(seed, n, d=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.sign(X[:, 0] + 0.5 * rng.normal(size=n))
    y[:2] = 1.0, -1.0
    return X, y, rng


def exact_gap(K, found):
    """Return gap and size of the objective of a solution in exact arithmetic, from the definition of both problems."""
    p, n = found.problem, found.problem.n
    exact = [[Fraction(float(v)) for v in row] for row in np.tile(K, (n // len(K), n // len(K)))]
    t, lower, upper, beta = ([Fraction(float(v)) for v in part] for part in (p.target, p.lower, p.upper, found.beta))
    epsilon = Fraction(float(p.epsilon))
    values = [sum((k * b for k, b in zip(row, beta, strict=True) if b), Fraction(0)) for row in exact]
    square = sum(b * v for b, v in zip(beta, values, strict=True)) / 2
    dual = sum(a * b - epsilon * abs(b) for a, b in zip(t, beta, strict=True)) - square
    primal = square
    for group, b in zip(p.groups, found.intercepts, strict=True):
        intercept = Fraction(float(b))
        primal += intercept * sum((Fraction(float(v)) for v in p.start[group]), Fraction(0))
        for i in range(group.start, group.stop):
            r = t[i] - values[i] - intercept
            primal += max(upper[i] * (r - epsilon), lower[i] * (r + epsilon), Fraction(0))
    return primal - dual, max(abs(primal), abs(dual))


def assert_the_flag_is_true(K, found):
    gap, size = exact_gap(K, found)
    if found.converged:
        assert gap <= Fraction(max(found.tol, 1e-8)) * size
        assert found.relative_gap <= max(found.tol, 1e-8)
    else:
        assert not found.relative_gap <= found.tol


@pytest.mark.parametrize("name", MACHINES)
@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(-40, 40), st.integers(-60, 60))
def test_problems_that_are_equal_up_to_scale_take_the_same_steps(name, seed, kernel, box):
    X, y, rng = points(seed, 24)
    order, problem = machine(name, X, y, rng.uniform(0.1, 3.0, 24))
    X = X[order]
    s, c = 2.0**kernel, 2.0**box  # of K and of the coefficients: slopes change by both
    other = DualProblem(
        s * c * problem.target, c * problem.lower, c * problem.upper, c * problem.start, s * c * problem.epsilon,
        problem.second,
    )  # fmt: skip
    K = Gaussian()(X)
    one = SMO().solve(Precomputed(K), np.arange(24), problem)
    two = SMO().solve(Precomputed(s * K), np.arange(24), other)
    assert one.n_iter == two.n_iter
    assert one.converged
    assert one.relative_gap == two.relative_gap
    np.testing.assert_array_equal(c * one.beta, two.beta)
    np.testing.assert_array_equal(s * c * one.intercepts, two.intercepts)
    np.testing.assert_allclose(s * c * c * one.dual, two.dual, rtol=1e-12)


def test_tiny_points_with_a_large_price_take_the_steps_of_others():
    X, y, _ = points(0, 200)
    found = {}
    for scale in (1.0, 2.0**-30, 2.0**-300, 2.0**200):
        _, problem = machine("svc", X, y, np.full(200, scale**-2))
        found[scale] = SMO().solve(scale * scale * Linear(), X, problem)
        assert found[scale].converged
        np.testing.assert_allclose(found[scale].values, found[1.0].values, atol=1e-5)
    # Beyond float32 kernel values are in float64.
    for one, two in ((1.0, 2.0**-30), (2.0**-300, 2.0**200)):
        assert found[one].n_iter == found[two].n_iter
        assert found[one].relative_gap == found[two].relative_gap


@pytest.mark.parametrize("name", MACHINES)
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.floats(-10, 13), st.floats(-12, 12), st.floats(-3, 6))
def test_what_counts_as_converged_is_so_in_exact_arithmetic(name, seed, spread, kernel, price):
    X, y, rng = points(seed, 12)
    bounds = 10.0**price * 10.0 ** (spread * rng.uniform(size=12))
    order, problem = machine(name, X, y, bounds)
    K = 10.0**kernel * Gaussian()(X[order])
    assert_the_flag_is_true(K, SMO(max_iter=100_000).solve(Precomputed(K), np.arange(12), problem))


@pytest.mark.parametrize("name", MACHINES)
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.floats(-9, 9), st.sampled_from([0.0, 1.0, 1e4, 1e8]), st.floats(-3, 6))
def test_points_far_from_the_origin_are_no_excuse(name, seed, scale, offset, price):
    X, y, _ = points(seed, 12)
    order, problem = machine(name, X, y, np.full(12, 10.0**price))
    X = 10.0**scale * (X[order] + offset)
    assert_the_flag_is_true(Linear()(X), SMO(max_iter=100_000).solve(Precomputed(Linear()(X)), np.arange(12), problem))


@pytest.mark.parametrize("name", MACHINES)
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.floats(0, 1))
def test_the_gap_of_any_point_of_the_box_is_that_of_exact_arithmetic(name, seed, share):
    X, y, rng = points(seed, 10)
    order, problem = machine(name, X, y, rng.uniform(0.1, 3.0, 10))
    K = Gaussian()(X[order])
    best = SMO(tol=1e-8).solve(Precomputed(K), np.arange(10), problem).beta
    beta = problem.start + share * (best - problem.start)
    values = np.tile(K, (problem.n // 10, problem.n // 10)) @ beta
    found = DualSolution(problem, beta, values, 0, 1e-3)
    gap, size = exact_gap(K, found)
    assert found.duality_gap == pytest.approx(float(gap), rel=1e-9, abs=1e-12 * float(size))
    assert found.relative_gap == pytest.approx(float(gap / size), rel=1e-9, abs=1e-12)
    assert replace(found, error=1e-3).duality_gap > found.duality_gap


@pytest.mark.parametrize("unit", [1e-300, 1e-150, 1.0, 1e150, 1e300])
def test_targets_of_any_size_are_fitted_with_evidence_that_is_finite(unit):
    X, y, _ = points(3, 40)
    _, problem = machine("svr", X, y, np.full(40, 5.0))
    steps = SMO().solve(Gaussian(), X, problem).n_iter
    other = DualProblem(unit * problem.target, unit * problem.lower, unit * problem.upper, problem.start, 0.1 * unit)
    found = SMO().solve(Gaussian(), X, other)
    assert found.converged
    assert 0 < found.relative_gap <= 1e-3
    assert abs(found.n_iter - steps) <= 0.2 * steps  # 1e-150 is no power of two: rounding is another
    np.testing.assert_allclose(found.values / unit, Gaussian()(X) @ (found.beta / unit), atol=1e-5)


def test_equal_targets_need_no_coefficients():
    X = points(1, 30)[0]
    for value in (0.1, -1e8, 0.0):
        problem = DualProblem(np.full(30, value), np.full(30, -1.0), np.ones(30), np.zeros(30))
        found = SMO().solve(Gaussian(), X, problem)
        assert found.converged
        assert found.duality_gap <= 1e-14 * abs(value)
        assert found.intercepts[0] == value
        assert (found.beta == 0).all()


@pytest.mark.parametrize("name", ["nu-svc", "one-class"])
def test_hulls_that_meet_are_never_certified(name):
    X, y, rng = points(0, 200)
    order, problem = machine(name, X, rng.permutation(y), np.ones(200))
    found = SMO().solve(Linear(), X[order], problem)
    assert found.n_iter < 10_000
    assert found.violation <= 1e-12 * 200
    assert not found.converged
    assert found.relative_gap > 0.5


def test_a_wide_box_is_solved_until_the_gap_says_so():
    X, y, _ = points(5, 60)
    X[:, 0] = np.abs(X[:, 0]) * y + 0.3 * y  # a separable problem: coefficients are far from the ends of their box
    for C in (1.0, 1e3, 1e6):
        _, problem = machine("svc", X, y, np.full(60, C))
        found = SMO().solve(Gaussian(), X, problem)
        assert found.converged
        assert_the_flag_is_true(Gaussian()(X), found)

"""A factor that is kept, corrected by what steps have shown, leads to the minimum that a new one would."""

import numpy as np
import pytest

from mercer.kernels import Gaussian
from mercer.solvers.base import Problem
from mercer.solvers.centers import choose_centers
from mercer.solvers.newton import secants
from mercer.solvers.newton.features import CenterValues, FeatureSpace, NystroemFeatures
from mercer.solvers.newton.method import minimise
from mercer.solvers.newton.rows import FeatureRows, weigh_features
from mercer.solvers.newton.secants import Secants
from mercer.solvers.newton.sums import label_loss

RNG = np.random.default_rng(0)


def _curvature(n):
    root = RNG.normal(size=(n, n))
    return root @ root.T + np.eye(n)


def test_the_last_change_of_the_gradient_leads_back_to_its_step():
    A, b = _curvature(6), RNG.normal(size=(6, 1))
    known = Secants(lambda V: V)
    points = RNG.normal(size=(4, 6, 1))
    for w in points:
        known.follow(w, b - A @ w)
    step = points[3] - points[2]
    np.testing.assert_allclose(known.solve(A @ step), step, atol=1e-10)


def test_steps_to_the_minimum_along_them_end_as_conjugate_gradients_do():
    A, b = _curvature(6), RNG.normal(size=6)
    w, known = np.zeros(6), Secants(lambda V: V)
    for _ in range(6):
        known.follow(w, b - A @ w)
        step = known.solve(b - A @ w)
        w = w + step * (step @ (b - A @ w)) / (step @ A @ step)
    np.testing.assert_allclose(w, np.linalg.solve(A, b), atol=1e-8)


def test_a_gradient_that_does_not_fall_is_told():
    known = Secants(lambda V: V)
    assert known.follow(np.zeros(2), np.ones(2))
    assert known.follow(np.ones(2), 0.4 * np.ones(2))
    assert not known.follow(2 * np.ones(2), 0.3 * np.ones(2))
    assert not known.follow(2 * np.ones(2), 0.3 * np.ones(2))  # a step of 0 shows nothing, and does no harm
    assert np.isfinite(known.solve(np.ones(2))).all()


@pytest.mark.parametrize(("length", "good"), [(0.2, False), (0.8, True), (2.0, False)])
def test_steps_that_are_much_too_long_or_too_short_are_told(length, good):
    known = Secants(lambda V: V)
    known.follow(np.zeros(2), np.ones(2))
    assert known.follow(length * known.solve(np.ones(2)), 0.1 * np.ones(2)) == good


@pytest.mark.parametrize("classes", [2, 3])
def test_a_kept_factor_saves_hessians_and_leads_to_the_same_minimum(classes, monkeypatch):
    rng = np.random.default_rng(classes)
    X = rng.normal(size=(200, 2))
    codes = np.digitize(X[:, 0] + 0.3 * rng.normal(size=200), [-0.4, 0.4][: classes - 1])
    loss = label_loss(codes, classes, np.ones(200))
    problem = Problem(Gaussian(), X, np.zeros((200, 1)), fit_intercept=True)
    indices, triangle = choose_centers(problem, 12, np.random.RandomState(0))
    counts = []

    def solve():
        rows = FeatureRows(loss, NystroemFeatures(problem, X[indices], triangle))
        bend = rows.hessian
        counts.append(0)

        def count(*given):
            counts[-1] += 1
            return bend(*given)

        monkeypatch.setattr(rows, "hessian", count)
        return minimise(FeatureSpace(rows, True), 0.1, tol=1e-10)

    kept = solve()
    monkeypatch.setattr(secants, "FALL", 0.0)
    fresh = solve()
    assert kept.converged
    assert counts[0] < counts[1] == fresh.n_iter
    assert kept.objective == pytest.approx(fresh.objective, rel=1e-9)


def test_products_that_are_streamed_are_those_of_the_matrix():
    X, loss = RNG.normal(size=(50, 3)), label_loss(np.arange(50) % 3, 3, np.ones(50))
    problem = Problem(Gaussian(), X, np.zeros((50, 1)), fit_intercept=True, memory=20_000)
    values, K = CenterValues(problem, X[:7]), Gaussian()(X, X[:7])
    w, outputs = RNG.normal(size=(7, 3)), RNG.normal(size=(50, 3))
    np.testing.assert_allclose(values.apply(w), K @ w, atol=1e-12)
    np.testing.assert_allclose(values.pull(outputs), K.T @ outputs, atol=1e-12)
    (part, some), *more = values.some(np.array([2, 5, 48]))
    assert (part, more) == (slice(0, 3), [])
    np.testing.assert_allclose(some, K[[2, 5, 48]], atol=1e-12)
    rows = FeatureRows(loss, values)
    np.testing.assert_allclose(rows.gradient(outputs), K.T @ loss.residuals(outputs), atol=1e-12)


def test_features_are_weighed_on_both_sides_or_on_one():
    phi, weights = RNG.normal(size=(9, 4)), RNG.uniform(size=9)
    np.testing.assert_allclose(weigh_features(phi, weights), phi.T @ np.diag(weights) @ phi, atol=1e-12)
    np.testing.assert_allclose(weigh_features(phi, -weights, signed=True), -phi.T @ np.diag(weights) @ phi, atol=1e-12)

"""Points left out: exact for squares, and near the fits without each point for classes."""

import numpy as np
import pytest

from mercer.kernels import Gaussian
from mercer.losses import Squared
from mercer.solvers.base import Problem
from mercer.solvers.newton.left_out import approximate_loo
from mercer.solvers.newton.prepared import PreparedNewton
from mercer.solvers.newton.sums import label_loss, weigh_loss
from mercer.solvers.ridge.banded import loo_path

N = 40


@pytest.fixture
def points():
    return np.random.default_rng(0).normal(size=(N, 2))


def _leave_out(X, loss, alpha, intercept, together=True):
    problem = Problem(Gaussian(), X, np.zeros((len(X), loss.outputs)), fit_intercept=intercept)
    found = PreparedNewton(problem, loss, "newton").solve(alpha, 1e-12).state
    return approximate_loo(Gaussian()(X), found.outputs, loss, alpha, intercept, together=together)


def _predict(X, loss, alpha, intercept, new):
    problem = Problem(Gaussian(), X, np.zeros((len(X), loss.outputs)), fit_intercept=intercept)
    prepared = PreparedNewton(problem, loss, "newton")
    found = prepared.solve(alpha, 1e-12).state
    centers, _, coef = prepared.expand(found)
    return Gaussian()(new, centers) @ coef + found.intercept


@pytest.mark.parametrize("intercept", [False, True])
def test_squares_are_left_out_exactly(points, intercept):
    y = np.column_stack([np.sin(points[:, 0]), points[:, 1]])
    found = _leave_out(points, weigh_loss(Squared(), y, np.ones(N), 2), 0.3, intercept)
    problem = Problem(Gaussian(), points, y, fit_intercept=intercept)
    scale = Squared().curvature(y[:1], y[:1])[0, 0] / 2.0  # of the loss beside (y − f)²
    residuals = loo_path(problem)(np.array([0.3 / scale]))[0]
    np.testing.assert_allclose(found, y - residuals, atol=1e-7)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(
    ("classes", "together", "share"), [(2, True, 0.12), (3, True, 0.12), (3, False, 0.25)], ids=["two", "three", "each"]
)
def test_classes_are_left_out_nearly_as_by_fitting_again(points, classes, together, share, intercept):
    codes = np.digitize(points[:, 0] + 0.5 * np.random.default_rng(1).normal(size=N), [-0.4, 0.5][: classes - 1])
    alpha, weights = 0.2, np.random.default_rng(2).uniform(0.5, 1.5, N)
    near = _leave_out(points, label_loss(codes, classes, weights), alpha, intercept, together)
    here = _predict(points, label_loss(codes, classes, weights), alpha, intercept, points)
    brute = np.zeros_like(near)
    for i in range(N):
        rest = np.arange(N) != i
        loss = label_loss(codes[rest], classes, weights[rest])
        brute[i] = _predict(points[rest], loss, alpha, intercept, points[i : i + 1])
    judge = label_loss(codes, classes, weights).value
    assert abs(judge(near) - judge(brute)) < 2.0 * share * (judge(brute) - judge(here))  # of what leaving out costs
    near, here, brute = (values - values.mean(axis=1, keepdims=True) * (classes > 2) for values in (near, here, brute))
    assert np.linalg.norm(near - brute) < share * np.linalg.norm(brute - here)  # of what leaving out changes

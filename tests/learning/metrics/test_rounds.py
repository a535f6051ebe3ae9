"""Averages of slopes are what brute force says, and rounds of them find what matters."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.kernels import Gaussian, Matern, Polynomial
from mercer.learning.metrics.judge import Judgement, MetricTrial, measure_spread
from mercer.learning.metrics.metric import Metric, Structure
from mercer.learning.metrics.rounds import advance, average_slopes
from mercer.models import KernelRidge
from mercer.solvers.base import Problem


@pytest.mark.parametrize("kernel", [Matern(0.5, 2.0), Gaussian(), Polynomial(3, 1.0)], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_averages_leave_out_the_own_term_of_each_point(kernel, weighted):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(15, 2)), rng.normal(size=(15, 2))
    weights = rng.uniform(0.5, 2.0, 15) if weighted else None
    c = KernelRidge(0.1, kernel=kernel, fit_intercept=True).fit(X, y, weights).dual_coef_
    G = np.zeros((2, 2))
    for i, share in enumerate(np.full(15, 1 / 15) if weights is None else weights / weights.sum()):
        others = np.arange(15) != i
        for q in range(2):
            slope = c[others, q] @ kernel.gradient_x(X[i : i + 1], X[others])[0]
            G += share * np.outer(slope, slope)
    found = average_slopes(Problem(kernel, X, y, weights, fit_intercept=True), 0.1)
    np.testing.assert_allclose(found, G, rtol=1e-7, atol=1e-9 * np.abs(G).max())


def test_slopes_by_mapped_points_become_slopes_by_points():
    rng = np.random.default_rng(1)
    X, R = rng.normal(size=(60, 3)), rng.normal(size=(3, 3))
    y = np.sin(X[:, :1]) + X[:, 1:2]
    problem = Problem(Gaussian(), X, y)
    in_metric = MetricTrial(Gaussian(), Metric(R), 0.1, np.inf)
    found = advance(problem, in_metric, Structure("full")).matrix
    wanted = average_slopes(Problem(Metric(R).put_before(Gaussian()), X, y), 0.1)
    np.testing.assert_allclose(found, wanted / np.trace(wanted), rtol=1e-6, atol=1e-9)


def test_a_flat_function_keeps_its_metric():
    problem = Problem(Gaussian(), np.random.default_rng(0).normal(size=(20, 2)), np.zeros((20, 1)))
    start = MetricTrial(Gaussian(), Metric(np.ones(2)), 1.0, np.inf)
    assert advance(problem, start, Structure("full")) is start.metric


def test_errors_are_those_of_the_first_rows_when_each_is_left_out():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(30, 2)), rng.normal(size=(30, 1))
    weights = rng.uniform(0.5, 2.0, 30)
    judge = Judgement(Problem(Gaussian(), X, y, weights, fit_intercept=True), 10)
    found = judge(MetricTrial(Matern(1.5), Metric(np.array([1.0, 0.3])), 1.0, np.inf))
    kernel = Matern(1.5, [1.0, 1 / 0.3])
    squares = []
    for i in range(10):
        rest = np.arange(30) != i
        model = KernelRidge(found.alpha, kernel=kernel, fit_intercept=True).fit(X[rest], y[rest], weights[rest])
        squares.append((model.predict(X[i : i + 1])[0, 0] - y[i, 0]) ** 2)
    assert found.error == pytest.approx(np.average(squares, weights=weights[:10]), rel=1e-6)


def test_scales_are_found_beyond_the_factors_that_were_given():
    X = np.random.default_rng(3).uniform(size=(80, 1))
    problem = Problem(Gaussian(), X, np.sin(40.0 * X), fit_intercept=True)
    judge = Judgement(problem, 80)
    found = judge.find_scale(MetricTrial(Gaussian(), Metric(np.ones(1)), 1.0, np.inf), [1.5, 2.0])
    assert found.error < 1e-3
    assert measure_spread(found.metric.map(X)) > 2.5

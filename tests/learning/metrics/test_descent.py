"""The gradient of the leave-one-out error by the whole metric is its gradient, and following it helps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg

from mercer.gram.slopes import sum_weighted_slopes
from mercer.kernels import Gaussian, Laplacian, Matern, Polynomial, PowerExponential, RationalQuadratic
from mercer.learning.metrics.descent import descend
from mercer.learning.metrics.judge import MetricTrial
from mercer.learning.metrics.metric import Metric, Structure
from mercer.solvers.base import Problem
from mercer.solvers.ridge.loo_gradient import judge_kernel, leave_one_out

KERNELS = [
    Gaussian(), Matern(1.5), Matern(2.5, 2.0), RationalQuadratic(), 2.0 * Gaussian() + Matern(2.5), Laplacian(3.0),
    PowerExponential(1.5, 1.2, 2.0), Polynomial(2, 1.0).normalize() * Gaussian(3.0),
]  # fmt: skip


def make_data(seed: int = 0, n: int = 25, d: int = 3, outputs: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(X @ rng.normal(size=(d, outputs))) + 0.1 * rng.normal(size=(n, outputs))


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@given(seed=st.integers(0, 10**6), outputs=st.integers(1, 2), log_alpha=st.floats(-2.0, 1.0), intercept=st.booleans())
@settings(max_examples=5, deadline=None)
def test_the_gradient_by_the_exponent_of_a_map_is_that_of_finite_differences(
    kernel, seed, outputs, log_alpha, intercept
):
    X, y = make_data(seed, outputs=outputs)
    weights = np.random.default_rng(seed).uniform(0.5, 2.0, len(X))
    alpha = 10.0**log_alpha
    E = np.random.default_rng(seed + 1).normal(size=(3, 3))
    E = E + E.T

    def error(step):
        moved = X @ linalg.expm(step * E)
        return leave_one_out(kernel, moved, y, alpha, weights=weights, fit_intercept=intercept, gradient=False).error

    M = judge_kernel(kernel, X, y, alpha, weights=weights, fit_intercept=intercept).M
    slope = np.sum(2.0 * X.T @ sum_weighted_slopes(kernel, X, M) * E)
    h = 1e-6  # small, because coordinates of two points that change places are kinks
    wanted = (error(h) - error(-h)) / (2.0 * h)
    assert slope == pytest.approx(wanted, rel=1e-4, abs=1e-6 * error(0.0))


def test_following_it_lowers_the_error_and_finds_the_direction_that_matters():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 4))
    y = np.sin(2.0 * X @ np.array([[1.0], [1.0], [0.0], [0.0]]))
    problem = Problem(Matern(1.5), X, y, fit_intercept=True)
    start = MetricTrial(Matern(1.5), Metric(np.full(4, 0.5)), 1e-3, np.inf)
    last = descend(start, problem, Structure("full"), np.random.RandomState(0), size=150, steps=60)

    def error(trial):
        return leave_one_out(Matern(1.5), trial.metric.map(X), y, trial.alpha, gradient=False).error

    assert error(last) < 0.2 * error(start)
    direction = np.linalg.eigh(last.metric.matrix)[1][:, -1]
    np.testing.assert_allclose(np.abs(direction), [0.5**0.5, 0.5**0.5, 0.0, 0.0], atol=0.15)


@pytest.mark.parametrize("structure", [Structure("diagonal"), Structure.of_blocks([[0, 2]])])
def test_metrics_keep_their_structure(structure):
    X, y = make_data(n=40)
    start = MetricTrial(Gaussian(), Metric(np.full(3, 0.5)), 0.1, np.inf)
    last = descend(start, Problem(Gaussian(), X, y), structure, np.random.RandomState(0), size=30, steps=5)
    allowed = np.eye(3, dtype=bool)
    if structure.groups:
        allowed[[0, 2], [2, 0]] = True
    assert (last.metric.matrix[~allowed] == 0).all()
    assert (last.metric.matrix[allowed] != 0).all()


def test_a_matrix_that_cannot_be_inverted_raises_the_penalty_instead_of_an_error():
    X = np.repeat(np.arange(5.0), 4)[:, None]
    start = MetricTrial(Gaussian(), Metric(np.ones(1)), 1e-300, np.inf)
    problem = Problem(Gaussian(), X, np.sin(X))
    found = descend(start, problem, Structure("diagonal"), np.random.RandomState(0), size=20, steps=8)
    assert np.isfinite(found.metric.root).all()
    assert found.alpha > 1e-12


def test_targets_without_errors_end_a_descent():
    X = np.random.default_rng(0).normal(size=(20, 2))
    start = MetricTrial(Gaussian(), Metric(np.ones(2)), 1.0, np.inf)
    problem = replace(Problem(Gaussian(), X, np.zeros((20, 1))), fit_intercept=True)
    found = descend(start, problem, Structure("full"), np.random.RandomState(0), size=20, steps=5)
    assert found.metric is start.metric

"""The likelihood at the best size of a kernel, its path and its gradient."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mercer.kernels import Gaussian, Linear
from mercer.solvers.base import Problem
from mercer.solvers.ridge.posterior.likelihood import find_likelihood
from mercer.solvers.ridge.posterior.profile import find_profile, profile_path


@pytest.fixture(params=[(False, False), (True, False), (False, True), (True, True)])
def problem(request):
    intercept, weighted = request.param
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(25, 2)), rng.normal(size=(25, 2))
    return Problem(
        Gaussian([1.0, 2.0]) + 0.3 * Linear(), X, y, rng.uniform(0.3, 2.0, 25) if weighted else None, intercept
    )


def test_the_size_is_the_one_at_which_the_likelihood_is_largest(problem):
    found = find_profile(problem, problem.kernel, 0.2)
    free = (problem.n - problem.fit_intercept) * 2

    def likelihood(size):
        return find_likelihood(replace(problem, kernel=size * problem.kernel), np.full(2, size * 0.2)).value

    best = likelihood(found.size)
    assert best == pytest.approx(-0.5 * free * np.log(2 * np.pi * np.e * found.error))
    assert max(likelihood(0.99 * found.size), likelihood(1.01 * found.size)) < best


def test_the_path_has_the_same_values(problem):
    alphas = np.array([1e-3, 0.2, 50.0])
    one_by_one = [find_profile(problem, problem.kernel, alpha, gradient=False).error for alpha in alphas]
    np.testing.assert_allclose(profile_path(problem)(alphas), one_by_one, rtol=1e-8)
    assert profile_path(problem)(np.array([1e-30]))[0] == np.inf


def test_the_gradient_is_the_slope(problem):
    found, step = find_profile(problem, problem.kernel, 0.2), 1e-6

    def error(alpha=0.2, **changes):
        return find_profile(problem, problem.kernel.with_hyperparameters(changes), alpha, gradient=False).error

    up, down = np.exp(step), np.exp(-step)
    assert found.by_log_alpha == pytest.approx((error(0.2 * up) - error(0.2 * down)) / (2 * step), rel=1e-5)
    for name, value in problem.kernel.hyperparameters().items():
        slope = (error(**{name: value * up}) - error(**{name: value * down})) / (2 * step)
        assert found.by_log_hyperparameter[name] == pytest.approx(slope, rel=1e-5)

"""The last steps of a search end where the criterion has a minimum, and let go of features that tell nothing."""

import numpy as np
import pytest

from mercer.kernels import Gaussian, Matern
from mercer.learning.criterion import MarginalCriterion
from mercer.learning.polishing import Valley, polish, release
from mercer.solvers.base import Problem

JUDGE = MarginalCriterion()


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3.0, 3.0, size=(400, 3))
    y = np.sin(2.0 * X[:, :1]) * X[:, 1:2] + 0.1 * rng.normal(size=(400, 1))  # the third feature is noise
    return Problem(Gaussian(), X, y, fit_intercept=True)


def test_no_slope_is_left_at_the_end(problem):
    kernel, alpha = polish(problem, Matern(2.5, [2.0, 2.0, 2.0]), 0.1, JUDGE, np.random.RandomState(0))
    found = JUDGE.judge(problem, kernel, alpha, gradient=True)
    slopes = np.array([found.by_log_alpha, *found.by_log_hyperparameter.values()]) / found.error
    assert problem.n * np.abs(slopes).max() < 0.3  # of the log likelihood, by a logarithm
    assert kernel.length_scale[2] > 100.0 * max(kernel.length_scale[:2])


def test_only_features_that_tell_nothing_are_let_go(problem):
    start = Gaussian([1.0, 3.0, 2.5])
    freed = release(problem, start, 0.05, JUDGE)
    assert list(freed.length_scale[:2]) == [1.0, 3.0]
    assert freed.length_scale[2] == pytest.approx(2500.0)
    assert JUDGE.judge(problem, freed, 0.05, gradient=False).error <= (
        JUDGE.judge(problem, start, 0.05, gradient=False).error * (1.0 + 1e-5)
    )


def test_a_straightened_valley_is_round(problem):
    valley = Valley(problem, Gaussian([1.0, 1.0, 9.0]), JUDGE, lambda error: False)
    at = valley.descend(valley.locate(Gaussian([1.0, 1.0, 9.0]), 0.05), 1e-4)
    T = valley.straighten(at)
    steps = [T[:, j] * 0.02 for j in (-1, -2)]  # along the steepest sides
    values = [valley.evaluate(at + sign * step)[0] for step in steps for sign in (1.0, 0.0, -1.0)]
    curvatures = [(values[i] - 2.0 * values[i + 1] + values[i + 2]) / 0.02**2 for i in (0, 3)]
    np.testing.assert_allclose(curvatures, 1.0, rtol=0.2)


def test_who_had_enough_gets_what_is_there(problem):
    heard = []
    kernel, alpha = polish(
        problem,
        Gaussian([1.0, 1.0, 1.0]),
        0.1,
        JUDGE,
        np.random.RandomState(0),
        lambda e: len(heard.append(e) or heard) > 2,
    )
    assert len(heard) == 3
    assert alpha > 0
    assert len(kernel.length_scale) == 3

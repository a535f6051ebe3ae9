"""Stein's discrepancy and the test of fit."""

import numpy as np
import pytest
from scipy import stats

from mercer import MemoryBudgetError
from mercer.arrays.place import Place
from mercer.embeddings import SteinTest, stein_discrepancy
from mercer.embeddings.stein import stein_matrix
from mercer.kernels import Gaussian, Laplacian, Linear, Matern, RationalQuadratic

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 3))
HERE = Place.find(None, "1GB")


def by_differences(k, X, S, h=1e-4):
    """u(x, y) with slopes of the kernel from central differences."""
    n, d = X.shape
    out, E = np.zeros((n, n)), h * np.eye(d)
    for i in range(n):
        for j in range(n):

            def value(x, y):
                return float(k([x], [y])[0, 0])

            x, y = X[i], X[j]
            dx = np.array([value(x + e, y) - value(x - e, y) for e in E]) / (2 * h)
            dy = np.array([value(x, y + e) - value(x, y - e) for e in E]) / (2 * h)
            mixed = [value(x + e, y + e) - value(x + e, y - e) - value(x - e, y + e) + value(x - e, y - e) for e in E]
            out[i, j] = S[i] @ S[j] * value(x, y) + S[i] @ dy + S[j] @ dx + sum(mixed) / (4 * h**2)
    return out


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(1.3),
        Gaussian([0.7, 1.0, 2.0]),
        RationalQuadratic(1.5, 0.5),
        2.0 * Gaussian() + 1.0,
        Gaussian() ** 2,
    ],
    ids=repr,
)
def test_the_stein_kernel_is_that_of_its_definition(kernel):
    few, S = X[:4], np.sin(X[:4])
    np.testing.assert_allclose(stein_matrix(kernel, few, S, HERE), by_differences(kernel, few, S), atol=2e-6)


def test_strips_of_rows_give_the_same_kernel(monkeypatch):
    from mercer.embeddings import stein

    expected = stein_matrix(Gaussian(), X, -X, HERE)
    monkeypatch.setattr(stein, "ENTRIES", 30)
    np.testing.assert_allclose(stein_matrix(Gaussian(), X, -X, HERE), expected)


def test_its_mean_under_the_density_is_zero():
    found = [stein_discrepancy(np.random.default_rng(i).normal(size=(20, 2)), lambda x: -x) for i in range(300)]
    assert abs(np.mean(found)) < 4 * np.std(found) / np.sqrt(300)
    assert stein_discrepancy(X, lambda x: -x, estimator="biased") > 0


def test_scores_may_be_given_as_numbers():
    assert stein_discrepancy(X, -X) == stein_discrepancy(X, lambda x: -x)


def test_the_level_is_held_by_many_points():
    rejected = sum(
        SteinTest(n_draws=99, random_state=i).test(np.random.default_rng(i).normal(size=(60, 1)), lambda x: -x).rejected
        for i in range(200)
    )
    low, high = stats.binom.interval(0.999, 200, 0.05)
    assert low <= rejected <= high


@pytest.mark.parametrize("kernel", [None, [Gaussian(0.5), Gaussian(2.0)]])
def test_a_sample_of_another_density_is_found(kernel):
    test = SteinTest(kernel, random_state=0)
    sample = np.random.default_rng(0).normal(size=(150, 2))
    assert test.test(sample + 0.6, lambda x: -x).rejected
    assert test.test(1.6 * sample, lambda x: -x).rejected
    outcome = test.test(sample, lambda x: -x)
    assert not outcome.rejected
    assert outcome.statistic == pytest.approx(stein_discrepancy(sample, lambda x: -x, outcome.kernel))


def test_points_of_a_chain_need_signs_that_change_slowly():
    def chain(seed):
        rng, x = np.random.default_rng(seed), np.zeros(150)
        for i in range(1, 150):
            x[i] = 0.9 * x[i - 1] + np.sqrt(1 - 0.81) * rng.normal()
        return x[:, None]

    def rejected(lag):
        return sum(
            SteinTest(lag=lag, n_draws=99, random_state=i).test(chain(i), lambda x: -x).rejected for i in range(50)
        )

    assert rejected(0.0) > 20
    assert rejected(25.0) <= 8


@pytest.mark.parametrize(
    "kernel", [Laplacian(), Linear(), Gaussian().on([0, 1]), Gaussian() + Gaussian([1.0, 2.0, 3.0])]
)
def test_kernels_that_are_no_function_of_one_squared_distance_are_refused(kernel):
    with pytest.raises(ValueError, match=r"use Gaussian\(\) or RationalQuadratic"):
        stein_discrepancy(X, -X, kernel)


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])  # the formulas of the last two do not tell their slope at 0
def test_kernels_without_two_slopes_where_points_meet_are_refused(nu):
    with pytest.raises(ValueError, match="needs a kernel with two slopes everywhere"):
        stein_discrepancy(X, -X, Matern(nu))


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="one slope for each feature of each point"):
        stein_discrepancy(X, X[:, :2])
    with pytest.raises(ValueError, match="that of point 0 is"):
        stein_discrepancy(X, X * np.inf)
    with pytest.raises(ValueError, match="at least 2 points in X, got 1"):
        SteinTest().test(X[:1], -X[:1])
    with pytest.raises(ValueError, match="has 2 length scales, but the points have 3"):
        stein_discrepancy(X, -X, Gaussian([1.0, 2.0]))
    with pytest.raises(ValueError, match="estimator must be"):
        stein_discrepancy(X, -X, estimator="linear")
    with pytest.raises(MemoryBudgetError, match="thin the sample first"):
        stein_discrepancy(X, -X, memory=1000)

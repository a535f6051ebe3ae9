"""Weights by the gradient of the leave-one-out error."""

import numpy as np
import pytest

from mercer.kernels import Gaussian, Linear
from mercer.learning.several.mixture import stack_kernels
from mercer.learning.several.weights import WeightProblem, learn_weights, merge_targets
from mercer.models import KernelRidge
from mercer.solvers.base import Problem

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 4))
KERNELS = [Gaussian().on([0]), Gaussian(2.0).on([1, 2]), Linear().on([3])]
Y = np.column_stack([np.sin(2 * X[:, 0]) + 0.2 * X[:, 1] ** 2, X[:, 1] * X[:, 2]]) + 0.1 * RNG.normal(size=(50, 2))
WEIGHTS = RNG.uniform(0.5, 2.0, size=50)


def problem(weights, intercept, y=Y):
    stack = stack_kernels(KERNELS, X, weights=weights, centred=intercept)
    return WeightProblem(stack, y, weights, fit_intercept=intercept)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_gradient_is_that_of_finite_differences(weights, intercept):
    case, w, alpha, step = problem(weights, intercept), np.array([0.5, 0.3, 0.2]), 0.3, 1e-6
    _, by_weights, by_log_alpha = case.slope(w, alpha)
    for k, along in enumerate(step * np.eye(3)):
        slope = (case.slope(w + along, alpha)[0] - case.slope(w - along, alpha)[0]) / (2 * step)
        assert slope == pytest.approx(by_weights[k], rel=1e-6)
    ends = [case.slope(w, alpha * np.exp(sign * step))[0] for sign in (1, -1)]
    assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(by_log_alpha, rel=1e-6)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_error_is_that_of_refitting_without_each_point(weights, intercept):
    case, w, alpha = problem(weights, intercept), np.array([0.5, 0.3, 0.2]), 0.3
    kernel, left = case.stack.mixture.weighted(w).kernel(), []
    for i in range(len(X)):
        rest = np.delete(np.arange(len(X)), i)
        model = KernelRidge(alpha, kernel=kernel, fit_intercept=intercept)
        model.fit(X[rest], Y[rest], None if weights is None else weights[rest])
        left.append((Y[i] - model.predict(X[[i]])[0]) ** 2)
    expected = np.average(np.mean(left, axis=1), weights=weights)
    assert case.judge(w, alpha).error == pytest.approx(expected, rel=1e-8)
    shares = np.ones(50) if weights is None else weights
    constant = [(Y[i] - intercept * np.average(np.delete(Y, i, 0), axis=0, weights=np.delete(shares, i))) ** 2
                for i in range(50)]  # fmt: skip
    assert case.judge_constant().error == pytest.approx(np.average(np.mean(constant, axis=1), weights=weights))


def test_only_ratios_of_weights_and_penalty_count():
    case, w = problem(None, True), np.array([0.5, 0.3, 0.2])
    one, two = case.judge(w, 0.3), case.judge(7.0 * w, 2.1)
    assert one.error == pytest.approx(two.error)
    np.testing.assert_allclose(two.weights, one.weights)
    assert one.alpha == pytest.approx(two.alpha)


def test_many_targets_have_the_errors_of_the_few_they_are_merged_to():
    many = RNG.normal(size=(50, 120))
    case, w = problem(None, True, many), np.array([0.5, 0.3, 0.2])
    assert case.y.shape == (50, 50)
    parts = [problem(None, True, many[:, [j]]).judge(w, 0.3).error for j in range(120)]
    assert case.judge(w, 0.3).error == pytest.approx(np.mean(parts))
    assert merge_targets(Y) is Y


def test_no_start_is_better_than_the_end():
    data = Problem(Gaussian(), X, Y, fit_intercept=True)
    mixture, found = learn_weights(data, KERNELS, rng=0)
    case = problem(None, True)
    starts = [case.start(w).error for w in (np.full(3, 1 / 3), *np.eye(3))]
    assert found.error <= min(starts)
    assert found.error == pytest.approx(case.judge(found.weights, found.alpha).error)
    np.testing.assert_array_equal(mixture.weights, found.weights)
    assert mixture.weights.sum() == pytest.approx(1.0)


def test_points_beyond_the_limit_are_drawn(monkeypatch):
    from mercer.learning.several import weights

    monkeypatch.setattr(weights, "LIMIT", 30)
    monkeypatch.setattr(weights, "FEW", 20)
    data = Problem(Gaussian(), X, Y, fit_intercept=True)
    found = [learn_weights(data, KERNELS, rng=seed)[1] for seed in (0, 0, 1)]
    assert len(found[0].squares) == 30
    np.testing.assert_array_equal(found[0].weights, found[1].weights)
    assert (found[0].weights != found[2].weights).any()


def test_a_kernel_that_is_not_quite_one_is_penalised_enough():
    stack = stack_kernels(KERNELS, X)
    stack.matrices[2] -= 0.05 * np.eye(50)
    case = WeightProblem(stack, Y, None, fit_intercept=True)
    alone = np.eye(3)[2]
    assert case.judge(alone, 0.01).error == np.inf
    start = case.start(alone)
    assert start.alpha > 0.05
    end = case.judge(*case.descend(start.weights, start.alpha, steps=20, free=np.ones(3, dtype=bool)))
    assert end.error < start.error


def test_a_descent_begins_at_a_small_weight_where_it_was():
    case, w = problem(None, True), np.array([1.0, 1e-6, 0.0])
    found, _ = case.descend(w, 0.3, steps=0, free=w > 0)  # which is one step
    assert 0.5e-6 < found[1] < 2e-6
    assert found[2] == 0

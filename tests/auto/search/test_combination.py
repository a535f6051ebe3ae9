"""Combinations of candidates: the best weights on the simplex, and probabilities as sure as they should be."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.metrics import log_loss

from mercer.auto.search.combination import (
    LIGHT,
    PULL,
    find_temperature,
    prune,
    warm_chances,
    weigh_chances,
    weigh_values,
)


def simulate_values(seed, m=3, n=60):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n) * 10.0 ** (seed - 2)
    spread = y.std() * rng.uniform(0.1, 1.5, size=m)
    shared = rng.normal(size=n)
    return [y + s * (rng.normal(size=n) + rng.uniform(0, 1) * shared) for s in spread], y


def simulate_chances(seed, m=3, n=150, classes=3):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, classes, size=n)
    outputs = []
    for _ in range(m):
        logits = rng.normal(size=(n, classes)) * rng.uniform(0.5, 3) + rng.uniform(0, 3) * np.eye(classes)[codes]
        raised = np.exp(logits)
        outputs.append(raised / raised.sum(axis=1, keepdims=True))
    return outputs, codes


def minimize_on_simplex(loss, m):
    found = [
        minimize(
            loss, start, method="SLSQP", bounds=[(0, 1)] * m, options={"ftol": 1e-14, "maxiter": 500},
            constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
        )
        for start in [np.full(m, 1 / m), *np.eye(m)]
    ]  # fmt: skip
    return min(one.fun for one in found)


def list_simplex(m, parts=20):
    return [np.array(w) / parts for w in itertools.product(range(parts + 1), repeat=m) if sum(w) == parts]


@pytest.mark.parametrize("seed", range(5))
def test_weights_of_values_lie_on_the_simplex_and_none_are_better(seed):
    outputs, y = simulate_values(seed)
    scale = y.var()

    def loss(w):
        return np.mean((np.tensordot(w, outputs, axes=1) - y) ** 2) / scale

    weights = weigh_values(outputs, y)
    assert (weights >= 0).all()
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert loss(weights) <= min(map(loss, list_simplex(3))) * (1 + 1e-9)
    assert loss(weights) == pytest.approx(minimize_on_simplex(loss, 3), rel=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_weights_of_chances_lie_on_the_simplex_and_none_are_better(seed):
    outputs, codes = simulate_chances(seed)

    def loss(w):
        return -np.mean(np.log(np.maximum(np.tensordot(w, outputs, axes=1)[np.arange(len(codes)), codes], 1e-300)))

    weights = weigh_chances(outputs, codes)
    assert (weights >= 0).all()
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert loss(weights) <= min(map(loss, list_simplex(3))) + 1e-4
    assert loss(weights) == pytest.approx(minimize_on_simplex(loss, 3), abs=1e-4)


def test_candidates_that_are_the_same_are_worth_the_same_together():
    outputs, y = simulate_values(1, m=2)
    weights = weigh_values([outputs[0], outputs[0], outputs[1]], y)
    single = weigh_values(outputs, y)
    np.testing.assert_allclose([weights[:2].sum(), weights[2]], single, atol=1e-8)
    outputs, codes = simulate_chances(1, m=1)
    np.testing.assert_allclose(weigh_chances(outputs * 4, codes), 0.25)


def test_a_candidate_without_errors_gets_all_of_it():
    y = np.arange(5.0)
    np.testing.assert_allclose(weigh_values([y, y + 1.0], y), [1.0, 0.0], atol=1e-8)
    np.testing.assert_allclose(weigh_values([y, y], y).sum(), 1.0)


def test_pruned_weights_are_few_and_none_is_light():
    outputs, y = simulate_values(2, m=6)
    for most in (1, 2, 4):
        weights = prune(weigh_values, outputs, y, most)
        assert weights.sum() == pytest.approx(1.0)
        assert 1 <= np.count_nonzero(weights) <= most
        assert weights[weights > 0].min() >= LIGHT
        kept = np.flatnonzero(weights)
        np.testing.assert_allclose(weights[kept], weigh_values([outputs[i] for i in kept], y))


def draw_classes(temperature, n):
    """Return chances that are too sure by a temperature, and classes that were drawn by the honest ones."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(n, 3)) * 1.5
    honest = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    codes = (rng.random((n, 1)) > honest.cumsum(axis=1)).sum(axis=1)
    sure = np.exp(logits * temperature)
    return sure / sure.sum(axis=1, keepdims=True), codes


@pytest.mark.parametrize("temperature", [0.7, 1.6, 2.5])
def test_a_known_temperature_is_found_again(temperature):
    assert find_temperature(*draw_classes(temperature, 20000)) == pytest.approx(temperature, rel=0.05)


def test_the_temperature_makes_the_log_loss_least_but_for_a_pull():
    n = 300
    chances, codes = draw_classes(2.0, n)
    pulled = find_temperature(chances, codes)
    best = pulled ** ((n + PULL) / n)
    assert 1.0 < pulled < best
    logs, warm = np.log(chances), warm_chances(chances, best)
    # The derivative of the log-loss by 1/T is the mean of Σⱼ pⱼ ln qⱼ − ln q of the truth, where q are the chances.
    slope = np.mean((warm * logs).sum(axis=1) - logs[np.arange(len(codes)), codes])
    assert abs(slope) < 2e-3 * np.abs(logs).mean()
    losses = [log_loss(codes, warm_chances(chances, t), labels=[0, 1, 2]) for t in (0.9 * best, best, 1.1 * best)]
    assert losses[1] == min(losses)


def test_warm_chances_keep_their_order_and_sum_to_one():
    chances = simulate_chances(4, m=1, classes=4)[0][0]
    for temperature in (0.3, 1.0, 4.0):
        warm = warm_chances(chances, temperature)
        np.testing.assert_allclose(warm.sum(axis=1), 1.0)
        np.testing.assert_array_equal(warm.argsort(axis=1), chances.argsort(axis=1))
    np.testing.assert_array_equal(warm_chances(chances, 1.0), chances)
    powers = chances**0.5
    np.testing.assert_allclose(warm_chances(chances, 2.0), powers / powers.sum(axis=1, keepdims=True))


def test_chances_of_nothing_stay_finite():
    warm = warm_chances(np.array([[1.0, 0.0], [0.0, 1.0]]), 3.0)
    assert np.isfinite(warm).all()
    assert 0.3 < find_temperature(np.array([[1.0, 0.0]] * 10), np.array([0] * 9 + [1])) < 5.0

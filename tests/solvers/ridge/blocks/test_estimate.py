"""What blocks tell of all rows."""

import math

import numpy as np
import pytest

from mercer.kernels import Gaussian
from mercer.solvers import BlockDescent, Problem, relative_residuals
from mercer.solvers.ridge.blocks.estimate import Pass, estimate_remaining, estimate_squares


@pytest.mark.parametrize("centred", [False, True])
def test_the_estimate_is_unbiased_and_its_error_is_that_of_sampling(centred):
    rng = np.random.default_rng(0)
    r = rng.normal(size=(400, 1)) + (0.0 if centred else 0.5)
    truth = float(np.sum((r - r.mean() if centred else r) ** 2))
    draws = [rng.choice(400, 50, replace=False) for _ in range(2000)]
    rows = [r[i] - r[i].mean() if centred else r[i] for i in draws]
    found = np.array([estimate_squares(some, 400, centred=centred) for some in rows])[:, :, 0]
    spread = found[:, 0].std()
    assert abs(found[:, 0].mean() - truth) < 4 * spread / math.sqrt(2000)
    assert found[:, 1].mean() == pytest.approx(spread, rel=0.1)
    assert np.mean(np.abs(found[:, 0] - truth) <= 2 * found[:, 1]) > 0.9


def test_the_residual_after_a_pass_covers_the_true_one():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = np.sin(X[:, :1]) + 0.1 * rng.normal(size=(400, 1))
    problem, alpha = Problem(Gaussian(), X, y), np.array([1e-3])
    K = Gaussian()(X)
    from mercer.solvers.ridge.blocks import descent as module

    close = 0
    for seed in range(40):
        prepared = BlockDescent(block=80, random_state=seed).prepare(problem)
        state = module.Descent(
            prepared.products, y, np.ones(400), alpha, False, 1e-6, 80, None, np.random.default_rng(seed)
        )
        for _ in range(10):
            state.step()
        z = state._momentum.z * state._unit
        found, error = state.step()
        r = y - K @ z - alpha * z
        after = (state._base + state._momentum.z) * state._unit
        scale = np.hypot(np.linalg.norm(alpha * after), 1e-3 * np.linalg.norm(y))
        close += abs(found - np.linalg.norm(r) / scale) <= 2.5 * error
    assert close >= 34
    assert relative_residuals(problem, K, y, z, np.zeros(1), alpha)[0] <= 1.1 * np.linalg.norm(r) / scale


def test_the_time_to_go_is_that_of_a_steady_rate():
    passes = [Pass(i, 10.0**-i, 0.0, 3.0 * i, math.nan) for i in range(1, 5)]
    assert estimate_remaining(passes, 1e-6) == pytest.approx(6.0)
    assert estimate_remaining(passes, 1e-3) == 0.0
    assert math.isnan(estimate_remaining(passes[:1], 1e-6))
    assert "no end in sight" in str(passes[0])


def test_no_rate_has_no_end():
    level = [Pass(i, 0.5, 0.0, float(i), math.nan) for i in range(5)]
    assert estimate_remaining(level, 1e-6) == math.inf


def test_the_trace_tells_every_pass():
    X = np.linspace(0.0, 6.0, 300).reshape(-1, 1)
    heard = []
    solver = BlockDescent(block=100, random_state=0, on_iteration=lambda number, residual: heard.append(number))
    prepared = solver.prepare(Problem(Gaussian(0.3), X, np.sin(X)))
    solution = prepared.solve(np.array([0.1]))
    assert [one.number for one in prepared.trace] == list(range(1, solution.n_iter + 1)) == sorted(set(heard))
    assert all(one.error >= 0 for one in prepared.trace)
    assert np.diff([one.seconds for one in prepared.trace]).min() >= 0

"""Full conformal intervals: exact ends, against every target tried and every fit made again."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.kernels import Gaussian, Linear
from mercer.models.ridge import KernelRidge
from mercer.solvers.conformal.full import full_conformal

NUMBERS = st.floats(-3, 3).map(lambda x: round(x, 2))


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=8), st.floats(0.05, 0.95))
def test_ends_are_those_of_all_targets_that_are_not_too_strange(lines, coverage):
    a, b = np.array(lines).T
    lower, upper = full_conformal(a[None], b[None], coverage)[0]

    def belongs(t):
        return 1 + np.sum(np.abs(a + b * t) >= abs(t) - 1e-12) > (1 - coverage) * (len(a) + 1) + 1e-9

    # Between the places where residuals are equal nothing changes, so their middles stand for all targets.
    with np.errstate(divide="ignore", invalid="ignore"):
        places = np.concatenate([a / (1 - b), -a / (1 + b), [0.0]])
    places = np.unique(places[np.isfinite(places)])
    tried = np.concatenate([places, (places[1:] + places[:-1]) / 2, [places[0] - 1e6, places[-1] + 1e6]])
    inside = np.array([t for t in tried if belongs(t)])
    assert lower - 1e-9 <= inside.min()
    assert inside.max() <= upper + 1e-9
    assert np.isinf(upper) == belongs(places[-1] + 1e6)
    assert np.isinf(lower) == belongs(places[0] - 1e6)
    for end in (lower, upper):
        assert np.isinf(end) or np.abs(inside - end).min() < 1e-9


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("options", [{"kernel": Gaussian()}, {"kernel": Linear()}], ids=str)
def test_ridge_equals_a_fit_for_every_target_of_a_grid(options, fit_intercept):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(12, 2)), rng.normal(size=12)
    new, coverage = rng.normal(size=2), 0.7
    model = KernelRidge(0.3, fit_intercept=fit_intercept, **options)
    lower, upper = model.fit(X, y).predict_interval(new[None], coverage, "full")[0]
    grid = np.linspace(lower - 1.0, upper + 1.0, 81)
    accepted = []
    for t in grid:
        points, targets = np.vstack([X, new]), np.append(y, t)
        errors = np.abs(targets - model.fit(points, targets).leave_one_out())
        accepted.append(np.sum(errors >= errors[-1] - 1e-12) > (1 - coverage) * 13)
    step = grid[1] - grid[0]
    inside = grid[np.array(accepted)]
    assert lower == pytest.approx(inside.min(), abs=step)
    assert upper == pytest.approx(inside.max(), abs=step)


def test_weights_and_several_targets_are_those_of_one_at_a_time():
    rng = np.random.default_rng(4)
    X, Y, weights = rng.normal(size=(15, 2)), rng.normal(size=(15, 2)), rng.uniform(0.5, 2.0, size=15)
    new = rng.normal(size=(4, 2))
    both = KernelRidge([0.2, 0.9], kernel=Gaussian(), fit_intercept=True).fit(X, Y, weights)
    for method in ("full", "jackknife+"):
        ends = both.predict_interval(new, 0.8, method)
        assert ends.shape == (4, 2, 2)
        for t, alpha in enumerate([0.2, 0.9]):
            one = KernelRidge(alpha, kernel=Gaussian(), fit_intercept=True).fit(X, Y[:, t], weights)
            np.testing.assert_allclose(ends[:, t], one.predict_interval(new, 0.8, method), rtol=1e-9)


def test_exact_ranks_cover_exactly_as_often_as_promised():
    rng, inside, repeats, n = np.random.default_rng(0), 0, 300, 30
    for _ in range(repeats):
        X = rng.normal(size=(n + 1, 1))
        y = X[:, 0] + rng.standard_t(3, size=n + 1)
        model = KernelRidge(1.0, kernel=Gaussian(), fit_intercept=True).fit(X[:n], y[:n])
        lower, upper = model.predict_interval(X[n:], 0.8, "full")[0]
        inside += lower <= y[n] <= upper
    # The rank of the new point is each of 31 with the same chance; four deviations beyond that never happen.
    deviation = np.sqrt(0.8 * 0.2 / repeats)
    assert 0.8 - 4 * deviation <= inside / repeats <= 26 / 31 + 4 * deviation


@settings(max_examples=20)
@given(st.sampled_from([1e-8, 1e-3, -1.0, 1e8]), st.floats(-5, 5), st.sampled_from(["jackknife+", "full"]))
def test_units_and_offsets_of_targets_move_the_ends_along(factor, offset, method):
    rng = np.random.default_rng(5)
    X, y, new = rng.normal(size=(20, 1)), rng.normal(size=20), rng.normal(size=(3, 1))
    model = KernelRidge(0.5, kernel=Gaussian(), fit_intercept=True)
    expected = factor * (model.fit(X, y).predict_interval(new, 0.8, method) + offset)
    found = model.fit(X, factor * (y + offset)).predict_interval(new, 0.8, method)
    np.testing.assert_allclose(found, np.sort(expected, axis=1), rtol=1e-6, atol=1e-9 * abs(factor))

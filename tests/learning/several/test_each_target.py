"""Weights and a penalty for each target."""

import tracemalloc

import numpy as np
import pytest

from mercer import MemoryBudgetError
from mercer.kernels import Constant, Gaussian, Linear
from mercer.learning.several import each_target
from mercer.learning.several.each_target import centre_groups, fit_each_target
from mercer.models import KernelRidge
from mercer.solvers.base import Problem

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
KERNELS = [Gaussian().on([0]), Gaussian(2.0).on([1, 2]), Linear()]
Y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 1] * X[:, 2], X[:, 0] + X[:, 2], RNG.normal(size=60), np.full(60, 3.0)])
Y[:, :4] += 0.1 * RNG.normal(size=(60, 4))
WEIGHTS = RNG.uniform(0.5, 2.0, size=60)
CANDIDATES = RNG.dirichlet(np.ones(3), size=6)
ALPHAS = np.array([0.01, 0.1, 1.0, 10.0])


def data(y=Y, weights=None, intercept=True, **options):
    return Problem(Gaussian(), X, y, weights, fit_intercept=intercept, **options)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("intercept", [True, False])
def test_all_targets_at_once_are_a_loop_over_targets_penalties_and_weights(weights, intercept, monkeypatch):
    monkeypatch.setattr(each_target, "SHORTLIST", len(CANDIDATES))
    found = fit_each_target(data(Y[:, :3], weights, intercept), KERNELS, alphas=ALPHAS, weights=CANDIDATES)
    for t in range(3):
        errors = []
        for w in CANDIDATES:
            kernel = found.mixture.weighted(w).kernel()
            fits = [KernelRidge(a, kernel=kernel, fit_intercept=intercept).fit(X, Y[:, t], weights) for a in ALPHAS]
            left = [np.average((Y[:, t] - fit.leave_one_out()) ** 2, weights=weights) for fit in fits]
            errors += left
        least = min(errors)
        spread = np.average((Y[:, t] - intercept * np.average(Y[:, t], weights=weights)) ** 2, weights=weights)
        # The penalty of each weight is the best by generalised cross-validation, and so may be a neighbour.
        assert 1 - 0.999999 * least / spread >= found.scores[t] >= 1 - 1.02 * least / spread
        chosen = KernelRidge(found.alpha[t], kernel=found.mixture.kernel(t), fit_intercept=intercept)
        chosen.fit(X, Y[:, t], weights)
        np.testing.assert_allclose(found.coef[:, t], chosen.dual_coef_, atol=1e-8)
        assert found.intercept[t] == pytest.approx(chosen.intercept_, abs=1e-9)
        error = np.average((Y[:, t] - chosen.leave_one_out()) ** 2, weights=weights)
        assert found.scores[t] == pytest.approx(1 - error / spread)
        np.testing.assert_allclose(found.parts[:, t], [chosen.objective_.loss, chosen.objective_.penalty], rtol=1e-6)
    assert found.residual < 1e-8


def test_a_target_is_fitted_as_if_it_were_alone():
    whole = fit_each_target(data(), KERNELS, weights=CANDIDATES)
    for t in range(5):
        alone = fit_each_target(data(Y[:, [t]]), KERNELS, weights=CANDIDATES)
        np.testing.assert_array_equal(alone.mixture.weights[:, 0], whole.mixture.weights[:, t])
        np.testing.assert_allclose(alone.alpha[0], whole.alpha[t])
        np.testing.assert_allclose(alone.coef[:, 0], whole.coef[:, t], atol=1e-8)


def test_targets_find_the_kernels_that_made_them():
    found = fit_each_target(data(), KERNELS, n_candidates=40, rng=0)
    assert found.mixture.weights[:, :3].argmax(axis=0).tolist() == [0, 1, 2]
    assert found.mixture.weights[:, :4].sum(axis=0).max() == pytest.approx(1.0)
    assert not found.mixture.weights[:, 4].any()  # which is constant
    assert found.intercept[4] == 3.0
    assert found.scores[4] == 1.0
    assert (found.scores[:3] > 0.8).all()
    assert found.scores[3] < 0.2


def test_neither_multiples_of_kernels_nor_units_of_targets_change_anything():
    found = fit_each_target(data(), KERNELS, n_candidates=20, rng=0)
    units = np.array([1e6, 1e-6, 1.0, 1e200, 1.0])
    scaled = fit_each_target(data(Y * units), [1e6 * KERNELS[0], KERNELS[1], 1e-3 * KERNELS[2]], n_candidates=20, rng=0)
    np.testing.assert_allclose(scaled.mixture.weights, found.mixture.weights)
    np.testing.assert_allclose(scaled.alpha, found.alpha)
    np.testing.assert_allclose(scaled.coef / units, found.coef, rtol=1e-4, atol=1e-6 * np.abs(found.coef).max())


def test_blocks_of_targets_and_what_is_not_kept_change_nothing(monkeypatch):
    whole = fit_each_target(data(), KERNELS, n_candidates=12, rng=0)
    monkeypatch.setattr(each_target, "BLOCK", 48 * 60 * 2)
    monkeypatch.setattr(each_target, "SHARE", 0.0)
    monkeypatch.setattr(each_target._Search, "_width", lambda self: 2)
    parts = fit_each_target(data(), KERNELS, n_candidates=12, rng=0)
    np.testing.assert_array_equal(parts.mixture.weights, whole.mixture.weights)
    np.testing.assert_allclose(parts.coef, whole.coef, atol=1e-9)
    np.testing.assert_allclose(parts.scores, whole.scores)


def test_more_targets_than_memory_holds_say_how_many_there_may_be():
    many = np.broadcast_to(Y[:, :1], (60, 5000))
    with pytest.raises(
        MemoryBudgetError, match=r"coefficients of 5000 targets at 60 points needs .* at most 1813 targets"
    ):
        fit_each_target(data(many, memory=2_000_000), KERNELS)


def test_many_targets_take_hardly_more_memory_than_their_coefficients(monkeypatch):
    monkeypatch.setattr(each_target, "BLOCK", 2**20)
    many = RNG.normal(size=(60, 20_000))
    tracemalloc.start()
    found = fit_each_target(data(many), KERNELS, n_candidates=4, rng=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.coef.shape == many.shape
    assert peak < 2 * many.nbytes + 2**22


def test_kernels_that_say_nothing_are_never_tried():
    found = fit_each_target(data(), [Constant(1.0), *KERNELS], n_candidates=15, rng=0)
    assert not found.mixture.weights[0].any()
    nothing = fit_each_target(data(), [Constant(1.0)], n_candidates=15, rng=0)
    assert not nothing.mixture.weights.any()
    assert not nothing.coef.any()
    np.testing.assert_allclose(nothing.intercept, Y.mean(axis=0))
    np.testing.assert_allclose(nothing.parts, [60 * Y.var(axis=0), np.zeros(5)], atol=1e-12)


def test_points_beyond_the_limit_are_drawn_for_the_choice_only(monkeypatch):
    monkeypatch.setattr(each_target, "LIMIT", 40)
    monkeypatch.setattr(each_target, "LARGE_WEIGHTS", 2)
    found = fit_each_target(data(), KERNELS, n_candidates=15, rng=0)
    assert len(np.unique(found.mixture.weights[:, :4], axis=1).T) <= 3  # two, and none
    assert found.coef.shape == Y.shape
    chosen = KernelRidge(found.alpha[0], kernel=found.mixture.kernel(0), fit_intercept=True).fit(X, Y[:, 0])
    np.testing.assert_allclose(found.coef[:, 0], chosen.dual_coef_, atol=1e-8)


def test_many_kernels_have_more_groups_than_can_be_listed():
    found = centre_groups(np.ones(40, dtype=bool), 50)
    assert found.shape == (50, 40)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert (np.count_nonzero(found[1:41], axis=1) == 1).all()

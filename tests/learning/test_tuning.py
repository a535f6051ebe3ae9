"""Tuning finds what matters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mercer.kernels import Gaussian, Linear, Matern, RationalQuadratic
from mercer.learning import tuning
from mercer.learning.length_scales import length_scale_of, make_families, split_length_scales
from mercer.learning.tuning import Tuned, descend, race
from mercer.solvers.base import Problem
from mercer.solvers.ridge.loo_gradient import leave_one_out

SCALES = np.array([1.0, 1e3, 1e-3, 1.0, 1.0])  # units of the features


@pytest.fixture(scope="module")
def relevant():
    """Only the first two of five features matter, and every feature has its own unit."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(250, 5))
    y = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] ** 2 + 0.05 * rng.normal(size=250)
    return make_problem(X * SCALES, y[:, None])


def make_problem(X, y):
    return Problem(Gaussian(), X, y, fit_intercept=True)


def leave_out(problem, kernel, alpha):
    found = leave_one_out(kernel, problem.X, problem.y, alpha, fit_intercept=problem.fit_intercept, gradient=False)
    return found.error


def tune(problem, kernels, **options):
    options = {"size": 150, "steps": 60} | options
    return race(kernels, problem, np.random.RandomState(0), **options)


def test_irrelevant_features_get_long_length_scales_whatever_their_units(relevant):
    scales = np.array(tune(relevant, make_families(relevant.X)).kernel.length_scale) / SCALES
    assert scales[2:].min() > 4 * scales[:2].max()


def test_tuning_lowers_the_error_on_all_points(relevant):
    start = make_families(relevant.X)[0]
    tuned = tune(relevant, [start])
    before = leave_out(relevant, start, 1e-2)
    after = leave_out(relevant, tuned.kernel, tuned.alpha)
    assert after < 0.3 * before


def test_the_family_with_the_smaller_error_wins_the_race():
    X = np.linspace(0.0, 10.0, 60).reshape(-1, 1)
    smooth = make_problem(X, np.sin(X))
    assert tune(smooth, [Matern(0.5, [1.0]), Gaussian([1.0])]).kernel.__class__ is Gaussian
    rough = make_problem(X, np.cumsum(np.random.default_rng(0).normal(size=(60, 1)), axis=0))
    assert tune(rough, [Gaussian([1.0]), Matern(0.5, [1.0])]).kernel.__class__ is Matern


def test_the_same_seed_finds_the_same_kernel(relevant):
    first, second = (tune(relevant, make_families(relevant.X), steps=5) for _ in range(2))
    assert first.kernel == second.kernel
    assert first.alpha == second.alpha


def test_units_of_target_and_features_do_not_matter(relevant):
    scaled = make_problem(relevant.X * 8.0, relevant.y * 1024.0)
    first, second = tune(relevant, make_families(relevant.X), steps=8), tune(scaled, make_families(scaled.X), steps=8)
    assert type(first.kernel) is type(second.kernel)
    np.testing.assert_allclose(np.array(second.kernel.length_scale) / 8.0, first.kernel.length_scale, rtol=1e-5)
    assert second.alpha == pytest.approx(first.alpha, rel=1e-5)


def test_only_length_scales_move(relevant):
    kernel = 2.0 * RationalQuadratic([1.0, 1e3, 1e-3, 1.0, 1.0], alpha=0.7) + Linear()
    tuned = descend(Tuned(kernel, 0.1), relevant, np.random.RandomState(0), size=100, steps=3).kernel
    before, after = kernel.hyperparameters(), tuned.hyperparameters()
    moved = {name for name in before if after[name] != pytest.approx(before[name])}
    assert moved == {f"k1__kernel__length_scale[{i}]" for i in range(5)}


def test_each_step_is_reported_and_can_be_the_last(relevant):
    seen = []

    def on_step(step, error):
        seen.append((step, error))
        return step == 3

    tuned = tune(relevant, make_families(relevant.X)[:1], on_step=on_step)
    assert [step for step, _ in seen] == [1, 2, 3]
    assert tuned.trace == [error for _, error in seen]


def test_nothing_is_worse_than_the_best_of_the_grid_even_if_the_gradient_leads_astray(relevant, monkeypatch):
    def astray(start, *arguments, **options):
        return replace(start, kernel=Gaussian([1e-9] * 5))

    monkeypatch.setattr(tuning, "descend", astray)
    found = tune(relevant, make_families(relevant.X))
    assert found.kernel == found.best.kernel
    assert found.rivals() == ([found.kernel], [found.alpha])


def test_a_stop_in_the_grid_keeps_the_best_so_far(relevant):
    seen = []
    tuned = tune(relevant, make_families(relevant.X), on_step=lambda step, error: bool(seen.append(error)) or step == 2)
    assert len(seen) == 2
    assert tuned.error == min(seen)


def test_a_constant_target_ends_tuning_where_it_is():
    X = np.random.default_rng(0).normal(size=(20, 2))
    start = make_families(X)[0]
    tuned = tune(make_problem(X, np.zeros((20, 1))), [start])
    np.testing.assert_allclose(tuned.kernel.length_scale, start.length_scale)


def test_a_singular_matrix_makes_the_penalty_grow():
    X = np.zeros((30, 1))
    y = np.random.default_rng(0).normal(size=(30, 1))
    tuned = descend(Tuned(Gaussian([1.0]), 1e-300), make_problem(X, y), np.random.RandomState(0), size=30, steps=20)
    assert tuned.alpha > 1e-11


def test_constant_features_start_from_a_length_scale_of_one_each():
    X = np.c_[np.ones(10), np.arange(10.0), np.full(10, 1e9)]
    first, second, third = make_families(X)[0].length_scale
    assert (first, third) == (1.0, 1.0)
    assert second == pytest.approx(np.arange(10.0).std())


def test_length_scales_spread_only_where_a_kernel_looks_at_all_features():
    kernel = split_length_scales(Gaussian(2.0) + Matern().on([0, 1]) * Gaussian([1.0, 2.0, 3.0]), 3)
    assert kernel == Gaussian([2.0] * 3) + Matern().on([0, 1]) * Gaussian([1.0, 2.0, 3.0])
    assert list(length_scale_of(kernel)) == [2.0] * 3
    assert length_scale_of(Linear()) is None

"""The grid that tuning starts from: where it reaches, which of its points are minima, and what is at its edge."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mercer.kernels import Constant, Gaussian, Linear, Matern, Periodic, Polynomial
from mercer.learning.length_scales import stretch
from mercer.learning.scale_grid import Point, ScaleGrid, find_factors, make_scale_grid
from mercer.learning.tuning import Tuned
from mercer.solvers.base import Problem
from mercer.solvers.ridge.spectral import Spectral

LINE = np.sort(np.random.default_rng(0).uniform(0.0, 1.0, size=(40, 1)), axis=0)


@pytest.mark.parametrize("kernel", [Gaussian(), Matern(1.5), 2.0 * Gaussian([3.0]) + Matern(0.5) * Linear()], ids=str)
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_factors_reach_from_where_points_are_alone_to_where_they_are_alike(kernel, unit):
    X = unit * (1.0 + LINE)
    factors = find_factors(kernel, X)
    assert len(factors) > 4

    def cosines(factor):
        K = stretch(kernel, factor)(X)
        return K / np.sqrt(np.outer(np.diag(K), np.diag(K)))

    for far, near in ((factors[0] / 16, factors[0] / 32), (factors[-1] * 16, factors[-1] * 32)):
        assert np.median(np.abs(cosines(far) - cosines(near)).max(axis=1)) < 0.06


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(3, 1.0), Constant(2.0)], ids=str)
def test_kernels_without_a_length_scale_have_one_path(kernel):
    grid = make_scale_grid(Problem(kernel, LINE, np.sin(LINE)))
    assert grid.factors.tolist() == [1.0]
    assert len(grid.minima()) >= 1


def test_a_constant_column_has_one_path():
    assert find_factors(Gaussian(), np.ones((10, 1))) == [1.0]


def test_a_period_stays_as_it_is():
    grid = make_scale_grid(Problem(Periodic(1.0, 0.25), LINE, np.sin(8.0 * np.pi * LINE), None, True))
    assert len(grid.factors) > 3
    assert {kernel.period for kernel in grid.kernels} == {0.25}


def test_errors_are_those_of_leaving_out_each_point():
    y = np.cos(9.0 * LINE) + 0.1
    grid = make_scale_grid(Problem(Gaussian([2.0]), LINE, y, np.linspace(0.5, 2.0, 40), True))
    for kernel, errors in zip(grid.kernels, grid.errors, strict=True):
        residuals = Spectral().prepare(Problem(kernel, LINE, y, np.linspace(0.5, 2.0, 40), True)).loo(grid.alphas)
        expected = np.average(residuals[:, :, 0] ** 2, axis=1, weights=np.linspace(0.5, 2.0, 40))
        np.testing.assert_allclose(errors, expected, rtol=1e-3)


@settings(max_examples=30)
@given(arrays(float, (4, 5), elements=st.sampled_from([1.0, 2.0, 3.0, np.inf])))
def test_the_best_point_is_a_minimum_and_no_minimum_has_a_better_neighbour(errors):
    factors, alphas = np.array([0.25, 0.5, 1.0, 2.0]), np.logspace(-4, 0, 5)
    found = ScaleGrid([Gaussian(factor) for factor in factors], factors, alphas, errors).minima()
    assert bool(found) == np.isfinite(errors).any()
    assert [point.error for point in found] == sorted(point.error for point in found)
    if found:
        assert found[0].error == errors.min()
    for point in found:
        i, j = factors.tolist().index(point.factor), alphas.tolist().index(point.alpha)
        assert point.error == errors[i, j]
        assert point.error <= errors[max(0, i - 1) : i + 2, max(0, j - 1) : j + 2].min()


def test_stopping_keeps_what_was_computed():
    seen = []
    grid = make_scale_grid(
        Problem(Gaussian(), LINE, np.sin(LINE)), lambda error: bool(seen.append(error)) or len(seen) == 3
    )
    assert len(seen) == len(grid.factors) == len(grid.kernels) == 3
    assert 1.0 in grid.factors


EDGES = [
    (np.array([[1.0, 9.0], [2.0, 9.0], [3.0, 9.0]]), "shortest"),
    (np.array([[3.0, 9.0], [2.0, 9.0], [1.0, 9.0]]), "longest"),
    (np.array([[3.0, 9.0], [1.0, 9.0], [2.0, 9.0]]), ""),
    (np.array([[1.0, 9.0], [1.01, 9.0], [3.0, 9.0]]), ""),
    (np.array([[3.0, 1.0], [2.0, 1.0], [2.0, 1.0]]), "constant"),
    (np.zeros((3, 2)), ""),
]


@pytest.mark.parametrize(("errors", "edge"), EDGES)
def test_the_best_is_at_an_edge_where_the_error_still_falls(errors, edge):
    kernels = [Gaussian([factor]) for factor in (0.5, 1.0, 2.0)]
    best = ScaleGrid(kernels, np.array([0.5, 1.0, 2.0]), np.array([1e-3, 1.0]), errors).minima()[0]
    assert best.edge == edge
    said = Tuned(best.kernel, best.alpha, best.error, start=best).edge
    assert bool(said) == bool(edge)
    assert {"": "", "constant": "better than a constant"}.get(edge, edge) in said


def test_what_was_tuned_away_from_the_edge_is_not_at_it():
    start = Point(Gaussian([0.5]), 1e-3, 1.0, 0.5, "shortest")
    assert Tuned(Gaussian([0.4]), 1e-3, 0.9, start=start).edge
    assert not Tuned(Gaussian([1.5]), 1e-3, 0.9, start=start).edge
    assert not Tuned(Gaussian([0.4]), 1e-3, 1e-6, start=start).edge  # as good as it need be

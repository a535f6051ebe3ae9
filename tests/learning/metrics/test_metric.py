"""Metrics are values: maps in front of kernels that keep to a structure."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mercer.kernels import Gaussian, Linear, Matern
from mercer.learning.metrics.metric import Metric, Structure
from mercer.learning.metrics.search import learn_metric
from mercer.solvers.base import Problem

ENTRIES = st.floats(-10.0, 10.0, allow_nan=False)


@given(arrays(np.float64, (3, 3), elements=ENTRIES), arrays(np.float64, (3, 3), elements=ENTRIES))
def test_stretching_keeps_every_direction_however_far_it_goes(root, step):
    exponent = step + step.T
    factor = 0.5 * (np.eye(3) + (np.eye(3) + exponent) @ (np.eye(3) + exponent))
    assert np.linalg.eigvalsh(factor).min() > 0.4
    np.testing.assert_allclose(Metric(root).stretch(exponent).root, root @ factor, rtol=1e-9, atol=1e-6)


def test_a_small_stretch_is_an_exponential():
    found = Metric(np.ones(2)).stretch(np.array([1e-3, -1e-3])).root
    np.testing.assert_allclose(found, np.exp([1e-3, -1e-3]), rtol=1e-9)


@pytest.mark.parametrize("root", [np.array([0.5, 2.0]), np.array([[1.0, 0.2], [0.3, 1.0]]), np.array([1.0, 0.0])])
@pytest.mark.parametrize("kernel", [Gaussian(2.0), Matern(1.5), Linear(), Gaussian([1.0, 3.0]) + Linear()], ids=str)
def test_a_kernel_in_a_metric_is_the_kernel_of_mapped_points(root, kernel):
    X = np.random.default_rng(0).normal(size=(6, 2))
    metric = Metric(root)
    np.testing.assert_allclose(metric.put_before(kernel)(X), kernel(metric.map(X)), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(metric.map(X) @ metric.map(X).T, X @ metric.matrix @ X.T, atol=1e-12)


@given(arrays(np.float64, (4, 4), elements=ENTRIES))
def test_roots_of_restricted_matrices_give_them_back(half):
    M = half @ half.T
    for structure in (Structure("diagonal"), Structure("full"), Structure.of_blocks([[0, 3]])):
        kept = structure.restrict(M)
        wanted = np.diag(kept) if kept.ndim == 1 else kept
        np.testing.assert_allclose(structure.take_root(M).matrix, wanted, atol=1e-9 * max(1.0, np.abs(M).max()))


@pytest.mark.parametrize("root", [np.array([1.0, 2.0, 3.0]), np.arange(9.0).reshape(3, 3)])
def test_a_metric_of_other_units_is_that_of_columns_multiplied(root):
    X, units = np.random.default_rng(0).normal(size=(5, 3)), np.array([0.5, 0.0, 4.0])
    np.testing.assert_allclose(Metric(root).weigh(units).map(X), Metric(root).map(X * units))


def test_columns_that_do_not_vary_have_no_say():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=60), np.full(60, 7.0), rng.normal(size=60)])
    found = learn_metric(
        Problem(Matern(), X, X[:, :1], None, True), [Matern()], metric="full", rng=np.random.RandomState(0)
    )
    assert not found.metric.matrix[1].any()
    moved = X + np.array([0.0, 5.0, 0.0])
    np.testing.assert_allclose(found.kernel(X, moved), found.kernel(X, X), atol=1e-12)

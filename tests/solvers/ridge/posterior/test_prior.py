"""Draws of the prior have the kernel as their covariance."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.kernels import Constant, Custom, Gaussian, Laplacian, Linear, Matern, Periodic, Polynomial
from mercer.solvers.ridge.posterior import prior
from mercer.solvers.ridge.posterior.prior import draw_normal, draw_prior

X = np.random.default_rng(0).normal(size=(12, 2)) + 100.0  # far from 0, where waves of differences do not care


def check_covariance(drawn, K, slack):
    spread = np.sqrt((np.outer(np.diag(K), np.diag(K)) + K**2) / drawn.shape[1])
    assert (np.abs(np.cov(drawn) - K) <= 5.0 * spread + slack * np.abs(K).max()).all()


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian([0.5, 2.0]),
        3.0 * Matern(1.5) + Constant(2.0),
        Laplacian(2.0) * (2.0 * Gaussian(1.5)),
        Gaussian().on([1]) + 0.01 * Linear().on([0]),
        Polynomial(2, 1.0),
    ],
    ids=repr,
)
def test_waves_and_features_have_the_covariance_of_the_kernel(kernel):
    drawn = draw_prior(kernel, X, 4000, np.random.RandomState(0), 2**28)
    check_covariance(drawn, kernel(X), 0.05)


@pytest.mark.parametrize("exact", [True, False])
def test_a_kernel_without_waves_is_factored_or_approximated(monkeypatch, exact):
    monkeypatch.setattr(prior, "EXACT", 100 if exact else 5)
    monkeypatch.setattr(prior, "RANK", 12)
    kernel = Periodic(1.0, 3.0)
    check_covariance(draw_prior(kernel, X, 4000, np.random.RandomState(0), 2**28), kernel(X), 1e-9)


def test_what_few_pivots_leave_of_each_variance_is_noise(monkeypatch):
    monkeypatch.setattr(prior, "EXACT", 5)
    monkeypatch.setattr(prior, "RANK", 2)
    kernel = Custom(lambda x, z: float(np.exp(-np.abs(x - z).sum())))
    drawn = draw_prior(kernel, X, 4000, np.random.RandomState(0), 2**28)
    np.testing.assert_allclose(drawn.var(axis=1), 1.0, atol=0.15)


def test_a_singular_matrix_needs_no_jitter():
    F = np.random.default_rng(1).normal(size=(6, 2))
    drawn = draw_normal(F @ F.T, 50, np.random.RandomState(0))
    assert np.linalg.matrix_rank(drawn, tol=1e-10) == 2


def test_a_kernel_of_too_many_terms_to_be_multiplied_out_is_drawn_all_the_same():
    kernel = (Gaussian() + Matern(1.5) + Laplacian(2.0)) ** 9
    drawn = draw_prior(kernel, X, 4000, np.random.RandomState(0), 2**30)
    check_covariance(drawn, kernel(X), 0.0)

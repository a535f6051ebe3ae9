"""Refinement by an approximate inverse reports the residual of the coefficients that it returns."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.solvers.ridge.refinement import System, refine

N = 40


class Counted:
    """A matrix that counts its products."""

    def __init__(self, K):
        self.K, self.products = K, 0

    def __matmul__(self, V):
        self.products += 1
        return self.K @ V


def make(seed, *, alpha, constant, error, unit=1.0, shift=0.0):
    """A system with a kernel matrix, two targets, and a positive definite inverse that is off by about ``error``."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 3))
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 8.0)
    noise = alpha * rng.uniform(0.5, 2.0, size=(N, 1))
    system = System(Counted(K), noise, constant, np.ones((N, 1)))
    y = unit * np.column_stack([np.sin(X[:, 0]), X[:, 1] * X[:, 2]]) + shift
    wrong = np.eye(N) + error / N**0.5 * rng.normal(size=(N, N))
    inverse = wrong @ np.linalg.inv(K + np.diag(noise[:, 0])) @ wrong.T
    return system, y, lambda V: inverse @ V


def true_certificate(system, y, found):
    """The certificate of coefficients from their residual in extended precision, and the best intercept for them."""
    unit = np.abs(y).max()
    given = system.gram.K, system.shift, found.coef / unit
    K, shift, coef = (np.asarray(each, dtype=np.longdouble) for each in given)
    left = y / unit - K @ coef - shift * coef
    weights = 1.0 / shift / (1.0 / shift).sum()
    level = np.asarray((weights * left).sum(axis=0), dtype=float) if system.constant else np.zeros(y.shape[1])
    errors = np.asarray(left - level, dtype=float)
    return system.certify(errors, found.coef / unit, y / unit, level, np.zeros(y.shape[1]))[0], unit * level


@given(
    seed=st.integers(0, 10**6), alpha=st.sampled_from([1e-2, 1.0, 30.0]), constant=st.booleans(),
    unit=st.sampled_from([1e-150, 1.0, 1e150]), shift=st.sampled_from([0.0, 1e3]),
)  # fmt: skip
def test_a_few_steps_need_no_product_to_look_again_and_what_they_report_is_true(seed, alpha, constant, unit, shift):
    system, y, solve = make(seed, alpha=alpha, constant=constant, error=0.01, unit=unit, shift=unit * shift)
    found = refine(system, y, solve, 1e-6, by_certificate=True)
    assert found.residuals.max() <= 1e-6
    assert system.gram.products == found.n_iter
    certificate, level = true_certificate(system, y, found)
    assert (certificate <= 1.05 * found.residuals).all()
    assert found.intercept == pytest.approx(level, rel=1e-9, abs=1e-12 * unit)


@pytest.mark.parametrize("constant", [False, True])
def test_where_rounding_might_hide_a_residual_it_is_computed_anew(constant):
    system, y, solve = make(0, alpha=1e-7, constant=constant, error=1e-9)
    found = refine(system, y, solve, 1e-11)
    assert found.n_iter > 1
    assert system.gram.products > found.n_iter
    certificate, _ = true_certificate(system, y, found)
    assert (certificate <= 1.05 * found.residuals).all()


def test_an_inverse_that_is_no_help_is_not_called_a_success():
    system, y, _ = make(0, alpha=1e-3, constant=False, error=0.0)
    found = refine(system, y, lambda V: V, 1e-9, max_iter=5)
    certificate, _ = true_certificate(system, y, found)
    assert found.residuals.min() > 1e-9
    assert found.residuals == pytest.approx(certificate, rel=1e-3)

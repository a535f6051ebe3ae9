"""EasyMKL: γ of the quadratic program, and the laws of its weights."""

import numpy as np
import pytest
from scipy.optimize import minimize

from mercer.kernels import Gaussian, Linear
from mercer.learning.several.margins import margin_weights
from mercer.learning.several.mixture import stack_kernels

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
CODES = (X[:, 0] + 0.3 * X[:, 1] ** 2 > 0.2).astype(int)
KERNELS = [Gaussian().on([0]), Gaussian().on([1]), Linear(), Gaussian(0.3).on([2])]
STACK = stack_kernels(KERNELS, X).matrices


def solve_by_slsqp(stack, codes, lam, weights=None):
    """The weights from γ of a general solver."""
    n, y = len(codes), np.where(codes == 1, 1.0, -1.0)
    ridge = np.full(n, lam) if weights is None else lam / weights
    Q = np.outer(y, y) * ((1 - lam) * stack.sum(axis=0)) + np.diag(ridge)
    A = np.stack([codes == 1, codes == 0]).astype(float)
    found = minimize(
        lambda g: g @ Q @ g, A.T @ (1 / A.sum(axis=1)), jac=lambda g: 2 * Q @ g, method="SLSQP", bounds=[(0, 1)] * n,
        constraints={"type": "eq", "fun": lambda g: A @ g - 1, "jac": lambda g: A},
        options={"ftol": 1e-14, "maxiter": 1000},
    )  # fmt: skip
    beta = y * found.x
    shares = np.array([beta @ K @ beta for K in stack])
    return shares / shares.sum()


@pytest.mark.parametrize("lam", [0.0, 0.1, 0.5, 0.9])
def test_weights_are_those_of_the_quadratic_program(lam):
    np.testing.assert_allclose(
        margin_weights(STACK, CODES, lam=lam, tol=1e-7), solve_by_slsqp(STACK, CODES, lam), atol=2e-4
    )


def test_for_lambda_1_they_are_shares_of_the_distance_between_the_means():
    beta = np.where(CODES == 1, 1 / CODES.sum(), -1 / (1 - CODES).sum())
    shares = np.array([beta @ K @ beta for K in STACK])
    np.testing.assert_allclose(margin_weights(STACK, CODES, lam=1.0), shares / shares.sum(), rtol=1e-6)


def test_several_classes_have_the_mean_of_their_weights_against_the_rest():
    codes = np.digitize(X[:, 0], [-0.5, 0.7])
    each = [margin_weights(STACK, (codes == c).astype(int)) for c in range(3)]
    np.testing.assert_allclose(margin_weights(STACK, codes), np.mean(each, axis=0), atol=1e-3)


def test_a_weight_counts_as_so_many_equal_points():
    counts = RNG.integers(1, 4, size=len(X))
    again = np.repeat(np.arange(len(X)), counts)
    np.testing.assert_allclose(
        margin_weights(STACK, CODES, lam=0.5, weights=counts.astype(float), tol=1e-7),
        margin_weights(np.ascontiguousarray(STACK[:, again][:, :, again]), CODES[again], lam=0.5, tol=1e-7),
        atol=1e-3,
    )  # fmt: skip


def test_the_order_of_points_and_of_classes_does_not_matter():
    order = RNG.permutation(len(X))
    expected = margin_weights(STACK, CODES, tol=1e-7)
    moved = np.ascontiguousarray(STACK[:, order][:, :, order])
    np.testing.assert_allclose(margin_weights(moved, CODES[order], tol=1e-7), expected, atol=1e-4)
    np.testing.assert_allclose(margin_weights(STACK, 1 - CODES, tol=1e-7), expected, atol=1e-4)


def test_a_kernel_given_twice_has_two_equal_weights():
    w = margin_weights(STACK[[0, 0, 1]], CODES)
    assert w[0] == pytest.approx(w[1], rel=1e-12)


def test_kernels_that_are_the_same_at_all_points_weigh_nothing_and_all_alike_if_there_are_no_others():
    same = np.ones((1, len(X), len(X)))
    assert margin_weights(np.concatenate([STACK, same]), CODES)[-1] < 1e-12
    np.testing.assert_array_equal(margin_weights(np.concatenate([0 * same, 0 * same]), CODES), [0.5, 0.5])


def test_float32_is_enough():
    np.testing.assert_allclose(margin_weights(STACK.astype(np.float32), CODES), margin_weights(STACK, CODES), atol=1e-3)

"""Evidence: found in a Gram matrix, made small, and confirmed beyond every rounding error."""

from fractions import Fraction

import numpy as np
import pytest

from mercer.certify.evidence import compute_form, compute_granted_error, confirm, confirm_asymmetry, shake
from mercer.certify.exact import compute_exact_gram
from mercer.certify.refute import Examiner, drop_points, find_least_eigenvector, round_coefficients
from mercer.certify.search import refute_kernel
from mercer.certify.values import FunctionValues, KernelValues, MatrixValues, OutOfRangeError
from mercer.formula.data import pick
from mercer.kernels import (
    Cosine,
    Fourier,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
    Sinc,
    exp,
)


def test_a_negative_sum_within_rounding_is_no_evidence():
    noise = MatrixValues(np.array([[1.0, 1.0 + 1e-14], [1.0 + 1e-14, 1.0]]), "noise")
    assert confirm(noise, np.arange(2), np.array([1.0, -1.0])) is None
    assert (
        confirm(MatrixValues(np.array([[1.0, 1.1], [1.1, 1.0]]), "K"), np.arange(2), np.array([1.0, -1.0])) is not None
    )


def test_the_granted_error_grows_with_every_term():
    K = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert compute_granted_error(K, np.array([1.0, 1.0]), 2.0**-52) == pytest.approx(4 * 4096 * 2.0**-52)
    assert compute_form(K, np.array([1.0, -2.0])) == 5.0


def test_values_that_jump_when_points_are_shaken_are_no_evidence():
    rng = np.random.default_rng(0)

    def noisy(x, z):
        return float(np.exp(-np.sum((x - z) ** 2)) + 1e-3 * rng.normal())

    points = np.linspace(0, 0.5, 6)[:, None]
    assert Examiner(FunctionValues(noisy)).examine(points) is None


def test_points_on_the_edge_of_a_jump_are_not_used():
    box = FunctionValues(lambda x, z: float(abs(x[0] - z[0]) <= 1))
    on_the_edge = np.array([[0.0], [1.0], [2.0]])
    assert Examiner(box).examine(on_the_edge) is None
    assert Examiner(box).examine(0.9 * on_the_edge) is not None


def test_asymmetry_within_rounding_is_no_evidence():
    W = np.array([[1.0, 0.1], [0.1, 0.3]])
    points = np.array([[0.3, 1.7], [-2.1, 0.9]])
    assert confirm_asymmetry(FunctionValues(lambda x, z: x @ W @ z), points) is None
    assert confirm_asymmetry(FunctionValues(lambda x, z: x @ np.triu(W) @ z), points) is not None


def test_evidence_needs_only_the_points_that_matter():
    K = np.eye(20)
    K[4, 9] = K[9, 4] = 1.5
    found = Examiner(MatrixValues(K, "K")).examine(np.arange(20))
    assert found.points.tolist() == [4, 9]
    kept, a = drop_points(K, 0.5)
    assert sorted(kept.tolist()) == [4, 9]
    assert a @ K[np.ix_(kept, kept)] @ a < 0


def test_coefficients_are_as_round_as_the_violation_allows():
    K = np.array([[1.0, 0.9, 0.2], [0.9, 1.0, 0.9], [0.2, 0.9, 1.0]])
    _, a = find_least_eigenvector(K)
    first = next(round_coefficients(K, a))
    assert first @ K @ first < 0
    assert set(np.abs(first)) <= {0.0, 0.5, 1.0}


def test_a_kernel_with_values_of_all_sizes_is_not_suspected():
    X = np.linspace(-3, 3, 20)[:, None]
    assert Examiner(KernelValues(Polynomial(9, 0.0))).examine(X) is None
    assert Examiner(KernelValues(Linear() * 1e12 + Gaussian() * 1e-12)).examine(X) is None


def test_values_in_fractions_are_exact():
    points = np.array([[0.1], [0.5]])
    K = compute_exact_gram(((Linear() - 1) ** 2).traced(), points)
    assert K[1][1] == Fraction(9, 16)
    assert K[0][0] == (Fraction(0.1) ** 2 - 1) ** 2
    assert compute_exact_gram(Gaussian().traced(), points) is None
    assert compute_exact_gram(Laplacian().traced(), points) is None
    assert compute_exact_gram(Linear().on([0]).traced(), points)[0][1] == Fraction(0.1) / 2


def test_a_function_is_trusted_in_better_arithmetic_only_if_it_returns_it():
    points = np.array([[0.1], [0.5]])
    assert FunctionValues(lambda x, z: (x @ z - 1) ** 2).exact(points)[1][1] == Fraction(9, 16)
    assert FunctionValues(lambda x, z: 1 if abs(x[0] - z[0]) < 1 else 0).exact(points) is None
    assert FunctionValues(lambda x, z: float(x @ z)).exact(points) is None
    assert FunctionValues(lambda x, z: float(x @ z)).extended(points) is None
    assert FunctionValues(lambda x, z: np.exp(x @ z)).extended(points).dtype == np.longdouble
    assert KernelValues(Gaussian()).extended(points).dtype == np.longdouble
    assert KernelValues(Matern(1.1)).extended(points) is None


def test_the_rounding_unit_follows_what_the_function_returns():
    values = FunctionValues(lambda x, z: np.float32(x @ z))
    values.gram(np.ones((2, 1)))
    assert values.epsilon == np.finfo(np.float32).eps


def test_overflow_far_out_is_no_error_of_the_function():
    values = FunctionValues(lambda x, z: np.exp(x @ z))
    with np.errstate(over="ignore"), pytest.raises(OutOfRangeError):
        values.gram(np.array([[100.0]]))
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="inf"):
        FunctionValues(values.function, strict=True).gram(np.array([[100.0]]))


def test_shaking_keeps_zeros_signs_and_equalities():
    points = np.array([[0.0, 1.0], [1.0, -2.0]])
    there, back = shake(points, np.random.default_rng(0), 1e-3)
    assert there[0, 0] == back[0, 0] == 0
    assert there[0, 1] == there[1, 0] != 1.0
    np.testing.assert_allclose(there + back, 2 * points)
    assert shake(np.array([[1, 2]]), np.random.default_rng(0), 1e-3) is None
    assert shake(["a", "b"], np.random.default_rng(0), 1e-3) is None
    moved = shake([0.5, np.array([1.0, 2.0])], np.random.default_rng(0), 1e-3)[0]
    assert isinstance(moved[0], float)
    assert moved[1].shape == (2,)


def test_points_of_any_collection_can_be_picked():
    assert pick(["a", "b", "c"], [2, 0]) == ["c", "a"]
    assert pick(np.arange(4), np.array([3, 1])).tolist() == [3, 1]


@pytest.mark.parametrize(
    "kernel",
    [
        14668767.388550803 * Linear() + 1.7239525247726889e-202 * Sinc() - 14668767.388550803 * Linear(),
        0.01 * Linear().on([0]) - 2.6836700693465363e17 * Fourier(1) ** 4 + 2.6836700693465363e17 * Fourier(1) ** 4,
        67.0 * RationalQuadratic(2.3, 1.0) - 5.2e17 * (Matern(1.1, 0.8)) + 5.2e17 * (Matern(1.1, 0.8)),
        387354.7 * exp(Linear()) + 73861938077.7 * (Gaussian(2.8) * Cosine(0.113)) - 387354.7 * exp(Linear()),
        8719580393343.87 * Polynomial(2, 1.0) - 8719580393343.862 * Polynomial(2, 1.0),
    ],
    ids=["tiny rest", "powers", "Bessel functions", "exponentials", "close weights"],
)
def test_large_numbers_that_cancel_are_no_evidence(kernel):
    found, tried = refute_kernel(kernel, dim=3)
    assert found is None
    assert tried


def test_values_too_large_for_coefficients_are_no_evidence():
    with np.errstate(over="ignore"):
        assert find_least_eigenvector(np.array([[1e-160, 1e300], [1e300, 1e-160]]))[0] == 0

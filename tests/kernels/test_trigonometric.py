"""Kernels made of waves against scikit-learn, their sums and their limit."""

import math

import numpy as np
import pytest
from scipy import sparse
from scipy.integrate import quad
from sklearn.gaussian_process.kernels import ExpSineSquared

from mercer.gram import Gram
from mercer.kernels import Cosine, Fourier, Periodic, Sinc
from mercer.testing import check_kernel


@pytest.mark.parametrize("period", [0.7, 1.0, 5.0])
@pytest.mark.parametrize("length", [0.4, 1.0, 3.0])
def test_periodic_is_the_exp_sine_squared_of_scikit_learn_in_one_dimension(points, others, period, length):
    X, Z = points[:, :1], others[:, :1]
    expected = ExpSineSquared(length_scale=length, periodicity=period)(X, Z)
    np.testing.assert_allclose(Periodic(length, period)(X, Z), expected, rtol=1e-10)


def test_periodic_is_a_product_over_coordinates(points, others):
    expected = math.prod(Periodic(s, 1.5).on(d) for d, s in enumerate([0.5, 2.0, 1.3]))(points, others)
    np.testing.assert_allclose(Periodic([0.5, 2.0, 1.3], 1.5)(points, others), expected, rtol=1e-11)


@pytest.mark.parametrize(("kernel", "period"), [(Periodic(0.8, 2.5), 2.5), (Cosine(0.5), 4 * math.pi), (Fourier(6), 6)])
def test_everything_repeats_after_a_period(points, others, kernel, period):
    K = kernel(points, others)
    np.testing.assert_allclose(kernel(points + period, others), K, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(kernel(points, others - 3 * period), K, rtol=1e-10, atol=1e-12)


def test_equal_length_scales_are_one_length_scale(points, others):
    many, one = Periodic([0.7] * 3, 2.0), Periodic(0.7, 2.0)
    np.testing.assert_allclose(many(points, others), one(points, others), rtol=1e-12)
    np.testing.assert_allclose(
        many.gradient(points, others)["period"], one.gradient(points, others)["period"], rtol=1e-10, atol=1e-13
    )


def test_a_tiny_length_scale_tells_all_points_of_a_period_apart():
    np.testing.assert_array_equal(Periodic(1e-150)([[0.0], [0.25], [0.5]]), np.eye(3))


def test_fourier_is_a_sum_of_cosines(points, others):
    expected = sum(Cosine(2 * math.pi * m / 7) for m in range(8))(points, others)
    np.testing.assert_allclose(Fourier(7)(points, others), expected, rtol=1e-12, atol=1e-12)


def test_sinc_is_the_integral_of_cosines():
    for t in (0.0, 1e-9, 0.1, 0.25, 0.5, 1.3, 4.9):
        expected = quad(lambda u, t=t: math.cos(u * t), 0, 2 * math.pi)[0]
        np.testing.assert_allclose(Sinc()([[0.0]], [[t]])[0, 0], expected, atol=1e-12)


def test_sinc_has_no_hole_at_zero():
    np.testing.assert_allclose(Sinc()([[0.0]], [[1e-300], [1e-12], [0.0]]), 2 * math.pi, rtol=1e-14)
    np.testing.assert_array_equal(Sinc().diag(np.ones((2, 5))), 2 * math.pi * 5)


@pytest.mark.parametrize("kernel", [Periodic(), Cosine(), Fourier(), Sinc()], ids=repr)
def test_waves_refuse_sparse_data(kernel):
    with pytest.raises(TypeError, match=r"does not work on sparse matrices.*use X\.toarray\(\) if it fits"):
        kernel(sparse.csr_array(np.eye(3)))


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf, "1"], ids=repr)
def test_frequencies_are_not_negative(value):
    with pytest.raises(ValueError, match="Cosine: frequency must be a finite number that is not negative, got"):
        Cosine(value)


@pytest.mark.parametrize("value", [0, -1.0, math.nan, math.inf, "1"], ids=repr)
def test_periods_are_positive(value):
    with pytest.raises(ValueError, match="Periodic: period must be a positive finite number, got"):
        Periodic(period=value)
    with pytest.raises(ValueError, match="Periodic: length_scale must be a positive"):
        Periodic(length_scale=value)


@pytest.mark.parametrize("order", [0, -3, 2.5, math.nan, math.inf, "4"], ids=repr)
def test_the_order_is_a_whole_number(order):
    with pytest.raises(ValueError, match="Fourier: order must be a whole number of at least 1, got"):
        Fourier(order)


def test_there_is_one_length_scale_or_one_for_each_feature(points):
    with pytest.raises(ValueError, match="has 2 length scales but the data has 3 features"):
        Periodic([1.0, 2.0])(points)


@pytest.mark.parametrize("d", [1, 3])
def test_the_frequency_zero_is_the_number_of_inputs(d):
    X = np.random.default_rng(d).normal(size=(4, d))
    kernel = Cosine(0)
    np.testing.assert_array_equal(kernel(X), np.full((4, 4), float(d)))
    np.testing.assert_array_equal(Gram(kernel, X).dense(), np.full((4, 4), float(d)))
    np.testing.assert_array_equal(kernel.gradient(X)["frequency"], np.zeros((4, 4)))
    np.testing.assert_allclose((Fourier(5) - kernel)(X), sum(Cosine(2 * np.pi * m / 5) for m in range(1, 6))(X))
    features = kernel.feature_map(d).transform(X)
    assert features.shape[1] == kernel.feature_dim(d) == 2 * d
    np.testing.assert_array_equal(features @ features.T, kernel(X))
    check_kernel(kernel, X)

"""The worked examples of the lecture, to the digit."""

import math

import numpy as np
import pytest

from mercer.kernels import Cosine, Custom, Fourier, FromFeatures, Polynomial, Sinc

LINE = np.array([[-1.0], [0.0], [1.0]])
GRAM = np.array([[4.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 4.0]])


def test_1_the_square_of_xz_plus_1_has_the_features_x_squared_root_2_x_and_1():
    np.testing.assert_array_equal(Polynomial(degree=2, offset=1.0)(LINE), GRAM)
    features = FromFeatures(lambda x: [x[0] ** 2, math.sqrt(2) * x[0], 1.0])
    np.testing.assert_allclose(features(LINE), GRAM, rtol=0, atol=1e-15)


def test_2_the_powers_up_to_three_give_the_same_matrix_on_these_points():
    K = FromFeatures(lambda x: [1.0, x[0], x[0] ** 2, x[0] ** 3])(LINE)
    np.testing.assert_array_equal(K, GRAM)
    np.testing.assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K).min() > -1e-14
    np.testing.assert_array_equal(FromFeatures(lambda X: X ** np.arange(4))(LINE), GRAM)  # the whole array at once


def test_3_the_homogeneous_square_in_two_dimensions():
    X = np.array([[1.0, 1.0], [1.0, 0.0]])
    features = FromFeatures(lambda x: [x[0] ** 2, x[1] ** 2, math.sqrt(2) * x[0] * x[1]])
    np.testing.assert_array_equal(Polynomial(degree=2, offset=0.0)(X), [[4.0, 1.0], [1.0, 1.0]])
    np.testing.assert_allclose(features(X), [[4.0, 1.0], [1.0, 1.0]], rtol=0, atol=1e-15)


def test_4_the_square_with_offset_in_two_dimensions_has_six_features():
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(5, 2)), rng.normal(size=(4, 2))
    r = math.sqrt(2)
    features = FromFeatures(lambda x: [1.0, r * x[0], r * x[1], r * x[0] * x[1], x[0] ** 2, x[1] ** 2])
    k = Polynomial(degree=2, offset=1.0)
    np.testing.assert_allclose(features(X, Z), k(X, Z), rtol=1e-13, atol=1e-14)
    assert k.feature_dim(2) == features.feature_dim(2) == 6


X = np.array([[0.1, -0.4, 0.0], [0.7, 0.2, 1.0]])
Z = np.array([[0.3, 0.9, -0.5], [0.1, -0.4, 0.0]])
DIFFERENCES = X[:, None, :] - Z[None, :, :]


def test_5_one_frequency_is_a_sum_of_cosines_of_differences():
    np.testing.assert_allclose(Cosine(frequency=1.5)(X, Z), np.cos(1.5 * DIFFERENCES).sum(-1), rtol=0, atol=1e-14)
    features = FromFeatures(lambda x: np.concatenate([np.cos(1.5 * x), np.sin(1.5 * x)]))
    np.testing.assert_allclose(features(X, Z), Cosine(frequency=1.5)(X, Z), rtol=0, atol=1e-14)


def test_5_four_frequencies():
    expected = sum(np.cos(2 * np.pi * m / 4 * DIFFERENCES) for m in (0, 1, 2, 3, 4)).sum(-1)
    np.testing.assert_allclose(Fourier(order=4)(X, Z), expected, rtol=0, atol=1e-13)
    assert Fourier(order=4)(X, Z)[0, 1] == pytest.approx(15, abs=1e-14)  # x = z: 5 in each of 3 dimensions


def test_5_the_limit_and_its_value_where_x_is_z():
    with np.errstate(invalid="ignore"):
        expected = np.where(DIFFERENCES == 0, 2 * np.pi, np.sin(2 * np.pi * DIFFERENCES) / DIFFERENCES).sum(-1)
    np.testing.assert_allclose(Sinc()(X, Z), expected, rtol=0, atol=1e-13)
    assert Sinc()(X, Z)[0, 1] == 6 * np.pi
    np.testing.assert_array_equal(Sinc().diag(X), 6 * np.pi)


def test_5_the_weighted_sum_converges_to_the_limit():
    errors = [
        np.abs((2 * math.pi / order * Fourier(order))(X, Z) - Sinc()(X, Z)).max() for order in (64, 128, 256, 512, 1024)
    ]
    ratios = np.array(errors[:-1]) / errors[1:]
    np.testing.assert_allclose(ratios, 2, rtol=0.05)  # the error halves when the order doubles
    assert errors[-1] < 0.03


def test_6_the_squared_distance_of_two_points_has_a_negative_eigenvalue():
    r = 3.0**2 + 4.0**2
    K = Custom(lambda x, z: float(((x - z) ** 2).sum()))(np.array([[0.0, 0.0], [3.0, 4.0]]))
    np.testing.assert_array_equal(K, [[0.0, r], [r, 0.0]])
    np.testing.assert_allclose(np.linalg.eigvalsh(K), [-r, r], rtol=1e-15)

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer import kernels
from mercer.features import Fourier, Trigonometric

X = np.array([[0.1, -0.7], [2.0, 0.4], [-1.3, 0.0]])
Z = np.array([[0.5, 0.5], [-0.2, 1.9]])
DIFFERENCES = X[:, None, :] - Z[None, :, :]


@pytest.mark.parametrize("frequency", [0.0, 0.3, 1.0, 1.5, math.pi])
def test_circles_give_the_sum_of_cosines_of_differences(frequency):
    phi = Trigonometric(frequency).fit(X)
    np.testing.assert_allclose(
        phi.transform(X) @ phi.transform(Z).T, np.cos(frequency * DIFFERENCES).sum(axis=2), atol=1e-15 * 4
    )


def test_four_harmonics_give_the_double_sum_of_cosines():
    phi = Fourier(order=4).fit(X)
    expected = sum(np.cos(2 * np.pi * i / 4 * DIFFERENCES).sum(axis=2) for i in range(5))
    np.testing.assert_allclose(phi.transform(X) @ phi.transform(Z).T, expected, atol=1e-14)
    np.testing.assert_allclose(kernels.Fourier(order=4)(X, Z), expected, atol=1e-14)


def test_harmonics_times_two_pi_over_their_number_converge_to_the_sinc_kernel_like_one_over_their_number():
    limit = kernels.Sinc()(X, Z)
    np.testing.assert_allclose(limit, (np.sin(2 * np.pi * DIFFERENCES) / DIFFERENCES).sum(axis=2), rtol=1e-13)
    errors = []
    for order in (64, 128, 256, 512, 1024):
        phi = Fourier(order).fit(X)
        errors.append(np.abs(2 * np.pi / order * phi.transform(X) @ phi.transform(Z).T - limit).max())
    ratios = np.array(errors[:-1]) / np.array(errors[1:])
    np.testing.assert_allclose(ratios, 2.0, rtol=0.15)
    assert 1e-3 < errors[-1] < 1.5e-2


def test_at_order_1024_one_dimension_still_errs_by_six_thousandths():
    x, z = np.array([[0.0]]), np.linspace(0.0, 1.0, 101).reshape(-1, 1)
    phi = Fourier(order=1024).fit(x)
    error = np.abs(2 * np.pi / 1024 * phi.transform(x) @ phi.transform(z).T - kernels.Sinc()(x, z)).max()
    assert error == pytest.approx(6e-3, rel=0.1)


@given(order=st.integers(1, 9), d=st.integers(1, 4), seed=st.integers(0, 2**16))
@settings(max_examples=30, deadline=None)
def test_the_dot_product_of_harmonics_is_the_fourier_kernel(order, d, seed):
    points = np.random.default_rng(seed).normal(size=(6, d))
    phi = Fourier(order).fit(points)
    features = phi.transform(points)
    np.testing.assert_allclose(features @ features.T, kernels.Fourier(order)(points), atol=1e-13 * order * d)
    assert features.shape[1] == len(phi.get_feature_names_out()) == kernels.Fourier(order).feature_dim(d)


def test_names_say_which_wave_of_which_input():
    assert Trigonometric(1.5).fit(X).get_feature_names_out(["t", "u"]).tolist() == [
        "cos(1.5 t)", "cos(1.5 u)", "sin(1.5 t)", "sin(1.5 u)"
    ]  # fmt: skip
    assert Trigonometric().fit(X).get_feature_names_out().tolist()[0] == "cos(x0)"
    assert Fourier(4).fit(X).get_feature_names_out().tolist()[4] == "cos(2π·2/4 x0)"


def test_each_name_belongs_to_its_column():
    phi = Fourier(3).fit(X)
    for name, column in zip(phi.get_feature_names_out(), phi.transform(X).T, strict=True):
        wave, inside = name.split("(")
        angle, variable = inside[:-1].split()
        x = X[:, int(variable[1:])]
        np.testing.assert_allclose(column, getattr(np, wave)(eval(angle.replace("2π·", "2*np.pi*")) * x), atol=1e-15)


@pytest.mark.parametrize("transformer", [Trigonometric(-1.0), Trigonometric(np.nan), Fourier(0), Fourier(2.5)])
def test_wrong_parameters_are_named(transformer):
    with pytest.raises(ValueError, match=r"(frequency|order) must be"):
        transformer.fit(X)

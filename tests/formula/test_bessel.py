"""The Matérn profile at the edges of its range."""

import numpy as np
import pytest
from scipy.special import gamma, kv

from mercer.formula.bessel import LARGE_ORDER, matern_profile, scaled_k


@pytest.mark.parametrize("nu", [0.2, 1.0, 4.4, 30.0])
def test_the_profile_is_the_bessel_function_where_that_is_tame(nu):
    u = np.array([0.5, 1.0, 5.0, 30.0])
    np.testing.assert_allclose(matern_profile(u, nu), 2 ** (1 - nu) / gamma(nu) * u**nu * kv(nu, u), rtol=1e-11)


def test_both_ways_to_compute_it_meet():
    u = np.logspace(-8, 2.5, 200)
    below, above = matern_profile(u, LARGE_ORDER * (1 - 1e-13)), matern_profile(u, LARGE_ORDER)
    np.testing.assert_allclose(below, above, rtol=1e-10)


@pytest.mark.parametrize("nu", [2.0, 20.0, 59.0])
def test_the_series_takes_over_smoothly_where_the_bessel_function_overflows(nu):
    u = np.logspace(-200, -1, 1000)
    error = np.abs(1 - matern_profile(u, nu) - u**2 / (4 * (nu - 1)))
    assert (error <= 2e-11 + 10 * u**4 + (u**2 if nu == 2 else 0)).all()  # a logarithm enters where ν is 2


@pytest.mark.parametrize("nu", [0.2, 3.0, 100.0])
def test_the_ends_are_exact(nu):
    u = np.array([0.0, 1e5, 1e10, 1e300, np.inf])
    np.testing.assert_array_equal(matern_profile(u, nu)[:1], 1)
    np.testing.assert_array_equal(matern_profile(u, nu)[1:], 0)
    assert scaled_k(u, 0.7, -0.3)[0] == 0

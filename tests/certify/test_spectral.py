"""Differences of Gaussians by their spectrum, against the spectrum on a fine grid."""

from fractions import Fraction

import numpy as np
import pytest

from mercer.certify import Proved, Refuted
from mercer.certify.spectral import Mixture, enclose_spectrum, find_telling_frequency
from mercer.kernels import Gaussian


def mixture(dim, *terms):
    return Mixture.of([(Fraction(w), (Fraction(1.0 / s) ** 2,) * dim) for w, s in terms], dim)


def spectrum(dim, terms, u):
    return sum(w * s**dim * np.exp(-(s**2) * u / 2) for w, s in terms)


@pytest.mark.parametrize("seed", range(40))
def test_the_proof_agrees_with_the_spectrum_on_a_grid(seed):
    rng = np.random.default_rng(seed)
    dim = int(rng.integers(1, 5))
    terms = [(float(rng.normal() + 0.7), float(s)) for s in 2.0 ** rng.integers(-2, 3, size=rng.integers(2, 5))]
    totals = {}
    for w, s in terms:
        totals[s] = totals.get(s, 0.0) + w
    terms = [(w, s) for s, w in totals.items()]
    u = np.concatenate([np.linspace(0, 50, 20001), np.geomspace(50, 1e4, 2000)])
    slowest = min(s for _, s in terms)
    values = sum(w * s**dim * np.exp(-(s**2 - slowest**2) * u / 2) for w, s in terms)
    size = sum(abs(w) * s**dim for w, s in terms)
    proved = enclose_spectrum(mixture(dim, *terms)) is not None
    if values.min() < -1e-9 * size:
        assert not proved
        assert find_telling_frequency(mixture(dim, *terms)) is not None or values[0] >= 0
    elif values.min() > 1e-3 * size:
        assert proved


def test_the_dimension_decides():
    kernel = 3.0 * Gaussian(1.0) - Gaussian(2.0)
    assert isinstance(kernel.certificate(dim=1), Proved)
    assert isinstance(kernel.certificate(dim=2), Refuted)


def test_a_spectrum_that_starts_at_zero_is_proved():
    assert isinstance((4.0 * Gaussian(1.0) - Gaussian(2.0)).certificate(dim=2), Proved)
    assert isinstance((2.0 * Gaussian(1.0) - Gaussian(2.0)).certificate(dim=1), Proved)
    assert not isinstance((1.999 * Gaussian(1.0) - Gaussian(2.0)).certificate(dim=1), Proved)


def test_products_of_gaussians_are_gaussians():
    kernel = 3.0 * Gaussian(1.0) * Gaussian(2.0) - 0.1 * Gaussian(2.0) ** 2
    assert isinstance(kernel.certificate(dim=1), Proved)


def test_length_scales_that_are_multiples_of_each_other_count_as_one_shape():
    kernel = 5.0 * Gaussian([1.0, 0.5]) - Gaussian([2.0, 1.0])
    assert isinstance(kernel.certificate(dim=2), Proved)
    assert isinstance((3.0 * Gaussian([1.0, 0.5]) - Gaussian([2.0, 1.0])).certificate(dim=2), Refuted)
    assert Mixture.of([(Fraction(1), (Fraction(1), Fraction(2))), (Fraction(1), (Fraction(1), Fraction(3)))], 2) is None


def test_terms_of_the_same_width_are_added_before_anything_is_decided():
    assert isinstance((Gaussian(1.0) - 2.0 * Gaussian(2.0) + 2.0 * Gaussian(2.0)).certificate(), Proved)


def test_the_spectrum_formula_is_the_fourier_transform():
    x = np.linspace(-40, 40, 16001)
    terms = [(3.0, 1.0), (-1.0, 2.0)]
    k = sum(w * np.exp(-(x**2) / (2 * s**2)) for w, s in terms)
    for omega in (0.0, 0.5, 1.7):
        transform = np.trapezoid(k * np.cos(omega * x), x)
        assert transform == pytest.approx(np.sqrt(2 * np.pi) * spectrum(1, terms, omega**2), abs=1e-9)

"""Whitened discrepancies: their definition, ties, and what they find that plain ones do not."""

import numpy as np
import pytest

from mercer import MMDTest
from mercer.embeddings import whitening
from mercer.embeddings.resampling import deal_again
from mercer.embeddings.whitening import SHARE, measure_whitened, whiten
from mercer.gram import Gram
from mercer.kernels import Constant, Gaussian, Spectrum

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 2))


def shrink(K):
    """K_c(K_c + λ)⁻¹ from eigenvalues."""
    H = np.eye(len(K)) - 1 / len(K)
    values, vectors = np.linalg.eigh(H @ K @ H)
    return (vectors * (values / (values + SHARE * np.linalg.norm(values)))) @ vectors.T


@pytest.mark.parametrize("scale", [0.3, 1.0])
def test_directions_are_those_of_the_centred_matrix_shrunk(scale, monkeypatch):
    monkeypatch.setattr(whitening, "LEFT", 1e-12)
    H = whiten(Gram(Gaussian(scale), X), RNG)
    np.testing.assert_allclose(H.T @ H, shrink(Gaussian(scale)(X)), atol=1e-8)


def test_the_statistic_is_the_sum_over_pairs_of_different_points():
    groups = deal_again(30, 12, 3, np.random.default_rng(0))
    found = measure_whitened(Gram(Gaussian(), X), groups, np.random.default_rng(0))
    M = shrink(Gaussian()(X))
    np.fill_diagonal(M, 0.0)
    weights = np.where(groups, 1 / 12, -1 / 18)
    np.testing.assert_allclose(found, np.einsum("ic,ij,jc->c", weights, M, weights), atol=1e-4)


def test_a_constant_kernel_has_no_directions():
    groups = deal_again(30, 12, 3, RNG)
    np.testing.assert_array_equal(measure_whitened(Gram(Constant(2.0), X), groups, RNG), np.zeros(4))


def test_there_are_no_more_directions_than_memory_has_room_for():
    assert len(whiten(Gram(Gaussian(0.1), X, memory=64 * 30 * 5), RNG)) == 5


def test_equal_objects_are_ties_with_several_kernels():
    words = ["ab", "ba"] * 6
    assert MMDTest([Spectrum(1), Spectrum(2)], random_state=0).test(words, words[::-1]).p_value > 0.5
    assert MMDTest([Spectrum(1), 2.0 * Spectrum(1)], random_state=0).test(words, words[::-1]).p_value == 1.0


def test_correlation_is_found_that_plain_discrepancies_miss():
    found = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=(2, 80, 2))
        y[:, 1] = 0.6 * y[:, 0] + 0.8 * y[:, 1]
        found.append([MMDTest(kernel, n_permutations=99, random_state=seed).test(x, y).rejected
                      for kernel in (None, Gaussian(1.6))])  # fmt: skip
    several, median = np.sum(found, axis=0)
    assert several >= median + 5

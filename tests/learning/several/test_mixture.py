"""Mixtures of kernels: scales that make weights comparable, and the kernel that is learned."""

import numpy as np
import pytest

from mercer import MemoryBudgetError
from mercer.arrays.place import Place
from mercer.kernels import Constant, Gaussian, Linear, Precomputed, Spectrum
from mercer.learning.several.mixture import KernelMixture, stack_kernels

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3)) + 2.0


@pytest.mark.parametrize("weights", [None, RNG.uniform(size=30)])
@pytest.mark.parametrize("centred", [True, False])
def test_the_scale_is_the_mean_diagonal_of_the_matrix_that_the_model_sees(weights, centred):
    kernel = 3.0 * Linear() + Gaussian()
    stack = stack_kernels([kernel], X, weights=weights, centred=centred)
    p = np.full(30, 1 / 30) if weights is None else weights / weights.sum()
    H = np.eye(30) - np.outer(np.ones(30), p) * centred
    K = H @ kernel(X) @ H.T
    np.testing.assert_allclose(stack.mixture.scales, [p @ K.diagonal()], rtol=1e-12)
    np.testing.assert_allclose(stack.matrices[0], K / (p @ K.diagonal()), atol=1e-12)


def test_multiples_and_constants_change_no_centred_matrix():
    stack = stack_kernels([Linear(), 1e6 * Linear() + 1e6, 1e-9 * Linear()], X)
    np.testing.assert_allclose(stack.matrices[1], stack.matrices[0], atol=1e-10)
    np.testing.assert_allclose(stack.matrices[2], stack.matrices[0], atol=1e-10)


@pytest.mark.parametrize("kernel", [Constant(3.0), Constant(0.0), 0.0 * Linear(), 1e8 * Constant(0.1)])
def test_a_kernel_that_says_nothing_has_no_scale(kernel):
    stack = stack_kernels([kernel, Gaussian()], X)
    assert stack.mixture.scales[0] == 0
    assert not stack.matrices[0].any()
    assert stack.mixture.kernel() == stack.mixture.factors[1] * Gaussian()
    uncentred = stack_kernels([kernel, Gaussian()], X, centred=False)
    assert (uncentred.mixture.scales[0] > 0) == (kernel(X).any())


def test_the_mixed_matrix_is_the_gram_matrix_of_the_learned_kernel():
    kernels, w = [Linear(), Gaussian(2.0), Gaussian(0.1)], np.array([0.3, 0.7, 0.0])
    stack = stack_kernels(kernels, X, centred=False)
    learned = stack.mixture.weighted(w).kernel()
    np.testing.assert_allclose(stack.mix(w), learned(X), atol=1e-12)
    assert "0.1" not in learned.expression().rpartition("length_scale")[2]
    assert learned.theorem() is not None


def test_each_target_has_a_kernel_of_its_own():
    mixture = KernelMixture((Linear(), Gaussian()), np.array([2.0, 4.0]), np.array([[1.0, 0.0, 0.0], [0.0, 4.0, 0.0]]))
    assert mixture.kernel(0) == 0.5 * Linear()
    assert mixture.kernel(1) == Gaussian()
    assert mixture.kernel(2) == Constant(0.0)
    assert str(mixture) == "  33.3%  Linear()\n  33.3%  Gaussian(length_scale=1.0)"


def test_strings_and_matrices_mix_with_vectors():
    words = np.array(["ACGT", "AACC", "GGTT"], dtype=object)
    rows = [("ACGT", 1.0), ("AACC", 2.0), ("GGTT", 4.0)]
    stack = stack_kernels([Spectrum(2).on(0), Linear().on([1])], rows)
    alone = stack_kernels([Spectrum(2)], words)
    np.testing.assert_allclose(stack.matrices[0], alone.matrices[0], atol=1e-14)
    given = stack_kernels([Precomputed(Linear()(X))], np.arange(30))
    np.testing.assert_allclose(given.matrices, stack_kernels([Linear()], X).matrices, atol=1e-13)


def test_matrices_beyond_the_budget_are_refused_before_they_are_made():
    with pytest.raises(MemoryBudgetError, match="the matrices of 2 kernels at 30 points needs"):
        stack_kernels([Linear(), Gaussian()], X, place=Place(None, 20_000))
    half = stack_kernels([Linear(), Gaussian()], X, place=Place(None, 24_000), dtype=np.float32)
    assert half.matrices.dtype == np.float32
    np.testing.assert_allclose(half.matrices, stack_kernels([Linear(), Gaussian()], X).matrices, atol=1e-6)

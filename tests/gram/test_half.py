"""Half of a symmetric matrix in memory multiplies as the whole."""

import numpy as np
import pytest

from mercer import Gram, MemoryBudgetError
from mercer.gram import half
from mercer.kernels import Custom, Gaussian

RNG = np.random.default_rng(0)
X = RNG.normal(size=(101, 3))


@pytest.mark.parametrize("columns", [1, 2, 7])
@pytest.mark.parametrize("kernel", [Gaussian(), Custom(lambda x, z: np.exp(-abs(x - z).sum()))])
def test_half_of_a_matrix_multiplies_as_the_whole(monkeypatch, columns, kernel):
    monkeypatch.setattr(half, "STRIP_BYTES", 8 * 101 * 10)  # so that there are several strips of different heights
    V = RNG.normal(size=(101, columns))
    gram = Gram(kernel, X, dtype=np.float64)
    stored = gram.half()
    np.testing.assert_allclose(stored @ V, kernel(X) @ V, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(stored @ V[::-1], kernel(X) @ V[::-1], rtol=1e-12, atol=1e-12)
    assert stored.nbytes < 0.6 * 8 * 101**2


def test_values_in_float32_are_added_up_in_float64():
    V = RNG.normal(size=(101, 1))
    product = Gram(Gaussian(), X, dtype=np.float32).half() @ V
    assert product.dtype == np.float64
    np.testing.assert_allclose(product, Gaussian()(X) @ V, atol=1e-4)


def test_only_symmetric_matrices_within_the_budget_have_a_half():
    with pytest.raises(ValueError, match="only a matrix with Z = X on the host"):
        Gram(Gaussian(), X, X[:5]).half()
    with pytest.raises(MemoryBudgetError, match="half of the 101 × 101 matrix"):
        Gram(Gaussian(), X, memory=30_000).half()


def test_a_single_point_is_a_matrix_too():
    np.testing.assert_allclose(Gram(Gaussian(), X[:1]).half() @ np.array([[2.0]]), [[2.0]])

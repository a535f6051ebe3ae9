import numpy as np
import pytest
from scipy import sparse

from mercer.features import MinMaxHash
from mercer.kernels import MinMax, Tanimoto

rng = np.random.default_rng(1)
COUNTS = rng.poisson(0.7, size=(14, 12)).astype(float)
COUNTS[3] = COUNTS[4] = 0.0


def estimate(X, count, seed=0):
    features = MinMaxHash(count, random_state=seed).fit_transform(X)
    return features @ features.T


@pytest.mark.parametrize("X", [COUNTS, 0.37 * COUNTS + 0.01, 1.0 * (COUNTS > 0)], ids=["counts", "numbers", "bits"])
def test_hashes_agree_as_often_as_the_kernel_says(X):
    difference = estimate(X, 20_000) - MinMax()(X)
    assert np.abs(difference).max() < 5 / np.sqrt(20_000)
    assert np.sqrt(np.mean(difference**2)) < 1.5 / np.sqrt(20_000)


def test_bits_are_compared_as_by_tanimoto_and_the_diagonal_is_exact():
    bits = 1.0 * (COUNTS > 0)
    assert np.abs(estimate(bits, 20_000) - Tanimoto()(bits)).max() < 5 / np.sqrt(20_000)
    np.testing.assert_allclose(np.diag(estimate(COUNTS, 7)), 1.0, rtol=1e-12)


def test_sparse_rows_and_other_batches_have_the_same_hashes():
    phi = MinMaxHash(50, random_state=0).fit(COUNTS)
    expected = phi.transform(COUNTS)
    np.testing.assert_array_equal(phi.transform(sparse.csr_array(COUNTS)), expected)
    np.testing.assert_array_equal(phi.transform(COUNTS[5:7]), expected[5:7])


def test_negative_counts_are_refused():
    with pytest.raises(ValueError, match="not negative, but row 0, column 1 is -1"):
        MinMaxHash().fit([[1.0, -1.0]])

"""Points that explain all others, against the matrix."""

import numpy as np
import pytest

from mercer.kernels import Gaussian, Linear
from mercer.linalg.cholesky import pick_independent


@pytest.mark.parametrize("scale", [1e-100, 1.0, 1e100])
def test_points_that_nothing_explains_are_all_kept_in_their_order(scale):
    K = scale * Gaussian(0.5)(np.random.default_rng(0).normal(size=(50, 3)))
    kept, L = pick_independent(K)
    assert kept.tolist() == list(range(50))
    np.testing.assert_allclose(L @ L.T, K, rtol=1e-13, atol=1e-13 * scale)
    assert not np.triu(L, 1).any()


@pytest.mark.parametrize("distance", [0.0, 1e-9, 1e-7])
def test_points_that_others_explain_to_rounding_are_left_out(distance):
    X = np.random.default_rng(0).normal(size=(30, 2))
    K = Gaussian()(np.concatenate([X, X[:5] + distance]))
    kept, L = pick_independent(K)
    assert len(kept) <= 30
    np.testing.assert_allclose(L @ L.T, K[np.ix_(kept, kept)], atol=1e-13)
    explained = K[:, kept] @ np.linalg.lstsq(K[np.ix_(kept, kept)], K[kept], rcond=None)[0]
    np.testing.assert_allclose(explained, K, atol=1e-6)


def test_a_matrix_of_low_rank_has_as_many_points_as_its_rank():
    kept, L = pick_independent(Linear()(np.random.default_rng(0).normal(size=(40, 3))))
    assert len(kept) == len(L) == 3

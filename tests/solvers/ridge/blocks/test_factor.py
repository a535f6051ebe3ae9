"""The system of one block."""

import numpy as np
import pytest

from mercer.kernels import Gaussian
from mercer.solvers.ridge.blocks.factor import invert_block


def make_block():
    return Gaussian(1.5)(np.random.default_rng(0).normal(size=(80, 3)))


@pytest.mark.parametrize("rank", [None, 80, 200])
def test_without_a_rank_the_inverse_is_exact(rank):
    K = make_block()
    before = K.copy()
    found = invert_block(K, 0.1, rank, np.random.default_rng(1))(np.eye(80))
    np.testing.assert_allclose(found @ (K + 0.1 * np.eye(80)), np.eye(80), atol=1e-9)
    np.testing.assert_array_equal(K, before)


@pytest.mark.parametrize("rank", [1, 10, 40, 79])
def test_an_approximation_never_steps_too_far_and_is_better_with_more_rank(rank):
    K = make_block()
    root = np.linalg.cholesky(K + 0.1 * np.eye(80))
    M = invert_block(K, 0.1, rank, np.random.default_rng(1))(np.eye(80))
    values = np.linalg.eigvalsh(root.T @ ((M + M.T) / 2) @ root)
    np.testing.assert_allclose(M, M.T, atol=1e-9 * np.abs(M).max())
    assert values[0] > 0
    assert values[-1] <= 1.0 + 0.1  # powers find the largest eigenvalue from below
    if rank == 79:
        assert values[0] > 0.5


def test_a_block_that_is_not_positive_semi_definite_is_refused():
    with pytest.raises(np.linalg.LinAlgError, match="not positive semi-definite"):
        invert_block(np.diag([1.0, -1.0]), 0.1, None, np.random.default_rng(0))


def test_a_singular_block_is_only_rounding():
    found = invert_block(np.ones((5, 5)), 1e-300, None, np.random.default_rng(0))(np.ones((5, 1)))
    np.testing.assert_allclose(found, 0.2, rtol=0.02)

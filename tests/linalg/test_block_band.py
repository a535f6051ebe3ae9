"""The block tridiagonal form of a symmetric matrix on a device."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.linalg.block_band import find_block_band, reflect_panel

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def dense(form, n):
    """Return B."""
    B, start = torch.zeros((n, n), dtype=torch.float64), 0
    for block, below in zip(form.diagonal, [*form.below, None], strict=True):
        stop = start + len(block)
        B[start:stop, start:stop] = block
        if below is not None:
            B[stop : stop + len(below), start:stop] = below
            B[start:stop, stop : stop + len(below)] = below.T
        start = stop
    return B


@settings(deadline=None, max_examples=30)
@given(
    n=st.integers(1, 120), width=st.integers(1, 60), rank=st.integers(0, 120),
    size=st.sampled_from([1e-150, 1.0, 1e100]), seed=st.integers(0, 99),
)  # fmt: skip
def test_a_matrix_is_its_blocks_in_rotated_coordinates(n, width, rank, size, seed):
    factor = torch.from_numpy(np.random.default_rng(seed).normal(size=(n, rank)))
    K = size * (factor @ factor.T)
    form = find_block_band(K.clone(), width)
    Q = form.rotation
    torch.testing.assert_close(Q.T @ Q, torch.eye(n, dtype=torch.float64), atol=1e-11, rtol=0)
    largest = max(float(K.abs().max()), 1e-300)
    assert float((Q @ dense(form, n) @ Q.T - K).abs().max()) <= 1e-11 * largest


@pytest.mark.parametrize("scale", [0.05, 1.0, 100.0])
def test_factors_of_many_inverses_are_those_of_each_alone(scale):
    X = torch.from_numpy(np.random.default_rng(0).normal(size=(90, 2)))
    K = torch.exp(-(torch.cdist(X, X) ** 2) / (2 * scale**2))
    alphas = np.array([1e-3, 1.0, 1e4])
    parts = list(find_block_band(K.clone(), 16).inverse_factors(alphas))
    found = sum(part.transpose(1, 2) @ part for part in parts)
    for inverse, alpha in zip(found, alphas, strict=True):
        A = K + alpha * torch.eye(90, dtype=torch.float64)
        torch.testing.assert_close(inverse @ A, torch.eye(90, dtype=torch.float64), atol=1e-8, rtol=0)


def test_a_matrix_that_is_not_positive_definite_has_no_factors():
    form = find_block_band(-torch.eye(5, dtype=torch.float64), 2)
    with pytest.raises(np.linalg.LinAlgError, match="lost in the rounding"):
        list(form.inverse_factors(np.array([0.5, 2.0])))


@pytest.mark.parametrize("dependent", [0, 1, 3])
def test_a_panel_of_dependent_columns_is_reflected_too(dependent):
    P = torch.from_numpy(np.random.default_rng(0).normal(size=(40, 6)))
    P[:, :dependent] = P[:, 5:]
    M, V, T = reflect_panel(P.clone())
    H = torch.eye(40, dtype=torch.float64) - V @ T @ V.T
    torch.testing.assert_close(H.T @ H, torch.eye(40, dtype=torch.float64), atol=1e-13, rtol=0)
    torch.testing.assert_close(H[:, :6] @ M, P, atol=1e-13, rtol=0)

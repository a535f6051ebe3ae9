"""The inverse of a Cholesky factor on a device, made of large matrix products, which run faster there than solves."""

from __future__ import annotations

from typing import Any

from mercer.arrays.tensors import load_torch

BLOCK = 1024  # rows below which the library's own factorisation and solves are quicker


def inverse_factor(A: Any) -> Any | None:
    """Return L⁻¹ for A = LLᵀ, or None if A is not positive definite; A is overwritten.

    With A = [[B, Cᵀ], [C, D]] and M the inverse factor of B, the rows below are L₂₁ = CMᵀ, and D − L₂₁L₂₁ᵀ is
    factorised in turn: with its inverse factor N, L⁻¹ = [[M, 0], [−N L₂₁ M, N]].
    """
    out = load_torch().zeros_like(A)
    return out if _invert(A, out) else None


def _invert(A: Any, out: Any) -> bool:
    torch = load_torch()
    n = len(A)
    if n <= BLOCK:
        L, info = torch.linalg.cholesky_ex(A)
        if int(info):
            return False
        out.copy_(torch.linalg.solve_triangular(L, torch.eye(n, dtype=A.dtype, device=A.device), upper=False))
        return True
    h = n // 2
    if not _invert(A[:h, :h], out[:h, :h]):
        return False
    below = torch.empty_like(A[:h, h:])
    _lower_times(out[:h, :h], A[h:, :h].T.contiguous(), below)  # the transpose of L₂₁
    _subtract_square(A[h:, h:], below)
    if not _invert(A[h:, h:], out[h:, h:]):
        return False
    product = torch.empty_like(A[h:, :h])
    _times_lower(below.T, out[:h, :h], product)
    _lower_times(out[h:, h:], product, out[h:, :h])
    out[h:, :h].neg_()
    return True


def _subtract_square(A: Any, B: Any) -> None:
    """Subtract BᵀB from the lower half of A, and a little above it."""
    n = len(A)
    if n <= 2 * BLOCK:
        A.addmm_(B.T, B, alpha=-1.0)
        return
    h = n // 2
    _subtract_square(A[:h, :h], B[:, :h])
    _subtract_square(A[h:, h:], B[:, h:])
    A[h:, :h].addmm_(B[:, h:].T, B[:, :h], alpha=-1.0)


def _times_lower(B: Any, X: Any, out: Any) -> None:
    """B @ X for a lower triangular X, which saves the products with its zeros."""
    torch = load_torch()
    n = len(X)
    if n <= 2 * BLOCK:
        torch.matmul(B, X, out=out)
        return
    h = n // 2
    _times_lower(B[:, h:], X[h:, h:], out[:, h:])
    _times_lower(B[:, :h], X[:h, :h], out[:, :h])
    out[:, :h].addmm_(B[:, h:], X[h:, :h])


def _lower_times(X: Any, B: Any, out: Any) -> None:
    """X @ B for a lower triangular X."""
    torch = load_torch()
    n = len(X)
    if n <= 2 * BLOCK:
        torch.matmul(X, B, out=out)
        return
    h = n // 2
    _lower_times(X[:h, :h], B[:h], out[:h])
    _lower_times(X[h:, h:], B[h:], out[h:])
    out[h:].addmm_(X[h:, :h], B[:h])

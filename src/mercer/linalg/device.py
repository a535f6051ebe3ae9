"""A symmetric matrix on a device with its Cholesky factor, or the inverse of that in large matrix products."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Array
from mercer.arrays.columns import like, norms
from mercer.arrays.tensors import load_torch

from .halves import HalvesFactor

BLOCK = 640  # rows below which the library's own factorisation and solves are quicker


class TensorTriangles:
    """:class:`~mercer.linalg.triangles.SharedTriangles` on a device, with the factor beside the matrix.

    Parameters
    ----------
    matrix : tensor of shape (n, n), float32 or float64
        The symmetric matrix.
    rough : bool, default=False
        Whether factors are in about float32, by products of halves, although the matrix is in float64: three times as
        quick, and enough for a solution that is refined by products with the matrix.  Inverses are never rough.
    """

    matrices = 3  # that it holds: K, what is factorised, and the factor

    def __init__(self, matrix: Array, *, rough: bool = False) -> None:
        self._K, self._inverse, self.rough = matrix, False, rough
        self._factor: Array | None = None
        self._halves: HalvesFactor | None = None
        self.dtype = np.dtype(np.float32 if matrix.dtype.itemsize == 4 else np.float64)
        self.diagonal = matrix.diagonal().double()[:, None].clone()
        self.trace = float(self.diagonal.sum())

    def factor(self, shift: Array, *, invert: bool = False) -> bool:
        """Factor K + diag(shift), and say whether that worked; the inverse of the factor is found if asked."""
        self._factor = self._halves = None  # before memory is needed again
        if self.rough and not invert:
            return self._factor_roughly(shift)
        A = self._K.clone()
        A.diagonal().add_(shift.to(A.dtype))
        self._inverse = invert
        if invert:
            # Products with the inverse are quicker than substitution, too.
            self._factor = invert_factor(A)
        else:
            L, info = load_torch().linalg.cholesky_ex(A)
            self._factor = None if int(info) else L
        return self._factor is not None

    def _factor_roughly(self, shift: Array) -> bool:
        """Factor in float32, with a larger shift where rounding leaves no factor, and say whether there is one."""
        least = float(np.finfo(np.float32).eps) * self.trace / np.sqrt(len(self._K))
        for more in (0.0, least, 8 * least):
            A = self._K.to(load_torch().float32, copy=True)
            A.diagonal().copy_(self.diagonal[:, 0] + shift + more)
            try:
                self._halves = HalvesFactor(A)
            except np.linalg.LinAlgError:
                continue
            return True
        return False

    def solve(self, V: Array) -> Array:
        """Return (K + diag(shift))⁻¹ V in float64, with the factor's own accuracy."""
        size = norms(V)
        scale = like(V, np.where(size > 0, size, 1.0))  # float32 has a short range
        if self._halves is not None:
            return self._halves.solve(V / scale).double() * scale
        assert self._factor is not None
        L = self._factor
        scaled = (V / scale).to(L.dtype)
        found = L.T @ (L @ scaled) if self._inverse else load_torch().cholesky_solve(scaled, L)
        return found.double() * scale

    def inverse_diagonal(self) -> Array:
        """Return the diagonal of (K + diag(shift))⁻¹ as the squared columns of L⁻¹, which must have been asked for."""
        assert self._factor is not None
        step = max(1, 2**24 // len(self._factor))
        return sum(part.double().square().sum(0) for part in self._factor.split(step))

    def __matmul__(self, V: Array) -> Array:
        return (self._K @ V.to(self._K.dtype)).double()


def invert_factor(A: Array) -> Array | None:
    """Return L⁻¹ for A = LLᵀ, or None if A is not positive definite; A is overwritten.

    With A = [[B, Cᵀ], [C, D]] and M the inverse factor of B, the rows below are L₂₁ = CMᵀ, and D − L₂₁L₂₁ᵀ is
    factorised in turn: with its inverse factor N, L⁻¹ = [[M, 0], [−N L₂₁ M, N]].
    """
    out = load_torch().zeros_like(A)
    return out if _invert(A, out) else None


def _invert(A: Array, out: Array) -> bool:
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
    _multiply_from_left(out[:h, :h], A[h:, :h].T.contiguous(), below)  # the transpose of L₂₁
    _subtract_square(A[h:, h:], below)
    if not _invert(A[h:, h:], out[h:, h:]):
        return False
    product = torch.empty_like(A[h:, :h])
    _multiply_from_right(below.T, out[:h, :h], product)
    _multiply_from_left(out[h:, h:], product, out[h:, :h])
    out[h:, :h].neg_()
    return True


def _subtract_square(A: Array, B: Array) -> None:
    """Subtract BᵀB from the lower half of A, and a little above it."""
    n = len(A)
    if n <= 2 * BLOCK:
        A.addmm_(B.T, B, alpha=-1.0)
        return
    h = n // 2
    _subtract_square(A[:h, :h], B[:, :h])
    _subtract_square(A[h:, h:], B[:, h:])
    A[h:, :h].addmm_(B[:, h:].T, B[:, :h], alpha=-1.0)


def _multiply_from_right(B: Array, X: Array, out: Array) -> None:
    """B @ X for a lower triangular X, which saves the products with its zeros."""
    torch = load_torch()
    n = len(X)
    if n <= 2 * BLOCK:
        torch.matmul(B, X, out=out)
        return
    h = n // 2
    _multiply_from_right(B[:, h:], X[h:, h:], out[:, h:])
    _multiply_from_right(B[:, :h], X[:h, :h], out[:, :h])
    out[:, :h].addmm_(B[:, h:], X[h:, :h])


def _multiply_from_left(X: Array, B: Array, out: Array) -> None:
    """X @ B for a lower triangular X."""
    torch = load_torch()
    n = len(X)
    if n <= 2 * BLOCK:
        torch.matmul(X, B, out=out)
        return
    h = n // 2
    _multiply_from_left(X[:h, :h], B[:h], out[:h])
    _multiply_from_left(X[h:, h:], B[h:], out[h:])
    out[h:].addmm_(X[h:, :h], B[:h])

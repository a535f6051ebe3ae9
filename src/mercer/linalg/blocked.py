"""Cholesky factor, substitution and inverse of a large triangle, block by block.

Some builds of OpenBLAS write past their buffers when LAPACK's Cholesky factorisation of a float32 matrix gets beyond
about 20,000 rows.  Here LAPACK sees blocks on the diagonal only, and everything else is a matrix product; between
blocks Python can look for Ctrl-C.  Only the lower triangle of a matrix in Fortran order is read and written.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.linalg import get_blas_funcs, get_lapack_funcs

LARGE = 8192  # rows up to which LAPACK does it all at once
BLOCK = 1024  # columns
CHUNK = 8192  # rows of a product
FEW = 4  # columns that are multiplied one by one


def factor(A: np.ndarray) -> bool:
    """Put L with A = LLᵀ in place of the lower triangle of A, and say whether A was positive definite.

    Examples
    --------
    >>> import numpy as np
    >>> A = np.asfortranarray([[4.0, 9.0], [2.0, 5.0]])
    >>> factor(A), A.tolist()
    (True, [[2.0, 9.0], [1.0, 2.0]])
    """
    (potrf,), (trsm,) = get_lapack_funcs(("potrf",), (A,)), get_blas_funcs(("trsm",), (A,))
    for block in cut_blocks(len(A), BLOCK):
        done = A[block, : block.start]
        corner = np.tril(A[block, block]) - np.tril(done @ done.T)
        triangle, info = potrf(np.asfortranarray(corner), lower=1, clean=1, overwrite_a=1)
        if info:
            return False
        write_lower(A[block, block], triangle)
        for rows in cut_blocks(len(A), CHUNK, block.stop):
            part = A[rows, block]
            below = part.T  # rows of this are contiguous
            below -= done @ A[rows, : block.start].T
            A[rows, block] = trsm(1.0, triangle, part, side=1, lower=1, trans_a=1)
    return True


def substitute(A: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Return (LLᵀ)⁻¹V for L in the lower triangle of A."""
    return solve_upper(A, solve_lower(A, V))


def solve_lower(A: np.ndarray, V: np.ndarray, start: int = 0, size: int = BLOCK) -> np.ndarray:
    """Return L⁻¹V for L in the lower triangle of A; rows of V before ``start`` are those of the result already.

    Examples
    --------
    >>> import numpy as np
    >>> solve_lower(np.array([[2.0, 9.0], [1.0, 4.0]]), np.array([[2.0], [9.0]]))
    array([[1.],
           [2.]])
    """
    (trsm,) = get_blas_funcs(("trsm",), (A,))
    X = np.array(V, dtype=A.dtype, order="F")
    for block in cut_blocks(len(A), size, start):
        right = X[block] - _multiply(A[block, : block.start], X[: block.start])
        X[block] = trsm(1.0, A[block, block], right, lower=1)  # which reads nothing above the diagonal
    return X


def solve_upper(A: np.ndarray, V: np.ndarray, size: int = BLOCK) -> np.ndarray:
    """Return L⁻ᵀV for L in the lower triangle of A."""
    (trsm,) = get_blas_funcs(("trsm",), (A,))
    X = np.array(V, dtype=A.dtype, order="F")
    for block in reversed(list(cut_blocks(len(A), size))):
        right = X[block] - _multiply(A[block.stop :, block].T, X[block.stop :])
        X[block] = trsm(1.0, A[block, block], right, lower=1, trans_a=1)
    return X


def invert(A: np.ndarray) -> None:
    """Put L⁻¹ in place of L in the lower triangle of A."""
    (trtri,) = get_lapack_funcs(("trtri",), (A,))
    for block in reversed(list(cut_blocks(len(A), BLOCK))):
        inverse = trtri(np.tril(A[block, block]), lower=1)[0]
        # Below, L⁻¹ is −(L⁻¹ of what follows) (L below) (L⁻¹ here), from the bottom up, where L is still needed.
        for rows in reversed(list(cut_blocks(len(A), BLOCK, block.stop))):
            between = slice(block.stop, rows.start)
            product = np.tril(A[rows, rows]) @ A[rows, block] + A[rows, between] @ A[between, block]
            A[rows, block] = -(product @ inverse)
        write_lower(A[block, block], inverse)


def _multiply(A: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Return AX, column by column if they are few: a product of matrices would copy A first."""
    return np.column_stack([A @ x for x in X.T]) if 1 < X.shape[1] <= FEW else A @ X


def cut_blocks(n: int, size: int, start: int = 0) -> Iterator[slice]:
    """Yield slices of at most ``size`` that make up all from ``start`` to n."""
    for first in range(start, n, size):
        yield slice(first, min(first + size, n))


def write_lower(target: np.ndarray, values: Any) -> None:
    """Write the lower triangle of a square array, with the diagonal, and leave the rest alone."""
    np.copyto(target, values, where=np.tri(len(target), dtype=bool))

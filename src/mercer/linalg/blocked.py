"""Cholesky factor, substitution and inverse of a large triangle, block by block.

Some builds of OpenBLAS write past their buffers when LAPACK's Cholesky factorisation of a float32 matrix gets beyond
about 20,000 rows.  Here LAPACK sees blocks on the diagonal only, and everything else are products; between blocks
Python can look for Ctrl-C.  Only the lower triangle of a matrix is read and written.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
from scipy.linalg import get_blas_funcs, get_lapack_funcs

from .products import add_product, divide, has_rows, multiply, quiet_blas

LARGE = 4096  # rows up to which LAPACK solves and inverts all at once
PANEL = 256  # columns whose diagonal block it factorises, in one thread
BLOCK = 1024  # columns of a solution or an inverse
CHUNK = 8192  # rows of a product, at most
CALL_FLOPS = 1.5e10  # of a product, about: some tenths of a second, after which Python looks for Ctrl-C
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
    fine = A.dtype in (np.float32, np.float64) and A.ndim == 2 and A.shape[0] == A.shape[1] and A.flags.writeable
    if not fine or not (has_rows(A) or has_rows(A.T)):
        raise ValueError(
            "expected a square array of floats in Fortran or C order that can be written, got "
            f"{A.dtype} of shape {A.shape} and strides {A.strides}"
        )
    with quiet_blas() if len(A) > PANEL else nullcontext():
        for block in cut_blocks(len(A), PANEL):
            left = A[block, : block.start]
            add_product(A[block, block], left, left.T, -1.0, part="lower")
            if not _factor_block(A[block, block]):
                return False
            for rows in cut_blocks(len(A), _count_rows(block), block.stop):
                add_product(A[rows, block], A[rows, : block.start], left.T, -1.0)
                divide(A[block, block], A[rows, block].T)
    return True


def _factor_block(A: np.ndarray) -> bool:
    (potrf,) = get_lapack_funcs(("potrf",), (A,))
    L, failed = potrf(A.copy(order="F"), lower=1, clean=0, overwrite_a=1)
    write_lower(A, L)
    return not failed


def _count_rows(block: slice) -> int:
    """Return how many rows below a block are computed at a time: fewer, the more columns are done."""
    columns = block.stop - block.start
    return max(BLOCK // 2, min(CHUNK, int(CALL_FLOPS / (2 * columns * (block.start + columns)))))


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
    X = np.array(V, dtype=A.dtype, order="F")
    if X.shape[1] > FEW:
        add_product(X[start:], A[start:, :start], X[:start], -1.0)
        divide(A[start:, start:], X[start:])
        return X
    (trsm,) = get_blas_funcs(("trsm",), (A,))
    for block in cut_blocks(len(A), size, start):
        right = X[block] - _multiply(A[block, : block.start], X[: block.start])
        X[block] = trsm(1.0, A[block, block], right, lower=1)  # which reads nothing above the diagonal
    return X


def solve_upper(A: np.ndarray, V: np.ndarray, size: int = BLOCK) -> np.ndarray:
    """Return L⁻ᵀV for L in the lower triangle of A.

    Blocks are subtracted by rows or by columns of A, whichever lie together in memory.
    """
    (trsm,) = get_blas_funcs(("trsm",), (A,))
    X = np.array(V, dtype=A.dtype, order="F")
    by_rows = A.strides[0] > A.strides[1]
    for block in reversed(list(cut_blocks(len(A), size))):
        right = X[block] if by_rows else X[block] - _multiply(A[block.stop :, block].T, X[block.stop :])
        X[block] = trsm(1.0, A[block, block], right, lower=1, trans_a=1)
        if by_rows:
            X[: block.start] -= _multiply(A[block, : block.start].T, X[block])
    return X


def invert(A: np.ndarray) -> None:
    """Put L⁻¹ in place of L in the lower triangle of A."""
    (trtri,) = get_lapack_funcs(("trtri",), (A,))
    with quiet_blas():
        for block in reversed(list(cut_blocks(len(A), BLOCK))):
            inverse = trtri(np.tril(A[block, block]), lower=1)[0]
            # Below, L⁻¹ is −(L⁻¹ of what follows) (L below) (L⁻¹ here), from the bottom up, where L is still needed.
            for rows in reversed(list(cut_blocks(len(A), BLOCK, block.stop))):
                between = slice(block.stop, rows.start)
                product = multiply(np.tril(A[rows, rows]), A[rows, block])
                add_product(product, A[rows, between], A[between, block])
                A[rows, block] = -multiply(product, inverse)
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

"""An orthogonal similarity that makes a symmetric matrix banded, nearly all of it in products of matrices."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .unlocked import multiply_parts, multiply_symmetric, subtract_products

TOGETHER = 384  # reflections that are applied to Q at once

Reflections = tuple[np.ndarray, np.ndarray]  # V and T of I − VTVᵀ


def band_form(K: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Return B and Q of K = QBQᵀ, where B has ``width`` diagonals on each side.

    A panel of columns is brought to its form by a QR decomposition of what lies below the band; its reflections
    H = I − VTVᵀ turn the rest A into HᵀAH = A − VXᵀ − XVᵀ with X = W − ½VTᵀVᵀW and W = AVT.  That is 4n³/3 operations
    for B and as many for Q, like a tridiagonal form, but in products of matrices and not of matrices and vectors.

    Parameters
    ----------
    K : array of shape (n, n)
        A symmetric matrix.  If it is in Fortran order, Q takes its place.
    width : int
        How many diagonals, at least 1.

    Returns
    -------
    B : array of shape (width + 1, n)
        LAPACK's storage of the lower band: B[i − j, j] is the entry (i, j).
    Q : array of shape (n, n)
        In Fortran order.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linalg.band import band_form
    >>> K = 1.0 / (1.0 + np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0))))
    >>> B, Q = band_form(K.copy(), 1)
    >>> T = np.diag(B[0]) + np.diag(B[1, :-1], 1) + np.diag(B[1, :-1], -1)
    >>> bool(np.abs(Q @ T @ Q.T - K).max() < 1e-14)
    True
    """
    n = len(K)
    A = np.asfortranarray(K)
    B = np.zeros((width + 1, n), order="F")
    reflections = []
    for start, columns, found in _panels(A, width):
        for i in range(columns.shape[1]):
            entries = columns[i : i + width + 1, i]
            B[: len(entries), start + i] = entries
        if found is not None:
            reflections.append(found)
    return B, _rotation(reflections, A)


def _panels(A: np.ndarray, width: int) -> Iterator[tuple[int, np.ndarray, Reflections | None]]:
    """Give the first column, the columns from their diagonal on, and the reflections of each panel; the rest at last.

    All products are of one BLAS library, SciPy's: threads of two would keep each other waiting.
    """
    from scipy.linalg import blas

    n = len(A)
    for start in range(0, n, width):
        below = start + width
        if n - below < 2:  # nothing lies below the band any more
            yield start, np.array(A[start:, start:]), None
            return
        columns = np.array(A[start:, start:below], order="F")
        columns[width:], V, T = _reduce_panel(columns[width:])
        yield start, columns, (V, T)
        rest = A[below:, below:]
        W = multiply_symmetric(rest, blas.dgemm(1.0, V, T))
        inner = blas.dgemm(1.0, T, blas.dgemm(1.0, V, W, trans_a=1), trans_a=1)
        subtract_products(rest, V, blas.dgemm(-0.5, V, inner, 1.0, W, overwrite_c=1))


def _reduce_panel(panel: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return R over zeros, and V and T of the reflections I − VTVᵀ that make it of a panel."""
    from scipy.linalg import lapack

    count = min(panel.shape)
    found, T, _ = lapack.dgeqrt(count, panel)  # one block, by recursion into products
    R = np.zeros_like(panel)
    R[:count] = np.triu(found[:count])
    V = np.asfortranarray(np.tril(found[:, :count], -1))
    np.fill_diagonal(V, 1.0)
    return R, V, np.asfortranarray(np.triu(T))


def _rotation(reflections: list[Reflections], Q: np.ndarray) -> np.ndarray:
    """Write the product of all reflections, which are used up, to a matrix, from the last and smallest on."""
    from scipy.linalg import blas

    Q[...] = 0.0
    np.fill_diagonal(Q, 1.0)
    while reflections:
        V, T = reflections.pop()
        while reflections and len(T) < TOGETHER:
            V, T = _join_reflections(reflections.pop(), (V, T))
        part = Q[len(Q) - len(V) :, len(Q) - len(V) :]
        image = np.empty((len(T), len(V)), order="F")
        multiply_parts(blas.dgemm(1.0, V, T, trans_b=1), part, image, turned=True)
        multiply_parts(V, image, part, -1.0, 1.0)
    return Q


def _join_reflections(first: Reflections, second: Reflections) -> Reflections:
    """Return V and T of one product, the second of which is of fewer coordinates, the last ones."""
    from scipy.linalg import blas

    (V, T), (U, S) = first, second
    wide = len(T) + len(S)
    both, triangle = np.zeros((len(V), wide), order="F"), np.zeros((wide, wide), order="F")
    both[:, : len(T)] = V
    both[len(V) - len(U) :, len(T) :] = U
    triangle[: len(T), : len(T)] = T
    triangle[len(T) :, len(T) :] = S
    across = blas.dgemm(1.0, both[:, : len(T)], both[:, len(T) :], trans_a=1)
    triangle[: len(T), len(T) :] = blas.dgemm(-1.0, blas.dgemm(1.0, T, across), S)
    return both, triangle

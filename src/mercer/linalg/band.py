"""An orthogonal similarity that makes a symmetric matrix banded, nearly all of it in products of matrices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .products import add_product, multiply, multiply_symmetric, quiet_blas

TOGETHER = 384  # reflections that are applied to Q at once

Reflections = tuple[np.ndarray, np.ndarray]  # V and T of I − VTVᵀ


class Rotation:
    """An orthogonal matrix Q of n rows as a product of reflections I − VTVᵀ, each of some of the last coordinates.

    Examples
    --------
    >>> import numpy as np
    >>> Q = Rotation(2, [(np.array([[1.0], [1.0]]), np.ones((1, 1)))])
    >>> Q.turn(np.array([[3.0], [5.0]])).ravel(), Q.turn_back(Q.turn(np.eye(2))).tolist()
    (array([-5., -3.]), [[1.0, 0.0], [0.0, 1.0]])
    """

    def __init__(self, n: int, reflections: list[Reflections]) -> None:
        self.n, self._reflections = n, reflections

    def turn(self, X: np.ndarray) -> np.ndarray:
        """Return QX."""
        return self._reflect(X, self._reflections[::-1], turned=False)

    def turn_back(self, X: np.ndarray) -> np.ndarray:
        """Return QᵀX."""
        return self._reflect(X, self._reflections, turned=True)

    def _reflect(self, X: np.ndarray, reflections: list[Reflections], *, turned: bool) -> np.ndarray:
        found = np.array(X, dtype=np.float64, order="F")
        for V, T in reflections:
            part = found[self.n - len(V) :]
            add_product(part, V, multiply(T.T if turned else T, multiply(V.T, part)), -1.0)
        return found

    def image(self, dtype: type[np.floating[Any]]) -> np.ndarray:
        """Return Q itself, in Fortran order, from products of this precision; 4n³/3 operations.

        Rounding of float32 turns every row by about 1e-6.
        """
        Q = np.zeros((self.n, self.n), dtype=dtype, order="F")
        np.fill_diagonal(Q, 1.0)
        count = len(self._reflections)
        together = max(1, TOGETHER // max((len(T) for _, T in self._reflections), default=TOGETHER))
        reached = self.n  # the first coordinate that those applied so far move
        for stop in range(count, 0, -together):  # from the last and smallest on
            V, T = _join_reflections(self._reflections[max(0, stop - together) : stop], dtype)
            first = self.n - len(V)
            still = reached - first
            image = np.zeros((len(T), len(V)), dtype=dtype, order="F")
            image[:, :still] = V[:still].T
            add_product(image[:, still:], V[still:].T, Q[reached:, reached:])
            add_product(Q[first:, first:], V, multiply(T, image), -1.0)
            reached = first
        return Q


def band_form(K: np.ndarray, width: int) -> tuple[np.ndarray, Rotation]:
    """Return B and Q of K = QBQᵀ, where B has ``width`` diagonals on each side.

    A panel of columns is brought to its form by a QR decomposition of what lies below the band; its reflections
    H = I − VTVᵀ turn the rest A into HᵀAH = A − VXᵀ − XVᵀ with X = W − ½VTᵀVᵀW and W = AVT.  That is 4n³/3 operations,
    like a tridiagonal form, but in products of matrices and not of matrices and vectors.

    Parameters
    ----------
    K : array of shape (n, n)
        A symmetric matrix.  If it is in Fortran order, it is overwritten.
    width : int
        How many diagonals, at least 1.

    Returns
    -------
    B : array of shape (width + 1, n)
        LAPACK's storage of the lower band: B[i − j, j] is the entry (i, j).
    Q : Rotation
        As the product of all reflections.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linalg.band import band_form
    >>> K = 1.0 / (1.0 + np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0))))
    >>> B, Q = band_form(K.copy(), 1)
    >>> T = np.diag(B[0]) + np.diag(B[1, :-1], 1) + np.diag(B[1, :-1], -1)
    >>> bool(np.abs(Q.turn(T @ Q.image(np.float64).T) - K).max() < 1e-14)
    True
    """
    n = len(K)
    A = np.asfortranarray(K)
    B = np.zeros((width + 1, n), order="F")
    reflections = []
    with quiet_blas():
        for start, columns, found in _panels(A, width):
            for i in range(columns.shape[1]):
                entries = columns[i : i + width + 1, i]
                B[: len(entries), start + i] = entries
            if found is not None:
                reflections.append(found)
    return B, Rotation(n, reflections)


def _panels(A: np.ndarray, width: int) -> Iterator[tuple[int, np.ndarray, Reflections | None]]:
    """Give the first column, the columns from their diagonal on and the reflections of each panel; the rest at last."""
    n = len(A)
    for start in range(0, n, width):
        below = start + width
        if n - below < 2:  # nothing lies below the band any more
            yield start, np.array(A[start:, start:]), None
            return
        columns = np.array(A[start:, start:below], order="F")
        R, V, T = _reduce_panel(columns[width:])
        columns[width:] = 0.0
        columns[width : width + len(R)] = R
        yield start, columns, (V, T)
        rest = A[below:, below:]
        X = multiply_symmetric(rest, multiply(V, T))
        add_product(X, V, multiply(T.T, multiply(V.T, X)), -0.5)
        add_product(rest, np.hstack([V, X]), np.hstack([X, V]).T, -1.0, part="lower")


def _reduce_panel(panel: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return R of the rows that are not 0, and V and T of the reflections I − VTVᵀ that make it of a panel."""
    from scipy.linalg import lapack

    count = min(panel.shape)
    found, T, _ = lapack.dgeqrt(count, panel)  # one block, by recursion into products
    R, V = np.triu(found[:count]), found[:, :count]
    V[:count] = np.tril(V[:count], -1)
    np.fill_diagonal(V, 1.0)
    return R, V, np.asfortranarray(np.triu(T))


def _join_reflections(parts: list[Reflections], dtype: type[np.floating[Any]]) -> Reflections:
    """Return V and T of one product, each part of which is of fewer coordinates than the one before, the last ones."""
    wide, n = sum(len(T) for _, T in parts), len(parts[0][0])
    both, triangle = np.zeros((n, wide), dtype=dtype, order="F"), np.zeros((wide, wide), dtype=dtype, order="F")
    done = 0
    for V, T in parts:
        first, its = slice(0, done), slice(done, done + len(T))
        both[n - len(V) :, its] = V
        triangle[its, its] = T
        if done:
            across = multiply(both[n - len(V) :, first].T, both[n - len(V) :, its])
            add_product(triangle[first, its], multiply(triangle[first, first], across), triangle[its, its], -1.0)
        done = its.stop
    return both, triangle

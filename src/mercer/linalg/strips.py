"""A large triangle that is solved again and again for a few columns, at the speed of memory."""

from __future__ import annotations

import numpy as np
from scipy.linalg import get_lapack_funcs

from .blocked import cut_blocks
from .long_rows import combine_rows, multiply_rows

BLOCK = 256  # columns of a strip: its square on the diagonal stays in the cache


class TriangleStrips:
    """L in strips: the inverses of the squares on its diagonal, and what lies below each, a row for each column of L.

    That is half the memory of a matrix.  Substitution reads every number once, and waits for the squares only, which
    are multiplied by and not solved.

    Parameters
    ----------
    A : array of shape (n, n), in Fortran order
        L in its lower triangle; nothing above the diagonal is read, and nothing is kept of it.

    Examples
    --------
    >>> import numpy as np
    >>> L = TriangleStrips(np.asfortranarray([[2.0, 9.0], [1.0, 4.0]]))
    >>> L.solve_lower(np.array([[2.0], [9.0]])).ravel(), L.solve_upper(np.array([[2.0], [4.0]])).ravel()
    (array([1., 2.]), array([0.5, 1. ]))
    """

    def __init__(self, A: np.ndarray) -> None:
        (invert,) = get_lapack_funcs(("trtri",), (A,))
        self._blocks = list(cut_blocks(len(A), BLOCK))
        self._squares = [np.ascontiguousarray(np.tril(invert(A[block, block], lower=1)[0])) for block in self._blocks]
        self._below = [A[block.stop :, block].T.copy() for block in self._blocks]  # never a view, also of nothing

    def solve_lower(self, V: np.ndarray) -> np.ndarray:
        """Return L⁻¹V for V of shape (n, q)."""
        X = np.array(V, dtype=np.float64)
        for block, square, below in zip(self._blocks, self._squares, self._below, strict=True):
            X[block] = multiply_rows(square, X[block])
            X[block.stop :] -= combine_rows(below, X[block])
        return X

    def solve_upper(self, V: np.ndarray) -> np.ndarray:
        """Return L⁻ᵀV for V of shape (n, q)."""
        X = np.array(V, dtype=np.float64)
        for block, square, below in zip(self._blocks[::-1], self._squares[::-1], self._below[::-1], strict=True):
            X[block] = combine_rows(square, X[block] - multiply_rows(below, X[block.stop :]))
        return X

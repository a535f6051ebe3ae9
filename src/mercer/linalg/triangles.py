"""A symmetric matrix and its Cholesky factor in one array: the matrix above the diagonal, the factor below it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import blas, lapack

from .blocked import LARGE, factor, invert, substitute
from .products import add_product

BLOCK = 512  # columns copied from one triangle to the other at a time
MIRRORED = 64  # the same where all of a small block stays in the cache
SUM_BYTES = 2**24  # of columns squared in float64 at a time


class SharedTriangles:
    """K and the factor L of K + diag(s), in the memory of one matrix.

    LAPACK reads and writes the lower triangle only, so that the upper one still holds K: a second diagonal needs no
    second evaluation of the kernel, and products with K need no second matrix.

    Parameters
    ----------
    matrix : array of shape (n, n), float32 or float64
        The symmetric matrix; it is taken over and overwritten.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linalg.triangles import SharedTriangles
    >>> K = SharedTriangles(np.array([[4.0, 2.0], [2.0, 3.0]]))
    >>> K.factor(np.array([0.0, 1.0]))
    True
    >>> K.solve(np.array([[8.0], [8.0]]))
    array([[1.33333333],
           [1.33333333]])
    >>> K @ np.array([[1.0], [1.0]])
    array([[6.],
           [5.]])
    """

    matrices = 1  # that it holds

    def __init__(self, matrix: np.ndarray) -> None:
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.flags.c_contiguous:
            raise ValueError(f"expected a square array in C order, got shape {matrix.shape}")
        self._both = matrix.T  # the same matrix, as it is symmetric, in the order that LAPACK works on in place
        self._diagonal = matrix.diagonal().copy()
        self._fresh = True  # whether both triangles hold K
        single = matrix.dtype == np.float32
        self._potrs, self._trtri, self._symm = (
            (lapack.spotrs, lapack.strtri, blas.ssymm) if single else (lapack.dpotrs, lapack.dtrtri, blas.dsymm)
        )

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of the matrix and of its factor."""
        return self._both.dtype

    @property
    def diagonal(self) -> np.ndarray:
        """The diagonal of K, as a column in float64."""
        return np.asarray(self._diagonal[:, None], dtype=np.float64)

    @property
    def trace(self) -> float:
        """The trace of K."""
        return float(self._diagonal.sum(dtype=np.float64))

    def factor(self, shift: np.ndarray, *, invert: bool = False) -> bool:
        """Factor K + diag(shift), and say whether that worked; it is inverted in its place when that is asked for."""
        if not self._fresh:
            self._restore()
        self._fresh = False
        np.fill_diagonal(self._both, self._diagonal + shift)
        return factor(self._both)

    def solve(self, V: np.ndarray) -> np.ndarray:
        """Return (K + diag(shift))⁻¹ V in float64, with the factor's own accuracy."""
        scale = np.linalg.norm(V, axis=0)
        scale[scale == 0] = 1.0  # float32 has a short range: columns of unit length stay inside it
        scaled = np.asarray(V / scale, dtype=self.dtype, order="F")
        if len(self._both) > LARGE:
            solved = substitute(self._both, scaled)
        else:
            solved, _ = self._potrs(self._both, scaled, lower=1, overwrite_b=1)
        return np.asarray(solved * scale, dtype=np.float64)

    def inverse_diagonal(self) -> np.ndarray:
        """Return the diagonal of (K + diag(shift))⁻¹ as the squared columns of L⁻¹; the factor is lost."""
        if len(self._both) > LARGE:
            invert(self._both)
        else:
            self._trtri(self._both, lower=1, overwrite_c=1)
        n = len(self._both)
        result, step = np.zeros(n), max(1, SUM_BYTES // (8 * n))
        for start in range(0, n, step):
            stop = min(start + step, n)
            below = self._both[start:, start:stop].astype(np.float64)
            below[: stop - start][np.triu_indices(stop - start, 1)] = 0.0
            result[start:stop] = np.einsum("ij,ij->j", below, below)
        return result

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        """K @ V from the upper triangle."""
        # The diagonal of K takes the place of the factor's for as long as it is needed: a difference of the two would
        # be rounded to that of the factor, which is of another size than K.
        replaced = self._both.diagonal().copy()
        np.fill_diagonal(self._both, self._diagonal)
        try:
            return np.asarray(self._symm(1.0, self._both, np.asfortranarray(V, dtype=self.dtype), lower=0))
        finally:
            np.fill_diagonal(self._both, replaced)

    def _restore(self) -> None:
        n = len(self._both)
        for start in range(0, n, BLOCK):
            part = slice(start, min(start + BLOCK, n))
            self._both[part.stop :, part] = self._both[part, part.stop :].T
            upper = np.triu(self._both[part, part], 1)
            self._both[part, part] = upper + upper.T


def mirror(A: np.ndarray) -> np.ndarray:
    """Copy the lower triangle of a square array to its upper one, in place, and return the array.

    Examples
    --------
    >>> import numpy as np
    >>> mirror(np.array([[1.0, 9.0], [2.0, 3.0]]))
    array([[1., 2.],
           [2., 3.]])
    """
    n = len(A)
    for start in range(0, n, MIRRORED):
        stop = min(start + MIRRORED, n)
        A[start:stop, stop:] = A[stop:, start:stop].T
        corner = A[start:stop, start:stop]
        corner[...] = np.tril(corner) + np.tril(corner, -1).T
    return A


def square(A: np.ndarray) -> np.ndarray:
    """Return AAᵀ.

    Examples
    --------
    >>> import numpy as np
    >>> square(np.array([[1.0, 2.0], [0.0, 1.0]]))
    array([[5., 2.],
           [2., 1.]])
    """
    found = np.zeros((len(A), len(A)), dtype=A.dtype)
    add_product(found, A, A.T, part="lower")
    return mirror(found)

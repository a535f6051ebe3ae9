"""One half of a symmetric Gram matrix in memory, which is all that its products read."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mercer.arrays.threads import default_threads

STRIP_BYTES = 2**23  # of rows that are used twice: as rows, and as columns while they are still in the cache
STRIPS = 64  # of a smaller matrix, so that threads can share them
FEW = 4  # columns up to which every number is read once for both uses, which beats a thin product of matrices


class StoredHalf:
    """The rows of a symmetric matrix from the diagonal on, in strips: half the memory, and half of what is read.

    Parameters
    ----------
    strips : iterator of arrays
        Some rows from their diagonal on each, K[i:j, i:], from the first row to the last.

    Examples
    --------
    >>> import numpy as np
    >>> K = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 4.0], [0.0, 4.0, 5.0]])
    >>> half = StoredHalf(iter([K[:2], K[2:, 2:]]))
    >>> half @ np.array([[1.0], [1.0], [1.0]])
    array([[3.],
           [8.],
           [9.]])
    >>> half.nbytes < K.nbytes
    True
    """

    def __init__(self, strips: Iterator[np.ndarray]) -> None:
        self._strips = list(strips)

    @property
    def dtype(self) -> np.dtype:
        """The type of the entries."""
        return self._strips[0].dtype

    @property
    def nbytes(self) -> int:
        """Bytes of the entries."""
        return sum(strip.nbytes for strip in self._strips)

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        """K @ V for V of shape (n, q); a strip adds up in its own type, strips in float64."""
        if V.shape[1] > FEW:
            return self._multiply_strips(V)
        import mercer._native as _native

        out = np.empty(V.shape[::-1])
        _native.half_product(self._strips, np.ascontiguousarray(V.T, dtype=self.dtype), out, default_threads())
        return out.T

    def _multiply_strips(self, V: np.ndarray) -> np.ndarray:
        out = np.zeros(V.shape, order="F")
        V = np.asarray(V, dtype=self.dtype, order="F")
        start = 0
        for strip in self._strips:
            stop = start + len(strip)
            out[start:stop] += strip @ V[start:]
            out[stop:] += strip[:, len(strip) :].T @ V[start:stop]
            start = stop
        return out


def cut_half(n: int, itemsize: int) -> Iterator[slice]:
    """Yield the rows of each strip: about as many entries in each, and never none.

    Examples
    --------
    >>> rows = list(cut_half(3000, 4))
    >>> rows[0], rows[-1], len(rows)
    (slice(0, 23, None), slice(2823, 3000, None), 67)
    """
    start, most = 0, min(STRIP_BYTES // itemsize, n * n // (2 * STRIPS))
    while start < n:
        stop = min(n, start + max(1, most // (n - start)))
        yield slice(start, stop)
        start = stop

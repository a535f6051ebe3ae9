"""One half of a symmetric Gram matrix in memory, which is all that its products read."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

STRIP_BYTES = 2**23  # of rows that are used twice: as rows, and as columns while they are still in the cache
FEW = 3  # columns that are multiplied one at a time, which beats a thin product of matrices


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
        out = np.zeros(V.shape, order="F")
        V = np.asarray(V, dtype=self.dtype, order="F")
        parts = [slice(j, j + 1) for j in range(V.shape[1])] if V.shape[1] <= FEW else [slice(None)]
        start = 0
        for strip in self._strips:
            stop = start + len(strip)
            for columns in parts:
                values = V[:, columns]
                out[start:stop, columns] += strip @ values[start:]
                out[stop:, columns] += strip[:, len(strip) :].T @ values[start:stop]
            start = stop
        return out


def cut_half(n: int, itemsize: int) -> Iterator[slice]:
    """Yield the rows of each strip: about as many entries in each, and never none.

    Examples
    --------
    >>> [rows.stop - rows.start for rows in cut_half(4, STRIP_BYTES // 4)]
    [1, 1, 2]
    """
    start = 0
    while start < n:
        stop = min(n, start + max(1, STRIP_BYTES // (itemsize * (n - start))))
        yield slice(start, stop)
        start = stop

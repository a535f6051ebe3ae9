"""A symmetric matrix and its Cholesky factor that grow and shrink by rows.

Both lie in one array: K above the diagonal and the factor L of K + diag(s) below it.  Rows at the end cost one
triangular solve, because the factor of a leading block is the leading block of the factor.  Without some rows, what is
left of the factor is L' and their columns X, and L'L'ᵀ + XXᵀ is made triangular again by orthogonal maps, a block of
columns at a time, which loses no digits.  Both are O(n²) for each row, and need no further matrix.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from .blocked import cut_blocks, factor, solve_lower, solve_upper, write_lower
from .triangles import mirror

SLACK = 1.25  # times the rows that were there, when there is no room for more
SUBSTITUTED = 64  # columns of a triangle that are solved at a time
APPENDED = 512  # rows of a corner at a time
ROTATED = 32  # columns that are made triangular again at a time: fewer cost calls, more cost operations
MULTIPLIED = 64  # rows of a product, which stay in the cache while they are read twice
MOVED = 256  # rows that are moved up at a time
CHEAPER = 12  # removing more than n/12 rows takes longer than a new factor


class GrowingCholesky:
    """K and the factor of K + diag(s), to which rows are added at the end, and from which any rows are taken away.

    Examples
    --------
    >>> import numpy as np
    >>> A = GrowingCholesky()
    >>> A.append(np.zeros((0, 2)), np.array([[4.0, 2.0], [2.0, 3.0]]), np.array([0.0, 1.0]))
    True
    >>> A.append(np.array([[1.0], [1.0]]), np.array([[5.0]]), np.array([1.0]))
    True
    >>> A.remove(np.array([0]))
    >>> A.solve(np.array([[5.0], [7.0]])), A @ np.ones((2, 1))
    (array([[1.],
           [1.]]), array([[4.],
           [6.]]))
    """

    def __init__(self) -> None:
        self._both = np.empty((0, 0))
        self._n = 0
        self._diagonal = np.empty(0)  # of K
        self._shift = np.empty(0)
        self._inverse: np.ndarray | None = None  # the diagonal of the inverse, once somebody has asked for it

    def __len__(self) -> int:
        return self._n

    @property
    def diagonal(self) -> np.ndarray:
        """The diagonal of K."""
        return self._diagonal

    @property
    def shift(self) -> np.ndarray:
        """What is added to it."""
        return self._shift

    def capacity_for(self, rows: int) -> int:
        """Return how many rows there will be room for once there are so many: a few more if they have to be moved."""
        room = len(self._both)
        return room if rows <= room else max(rows, int(SLACK * room))

    def reserve(self, room: int) -> None:
        """Make room for so many rows."""
        if room > len(self._both):
            larger = np.empty((room, room))
            larger[: self._n, : self._n] = self._square
            self._both = larger

    @property
    def _square(self) -> np.ndarray:
        return self._both[: self._n, : self._n]

    def append(self, cross: np.ndarray, corner: np.ndarray, shift: np.ndarray) -> bool:
        """Add m rows, and say whether the matrix is still positive definite; nothing has changed if not.

        Takes n²m + nm² + m³/3 operations.

        Parameters
        ----------
        cross : array of shape (n, m)
            K between the rows that are there and the new ones.
        corner : array of shape (m, m)
            K between the new ones.
        shift : array of shape (m,)
            What is added to its diagonal.
        """
        n, m = cross.shape
        self.reserve(self.capacity_for(n + m))
        new = self._both[n : n + m]
        left, right = new[:, :n], new[:, n : n + m]
        left[...] = solve_lower(self._square, cross, size=SUBSTITUTED).T if n else 0.0
        right[...] = corner
        for rows in cut_blocks(m, APPENDED):
            taken = left[rows] @ left[: rows.stop].T
            right[rows, : rows.start] -= taken[:, : rows.start]
            write_lower(right[rows, rows], corner[rows, rows] - taken[:, rows] + np.diag(shift[rows]))
        if not (factor(right) and np.isfinite(right.diagonal()).all()):
            return False
        self._both[:n, n : n + m] = cross
        self._n = n + m
        self._diagonal = np.concatenate([self._diagonal, corner.diagonal()])
        self._shift = np.concatenate([self._shift, shift])
        if self._inverse is not None:  # the inverse of the factor has m rows more
            last = solve_upper(self._square, np.eye(n + m, m, -n), size=SUBSTITUTED)
            self._inverse = np.concatenate([self._inverse, np.zeros(m)]) + np.einsum("ij,ij->i", last, last)
        return True

    def truncate(self, n: int) -> None:
        """Keep the first n rows only, whose factor is there already."""
        if n < self._n:
            self._n, self._inverse = n, None
            self._diagonal, self._shift = self._diagonal[:n], self._shift[:n]

    def remove(self, positions: np.ndarray) -> None:
        """Take rows away: some, not all.

        One takes about 34n² operations at most, in products of matrices, the fewer the later it is, and many together
        fewer each; more than n/12 of them take a new factor.
        """
        gone = np.unique(positions)
        if gone[0] >= self._n - len(gone):  # the last rows
            self.truncate(self._n - len(gone))
            return
        kept = np.delete(np.arange(self._n), gone)
        anew = CHEAPER * len(gone) > self._n
        inverse = None if anew else self._inverse_without(gone, kept)
        first = int(gone[0])
        below = kept[first:, None]
        X = np.where(below > gone, self._both[below, gone], 0.0)
        self._close(gone, kept)
        self._diagonal, self._shift, self._n = self._diagonal[kept], self._shift[kept], len(kept)
        if anew:
            if not self.refactor(self._shift):
                raise np.linalg.LinAlgError("what is left of the matrix is not positive definite to rounding")
        else:
            self._rotate(X, first)
        self._inverse = inverse

    def refactor(self, shift: np.ndarray) -> bool:
        """Make the factor anew from K with another shift, n³/3 operations, and say whether there is one."""
        self._shift, self._inverse = np.array(shift, dtype=np.float64), None
        square = self._square
        mirror(square.T)
        np.fill_diagonal(square, self._diagonal + self._shift)
        return bool(factor(square) and np.isfinite(square.diagonal()).all())

    def forward(self, V: np.ndarray, start: int = 0) -> np.ndarray:
        """Return L⁻¹V; rows of V before ``start`` are those of the result already, which more rows do not change."""
        return solve_lower(self._square, V, start, SUBSTITUTED)

    def backward(self, V: np.ndarray) -> np.ndarray:
        """Return L⁻ᵀV."""
        return solve_upper(self._square, V, SUBSTITUTED)

    def solve(self, V: np.ndarray) -> np.ndarray:
        """Return (K + diag(s))⁻¹V."""
        return self.backward(self.forward(V))

    def inverse_diagonal(self) -> np.ndarray:
        """Return the diagonal of (K + diag(s))⁻¹.

        It is the squared columns of L⁻¹, n³/3 operations for the first time; later on it follows rows that come and go.
        """
        if self._inverse is None:
            found = np.empty(self._n)
            for block in cut_blocks(self._n, SUBSTITUTED):
                rest = self._square[block.start :, block.start :]
                columns = solve_lower(rest, np.eye(len(rest), block.stop - block.start), size=SUBSTITUTED)
                found[block] = np.einsum("ij,ij->j", columns, columns)
            self._inverse = found
        return self._inverse

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        """K @ V, without the shift."""
        product = self._diagonal[:, None] * V
        for block in cut_blocks(self._n, MULTIPLIED):
            corner, right = np.triu(self._square[block, block], 1), self._square[block, block.stop :]
            product[block] += corner @ V[block] + corner.T @ V[block] + right @ V[block.stop :]
            product[block.stop :] += right.T @ V[block]
        return product

    # -- removal ----------------------------------------------------------------------------------------------------

    def _inverse_without(self, gone: np.ndarray, kept: np.ndarray) -> np.ndarray | None:
        if self._inverse is None:
            return None
        units = np.zeros((self._n, len(gone)))
        units[gone, np.arange(len(gone))] = 1.0
        columns = self.solve(units)
        share = np.linalg.solve(columns[gone], columns.T).T
        return (self._inverse - np.einsum("ij,ij->i", share, columns))[kept]

    def _close(self, gone: np.ndarray, kept: np.ndarray) -> None:
        """Move rows up and columns left into the places of those that are gone."""
        ends = [-1, *gone.tolist(), self._n]
        parts = [(a + 1 - i, slice(a + 1, b)) for i, (a, b) in enumerate(pairwise(ends)) if b > a + 1]
        for rows in cut_blocks(len(kept), MOVED):
            strip = self._both[kept[rows], : self._n]  # a copy
            for start, source in parts:
                self._both[rows, start : start + source.stop - source.start] = strip[:, source]

    def _rotate(self, X: np.ndarray, first: int) -> None:
        """Make LLᵀ + XXᵀ the product of a triangle, where the rows of X begin at ``first``."""
        n, r = self._n, X.shape[1]
        for block in cut_blocks(n, max(ROTATED, r), first):
            b, here, rest = (
                block.stop - block.start,
                slice(block.start - first, block.stop - first),
                slice(block.stop, n),
            )
            wide = np.hstack([np.tril(self._both[block, block]), X[here]])
            Q, R = np.linalg.qr(wide.T, mode="complete")
            signs = np.where(R.diagonal() < 0, -1.0, 1.0)
            write_lower(self._both[block, block], (R[:b] * signs[:, None]).T)
            Q[:, :b] *= signs
            turned = np.hstack([self._both[rest, block], X[here.stop :]]) @ Q
            self._both[rest, block], X[here.stop :] = turned[:, :b], turned[:, b:]

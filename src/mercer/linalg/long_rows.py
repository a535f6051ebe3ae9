"""A matrix of few long rows, which grows by rows and is read from memory again and again."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Array
from mercer.arrays.columns import units
from mercer.arrays.namespace import namespace
from mercer.arrays.tensors import is_tensor
from mercer.arrays.threads import default_threads

from .sums import add_product, add_square, multiply_thin
from .triangles import mirror

FEW = 4  # columns up to which every row is read once for each, which beats a thin product of matrices
CHUNK = 4096  # columns of the matrix that are squared at a time, in float64


class LongRows:
    """A of shape (r, n) in parts, as it is multiplied: in float32 if asked, which halves what is read.

    Sums are in float64 on the host, a few thousand numbers at a time in float32 before.  The square is that of the
    numbers that products read, so that both belong to one matrix.

    Parameters
    ----------
    n : int
        Length of the rows.
    beside : array
        Anything that is where the rows are.
    single : bool
        Whether rows are kept in float32, on the host.

    Examples
    --------
    >>> import numpy as np
    >>> A = LongRows(3, np.zeros(0))
    >>> A.append(np.array([[1.0, 2.0, 3.0]]))
    >>> A.append(np.array([[0.0, 1.0, 0.0]]))
    >>> A.multiply(np.array([[1.0], [1.0], [1.0]])).ravel(), A.combine(np.array([[2.0], [1.0]])).ravel()
    (array([6., 1.]), array([2., 5., 6.]))
    >>> A.square(np.ones(3))
    array([[14.,  2.],
           [ 2.,  1.]])
    """

    def __init__(self, n: int, beside: Array, *, single: bool = False) -> None:
        self._xp, self._beside = namespace(beside), beside
        self.n, self.single = n, single
        self._parts: list[Array] = []
        self._square = self._zeros(0, 0)

    def append(self, rows: Array) -> None:
        """Add rows below, of float64."""
        self._parts.append(rows.astype(np.float32) if self.single else rows)

    def multiply(self, V: Array) -> Array:
        """Return AV for V of shape (n, q)."""
        if not self.single:
            return self._xp.concat([multiply_rows(part, V) for part in self._parts])
        unit = units(V)  # so that nothing leaves the range of float32
        scaled = V / unit
        return unit * np.concatenate([multiply_rows(part, scaled) for part in self._parts])

    def combine(self, W: Array) -> Array:
        """Return AᵀW for W of shape (r, q)."""
        start, total, unit = 0, self._zeros(self.n, W.shape[1]), units(W) if self.single else 1.0
        scaled = W / unit if self.single else W
        for part in self._parts:
            total += combine_rows(part, scaled[start : start + len(part)])
            start += len(part)
        return total * unit if self.single else total

    def square(self, weights: Array) -> Array:
        """Return A diag(weights) Aᵀ in float64; the weights are the same every time, since known parts stay."""
        known, roots = 0, None if bool((weights == 1.0).all()) else weights**0.5
        for place, part in enumerate(self._parts):
            known += len(part)
            if known > len(self._square):
                self._border(place, roots)
        return self._square

    def _border(self, place: int, roots: Array | None) -> None:
        """Put the square of one more part below and beside what is known of those before."""
        parts, old, new = self._parts, len(self._square), len(self._parts[place])
        own, others = self._zeros(new, new), [self._zeros(len(part), new) for part in parts[:place]]
        step = self.n if is_tensor(self._beside) else CHUNK
        for start in range(0, self.n, step):
            chunk = slice(start, start + step)
            rows = self._weigh(parts[place], chunk, roots)
            own = add_square(own, rows)
            others = [
                add_product(total, self._weigh(part, chunk, roots), rows.T)
                for total, part in zip(others, parts[:place], strict=True)
            ]
        square = self._zeros(old + new, old + new)
        border = self._xp.concat([self._zeros(0, new), *others])
        square[:old, :old], square[:old, old:], square[old:, :old] = self._square, border, border.T
        square[old:, old:] = own if is_tensor(own) else mirror(own)
        self._square = square

    def _weigh(self, part: Array, chunk: slice, roots: Array | None) -> Array:
        rows = self._xp.astype(part[:, chunk], self._xp.float64, copy=False)
        return rows if roots is None else rows * roots[chunk]

    def _zeros(self, rows: int, columns: int) -> Array:
        if not is_tensor(self._beside):
            return np.zeros((rows, columns), order="F")
        return self._xp.zeros((rows, columns), dtype=self._xp.float64, device=self._beside.device)


def multiply_rows(part: Array, V: Array) -> Array:
    """Return AV for A with long rows and V of shape (n, q), in the precision of A; sums on the host in float64.

    Examples
    --------
    >>> import numpy as np
    >>> multiply_rows(np.ones((1, 3)), np.array([[1.0], [2.0], [4.0]]))
    array([[7.]])
    """
    if is_tensor(part) or V.shape[1] > FEW:
        return multiply_thin(part, namespace(part).astype(V, part.dtype, copy=False))
    import mercer._native as _native

    out = np.empty((V.shape[1], len(part)))
    _native.long_product(part, np.ascontiguousarray(V.T, dtype=part.dtype), out, default_threads())
    return out.T


def combine_rows(part: Array, W: Array) -> Array:
    """Return AᵀW for A with long rows and W of shape (r, q), as :func:`multiply_rows` does.

    Examples
    --------
    >>> import numpy as np
    >>> combine_rows(np.array([[1.0, 2.0], [0.0, 1.0]]), np.array([[1.0], [3.0]]))
    array([[1.],
           [5.]])
    """
    if is_tensor(part) or W.shape[1] > FEW:
        return multiply_thin(part.T, namespace(part).astype(W, part.dtype, copy=False))
    import mercer._native as _native

    out = np.empty((W.shape[1], part.shape[1]))
    _native.long_combination(part, np.ascontiguousarray(W.T, dtype=part.dtype), out, default_threads())
    return out.T


def reduce_rows(part: Array, W: Array, right: Array, scale: Array) -> tuple[Array, Array]:
    """Return R = V − AW and Aᵀ(scale·R), for A with long rows on the host, V and R of shape (n, q), W of shape (r, q).

    Rows are used twice while they are in the cache, so that A is read once.

    Examples
    --------
    >>> import numpy as np
    >>> A, V = np.array([[1.0, 2.0], [0.0, 1.0]]), np.array([[4.0], [4.0]])
    >>> left, image = reduce_rows(A, np.array([[1.0], [1.0]]), V, np.array([1.0, 2.0]))
    >>> left.ravel(), image.ravel()
    (array([1., 3.]), array([1., 8.]))
    """
    if W.shape[1] > FEW:
        left = right - multiply_rows(part, W)
        return left, combine_rows(part, scale[:, None] * left)
    import mercer._native as _native

    left, image = np.empty(right.shape[::-1]), np.empty(W.shape[::-1])
    columns = np.ascontiguousarray(W.T, dtype=part.dtype), np.ascontiguousarray(right.T, dtype=np.float64)
    _native.long_remainder(part, *columns, scale, left, image, default_threads())
    return left.T, image.T

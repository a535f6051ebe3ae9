"""Rows of zeros and ones, packed into the bits of numbers: the native core counts those that two rows share."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

COUNTED = frozenset({"dot", "min"})  # statistics that, of zeros and ones, are the number of ones that both have
NARROW = 16  # columns up to which numbers are as quick
WIDE = 2**22  # columns up to which a float32 counts them
SHORT = 2**13  # columns up to which it takes no time to look at zeros, too
BLOCK = 2**16  # entries that are looked at while they are in the cache


def pack_pair(A: Any, B: Any | None) -> tuple[np.ndarray, np.ndarray | None] | None:
    """Return both sides of a statistic packed, None where they hold other numbers or are too narrow to gain."""
    if A.shape[1] > WIDE or not all(_gains(side) for side in (A, A if B is None else B)):
        return None
    left = pack_bits(A)
    right = None if left is None or B is None else pack_bits(B)
    return None if left is None or (right is None) != (B is None) else (left, right)


def _gains(A: Any) -> bool:
    """Whether bits are quicker than numbers, or for long sparse rows smaller than the positions of their ones."""
    n, d = A.shape
    if not sparse.issparse(A):
        return bool(d > NARROW)
    return bool(d <= SHORT or n * d / 8 <= A.nnz * (A.dtype.itemsize + 4))


def pack_bits(A: Any) -> np.ndarray | None:
    """Return rows of zeros and ones as rows of numbers of the same type, whose bits they are; None for other rows.

    Examples
    --------
    >>> import numpy as np
    >>> pack_bits(np.array([[1.0, 0.0, 1.0]])).view(np.int64)
    array([[5]])
    >>> pack_bits(np.array([[1.0, 0.5]])) is None
    True
    """
    if sparse.issparse(A) and not (A.has_canonical_format and (A.data == 1).all()):
        return None
    (n, d), size = A.shape, A.dtype.itemsize
    packed = np.zeros((n, -(-d // (8 * size)) * size), dtype=np.uint8)
    step = max(1, BLOCK // d)
    for start in range(0, n, step):  # other numbers are found in the first block, mostly
        some = A[start : start + step]
        values = some.toarray() if sparse.issparse(some) else some
        ones = values != 0
        if not np.array_equal(values, ones):
            return None
        bits = np.packbits(ones, axis=1, bitorder="little")
        packed[start : start + step, : bits.shape[1]] = bits
    return packed.view(A.dtype)

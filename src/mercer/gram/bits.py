"""Rows of zeros and ones, packed into the bits of numbers: the native core counts those that two rows share."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

COUNTED = frozenset({"dot", "min"})  # statistics that, of zeros and ones, are the number of ones that both have
NARROW = 16  # columns up to which numbers are as quick
WIDE = 2**22  # columns up to which a float32 counts them
GLANCE = 8  # rows that are looked at first, which tell most data that are no bits
BLOCK = 2**22  # entries that are unfolded at a time


def pack_pair(A: Any, B: Any | None) -> tuple[np.ndarray, np.ndarray | None] | None:
    """Return both sides of a statistic packed, None where they hold other numbers or are too narrow to gain."""
    gains = A.shape[1] > NARROW or sparse.issparse(A)  # for which there is no other way
    if not gains or A.shape[1] > WIDE or not all(holds_bits(side) for side in (A, B) if side is not None):
        return None
    return pack_bits(A), None if B is None else pack_bits(B)


def holds_bits(A: Any) -> bool:
    """Whether all entries of an array or a sparse matrix are 0 or 1.

    Examples
    --------
    >>> import numpy as np
    >>> holds_bits(np.array([[0.0, 1.0]])), holds_bits(np.array([[0.0, 0.5]]))
    (True, False)
    """
    if sparse.issparse(A):
        return bool((A.data == 1).all()) and bool(A.has_canonical_format)
    return bool(_are_bits(A[:GLANCE]) and _are_bits(A))


def _are_bits(A: np.ndarray) -> bool:
    return bool((A * A == A).all())


def pack_bits(A: Any) -> np.ndarray:
    """Return rows of zeros and ones as rows of numbers of the same type, whose bits they are.

    Examples
    --------
    >>> import numpy as np
    >>> pack_bits(np.array([[1.0, 0.0, 1.0]])).view(np.int64)
    array([[5]])
    """
    n, d = A.shape
    size = A.dtype.itemsize
    packed = np.zeros((n, -(-d // (8 * size)) * size), dtype=np.uint8)
    step = max(1, BLOCK // d)
    for start in range(0, n, step):
        some = A[start : start + step]
        ones = np.packbits((some.toarray() if sparse.issparse(some) else some) != 0, axis=1, bitorder="little")
        packed[start : start + step, : ones.shape[1]] = ones
    return packed.view(A.dtype)

"""Sums of products in place: by SciPy's library on the host, and by the tensors' own on a device.

One library for all of them, because threads of NumPy's may still be busy when those of SciPy's begin.
"""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from mercer.arrays import Array
from mercer.arrays.namespace import namespace
from mercer.arrays.place import Place
from mercer.arrays.tensors import is_tensor, load_torch
from mercer.arrays.threads import SINGLE_BLAS, blas_threads, default_threads

from .unlocked import add_square_of_part

THIN = 3  # columns up to which one after the other is quicker than a product of matrices
LARGE = 256  # rows from which a square keeps several threads of BLAS busy at all
EVEN = 1e-2  # ratio of the diagonal of a triangle from which its inverse loses no digits that matter


def zeros(place: Place, shape: tuple[int, ...]) -> Array:
    """Return room for sums at a place, in the order that these functions add to without a copy."""
    if place.on_host:
        return np.zeros(shape, order="F")
    return load_torch().zeros(shape, dtype=load_torch().float64, device=place.device)


def add_product(total: Array, A: Array, B: Array, factor: float = 1.0) -> Array:
    """Return total + factor·AB, in the memory of the total where that is in Fortran order.

    Examples
    --------
    >>> import numpy as np
    >>> add_product(np.ones((2, 1), order="F"), np.eye(2), np.array([[1.0], [2.0]])).ravel()
    array([2., 3.])
    """
    if is_tensor(total):
        return total.addmm_(A, B, alpha=factor)
    from scipy.linalg.blas import dgemm

    (A, turn_a), (B, turn_b) = _in_fortran(A), _in_fortran(B)
    return np.asarray(dgemm(factor, A, B, beta=1.0, c=total, trans_a=turn_a, trans_b=turn_b, overwrite_c=1))


def multiply_thin(A: Array, V: Array) -> Array:
    """Return AV for a large A, one column at a time where there are few: then A is read at full speed, on devices too.

    Examples
    --------
    >>> import numpy as np
    >>> multiply_thin(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0], [1.0]]))
    array([[3.],
           [7.]])
    """
    if V.shape[1] > THIN:
        return A @ V
    return namespace(A).stack([A @ V[:, j] for j in range(V.shape[1])], axis=1)


def divide_rows(T: Array, rows: Array) -> Array:
    """Return T⁻¹ times rows, which may be overwritten, for a small lower triangle T.

    On a device that is a product with the inverse, which is quicker than a solution, and one more where the triangle is
    so uneven that its inverse loses digits.
    """
    if not is_tensor(rows):
        from scipy.linalg.blas import dtrsm

        return np.asarray(dtrsm(1.0, T, rows.T, side=1, lower=1, trans_a=1, overwrite_b=1)).T
    inverse = load_torch().linalg.inv(T)
    found = inverse @ rows
    if float(T.diagonal().min()) < EVEN * float(T.diagonal().max()):
        found += inverse @ (rows - T @ found)
    return found


def add_square(total: Array, A: Array) -> Array:
    """Return total + AAᵀ, in the memory of the total; on the host its lower triangle alone, and A in any order."""
    if is_tensor(total):
        return total.addmm_(A, A.T)
    from scipy.linalg.blas import dsyrk

    A, turned = _in_fortran(A)
    return np.asarray(dsyrk(1.0, A, trans=turned, beta=1.0, c=total, lower=1, overwrite_c=1))


class SquareSum:
    """Σ AAᵀ over blocks of columns A, on the host its lower triangle.

    A square of a few thousand rows keeps several threads of BLAS less busy than squares of their own, so each thread
    adds up a share of the columns of every block, where there is memory for as many sums.  It is a context, with which
    the threads end.

    Parameters
    ----------
    place : Place
        Where the blocks are.
    size : int
        Rows of a block.
    memory : int
        Bytes that the sums may take; one is made anyhow.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.arrays.place import Place
    >>> with SquareSum(Place.find(None, 2**20), 2, 2**10) as squares:
    ...     squares.add(np.array([[1.0, 2.0], [0.0, 1.0]]))
    ...     squares.add(np.array([[3.0], [1.0]]))
    >>> squares.total.tolist()
    [[14.0, 0.0], [5.0, 2.0]]
    """

    def __init__(self, place: Place, size: int, memory: int) -> None:
        count = min(default_threads(), blas_threads()) if place.on_host and size >= LARGE else 1
        count = count if count * 8 * size * size <= memory else 1
        self._sums = [zeros(place, (size, size)) for _ in range(count)]
        self._pool = ThreadPoolExecutor(count)

    def __enter__(self) -> SquareSum:
        return self

    def __exit__(self, *exception: object) -> None:
        self._pool.shutdown()

    def add(self, A: Array) -> None:
        """Add AAᵀ."""
        count = len(self._sums)
        if count > 1:
            with SINGLE_BLAS:
                if blas_threads() == 1:  # and no other thread of the program says how many there are
                    A = A if A.flags.f_contiguous or A.flags.c_contiguous else np.asfortranarray(A)
                    cuts = [A.shape[1] * share // count for share in range(count + 1)]
                    shares = [A[:, first:last] for first, last in itertools.pairwise(cuts)]
                    list(self._pool.map(add_square_of_part, shares, self._sums))
                    return
        self._sums[0] = add_square(self._sums[0], A)

    @property
    def total(self) -> Array:
        """The sum, in the memory of its first part; the others are forgotten."""
        while len(self._sums) > 1:
            self._sums[0] += self._sums.pop()
        return self._sums[0]


def _in_fortran(A: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the matrix or, where that needs no copy, its transpose, and whether it is that."""
    turned = A.flags.c_contiguous and not A.flags.f_contiguous
    return (A.T if turned else A), int(turned)

"""Products of matrices that are stored, added to parts of others where they lie, and triangular systems made of them.

OpenBLAS as NumPy and SciPy bring it has kernels for processors up to a certain year, and newer ones with AVX-512 get
those of an old one, which are half as fast; triangles and symmetric matrices are slower than they could be on all.
So where this package has been compiled for wide vectors the products are its own.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Literal

import numpy as np

import mercer._native as _native
from mercer.arrays.threads import SINGLE_BLAS, default_threads

Part = Literal["all", "lower", "upper"]
TURNED: dict[Part, Part] = {"all": "all", "lower": "upper", "upper": "lower"}
BLOCK = 256  # columns of a triangle that are computed together by products that know no triangles, and rows of a system
WIDE = _native.isas()[0] != "baseline"


def add_product(
    C: np.ndarray, A: np.ndarray, B: np.ndarray, factor: float = 1.0, *, part: Part = "all", mirrored: bool = False
) -> None:
    """C ← C + factor·AB, in all of C or in one of its triangles.

    Parameters
    ----------
    C : array of shape (m, n), float32 or float64
        The sum, or a part of a matrix, with rows or columns in one piece each.
    A, B : arrays of shapes (m, k) and (k, n)
        Matrices in any order; numbers of other types are converted.
    factor : float
        A number.
    part : {"all", "lower", "upper"}
        Where to add; the triangles have the diagonal.
    mirrored : bool
        Whether B is symmetric and what is above its diagonal is not to be read; rows of C are in one piece then.

    Examples
    --------
    >>> C, ones = np.asfortranarray([[4.0, 9.0], [4.0, 4.0]]), np.ones((2, 1))
    >>> add_product(C, ones, ones.T, -2.0, part="lower")
    >>> C.tolist()
    [[2.0, 9.0], [2.0, 2.0]]
    >>> sums = np.zeros((1, 2))
    >>> add_product(sums, ones.T, C, mirrored=True)
    >>> sums.tolist()
    [[4.0, 4.0]]
    """
    if not has_rows(C):
        if mirrored or not has_rows(C.T):
            raise ValueError(
                f"expected a matrix with its {'rows' if mirrored else 'rows or columns'} in one piece each, got shape "
                f"{C.shape} and strides {C.strides}"
            )
        C, A, B, part = C.T, B.T, A.T, TURNED[part]
    A, B = (np.asarray(factors, dtype=C.dtype) for factors in (A, B))
    if WIDE:
        _native.add_product(C, A.T, B, factor, part, mirrored, default_threads())
        return
    _add_in_blocks(C, A, B, factor, part, mirrored)


def multiply(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return AB in Fortran order.

    Examples
    --------
    >>> multiply(np.eye(2), np.array([[1.0], [2.0]])).ravel()
    array([1., 2.])
    """
    C = np.zeros((len(A), B.shape[1]), dtype=A.dtype, order="F")
    add_product(C, A, B)
    return C


def multiply_symmetric(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return AB in Fortran order for a symmetric A that is given by its lower triangle.

    Examples
    --------
    >>> multiply_symmetric(np.array([[2.0, 9.0], [1.0, 3.0]]), np.ones((2, 1))).ravel()
    array([3., 4.])
    """
    C = np.zeros(B.shape, dtype=A.dtype, order="F")
    add_product(C.T, B.T, A, mirrored=True)
    return C


def divide(L: np.ndarray, V: np.ndarray) -> None:
    """V ← L⁻¹V for a lower triangle L and V of many columns, in any order; what is above the diagonal is not read.

    Examples
    --------
    >>> V = np.array([[2.0], [9.0]])
    >>> divide(np.array([[2.0, 9.0], [1.0, 4.0]]), V)
    >>> V.ravel()
    array([1., 2.])
    """
    L = np.asarray(L, dtype=V.dtype)
    for start in range(0, len(V), BLOCK):
        block = slice(start, min(start + BLOCK, len(V)))
        if start:
            add_product(V[block], L[block, :start], V[:start], -1.0)
        if WIDE:
            _native.divide_by_triangle(L[block, block], V[block], default_threads())
        else:
            V[block] = _solve_block(L[block, block], V[block])


def _solve_block(L: np.ndarray, V: np.ndarray) -> np.ndarray:
    from scipy.linalg import solve_triangular

    return np.asarray(solve_triangular(L, V, lower=True, check_finite=False))


def quiet_blas() -> AbstractContextManager[None]:
    """Keep BLAS and LAPACK to one thread, for what is done in small steps between products with threads of their own.

    Theirs go on for some milliseconds after each call, and would be in the way of the products.

    Examples
    --------
    >>> with quiet_blas():
    ...     add_product(np.zeros((1, 1)), np.linalg.qr(np.eye(1))[0], np.eye(1))
    """
    return SINGLE_BLAS if WIDE else nullcontext()


def has_rows(C: np.ndarray) -> bool:
    """Whether rows are in one piece each, one after the other."""
    return C.shape[1] < 2 or (C.strides[1] == C.itemsize and (len(C) < 2 or C.strides[0] >= C.shape[1] * C.itemsize))


def _add_in_blocks(C: np.ndarray, A: np.ndarray, B: np.ndarray, factor: float, part: Part, mirrored: bool) -> None:
    """Do the same by products that know nothing of triangles."""
    m, n = C.shape
    step = max(1, n) if part == "all" and not mirrored else BLOCK
    for start in range(0, n, step):
        stop = min(start + step, n)
        rows = slice(start if part == "lower" else 0, min(stop, m) if part == "upper" else m)
        product = A[rows] @ (_mirror_columns(B, start, stop) if mirrored else B[:, start:stop])
        if part != "all":
            product = np.tril(product) if part == "lower" else np.triu(product, -start)
        C[rows, start:stop] += factor * product


def _mirror_columns(B: np.ndarray, start: int, stop: int) -> np.ndarray:
    """Return columns of a symmetric matrix that is given by its lower triangle."""
    own = np.tril(B[start:stop, start:stop])
    return np.concatenate([B[start:stop, :start].T, own + np.tril(own, -1).T, B[stop:, start:stop]])

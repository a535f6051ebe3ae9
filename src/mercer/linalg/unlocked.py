"""LAPACK and BLAS by address: without Python's lock, and on parts of a matrix in their place.

SciPy's wrappers keep the interpreter to themselves while a routine runs, and copy what is not contiguous; the same
routines called by their address let go of it, and take the part of a matrix where it is.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

# How names of routines begin, and the numbers that they take.
KINDS: dict[np.dtype[Any], tuple[str, type[ctypes.c_float] | type[ctypes.c_double]]] = {
    np.dtype(np.float32): ("s", ctypes.c_float),
    np.dtype(np.float64): ("d", ctypes.c_double),
}


@cache
def _load(name: str, arguments: int) -> Callable[..., None]:
    from scipy.linalg import cython_blas, cython_lapack

    known = cython_lapack.__pyx_capi__ if name in cython_lapack.__pyx_capi__ else cython_blas.__pyx_capi__
    capsule, api = known[name], ctypes.pythonapi
    find_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", api))
    find_address = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", api))
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * arguments)(find_address(capsule, find_name(capsule)))


def call_routine(name: str, *arguments: object) -> None:
    """Call a routine of LAPACK or BLAS, which takes the address of every argument: an array, or a number of ctypes.

    Examples
    --------
    >>> x, one, two = np.array([1.0, 2.0]), ctypes.c_int(1), ctypes.c_int(2)
    >>> call_routine("dscal", two, ctypes.c_double(3.0), x, one)
    >>> x.tolist()
    [3.0, 6.0]
    """
    places = [
        value.ctypes.data if isinstance(value, np.ndarray) else ctypes.addressof(value)  # type: ignore[arg-type]
        for value in arguments
    ]
    _load(name, len(places))(*places)


def multiply_parts(
    A: np.ndarray, B: np.ndarray, C: np.ndarray, factor: float = 1.0, kept: float = 0.0, *, turned: bool = False
) -> None:
    """C ← kept·C + factor·AB, or AᵀB if turned, for parts of matrices in Fortran order, all float32 or all float64.

    Examples
    --------
    >>> Q = np.asfortranarray(np.eye(3))
    >>> multiply_parts(np.full((2, 1), 2.0, order="F"), np.ones((1, 2), order="F"), Q[1:, 1:], kept=1.0)
    >>> Q.tolist()
    [[1.0, 0.0, 0.0], [0.0, 3.0, 2.0], [0.0, 2.0, 3.0]]
    """
    rows, columns = map(ctypes.c_int, C.shape)
    inner, order = ctypes.c_int(len(B)), ctypes.c_char(b"T" if turned else b"N")
    kind, number = KINDS[C.dtype]
    call_routine(
        f"{kind}gemm", order, ctypes.c_char(b"N"), rows, columns, inner, number(factor), A, _step(A, C.dtype), B,
        _step(B, C.dtype), number(kept), C, _step(C, C.dtype),
    )  # fmt: skip


def multiply_symmetric(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return AB for a part of a matrix in Fortran order and float64 that is symmetric and given by its lower triangle.

    Examples
    --------
    >>> multiply_symmetric(np.asfortranarray([[2.0, 9.0], [1.0, 3.0]]), np.ones((2, 1), order="F")).ravel()
    array([3., 4.])
    """
    C = np.empty(B.shape, order="F")
    rows, columns = map(ctypes.c_int, B.shape)
    side, lower = ctypes.c_char(b"L"), ctypes.c_char(b"L")
    call_routine(
        "dsymm", side, lower, rows, columns, ctypes.c_double(1.0), A, _step(A), B, _step(B), ctypes.c_double(0.0), C,
        _step(C),
    )  # fmt: skip
    return C


def subtract_products(A: np.ndarray, V: np.ndarray, X: np.ndarray) -> None:
    """A ← A − VXᵀ − XVᵀ in the lower triangle of a part of a matrix in Fortran order and float64.

    Examples
    --------
    >>> A = np.asfortranarray([[4.0, 9.0], [4.0, 4.0]])
    >>> subtract_products(A, np.ones((2, 1), order="F"), np.ones((2, 1), order="F"))
    >>> A.tolist()
    [[2.0, 9.0], [2.0, 2.0]]
    """
    rows, columns = map(ctypes.c_int, V.shape)
    lower, plain = ctypes.c_char(b"L"), ctypes.c_char(b"N")
    call_routine(
        "dsyr2k", lower, plain, rows, columns, ctypes.c_double(-1.0), V, _step(V), X, _step(X), ctypes.c_double(1.0), A,
        _step(A),
    )  # fmt: skip


def add_square_of_part(A: np.ndarray, C: np.ndarray) -> None:
    """C ← C + AAᵀ in the lower triangle of C in Fortran order, for some columns A of a matrix in either order; float64.

    Examples
    --------
    >>> A, C = np.array([[1.0, 5.0, 2.0], [3.0, 5.0, 4.0]]), np.zeros((2, 2), order="F")
    >>> add_square_of_part(A[:, ::2].copy(), C), add_square_of_part(A[:, 1:2], C)
    (None, None)
    >>> C.tolist()
    [[30.0, 0.0], [36.0, 50.0]]
    """
    turned = A.strides[0] != A.itemsize
    rows, columns = map(ctypes.c_int, A.shape)
    lower, order = ctypes.c_char(b"L"), ctypes.c_char(b"T" if turned else b"N")
    step, one = _step(A.T if turned else A), ctypes.c_double(1.0)
    call_routine("dsyrk", lower, order, rows, columns, one, A, step, one, C, _step(C))


def _step(A: np.ndarray, dtype: npt.DTypeLike = np.float64) -> ctypes.c_int:
    """From one column to the next; routines take at least the number of rows, also of an empty or a single column."""
    if A.dtype != dtype or (A.shape[0] > 1 and A.strides[0] != A.itemsize):
        raise ValueError(f"expected columns of {dtype} in one piece, got {A.dtype} with strides {A.strides}")
    return ctypes.c_int(max(1, A.shape[0], A.strides[1] // A.itemsize if A.shape[1] > 1 else 0))


class PartsInPlace:
    """Steps of a Cholesky factorisation on parts of a matrix, which is overwritten.

    Routines work on columns.  What they see of a matrix in C order is its transpose, and in place of its lower triangle
    L the upper one Lᵀ, so that neither order takes a copy.

    Parameters
    ----------
    A : array of shape (n, n), float32 or float64 in Fortran or C order, or a block of such a matrix
        The matrix; only its lower triangle is read and written.

    Examples
    --------
    >>> A = np.array([[4.0, 99.0], [2.0, 5.0]])
    >>> parts = PartsInPlace(A)
    >>> parts.factor(slice(0, 1)), parts.divide(slice(1, 2), slice(0, 1)), parts.subtract_square(slice(1, 2))
    (True, None, None)
    >>> parts.factor(slice(1, 2)), A.tolist()
    (True, [[2.0, 99.0], [1.0, 2.0]])
    """

    def __init__(self, A: np.ndarray) -> None:
        fine = A.dtype in KINDS and A.ndim == 2 and A.shape[0] == A.shape[1] and A.flags.writeable and A.flags.aligned
        near, far = sorted(A.strides) if fine else (0, 0)
        if not fine or near != A.itemsize or far % A.itemsize or far < len(A) * A.itemsize * (len(A) > 1):
            raise ValueError(
                "expected a square array of floats in Fortran or C order that can be written, got "
                f"{A.dtype} of shape {A.shape} and strides {A.strides}"
            )
        self._A, (self._kind, self._number) = A, KINDS[A.dtype]
        self._columns, self._step = A.strides[0] == near, ctypes.c_int(far // A.itemsize)

    def factor(self, block: slice) -> bool:
        """Put the Cholesky factor of a block on the diagonal in its place, and say whether there is one."""
        failed = ctypes.c_int(0)
        self._call("potrf", self._triangle, _size(block), self._at(block, block), self._step, failed)
        return failed.value == 0

    def subtract_square(self, block: slice) -> None:
        """A[block, block] −= BBᵀ with B = A[block, :start], what lies left of the block."""
        left = slice(0, block.start)
        self._call(
            "syrk", self._triangle, b"N" if self._columns else b"T", _size(block), _size(left), self._number(-1.0),
            self._at(block, left), self._step, self._number(1.0), self._at(block, block), self._step,
        )  # fmt: skip

    def subtract_product(self, rows: slice, block: slice) -> None:
        """A[rows, block] −= A[rows, :start] A[block, :start]ᵀ, for rows below the block."""
        left = slice(0, block.start)
        first, second = (rows, block) if self._columns else (block, rows)
        orders = (b"N", b"T") if self._columns else (b"T", b"N")
        self._call(
            "gemm", *orders, _size(first), _size(second), _size(left), self._number(-1.0), self._at(first, left),
            self._step, self._at(second, left), self._step, self._number(1.0), self._at(rows, block), self._step,
        )  # fmt: skip

    def divide(self, rows: slice, block: slice) -> None:
        """A[rows, block] ← A[rows, block] L⁻ᵀ for the factor L in A[block, block]."""
        side, sizes = (b"R", (rows, block)) if self._columns else (b"L", (block, rows))
        self._call(
            "trsm", side, self._triangle, b"T", b"N", *map(_size, sizes), self._number(1.0), self._at(block, block),
            self._step, self._at(rows, block), self._step,
        )  # fmt: skip

    @property
    def _triangle(self) -> bytes:
        """Which triangle routines take for the lower one of A."""
        return b"L" if self._columns else b"U"

    def _at(self, rows: slice, columns: slice) -> ctypes.c_void_p:
        """The address of the first entry of a part."""
        start = rows.start * self._A.strides[0] + columns.start * self._A.strides[1]
        return ctypes.c_void_p(self._A.ctypes.data + start)

    def _call(
        self, name: str, *arguments: bytes | ctypes.c_int | ctypes.c_float | ctypes.c_double | ctypes.c_void_p
    ) -> None:
        """Call a routine, which takes the address of every argument."""
        held = [ctypes.c_char(value) if isinstance(value, bytes) else value for value in arguments]
        places = [value.value if isinstance(value, ctypes.c_void_p) else ctypes.addressof(value) for value in held]
        _load(self._kind + name, len(places))(*places)


def _size(part: slice) -> ctypes.c_int:
    return ctypes.c_int(part.stop - part.start)


def invert_definite(A: np.ndarray) -> bool:
    """Put the inverse of a positive definite matrix into its lower triangle, and say whether it was definite.

    Parameters
    ----------
    A : array of shape (n, n), float64 in C order
        The matrix; the upper triangle is neither read nor written.

    Examples
    --------
    >>> A = np.array([[4.0, 99.0], [0.0, 16.0]])
    >>> invert_definite(A), A.round(4).tolist()
    (True, [[0.25, 99.0], [-0.0, 0.0625]])
    """
    if A.dtype != np.float64 or not A.flags.c_contiguous or A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(f"expected a square array of float64 in C order, got {A.dtype} of shape {A.shape}")
    # What is the lower triangle in C order is the upper one to LAPACK.
    upper, n, failed = ctypes.c_char(b"U"), ctypes.c_int(len(A)), ctypes.c_int(0)
    arguments = [ctypes.addressof(upper), ctypes.addressof(n), A.ctypes.data, ctypes.addressof(n)]
    for name in ("dpotrf", "dpotri"):
        _load(name, 5)(*arguments, ctypes.addressof(failed))
        if failed.value:
            return False
    return True

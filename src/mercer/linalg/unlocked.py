"""LAPACK by address: without Python's lock, and on parts of a matrix in their place.

SciPy's wrappers keep the interpreter to themselves while a routine runs, and copy what is not contiguous; the same
routines called by their address let go of it, and take the part of a matrix where it is.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from .products import add_product

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
        left = self._A[block, : block.start]
        add_product(self._A[block, block], left, left.T, -1.0, part="lower")

    def subtract_product(self, rows: slice, block: slice) -> None:
        """A[rows, block] −= A[rows, :start] A[block, :start]ᵀ, for rows below the block."""
        add_product(self._A[rows, block], self._A[rows, : block.start], self._A[block, : block.start].T, -1.0)

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

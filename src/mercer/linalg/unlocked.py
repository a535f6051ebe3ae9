"""LAPACK by address: without Python's lock.

SciPy's wrappers keep the interpreter to themselves while a routine runs; the same routines called by their address let
go of it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

import numpy as np


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

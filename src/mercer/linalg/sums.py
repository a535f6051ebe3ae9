"""Sums of products in place: by SciPy's library on the host, and by the tensors' own on a device.

One library for all of them, because threads of NumPy's would still be spinning when those of SciPy's begin.
"""

from __future__ import annotations

import numpy as np

from mercer.arrays import Array
from mercer.arrays.place import Place
from mercer.arrays.tensors import is_tensor, load_torch


def zeros(place: Place, shape: tuple[int, ...]) -> Array:
    """Return room for sums at a place, in the order that these functions add to without a copy."""
    if place.on_host:
        return np.zeros(shape, order="F")
    return load_torch().zeros(shape, dtype=load_torch().float64, device=place.device)


def add_product(total: Array, A: Array, B: Array) -> Array:
    """Return total + AB, in the memory of the total.

    Examples
    --------
    >>> import numpy as np
    >>> add_product(np.ones((2, 1), order="F"), np.eye(2), np.array([[1.0], [2.0]])).ravel()
    array([2., 3.])
    """
    if is_tensor(total):
        return total.addmm_(A, B)
    from scipy.linalg.blas import dgemm

    return np.asarray(dgemm(1.0, A, B, beta=1.0, c=total, overwrite_c=1))


def add_square(total: Array, A: Array) -> Array:
    """Return total + AAᵀ, in the memory of the total; on the host its lower triangle alone."""
    if is_tensor(total):
        return total.addmm_(A, A.T)
    from scipy.linalg.blas import dsyrk

    return np.asarray(dsyrk(1.0, A, beta=1.0, c=total, lower=1, overwrite_c=1))

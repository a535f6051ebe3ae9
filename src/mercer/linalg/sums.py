"""Sums of products in place, on the host and on a device."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Array
from mercer.arrays.namespace import namespace
from mercer.arrays.place import Place
from mercer.arrays.tensors import is_tensor, load_torch

from . import products

THIN = 3  # columns up to which one after the other is quicker than a product of matrices
EVEN = 1e-2  # ratio of the diagonal of a triangle from which its inverse loses no digits that matter


def zeros(place: Place, shape: tuple[int, ...]) -> Array:
    """Return room for sums at a place, in the order that these functions add to without a copy."""
    if place.on_host:
        return np.zeros(shape, order="F")
    return load_torch().zeros(shape, dtype=load_torch().float64, device=place.device)


def add_product(total: Array, A: Array, B: Array, factor: float = 1.0) -> Array:
    """Return total + factor·AB, in the memory of the total.

    Examples
    --------
    >>> import numpy as np
    >>> add_product(np.ones((2, 1), order="F"), np.eye(2), np.array([[1.0], [2.0]])).ravel()
    array([2., 3.])
    """
    if is_tensor(total):
        return total.addmm_(A, B, alpha=factor)
    products.add_product(total, A, B, factor)
    return total


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
        products.divide(T, rows)
        return rows
    inverse = load_torch().linalg.inv(T)
    found = inverse @ rows
    if float(T.diagonal().min()) < EVEN * float(T.diagonal().max()):
        found += inverse @ (rows - T @ found)
    return found


def add_square(total: Array, A: Array) -> Array:
    """Return total + AAᵀ, in the memory of the total; on the host its lower triangle alone.

    Examples
    --------
    >>> import numpy as np
    >>> add_square(np.zeros((2, 2)), np.array([[1.0, 2.0], [0.0, 1.0]])).tolist()
    [[5.0, 0.0], [2.0, 1.0]]
    """
    if is_tensor(total):
        return total.addmm_(A, A.T)
    products.add_product(total, A, A.T, part="lower")
    return total

"""Columns of arrays and tensors alike: long columns stay where they are, a number for each comes back in an array."""

from __future__ import annotations

from typing import Any

import numpy as np

from .tensors import host_array, is_tensor


def like(V: Any, values: np.ndarray) -> Any:
    """Return a few numbers as the kind of array V is, where V is.

    Examples
    --------
    >>> import numpy as np
    >>> like(np.zeros((4, 2)), np.array([1.0, 2.0]))
    array([1., 2.])
    """
    if not is_tensor(V):
        return values
    return float(values[0]) if len(values) == 1 else V.new_tensor(values)  # a number needs no way to the device


def norms(V: Any) -> np.ndarray:
    """Return the length of each column."""
    return np.asarray(host_array(V.square().sum(0).sqrt())) if is_tensor(V) else np.asarray(np.linalg.norm(V, axis=0))


def dots(U: Any, V: Any) -> np.ndarray:
    """Return the inner product of each column of U with the same of V."""
    return np.asarray(host_array((U * V).sum(0))) if is_tensor(U) else np.einsum("ij,ij->j", U, V)


def sums(V: Any) -> np.ndarray:
    """Return the sum of each column."""
    return np.asarray(host_array(V.sum(0)))


def units(V: Any) -> np.ndarray:
    """Return for each column the power of 2 that brings its largest number near 1, so that squares are in range.

    Examples
    --------
    >>> import numpy as np
    >>> units(np.array([[3e-300, 0.0, 5.0], [1e-300, 0.0, -7.0]])) == [2.0**-995, 1.0, 4.0]
    array([ True,  True,  True])
    """
    return power_of_two(host_array(abs(V).max(0).values if is_tensor(V) else np.abs(V).max(axis=0)))


def power_of_two(sizes: Any) -> Any:
    """Return the largest power of 2 that each positive number holds, and 1 for 0 and what is not finite.

    Examples
    --------
    >>> power_of_two([5.0, 0.3, 0.0]).tolist()
    [4.0, 0.25, 1.0]
    """
    sizes = np.asarray(sizes, dtype=np.float64)
    usual = (sizes > 0) & np.isfinite(sizes)
    return np.where(usual, np.ldexp(1.0, np.frexp(np.where(usual, sizes, 1.0))[1] - 1), 1.0)

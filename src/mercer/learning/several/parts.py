"""The function of a mixture as a sum of parts, one in the space of each kernel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer.arrays.tensors import host_array
from mercer.expansion import Expansion
from mercer.formula.data import Rows, length

from .mixture import KernelMixture

BLOCK = 2**28  # bytes of coefficients that are evaluated at a time


def split_function(
    mixture: KernelMixture, centers: Rows, coef: np.ndarray, X: Rows, *, memory: Any = None, device: Any = None
) -> Iterator[np.ndarray]:
    """Yield f_k(x) = (w_k/s_k) Σᵢ cᵢ k_k(xᵢ, x) at all points, of shape (points,) or (points, q), for each kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Constant, Linear
    >>> mixture = KernelMixture((Linear(), Constant(1.0)), np.ones(2), np.array([0.5, 0.5]))
    >>> list(split_function(mixture, [[1.0], [2.0]], np.array([1.0, 1.0]), [[4.0]]))
    [array([6.]), array([1.])]
    """
    width = max(1, BLOCK // (8 * len(coef)))
    for kernel, factors in zip(mixture.kernels, mixture.factors, strict=True):
        columns = np.atleast_2d(coef.T).T
        each = np.broadcast_to(factors, columns.shape[1])
        values, used = np.zeros((length(X), columns.shape[1])), np.flatnonzero(each)
        for some in np.split(used, range(width, len(used), width)) if len(used) else []:
            part = Expansion(kernel, centers, columns[:, some] * each[some])
            values[:, some] = host_array(part(X, memory=memory, device=device))
        yield values.reshape(length(X), *coef.shape[1:])


def share_variance(mixture: KernelMixture, centers: Rows, coef: np.ndarray, *, memory: Any = None) -> np.ndarray:
    """Return cov(f_k, f) / var(f) at the centres, of shape (m,) or (m, q): shares that sum to 1, or 0 if f is constant.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Constant, Linear
    >>> mixture = KernelMixture((Linear(), Constant(1.0)), np.ones(2), np.array([0.5, 0.5]))
    >>> share_variance(mixture, [[1.0], [2.0]], np.array([1.0, 1.0]))
    array([1., 0.])
    """
    total = sum(split_function(mixture, centers, coef, centers, memory=memory), np.zeros(coef.shape))
    total = total - total.mean(axis=0)
    parts = split_function(mixture, centers, coef, centers, memory=memory)
    found = np.array([np.einsum("i...,i...->...", part, total) for part in parts])
    variance = np.einsum("i...,i...->...", total, total)
    return np.asarray(found / np.where(variance > 0, variance, 1.0))

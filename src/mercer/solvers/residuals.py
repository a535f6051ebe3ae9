"""What the direct solvers share: penalties checked, and the true residual of an answer."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from mercer.gram.device.tensors import host_array

from ._columns import units
from .base import Problem

ROUNDING = 16 * np.finfo(np.float64).eps  # a residual below this share of y is nothing but the rounding of y


class Product(Protocol):
    """Anything that multiplies: the lazy Gram matrix or an array."""

    def __matmul__(self, V: Any, /) -> np.ndarray:
        """Return K @ V."""


def penalties(alpha: Any, q: int) -> np.ndarray:
    """Return one finite penalty of at least 0 for each of q outputs.

    Examples
    --------
    >>> from mercer.solvers.residuals import penalties
    >>> penalties(0.5, 2)
    array([0.5, 0.5])
    """
    values = np.asarray(alpha, dtype=np.float64)
    if values.ndim > 1 or values.size not in (1, q):
        raise ValueError(f"alpha must be one number, or one for each of the {q} outputs; got shape {values.shape}")
    if not (np.isfinite(values).all() and (values >= 0).all()):
        raise ValueError(f"alpha must be finite and not negative, got {values}; give a positive penalty")
    return np.broadcast_to(values.ravel(), (q,)).copy()


def relative_residuals(
    problem: Problem, gram: Product, y: np.ndarray, coef: np.ndarray, intercept: np.ndarray, alpha: np.ndarray
) -> np.ndarray:
    """Return √(rᵀWr / P) for each column, r = y − b − (K + αW⁻¹)c, from a product with the true matrix.

    At α = 0, where least squares leave an r of any size, it is that of the normal equations, ‖KWr‖ / (tr(KW) ‖y‖), all
    norms being those of W.  A residual that is no larger than the rounding of y counts as 0, so that a constant y has
    a residual.
    """
    unit = units(y)
    y, coef, intercept = y / unit, coef / unit, intercept / unit
    roots = np.sqrt(1.0 / problem.noise)[:, None]
    image = gram @ coef
    errors = roots * (y - intercept - image)
    left = errors - alpha * coef / roots
    objective = np.sum(errors**2, axis=0) + alpha * np.abs(np.sum(coef * image, axis=0))
    size = np.sqrt(np.sum((roots * y) ** 2, axis=0))
    scale = np.sqrt(objective)
    free = alpha == 0
    if free.any():
        left[:, free] = roots * (gram @ (roots * left[:, free]))
        scale[free] = (np.abs(problem.kernel.diag(host_array(problem.X))) @ roots[:, 0] ** 2) * size[free]
    return ratios(np.sqrt(np.sum(left**2, axis=0)), scale, ROUNDING * size)


def ratios(left: np.ndarray, scale: np.ndarray, floor: np.ndarray) -> np.ndarray:
    """Return left/scale, 0 where the numerator is at most the floor, and infinity where only the scale is 0.

    Examples
    --------
    >>> import numpy as np
    >>> ratios(np.array([1.0, 1e-20, 1.0]), np.array([2.0, 0.0, 0.0]), np.full(3, 1e-16)).tolist()
    [0.5, 0.0, inf]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(left <= floor, 0.0, left / scale)

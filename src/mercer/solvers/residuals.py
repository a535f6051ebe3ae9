"""What the direct solvers share: penalties checked, and the true residual of an answer."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

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
    """Return ‖y − b − (K + αW⁻¹)c‖ / ‖αW⁻¹c‖ for each column, from a product with the true matrix.

    At α = 0, where the scale ‖αW⁻¹c‖ vanishes, it is the normal equations' ‖KW(y − b − Kc)‖ / (tr(KW) ‖y‖).  A
    residual that is no larger than the rounding of y counts as 0, so that a constant y has a residual.
    """
    penalty = alpha * problem.noise[:, None] * coef
    left = y - intercept - gram @ coef - penalty
    scale = np.linalg.norm(penalty, axis=0)
    size = np.linalg.norm(y, axis=0)
    if (alpha == 0).any():
        weights = 1.0 / problem.noise
        free = alpha == 0
        left[:, free] = gram @ (weights[:, None] * left[:, free])
        scale[free] = (np.abs(problem.kernel.diag(problem.X)) @ weights) * size[free]
    norm = np.linalg.norm(left, axis=0)
    result = np.zeros(len(alpha))
    counts = norm > ROUNDING * size
    result[counts] = norm[counts] / np.maximum(scale[counts], np.finfo(np.float64).tiny)
    return result

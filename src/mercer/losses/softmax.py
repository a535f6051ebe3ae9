"""The logistic loss of several classes, with one output for each."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from mercer.arrays import Array
from mercer.arrays.namespace import log_softmax, logsumexp, mark_classes, namespace, pick_entries, softmax, softplus

from .base import Loss, Task, entropy


class Softmax(Loss):
    """ln Σ_q exp(f_q) − f_y, minus the log-likelihood of the class observed.

    Outputs have shape (n, classes), and targets, of shape (n,), are numbers of classes, counted from 0.  With the
    probabilities p of the classes and T the indicator of the one observed, the slope is p − T, and the conjugate at
    such a slope is the negative entropy Σ p ln p.

    Examples
    --------
    >>> y, f = np.array([2]), np.zeros((1, 3))
    >>> Softmax().value(y, f).round(4), Softmax().slope(y, f).round(2)
    (array([1.0986]), array([[ 0.33,  0.33, -0.67]]))
    """

    task: ClassVar[Task] = "classification"
    predicts: ClassVar[str] = "the logarithms of the probabilities of classes, up to a constant"
    joint: ClassVar[bool] = True

    def value(self, y: Array, f: Array) -> Array:
        """Return ln(1 + Σ exp(f_q − f_y)) over the other classes, which keeps its digits where it is tiny."""
        others = namespace(f).where(mark_classes(y, f.shape[1]), -np.inf, f)
        return softplus(logsumexp(others) - pick_entries(f, y))

    def slope(self, y: Array, f: Array) -> Array:
        """Return p − T, where 1 − p of the class observed is the sum of all others."""
        xp, hit = namespace(f), mark_classes(y, f.shape[1])
        p = softmax(f)
        others = xp.where(hit, 0.0, p)
        return xp.where(hit, -xp.sum(others, axis=1)[:, None], p)

    def curvature(self, y: Array, f: Array) -> Array:
        """Return diag(p) − ppᵀ, of shape (n, classes, classes)."""
        p, xp = softmax(f), namespace(f)
        return p[:, :, None] * xp.eye(f.shape[1], dtype=f.dtype, device=f.device) - p[:, :, None] * p[:, None, :]

    def conjugate(self, y: Array, s: Array) -> Array:
        """Return Σ p ln p where s = p − T for probabilities p, and ∞ elsewhere."""
        p = s + 1.0 * mark_classes(y, s.shape[1])
        xp = namespace(p)
        return xp.where(abs(xp.sum(p, axis=1) - 1.0) <= 1e-9, xp.sum(entropy(p), axis=1), np.inf)

    def domain(self, y: Array) -> tuple[Any, Any]:
        """Return −1 and 1; what is between is further bound to be probabilities less an indicator."""
        return -1.0, 1.0

    def predict_proba(self, f: Array) -> Array:
        """Return the softmax."""
        return softmax(f)

    def predict_log_proba(self, f: Array) -> Array:
        """Return its logarithm."""
        return log_softmax(f)

"""The exponential loss of boosting."""

from __future__ import annotations

from typing import ClassVar

from mercer.arrays import Array
from mercer.arrays.namespace import expit, log_expit, namespace

from ..base import entropy
from . import LikelihoodLoss


class Exponential(LikelihoodLoss):
    """exp(−m), the loss of AdaBoost; the best f is half the log-odds of class 1.

    Examples
    --------
    >>> Exponential().value([1.0, -1.0], 0.0)
    array([1., 1.])
    """

    predicts: ClassVar[str] = "half the log-odds of class 1"

    def of(self, m: Array) -> Array:
        """Return exp(−m)."""
        return namespace(m).exp(-m)

    def slope_of(self, m: Array) -> Array:
        """Return −exp(−m)."""
        return -namespace(m).exp(-m)

    def curvature_of(self, m: Array) -> Array:
        """Return exp(−m)."""
        return namespace(m).exp(-m)

    def conjugate_of(self, t: Array) -> Array:
        """Return u ln u − u with u = −t ≥ 0."""
        return entropy(-t) + t

    def predict_proba(self, f: Array) -> Array:
        """Return 1/(1 + exp(±2f))."""
        return expit(2.0 * namespace(f).concat([-f, f], axis=1))

    def predict_log_proba(self, f: Array) -> Array:
        """Return their logarithms, finite also where probabilities vanish."""
        return log_expit(2.0 * namespace(f).concat([-f, f], axis=1))

"""The logistic loss of two classes, whose output is the log-odds of the second."""

from __future__ import annotations

from typing import ClassVar

from mercer.arrays import Array
from mercer.arrays.namespace import expit, log_expit, namespace, softplus

from ..base import entropy
from . import LikelihoodLoss


class Logistic(LikelihoodLoss):
    """ln(1 + exp(−m)), minus the log-likelihood of the class observed; f is the log-odds of class 1.

    Examples
    --------
    >>> Logistic().value([1.0, -1.0], 0.0).round(4), Logistic().slope([1.0, -1.0], 0.0)
    (array([0.6931, 0.6931]), array([-0.5,  0.5]))
    """

    predicts: ClassVar[str] = "the log-odds of class 1"
    most_curvature: ClassVar[float | None] = 0.25
    slopes: ClassVar[tuple[float, float]] = (-1.0, 0.0)

    def of(self, m: Array) -> Array:
        """Return ln(1 + exp(−m))."""
        return softplus(-m)

    def slope_of(self, m: Array) -> Array:
        """Return −1/(1 + exp(m))."""
        return -expit(-m)

    def curvature_of(self, m: Array) -> Array:
        """Return p(1 − p) with p = 1/(1 + exp(−m))."""
        return expit(m) * expit(-m)

    def conjugate_of(self, t: Array) -> Array:
        """Return u ln u + (1 − u) ln(1 − u) with u = −t between 0 and 1."""
        return entropy(-t) + entropy(1.0 + t)

    def predict_proba(self, f: Array) -> Array:
        """Return 1/(1 + exp(±f))."""
        return expit(namespace(f).concat([-f, f], axis=1))

    def predict_log_proba(self, f: Array) -> Array:
        """Return their logarithms, finite also where probabilities vanish."""
        return log_expit(namespace(f).concat([-f, f], axis=1))

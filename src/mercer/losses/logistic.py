"""The logistic losses: of two classes, whose one output is the log-odds of the second, and of more, with one each.

With the probabilities p of the classes and T the indicator of the one observed, a loss is −ln p(y), its slope by the
outputs is p − T, and its conjugate at such a slope is the negative entropy Σ p ln p.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from mercer.arrays import Array
from mercer.arrays.namespace import (
    expit,
    log_expit,
    log_softmax,
    logsumexp,
    mark_classes,
    namespace,
    pick_entries,
    softmax,
    softplus,
)


@dataclass(frozen=True)
class LogisticLoss(ABC):
    """−ln p(y) of outputs of shape (n, Q) and codes of classes, counted from 0, of shape (n,).

    Parameters
    ----------
    classes : int
        The number of classes.
    """

    classes: int = 2

    @property
    def outputs(self) -> int:
        """The number Q of functions."""
        return 1 if self.classes == 2 else self.classes

    @abstractmethod
    def value(self, outputs: Array, codes: Array) -> Array:
        """Return −ln p(y) of each point."""

    @abstractmethod
    def slope(self, outputs: Array, codes: Array) -> Array:
        """Return p − T, accurate also where p is close to T."""

    @abstractmethod
    def conjugate(self, slopes: Array, codes: Array) -> Array:
        """Return the largest Σ s g − ℓ(g) over all outputs g: Σ p ln p where s = p − T for probabilities p, else ∞."""

    @abstractmethod
    def probabilities(self, outputs: Array) -> Array:
        """Return p, of shape (n, Q): of the second of two classes, or of each."""

    @abstractmethod
    def predict(self, outputs: Array) -> Array:
        """Return the probabilities of all classes, of shape (n, classes)."""

    @abstractmethod
    def predict_log(self, outputs: Array) -> Array:
        """Return their logarithms, finite also where probabilities vanish."""


class BinaryLogistic(LogisticLoss):
    """ln(1 + exp(−yg)) with y = ±1.

    Examples
    --------
    >>> loss = BinaryLogistic()
    >>> loss.value(np.zeros((2, 1)), np.array([0, 1])).round(4), loss.slope(np.zeros((2, 1)), np.array([0, 1])).T
    (array([0.6931, 0.6931]), array([[ 0.5, -0.5]]))
    """

    def value(self, outputs: Array, codes: Array) -> Array:
        """Return ln(1 + exp(−yg))."""
        return softplus((1.0 - 2.0 * codes) * outputs[:, 0])

    def slope(self, outputs: Array, codes: Array) -> Array:
        """Return −y/(1 + exp(yg))."""
        signs = (2.0 * codes - 1.0)[:, None]
        return -signs * expit(-signs * outputs)

    def conjugate(self, slopes: Array, codes: Array) -> Array:
        """Return p ln p + (1 − p) ln(1 − p)."""
        p = slopes[:, 0] + 1.0 * codes
        return _sum_entropies(namespace(p).stack([p, 1.0 - p], axis=1))

    def probabilities(self, outputs: Array) -> Array:
        """Return 1/(1 + exp(−g))."""
        return expit(outputs)

    def predict(self, outputs: Array) -> Array:
        """Return 1 − p and p."""
        return expit(namespace(outputs).concat([-outputs, outputs], axis=1))

    def predict_log(self, outputs: Array) -> Array:
        """Return their logarithms."""
        return log_expit(namespace(outputs).concat([-outputs, outputs], axis=1))


class MultinomialLogistic(LogisticLoss):
    """ln Σ_q exp(g_q) − g(y), the softmax.

    Examples
    --------
    >>> loss = MultinomialLogistic(3)
    >>> loss.value(np.zeros((1, 3)), np.array([2])).round(4), loss.slope(np.zeros((1, 3)), np.array([2])).round(2)
    (array([1.0986]), array([[ 0.33,  0.33, -0.67]]))
    """

    def value(self, outputs: Array, codes: Array) -> Array:
        """Return ln(1 + Σ exp(g − g(y))) over the other classes, which keeps its digits where it is tiny."""
        others = namespace(outputs).where(mark_classes(codes, self.classes), -np.inf, outputs)
        return softplus(logsumexp(others) - pick_entries(outputs, codes))

    def slope(self, outputs: Array, codes: Array) -> Array:
        """Return p − T, where 1 − p of the class observed is the sum of all others."""
        xp, hit = namespace(outputs), mark_classes(codes, self.classes)
        p = softmax(outputs)
        others = xp.where(hit, 0.0, p)
        return xp.where(hit, -xp.sum(others, axis=1)[:, None], p)

    def conjugate(self, slopes: Array, codes: Array) -> Array:
        """Return Σ p ln p."""
        p = slopes + 1.0 * mark_classes(codes, self.classes)
        xp = namespace(p)
        return xp.where(abs(xp.sum(p, axis=1) - 1.0) <= 1e-9, _sum_entropies(p), np.inf)

    def probabilities(self, outputs: Array) -> Array:
        """Return the softmax."""
        return softmax(outputs)

    def predict(self, outputs: Array) -> Array:
        """Return the softmax."""
        return softmax(outputs)

    def predict_log(self, outputs: Array) -> Array:
        """Return its logarithm."""
        return log_softmax(outputs)


def make_logistic(classes: int) -> LogisticLoss:
    """Return the loss of two classes or of more."""
    return BinaryLogistic() if classes == 2 else MultinomialLogistic(classes)


def _sum_entropies(p: Array) -> Array:
    """Return Σ p ln p of each row, with 0 ln 0 = 0, and ∞ for a row with a negative number."""
    xp = namespace(p)
    total = xp.sum(p * xp.log(xp.where(p > 0, p, 1.0)), axis=1)
    return xp.where(xp.any(p < 0, axis=1), np.inf, total)

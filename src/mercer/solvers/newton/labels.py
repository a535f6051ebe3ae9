"""Labelled points: the logistic loss of all of them together, as sums that Newton's method asks for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from mercer.arrays import Array
from mercer.arrays.columns import like
from mercer.arrays.namespace import count_weights, expit, logsumexp, namespace
from mercer.arrays.place import Place
from mercer.arrays.tensors import host_array
from mercer.losses.logistic import LogisticLoss, make_logistic

from .curvature import BinaryCurvature, Curvature, MultinomialCurvature


class LossSums(Protocol):
    """Sums of a loss over labelled rows, wherever those are.

    Values and outputs, with and without intercepts, are arrays of shape (n, Q), or whatever stands for them where rows
    are in partitions: they can be added, and multiplied and divided by numbers.
    """

    @property
    def classes(self) -> int:
        """The number of classes."""

    @property
    def outputs(self) -> int:
        """The number Q of functions."""

    def weigh_classes(self) -> np.ndarray:
        """Return the weight of each class."""

    def value(self, outputs: Array) -> float:
        """Return the loss of all rows."""

    def residual_sums(self, outputs: Array) -> np.ndarray:
        """Return the sum of residuals of each output, and the sum of their sizes, of shape (2, Q)."""

    def curvature_sums(self, outputs: Array) -> np.ndarray:
        """Return the sum of curvatures, of shape (Q, Q)."""

    def range(self, values: Array) -> tuple[float, float]:
        """Return the smallest and the largest of all values."""

    def odds(self, outputs: Array, q: int) -> Array:
        """Return the log-odds of class q against all others, of shape (n, 1)."""

    def share(self, odds: Array, q: int, b: float) -> np.ndarray:
        """Return the residuals of class q at odds + b: their sum, how fast it falls with b, and the sum of their sizes.

        The rounding of the sum is a share of the last.
        """


@dataclass(frozen=True)
class LabelledLoss:
    """Σ wᵢ ℓ(gᵢ, yᵢ) of labelled points, on the host or on a device."""

    loss: LogisticLoss
    codes: Array  # the class of each point, counted from 0; every class occurs
    weights: Array  # positive

    @property
    def classes(self) -> int:
        """The number of classes."""
        return self.loss.classes

    @property
    def outputs(self) -> int:
        """The number Q of functions."""
        return self.loss.outputs

    def put(self, place: Place) -> LabelledLoss:
        """Return the loss with labels and weights at a place, for outputs that are there."""
        if place.on_host:
            return self
        xp = place.namespace
        codes = xp.asarray(host_array(self.codes), dtype=xp.int64, device=place.device)
        return replace(self, codes=codes, weights=place.put(self.weights))

    def zeros(self, *shape: int) -> Array:
        """Return zeros where the points are."""
        return namespace(self.weights).zeros(shape, dtype=self.weights.dtype, device=self.weights.device)

    def losses(self, outputs: Array) -> Array:
        """Return ℓ of each point."""
        return self.loss.value(outputs, self.codes)

    def residuals(self, outputs: Array) -> Array:
        """Return R = w(T − p), the negative slopes of all losses."""
        return -self.weights[:, None] * self.loss.slope(outputs, self.codes)

    def curvature(self, outputs: Array, intercept: bool = False) -> Curvature:
        """Return the curvature at all points, and beside the constants of intercepts if there are such."""
        kind = BinaryCurvature if self.outputs == 1 else MultinomialCurvature
        return kind(self.weights, self.loss.probabilities(outputs), intercept)

    def weigh_classes(self) -> np.ndarray:
        """Return the weight of each class."""
        return count_weights(self.codes, self.weights, self.classes)

    def value(self, outputs: Array) -> float:
        """Return the loss of all points."""
        return float(self.weights @ self.losses(outputs))

    def residual_sums(self, outputs: Array) -> np.ndarray:
        """Return the sum of residuals of each output, and the sum of their sizes, of shape (2, Q)."""
        residuals = self.residuals(outputs)
        return np.stack([host_array(part.sum(axis=0)) for part in (residuals, abs(residuals))])

    def curvature_sums(self, outputs: Array) -> np.ndarray:
        """Return the sum of curvatures, of shape (Q, Q)."""
        return np.asarray(host_array(self.curvature(outputs).blocks().sum(axis=0)))

    def range(self, values: Array) -> tuple[float, float]:
        """Return the smallest and the largest of all values."""
        return float(values.min()), float(values.max())

    def odds(self, outputs: Array, q: int) -> Array:
        """Return the log-odds of class q against all others, of shape (n, 1)."""
        if self.outputs == 1:
            return outputs
        others = 1.0 * outputs
        others[:, q] = -np.inf
        return (outputs[:, q] - logsumexp(others))[:, None]

    def share(self, odds: Array, q: int, b: float) -> np.ndarray:
        """Return the sum of residuals of class q at odds + b, how fast it falls with b, and the sum of their sizes.

        Residuals are summed, not probabilities: beside a point of weight 10¹³ those of all others would be rounded.
        """
        xp, v, hits = namespace(odds), odds[:, 0] + b, self.codes == q
        p, rest = expit(v), expit(-v)
        size = self.weights * xp.where(hits, rest, p)
        sums = xp.where(hits, size, -size).sum(), self.weights @ (p * rest), size.sum()
        return np.array([float(part) for part in sums])


def make_loss(codes: np.ndarray, classes: int, weights: np.ndarray) -> LabelledLoss:
    """Return the loss of points of two classes or of more.

    Examples
    --------
    >>> import numpy as np
    >>> loss = make_loss(np.array([0, 1, 1]), 2, np.ones(3))
    >>> round(loss.value(np.zeros((3, 1))), 6)  # 3 ln 2
    2.079442
    """
    return LabelledLoss(make_logistic(classes), np.asarray(codes), np.asarray(weights, dtype=np.float64))


def shift(values: Array, b: np.ndarray) -> Array:
    """Return values + b, where the values are."""
    return values + like(values, b)

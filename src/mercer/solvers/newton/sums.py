"""Weighted points: the loss of all of them together, as sums that Newton's method asks for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from mercer.arrays import Array
from mercer.arrays.columns import like
from mercer.arrays.namespace import count_weights, expit, logsumexp, namespace
from mercer.arrays.place import Place
from mercer.arrays.tensors import host_array
from mercer.losses import Logistic, Loss, Softmax
from mercer.losses.smoothed import round_off

from .curvature import Curvature, DiagonalCurvature, SoftmaxCurvature


class LossSums(Protocol):
    """Sums of a loss over weighted rows, wherever those are.

    Values and outputs, with and without intercepts, are arrays of shape (n, Q), or whatever stands for them where rows
    are in partitions: they can be added, and multiplied and divided by numbers.
    """

    @property
    def joint(self) -> bool:
        """Whether the outputs of a point are judged together, as those of several classes are."""

    @property
    def outputs(self) -> int:
        """The number Q of functions."""

    @property
    def has_majorant(self) -> bool:
        """Whether there are parabolas that touch the losses and are nowhere below them."""

    @property
    def least(self) -> float:
        """What the loss of all rows cannot fall below, whatever the outputs."""

    def value(self, outputs: Array) -> float:
        """Return the loss of all rows."""

    def bound(self, slopes: Array) -> float:
        """Return −Σ wᵢ ℓ*(yᵢ, sᵢ), the part of the dual that belongs to the loss."""

    def slopes(self, outputs: Array) -> Array:
        """Return the slopes of all losses, without weights."""

    def smooth(self, width: float, slopes: Array) -> LossSums:
        """Return the loss with corners rounded off, around the slopes that are known so far."""

    def residual_sums(self, outputs: Array) -> np.ndarray:
        """Return the sum of residuals of each output, and the sum of their sizes, of shape (2, Q)."""

    def curvature_sums(self, outputs: Array) -> np.ndarray:
        """Return the sum of curvatures, of shape (Q, Q)."""

    def balance_sums(self, outputs: Array) -> np.ndarray:
        """Return residual sums, and the curvature sum of each output judged alone, of shape (3, Q), in one pass."""

    def range(self, values: Array) -> tuple[float, float]:
        """Return the smallest and the largest of all values."""

    def reach(self, values: Array) -> float:
        """Return a step of an intercept that changes much."""

    def weigh_classes(self) -> np.ndarray:
        """Return the weight of each of several classes."""

    def odds(self, outputs: Array, q: int) -> Array:
        """Return the log-odds of one of several classes against all others, of shape (n, 1)."""

    def share(self, odds: Array, q: int, b: float) -> np.ndarray:
        """Return the residuals of class q at odds + b: their sum, how fast it falls with b, and the sum of their sizes.

        The rounding of the sum is a share of the last.
        """


@dataclass(frozen=True)
class WeightedLoss:
    """Σ wᵢ ℓ(yᵢ, gᵢ) of points, on the host or on a device.

    Parameters
    ----------
    loss : Loss
        ℓ.
    targets : array of shape (n, Q), or (n,)
        A target for each output, which are judged one by one; or numbers of classes, counted from 0, of which every
        one occurs, if outputs are judged together.
    weights : array of shape (n,)
        Positive.
    outputs : int
        The number Q of functions.
    moved : array of shape (n, Q), optional
        What is added to all outputs before they are judged.
    """

    loss: Loss
    targets: Array
    weights: Array
    outputs: int
    moved: Array | None = None

    @property
    def joint(self) -> bool:
        """Whether the outputs of a point are judged together."""
        return self.loss.joint

    @property
    def has_majorant(self) -> bool:
        """Whether there are parabolas that touch the losses and are nowhere below them."""
        return self.loss.has_majorant

    @property
    def least(self) -> float:
        """What the loss cannot fall below: minus its conjugate at slopes of 0."""
        return self.bound(self.zeros(len(self.weights), self.outputs))

    @np.errstate(over="ignore", invalid="ignore")  # what overflows is no minimum
    def bound(self, slopes: Array) -> float:
        """Return −Σ wᵢ ℓ*(yᵢ, sᵢ), which no loss is below by more than Σ wᵢsᵢgᵢ."""
        return -self._sum(self.loss.conjugate(self.targets, slopes))

    def put(self, place: Place) -> WeightedLoss:
        """Return the loss with targets and weights at a place, for outputs that are there."""
        if place.on_host:
            return self
        xp = place.namespace
        kind = xp.int64 if self.joint else xp.float64
        targets = xp.asarray(host_array(self.targets), dtype=kind, device=place.device)
        return replace(self, targets=targets, weights=place.put(self.weights))

    def part(self, rows: Any) -> WeightedLoss:
        """Return the loss of some points."""
        return replace(self, targets=self.targets[rows], weights=self.weights[rows])

    def zeros(self, *shape: int) -> Array:
        """Return zeros where the points are."""
        return namespace(self.weights).zeros(shape, dtype=self.weights.dtype, device=self.weights.device)

    @property
    def classes(self) -> int:
        """The number of classes, if the loss is one of classes."""
        return max(self.outputs, 2)

    @property
    def codes(self) -> Array:
        """The classes of the points, counted from 0, if the loss is one of classes."""
        if self.joint:
            return self.targets
        return self.targets.argmax(1) if self.outputs > 1 else 1 * (self.targets[:, 0] > 0)

    def smooth(self, width: float, slopes: Array) -> WeightedLoss:
        """Return the loss with corners rounded off, around the slopes that are known so far."""
        return replace(self, loss=round_off(self.loss, width), moved=width * slopes)

    def slopes(self, outputs: Array) -> Array:
        """Return the slopes of all losses, without weights."""
        with np.errstate(over="ignore"):
            return self.loss.slope(self.targets, self._move(outputs))

    def _move(self, outputs: Array) -> Array:
        return outputs if self.moved is None else outputs + self.moved

    def losses(self, outputs: Array) -> Array:
        """Return ℓ of each point, summed over its outputs."""
        with np.errstate(over="ignore"):
            found = self.loss.value(self.targets, self._move(outputs))
        return found if self.joint else found.sum(1)

    def residuals(self, outputs: Array) -> Array:
        """Return R = −wℓ', the negative slopes of all losses."""
        return -self.weights[:, None] * self.slopes(outputs)

    def curvature(
        self, outputs: Array, intercept: bool = False, *, above: bool = False, raised: bool = False
    ) -> Curvature:
        """Return the curvature at all points, and beside the constants of intercepts if there are such.

        ``above`` asks for that of parabolas which touch the losses at the outputs and are nowhere below them,
        ``raised`` for a little curvature also where there is none.
        """
        if self.joint:
            return SoftmaxCurvature(self.weights, self.loss.predict_proba(outputs), intercept)  # type: ignore[attr-defined]
        bend = self.loss.majorant if above else self.loss.curvature
        with np.errstate(over="ignore"):
            found = bend(self.targets, self._move(outputs))
        return DiagonalCurvature(
            self.weights,
            found,
            intercept,
            most=self.loss.most_curvature,
            flat=self.loss.has_flat_parts and not raised,
        )

    @np.errstate(over="ignore", invalid="ignore")  # what overflows is no minimum
    def value(self, outputs: Array) -> float:
        """Return the loss of all points."""
        return self._sum(self.losses(outputs))

    @np.errstate(over="ignore", invalid="ignore")  # what overflows is no minimum
    def residual_sums(self, outputs: Array) -> np.ndarray:
        """Return the sum of residuals of each output, and the sum of their sizes, of shape (2, Q)."""
        residuals = self.residuals(outputs)
        return np.stack([host_array(part.sum(axis=0)) for part in (residuals, abs(residuals))])

    @np.errstate(over="ignore", invalid="ignore")  # what overflows is no minimum
    def curvature_sums(self, outputs: Array) -> np.ndarray:
        """Return the sum of curvatures, of shape (Q, Q)."""
        if self.joint:
            return np.asarray(host_array(self.curvature(outputs).blocks().sum(axis=0)))
        with np.errstate(over="ignore"):
            return np.diag(host_array(self.weights @ self.loss.curvature(self.targets, self._move(outputs))))

    @np.errstate(over="ignore", invalid="ignore")  # what overflows is no minimum
    def balance_sums(self, outputs: Array) -> np.ndarray:
        """Return residual sums, and the curvature sum of each output judged alone, of shape (3, Q)."""
        return np.vstack([self.residual_sums(outputs), np.diagonal(self.curvature_sums(outputs))])

    def range(self, values: Array) -> tuple[float, float]:
        """Return the smallest and the largest of all values."""
        return float(values.min()), float(values.max())

    def reach(self, values: Array) -> float:
        """Return the spread of values or of targets, the larger one, or their size if they are all the same."""
        return measure_reach(self.range(values), self.target_range(values))

    def target_range(self, _: Array) -> tuple[float, float]:
        """Return the smallest and the largest target."""
        return float(self.targets.min()), float(self.targets.max())

    def weigh_classes(self, _: Array | None = None) -> np.ndarray:
        """Return the weight of each class."""
        return count_weights(self.targets, self.weights, self.outputs)

    def odds(self, outputs: Array, q: int) -> Array:
        """Return the log-odds of class q against all others, of shape (n, 1)."""
        others = 1.0 * outputs
        others[:, q] = -np.inf
        return (outputs[:, q] - logsumexp(others))[:, None]

    def share(self, odds: Array, q: int, b: float) -> np.ndarray:
        """Return the sum of residuals of class q at odds + b, how fast it falls with b, and the sum of their sizes.

        Residuals are summed, not probabilities: beside a point of weight 10¹³ those of all others would be rounded.
        """
        xp, v, hits = namespace(odds), odds[:, 0] + b, self.targets == q
        p, rest = expit(v), expit(-v)
        size = self.weights * xp.where(hits, rest, p)
        sums = xp.where(hits, size, -size).sum(), self.weights @ (p * rest), size.sum()
        return np.array([float(part) for part in sums])

    def _sum(self, losses: Array) -> float:
        return float((self.weights @ losses).sum())


def measure_reach(*ranges: tuple[float, float]) -> float:
    """Return the largest spread of some ranges; if all of them are points, the largest size, and 1 if those are 0.

    Examples
    --------
    >>> measure_reach((0.0, 0.0), (2.0, 5.0)), measure_reach((0.0, 0.0), (-7.0, -7.0)), measure_reach((0.0, 0.0))
    (3.0, 7.0, 1.0)
    """
    spread = max(most - least for least, most in ranges)
    return spread or max(max(abs(least), abs(most)) for least, most in ranges) or 1.0


def weigh_loss(loss: Loss, y: np.ndarray, weights: np.ndarray, outputs: int) -> WeightedLoss:
    """Return a loss of points: of targets, or for a loss of classes of their numbers, counted from 0.

    A loss of margins sees 1 for the class of an output and −1 for all others; a single output is that of the second.
    Targets of one column are those of all outputs.
    """
    y, weights = np.asarray(y), np.asarray(weights, dtype=np.float64)
    if loss.task == "classification" and not loss.joint:
        y = 2.0 * (y[:, None] == (np.arange(outputs) if outputs > 1 else 1)) - 1.0
    if not loss.joint:
        y = y.reshape(len(y), -1)
        y = y if y.shape[1] == outputs else np.repeat(y, outputs, axis=1)
    return WeightedLoss(loss, y, weights, outputs)


def label_loss(codes: np.ndarray, classes: int, weights: np.ndarray) -> WeightedLoss:
    """Return the logistic loss of points of two classes, by their log-odds, or of more, with an output for each.

    Examples
    --------
    >>> import numpy as np
    >>> loss = label_loss(np.array([0, 1, 1]), 2, np.ones(3))
    >>> round(loss.value(np.zeros((3, 1))), 6)  # 3 ln 2
    2.079442
    """
    return weigh_loss(choose_logistic(classes), codes, weights, 1 if classes == 2 else classes)


def choose_logistic(classes: int) -> Logistic | Softmax:
    """Return the logistic loss of two classes, or of more."""
    return Logistic() if classes == 2 else Softmax()


def shift(values: Array, b: np.ndarray) -> Array:
    """Return values + b, where the values are."""
    return values + like(values, b)

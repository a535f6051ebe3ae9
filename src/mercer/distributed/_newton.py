"""Newton's method for the logistic losses over partitions: values stay with their rows, sums of them come back.

The method is the one of one machine, :func:`mercer.solvers.newton.method.minimise`.  What it calls outputs, residuals
and curvatures of all points are names here for what tasks compute; every number that it asks for is a sum over blocks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import cho_solve

from mercer.losses.logistic import BinaryLoss, LogisticLoss, MultinomialLoss, Share
from mercer.solvers.newton.features import JOINT, _factor
from mercer.solvers.newton.gram import conjugate_gradients

from ._features import FeaturesOf
from ._graph import map_blocks, size_of, sum_tasks
from ._newton_tasks import (
    curvature_sums,
    curved_of,
    gradient_of,
    hessian_of,
    loss_of,
    range_of,
    residual_sums,
    share_at,
    values_of,
)
from .table import RowTable


@dataclass(frozen=True)
class Spread:
    """Σ tⱼ vⱼ + s, for values vⱼ of all rows that stay with their blocks.

    Parameters
    ----------
    terms : tuple of lists of tasks
        The values v, one task for each block.
    factors : tuple of float
        t.
    shift : array of shape (Q,)
        s.
    """

    terms: tuple[list[Any], ...]
    factors: tuple[float, ...]
    shift: np.ndarray

    def __add__(self, other: Any) -> Spread:
        if isinstance(other, Spread):
            return Spread(self.terms + other.terms, self.factors + other.factors, self.shift + other.shift)
        return replace(self, shift=self.shift + other)

    def __rmul__(self, factor: float) -> Spread:
        return Spread(self.terms, tuple(factor * t for t in self.factors), factor * self.shift)

    def __truediv__(self, divisor: float) -> Spread:
        return (1.0 / divisor) * self


@dataclass(frozen=True)
class Lazy:
    """Residuals or curvatures at outputs, to be computed where they are used."""

    loss: ReducedLoss
    outputs: Spread
    intercept: bool = False


class ReducedLoss(LogisticLoss):
    """The part that both losses share: every sum is one over blocks."""

    table: RowTable

    def residual_sums(self, values: Any, b: np.ndarray) -> np.ndarray:
        """Return the sum of residuals of each output at values + b, and the sum of their sizes."""
        return np.asarray(self._reduced("residuals", residual_sums, values + b))

    def curvature_sums(self, values: Any, b: np.ndarray) -> np.ndarray:
        """Return the sum of curvatures at values + b."""
        return np.asarray(self._reduced("curvatures", curvature_sums, values + b))

    def mass(self) -> np.ndarray:
        """Return the weight of each class, which the survey knows."""
        return self.weights

    def value(self, outputs: Any) -> float:
        """Return the loss of all rows."""
        return float(self._reduced("loss", loss_of, outputs))

    def residuals(self, outputs: Any) -> Any:
        """Return residuals to be computed later."""
        return Lazy(self, outputs)

    def curvature(self, outputs: Any, intercept: bool) -> Any:
        """Return curvatures to be computed later."""
        return Lazy(self, outputs, intercept)

    def share(self, values: Any, b: np.ndarray, q: int) -> Share:
        """Return the share of a class as a function of its intercept."""
        found: Any = ReducedShare(self, values + b if self.outputs > 1 else values, b, q)
        return found

    def spread(self, values: Any) -> float:
        """Return the largest of all values minus the smallest."""
        ranges = np.array(self._each("range", range_of, values, None))
        return float(ranges[:, 1].max() - ranges[:, 0].min())

    def _tasks(self, name: str, function: Any, outputs: Spread, *shared: Any) -> list[Any]:
        given = [[block, *(term[i] for term in outputs.terms)] for i, block in enumerate(self.table.blocks)]
        return map_blocks(name, function, given, outputs.factors, outputs.shift, self.classes, *shared)

    def _reduced(self, name: str, function: Any, outputs: Spread, *shared: Any) -> Any:
        tasks = self._tasks(name, function, outputs, *shared)
        (total,) = self.table.cluster.compute([sum_tasks(name, tasks)])
        self.table.cluster.count("sums", len(tasks) * size_of(total))
        return total

    def _each(self, name: str, function: Any, outputs: Spread, *shared: Any) -> list[Any]:
        return self.table.cluster.compute(self._tasks(name, function, outputs, *shared))


class ReducedBinaryLoss(ReducedLoss, BinaryLoss):
    """Two classes."""


class ReducedMultinomialLoss(ReducedLoss, MultinomialLoss):
    """More classes."""


def reduced_loss(table: RowTable, mass: np.ndarray) -> ReducedLoss:
    """Return the loss of all rows of a table, whose classes have these weights."""
    kind = ReducedBinaryLoss if len(mass) == 2 else ReducedMultinomialLoss
    loss = kind(np.empty(0, dtype=np.int64), len(mass), mass)
    object.__setattr__(loss, "table", table)
    return loss


@dataclass(frozen=True)
class ReducedShare:
    """:class:`~mercer.losses.logistic.Share` as sums over blocks; b_q of the others is in the values."""

    loss: ReducedLoss
    values: Spread
    b: np.ndarray
    q: int

    def range(self) -> tuple[float, float, float]:
        """Return the log-odds of the class by its weight, and the smallest and the largest of the values."""
        found = np.array(self.loss._each("range", range_of, self.values, (self.b, self.q)))
        mass, own = self.loss.mass(), 1 if self.loss.outputs == 1 else self.q
        odds = float(np.log(mass[own]) - np.log(np.delete(mass, own).sum()))
        return odds, float(found[:, 0].min()), float(found[:, 1].max())

    def at(self, b: float) -> tuple[float, float, float]:
        """Return the sum, how fast it falls with b, and the sum of its sizes."""
        miss, bend, size = self.loss._reduced("share", share_at, self.values, (self.b, self.q), b)
        return float(miss), float(bend), float(size)


class ReducedSpace:
    """f_q = w_qᵀφ with Nyström features φ = L⁻¹k computed a block at a time, where the block is.

    Parameters
    ----------
    table : RowTable
        Blocks of classes.
    features : FeaturesOf
        φ.
    loss : ReducedLoss
        The loss.
    """

    def __init__(self, table: RowTable, features: FeaturesOf, loss: ReducedLoss) -> None:
        self._table, self._loss, self._map = table, loss, features
        self.shape = len(features.triangle), loss.outputs

    def values(self, weights: np.ndarray) -> Spread:
        """Return Φw, which is computed now and stays where the rows are."""
        tasks = map_blocks("values", values_of, self._table.blocks, self._map, weights)
        return Spread((self._table.cluster.keep(tasks),), (1.0,), np.zeros(weights.shape[1]))

    def nothing(self) -> Spread:
        """Return the values of f = 0."""
        return Spread((), (), np.zeros(self.shape[1]))

    def residual(self, R: Lazy, coef: np.ndarray, values: Any, alpha: float) -> tuple[np.ndarray, float]:
        """Return ΦᵀR − 2αw and its squared norm."""
        residual = self._loss._reduced("gradient", gradient_of, R.outputs, self._map) - 2 * alpha * coef
        return residual, float(np.vdot(residual, residual))

    def step(self, residual: np.ndarray, curvature: Lazy, alpha: float, accuracy: float) -> tuple[np.ndarray, Spread]:
        """Solve the Newton equations: by a factor while they are few, by conjugate gradients otherwise."""
        m, q = self.shape
        joint = q == 1 or m * q <= JOINT
        H, B, G = self._loss._reduced("hessian", hessian_of, curvature.outputs, self._map, joint)
        taken = np.zeros((m * q, 0))
        if curvature.intercept:
            free = 1 if q == 1 else q - 1  # constants of all classes together change nothing
            taken = np.linalg.solve(np.linalg.cholesky(G[:free, :free]), B[:, :free].T).T
        step = (
            cho_solve(
                _factor(H - taken @ taken.T, alpha, float(np.trace(H))), residual.ravel(), check_finite=False
            ).reshape(m, q)
            if joint
            else self._iterated(residual, curvature, alpha, accuracy, H, taken)
        )
        return step, self.values(step)

    def inner(self, first: np.ndarray, second: np.ndarray, values: Any) -> float:
        """Return the sum of products of the coordinates."""
        return float(np.vdot(first, second))

    def _iterated(
        self, residual: np.ndarray, curvature: Lazy, alpha: float, accuracy: float, H: np.ndarray, taken: np.ndarray
    ) -> np.ndarray:
        factors = [_factor(part, alpha) for part in H]

        def inverse(V: np.ndarray) -> np.ndarray:
            return np.column_stack([cho_solve(f, v, check_finite=False) for f, v in zip(factors, V.T, strict=True)])

        def apply(V: np.ndarray) -> np.ndarray:
            bent = self._loss._reduced("curvature", curved_of, curvature.outputs, self._map, V)
            away = (taken @ (taken.T @ V.ravel())).reshape(V.shape)
            return np.asarray(2 * alpha * V + bent - away)

        return conjugate_gradients(apply, inverse, residual, accuracy)[0]

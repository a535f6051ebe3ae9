"""Several outputs, each with a loss of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.arrays.namespace import namespace

from .base import Loss


class Each(Loss):
    """ℓ_q(y_q, f_q) for each column q: several quantiles at once, for example.

    Parameters
    ----------
    losses : tuple of Loss
        One for each column, which are judged one by one.

    Examples
    --------
    >>> from mercer.losses import Quantile
    >>> Each((Quantile(0.25), Quantile(0.75))).value(np.array([[4.0, 4.0]]), np.zeros((1, 2)))
    array([[1., 3.]])
    """

    losses: tuple[Loss, ...]

    @property
    def smooth(self) -> bool:  # type: ignore[override]
        """Whether all of them are."""
        return all(loss.smooth for loss in self.losses)

    @property
    def has_flat_parts(self) -> bool:  # type: ignore[override]
        """Whether one of them has such."""
        return any(loss.has_flat_parts for loss in self.losses)

    @property
    def has_majorant(self) -> bool:  # type: ignore[override]
        """Whether all of them have one."""
        return all(loss.has_majorant for loss in self.losses)

    @property
    def of_residual(self) -> bool:  # type: ignore[override]
        """Whether all of them are losses of residuals."""
        return all(loss.of_residual for loss in self.losses)

    def column(self, q: int) -> Loss:
        """Return the loss of one output."""
        return self.losses[q]

    def value(self, y: Array, f: Array) -> Array:
        """Return ℓ_q(y_q, f_q)."""
        return self._stack(lambda loss, q: loss.value(y[:, q], f[:, q]))

    def slope(self, y: Array, f: Array) -> Array:
        """Return the derivatives by f."""
        return self._stack(lambda loss, q: loss.slope(y[:, q], f[:, q]))

    def curvature(self, y: Array, f: Array) -> Array:
        """Return the second derivatives by f."""
        return self._stack(lambda loss, q: loss.curvature(y[:, q], f[:, q]))

    def majorant(self, y: Array, f: Array) -> Array:
        """Return the curvatures of parabolas above."""
        return self._stack(lambda loss, q: loss.majorant(y[:, q], f[:, q]))

    def conjugate(self, y: Array, s: Array) -> Array:
        """Return the conjugates."""
        return self._stack(lambda loss, q: loss.conjugate(y[:, q], s[:, q]))

    def prox(self, y: Array, f: Array, width: float) -> Array:
        """Return the proximal points."""
        return self._stack(lambda loss, q: loss.prox(y[:, q], f[:, q], width))

    def domain(self, y: Array) -> tuple[Any, Any]:
        """Return the least and the largest slopes."""
        ends = [loss.domain(y[:, q]) for q, loss in enumerate(self.losses)]
        shape = np.zeros(len(y))
        low, high = (np.stack([shape + end[side] for end in ends], axis=1) for side in (0, 1))
        return low, high

    def predict(self, f: Array) -> Array:
        """Return what each output says."""
        return self._stack(lambda loss, q: loss.predict(f[:, q]))

    def check_targets(self, y: np.ndarray, owner: str = "") -> None:
        """Raise if targets are not what a loss is made for."""
        for q, loss in enumerate(self.losses):
            loss.check_targets(y[:, q], owner)

    def _stack(self, function: Callable[[Loss, int], Array]) -> Array:
        columns = [function(loss, q) for q, loss in enumerate(self.losses)]
        return namespace(columns[0]).stack(columns, axis=1)

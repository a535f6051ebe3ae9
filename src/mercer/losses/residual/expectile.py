"""The expectile loss: squares that weigh errors above and below differently."""

from __future__ import annotations

from typing import ClassVar

from mercer.arrays import Array
from mercer.arrays.namespace import namespace

from ..levels import Level
from . import ResidualLoss


class Expectile(ResidualLoss):
    """τr² above f and (1 − τ)r² below: what the mean is to squares, the expectile is to these.

    Parameters
    ----------
    level : float, default=0.5
        τ between 0 and 1; one half is half the squared loss, and predicts the mean.

    Examples
    --------
    >>> Expectile(0.75).value([2.0, -2.0], 0.0)
    array([3., 1.])
    """

    level: Level = 0.5

    most_curvature: ClassVar[float | None] = 2.0
    predicts: ClassVar[str] = "an expectile"

    def _weigh(self, r: Array) -> Array:
        return namespace(r).where(r >= 0, self.level + 0.0 * r, 1.0 - self.level + 0.0 * r)

    def of(self, r: Array) -> Array:
        """Return abs(τ − 1[r < 0]) r²."""
        return self._weigh(r) * r**2

    def slope_of(self, r: Array) -> Array:
        """Return 2 abs(τ − 1[r < 0]) r."""
        return 2.0 * self._weigh(r) * r

    def curvature_of(self, r: Array) -> Array:
        """Return 2 abs(τ − 1[r < 0])."""
        return 2.0 * self._weigh(r)

    def conjugate_of(self, t: Array) -> Array:
        """Return t²/4 over the weight of its side."""
        return t**2 / (4.0 * self._weigh(t))

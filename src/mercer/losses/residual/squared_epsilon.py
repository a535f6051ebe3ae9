"""The squared ε-insensitive loss."""

from __future__ import annotations

from typing import ClassVar

from mercer.arrays import Array
from mercer.formula.parameters import NotNegative

from . import ResidualLoss


class SquaredEpsilonInsensitive(ResidualLoss):
    """max(0, abs(r) − ε)²: small errors cost nothing, and the slope has no jumps.

    Parameters
    ----------
    width : float, default=0.1
        ε ≥ 0, in the unit of y.

    Examples
    --------
    >>> SquaredEpsilonInsensitive(0.5).value([0.25, 1.5], 0.0)
    array([0., 1.])
    """

    width: NotNegative = 0.1

    has_flat_parts: ClassVar[bool] = True
    most_curvature: ClassVar[float | None] = 2.0
    predicts: ClassVar[str] = "the mean, to the width"

    def _beyond(self, r: Array) -> Array:
        return r - r.clip(-self.width, self.width)

    def of(self, r: Array) -> Array:
        """Return max(0, abs(r) − ε)²."""
        return self._beyond(r) ** 2

    def slope_of(self, r: Array) -> Array:
        """Return 2 sign(r) max(0, abs(r) − ε)."""
        return 2.0 * self._beyond(r)

    def curvature_of(self, r: Array) -> Array:
        """Return 2 outside of the tube and 0 inside."""
        return 2.0 * (abs(r) >= self.width) + 0.0 * r

    def conjugate_of(self, t: Array) -> Array:
        """Return ε abs(t) + t²/4."""
        return self.width * abs(t) + t**2 / 4.0

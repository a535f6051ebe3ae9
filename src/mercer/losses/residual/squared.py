"""The squared loss of ridge regression."""

from __future__ import annotations

from typing import ClassVar

from mercer.arrays import Array

from . import ResidualLoss


class Squared(ResidualLoss):
    """r², which predicts the mean: kernel ridge regression.

    Examples
    --------
    >>> Squared().value(3.0, 1.0)
    np.float64(4.0)
    """

    most_curvature: ClassVar[float | None] = 2.0
    predicts: ClassVar[str] = "the mean"

    def of(self, r: Array) -> Array:
        """Return r²."""
        return r**2

    def slope_of(self, r: Array) -> Array:
        """Return 2r."""
        return 2.0 * r

    def curvature_of(self, r: Array) -> Array:
        """Return 2."""
        return 0.0 * r + 2.0

    def conjugate_of(self, t: Array) -> Array:
        """Return t²/4."""
        return t**2 / 4.0

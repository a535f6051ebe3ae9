"""Huber's loss: squares for small errors, absolute values for large ones."""

from __future__ import annotations

from typing import ClassVar

from mercer.arrays import Array
from mercer.formula.parameters import Positive

from ..base import inside
from . import ResidualLoss


class Huber(ResidualLoss):
    """r²/2 up to the width δ, and δ(abs(r) − δ/2) beyond, so that outliers pull no harder than δ.

    Parameters
    ----------
    width : float, default=1.0
        δ > 0, in the unit of y.

    Examples
    --------
    >>> Huber(1.0).value([0.5, 10.0], 0.0)
    array([0.125, 9.5  ])
    """

    width: Positive = 1.0

    predicts: ClassVar[str] = "a mean that outliers do not move"
    has_flat_parts: ClassVar[bool] = True
    most_curvature: ClassVar[float | None] = 1.0
    has_majorant: ClassVar[bool] = True

    @property
    def slopes(self) -> tuple[float, float]:  # type: ignore[override]
        """−δ and δ."""
        return -self.width, self.width

    def of(self, r: Array) -> Array:
        """Return r²/2 inside and δ(abs(r) − δ/2) outside."""
        near = r.clip(-self.width, self.width)
        return near * (r - 0.5 * near)

    def slope_of(self, r: Array) -> Array:
        """Return r, at most δ."""
        return r.clip(-self.width, self.width)

    def curvature_of(self, r: Array) -> Array:
        """Return 1 inside and 0 outside."""
        return 1.0 * (abs(r) <= self.width) + 0.0 * r

    def majorant_of(self, r: Array) -> Array:
        """Return φ'(r)/r."""
        return self.width / abs(r).clip(self.width, None)

    def conjugate_of(self, t: Array) -> Array:
        """Return t²/2 for abs(t) ≤ δ."""
        return inside(abs(t), 0.0, self.width, t**2 / 2.0)

"""Losses of the residual r = y − f."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from mercer.arrays import Array

from ..base import Loss, as_numbers


class ResidualLoss(Loss):
    """φ(r) with r = y − f; a subclass writes φ, its derivatives and its conjugate φ*(t), and the ends of φ'.

    Examples
    --------
    >>> class Fourth(ResidualLoss):
    ...     def of(self, r): return r**4
    ...     def slope_of(self, r): return 4 * r**3
    ...     def curvature_of(self, r): return 12 * r**2
    ...     def conjugate_of(self, t): return 3 * abs(t / 4) ** (4 / 3)
    >>> Fourth().value(3.0, 1.0), Fourth().slope(3.0, 1.0)
    (np.float64(16.0), np.float64(-32.0))
    """

    of_residual: ClassVar[bool] = True
    slopes: ClassVar[tuple[float, float]] = (-np.inf, np.inf)  # between which φ' is

    def of(self, r: Array) -> Array:
        """Return φ(r)."""
        raise NotImplementedError

    def slope_of(self, r: Array) -> Array:
        """Return φ'(r)."""
        raise NotImplementedError

    def curvature_of(self, r: Array) -> Array:
        """Return φ''(r)."""
        raise NotImplementedError

    def majorant_of(self, r: Array) -> Array:
        """Return the curvature of a parabola that touches φ at r and is nowhere below it."""
        raise NotImplementedError

    def conjugate_of(self, t: Array) -> Array:
        """Return φ*(t), the largest tr − φ(r)."""
        raise NotImplementedError

    def value(self, y: Array, f: Array) -> Array:
        """Return φ(y − f)."""
        y, f = as_numbers(y, f)
        return self.of(y - f)

    def slope(self, y: Array, f: Array) -> Array:
        """Return −φ'(y − f)."""
        y, f = as_numbers(y, f)
        return -self.slope_of(y - f)

    def curvature(self, y: Array, f: Array) -> Array:
        """Return φ''(y − f)."""
        y, f = as_numbers(y, f)
        return self.curvature_of(y - f)

    def majorant(self, y: Array, f: Array) -> Array:
        """Return the curvature of a parabola above."""
        y, f = as_numbers(y, f)
        return self.majorant_of(y - f)

    def conjugate(self, y: Array, s: Array) -> Array:
        """Return sy + φ*(−s)."""
        y, s = as_numbers(y, s)
        return s * y + self.conjugate_of(-s)

    def domain(self, y: Array) -> tuple[Any, Any]:
        """Return the ends of −φ'."""
        low, high = self.slopes
        return -high, -low

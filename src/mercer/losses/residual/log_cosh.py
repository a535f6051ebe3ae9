"""The logarithm of the hyperbolic cosine: a smooth loss between squares and absolute values."""

from __future__ import annotations

import math
from typing import ClassVar

from mercer.arrays import Array
from mercer.arrays.namespace import namespace, softplus

from ..base import entropy, inside
from . import ResidualLoss


class LogCosh(ResidualLoss):
    """ln cosh r: r²/2 for small errors and abs(r) − ln 2 for large ones, with all derivatives.

    Examples
    --------
    >>> LogCosh().value([0.0, 100.0], 0.0).round(4)
    array([ 0.    , 99.3069])
    """

    predicts: ClassVar[str] = "a mean that outliers do not move"
    slopes: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    most_curvature: ClassVar[float | None] = 1.0
    has_majorant: ClassVar[bool] = True

    def of(self, r: Array) -> Array:
        """Return abs(r) + ln(1 + exp(−2 abs(r))) − ln 2, and r²/2 where that has no digits left."""
        size, xp = abs(r), namespace(r)
        return xp.where(size < 1e-4, r**2 / 2.0 * (1.0 - r**2 / 6.0), size + softplus(-2.0 * size) - math.log(2.0))

    def slope_of(self, r: Array) -> Array:
        """Return tanh r."""
        return namespace(r).tanh(r)

    def curvature_of(self, r: Array) -> Array:
        """Return 1/cosh²r."""
        decay = namespace(r).exp(-2.0 * abs(r))
        return 4.0 * decay / (1.0 + decay) ** 2

    def majorant_of(self, r: Array) -> Array:
        """Return tanh(r)/r."""
        xp, size = namespace(r), abs(r).clip(1e-8, None)
        return xp.tanh(size) / size

    def conjugate_of(self, t: Array) -> Array:
        """Return ((1 + t) ln(1 + t) + (1 − t) ln(1 − t))/2 for abs(t) ≤ 1."""
        near = t.clip(-1.0, 1.0)
        return inside(abs(t), 0.0, 1.0, 0.5 * (entropy(1.0 + near) + entropy(1.0 - near)))

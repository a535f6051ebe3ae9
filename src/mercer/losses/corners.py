"""Piecewise linear losses of r = t − f: the hinge and its kin, as support vector machines minimise them.

All of them are φ(r) = max of βr − ε|β| over a box l ≤ β ≤ u with l ≤ 0 ≤ u: u(r − ε) above ε, l(r + ε) below −ε, and 0
in between.  The slope β is the coefficient of a point in the dual, and the conjugate φ*(β) = ε|β| inside of the box.

==================== ==== ======= ==============
loss                 t    ε       box
==================== ==== ======= ==============
Hinge                ±1   0       0 ≤ tβ ≤ 1
EpsilonInsensitive   y    width   −1 ≤ β ≤ 1
Absolute             y    0       −1 ≤ β ≤ 1
Quantile             y    0       τ − 1 ≤ β ≤ τ
ν-SVC, one-class     0    0       0 ≤ yβ ≤ 1
ν-SVR, β and β*      y    0       one side each
==================== ==== ======= ==============
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from mercer.arrays import Array
from mercer.arrays.namespace import namespace

from .base import Loss, as_numbers, inside


@dataclass(frozen=True)
class SlopeBox:
    """φ(r) = max(u·max(0, r − ε), l·min(0, r + ε)).

    Parameters
    ----------
    lower, upper : array of shape (n,) or float
        The box l ≤ 0 ≤ u.
    epsilon : float
        ε, the size of errors that cost nothing.

    Examples
    --------
    >>> import numpy as np
    >>> abs(SlopeBox(0.0, 2.0).value(np.array([-1.0, 0.5])))
    array([0., 1.])
    """

    lower: Any
    upper: Any
    epsilon: float = 0.0

    def value(self, r: Array) -> Array:
        """Return φ(r)."""
        xp = namespace(r)
        above, below = (r - self.epsilon).clip(0.0, None), (r + self.epsilon).clip(None, 0.0)
        return xp.maximum(self.upper * above, self.lower * below) + 0.0  # never −0

    def slope(self, r: Array) -> Array:
        """Return the derivative by r; 0 at the corners, where any number up to that of the next piece is one."""
        xp = namespace(r)
        upper, lower = 0.0 * r + self.upper, 0.0 * r + self.lower
        return xp.where(r > self.epsilon, upper, xp.where(r < -self.epsilon, lower, 0.0 * r))

    def conjugate(self, beta: Array) -> Array:
        """Return φ*(β) = max over r of βr − φ(r): ε|β| inside of the box, ∞ outside."""
        return inside(beta, self.lower, self.upper, self.epsilon * abs(beta))

    def prox_slope(self, r: Array, width: float) -> Array:
        """Return the β of the box that maximises βr − ε|β| − width·β²/2: the slope where the corners are rounded."""
        xp = namespace(r)
        beyond = r - r.clip(-self.epsilon, self.epsilon)
        return xp.minimum(xp.maximum(beyond / width, 0.0 * r + self.lower), 0.0 * r + self.upper)


class CornerLoss(Loss):
    """A loss that is linear but for one or two corners: max of βr − ε|β| over a box, with r = t − f."""

    smooth: ClassVar[bool] = False
    of_residual: ClassVar[bool] = True

    def pieces(self, y: Array) -> SlopeBox:
        """Return the box of each target, and ε."""
        raise NotImplementedError

    def value(self, y: Array, f: Array) -> Array:
        """Return φ(y − f)."""
        y, f = as_numbers(y, f)
        return self.pieces(y).value(y - f)

    def slope(self, y: Array, f: Array) -> Array:
        """Return −φ'(y − f)."""
        y, f = as_numbers(y, f)
        return -self.pieces(y).slope(y - f)

    def conjugate(self, y: Array, s: Array) -> Array:
        """Return sy + φ*(−s)."""
        y, s = as_numbers(y, s)
        return s * y + self.pieces(y).conjugate(-s)

    def domain(self, y: Array) -> tuple[Any, Any]:
        """Return −u and −l."""
        pieces = self.pieces(as_numbers(y, y)[0])
        return -pieces.upper, -pieces.lower

    def prox(self, y: Array, f: Array, width: float) -> Array:
        """Return f + width·β for the best slope β."""
        y, f = as_numbers(y, f)
        return f + width * self.pieces(y).prox_slope(y - f, width)


class BoxLoss(CornerLoss):
    """A piecewise linear loss that is known by its box, which may be another one for targets below 0.

    Parameters
    ----------
    lower, upper : pair of float
        l ≤ 0 and u ≥ 0, of targets below 0 and of others.
    epsilon : float
        ε ≥ 0.

    Examples
    --------
    >>> import numpy as np
    >>> BoxLoss((-1.0, -1.0), (1.0, 1.0), 0.5).value([0.5, 1.5], 0.0)
    array([0., 1.])
    """

    lower: tuple[float, float]
    upper: tuple[float, float]
    epsilon: float

    of_residual: ClassVar[bool] = False

    def pieces(self, y: Array) -> SlopeBox:
        """Return the boxes of both signs."""
        xp = namespace(y)
        low, high = (xp.where(y < 0, 0.0 * y + below, 0.0 * y + above) for below, above in (self.lower, self.upper))
        return SlopeBox(low, high, float(self.epsilon))

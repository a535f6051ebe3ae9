"""A loss with its corners rounded off: its Moreau envelope."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from mercer.arrays import Array
from mercer.arrays.namespace import namespace
from mercer.formula.parameters import Positive

from .base import Loss, Task, as_numbers
from .corners import CornerLoss
from .each import Each

NEAR = 1e-7  # of all lengths: how far from the proximal point slopes are compared for a curvature
ROUNDING = 1e-12  # of a slope: smaller rises are none


def round_off(loss: Loss, width: float) -> Loss:
    """Return a loss with its corners rounded off, and of several losses each."""
    if isinstance(loss, Each):
        return Each(tuple(round_off(one, width) for one in loss.losses))
    return Smoothed(loss.column(0), width)  # a loss of one's own may have a simpler form


class Smoothed(Loss):
    """The least of ℓ(y, z) + (z − f)²/(2·width) over all z: below ℓ, with the same minimum, and a slope without jumps.

    Its slope is one that ℓ has at the proximal point z, so that it is a point of the same dual problem; its conjugate
    is ℓ*(y, s) + width·s²/2.

    Parameters
    ----------
    loss : Loss
        ℓ.
    width : float
        How far corners are rounded off, as a length of f over a slope.

    Examples
    --------
    >>> from mercer.losses import Absolute
    >>> Smoothed(Absolute(), 1.0).value([0.5, 3.0], 0.0)  # Huber's loss
    array([0.125, 2.5  ])
    """

    loss: Loss
    width: Positive

    has_flat_parts: ClassVar[bool] = True
    has_majorant: ClassVar[bool] = True

    @property
    def task(self) -> Task:  # type: ignore[override]
        """That of ℓ: rounded corners leave classes what they are."""
        return self.loss.task

    @property
    def most_curvature(self) -> float:  # type: ignore[override]
        """1 over the width."""
        return 1.0 / self.width

    def value(self, y: Array, f: Array) -> Array:
        """Return ℓ(y, z) + (z − f)²/(2·width)."""
        y, f = as_numbers(y, f)
        z = self.loss.prox(y, f, self.width)
        return self.loss.value(y, z) + (z - f) ** 2 / (2.0 * self.width)

    def slope(self, y: Array, f: Array) -> Array:
        """Return (f − z)/width."""
        y, f = as_numbers(y, f)
        if isinstance(self.loss, CornerLoss):
            return -self.loss.pieces(y).prox_slope(y - f, self.width)
        return (f - self.loss.prox(y, f, self.width)) / self.width

    def curvature(self, y: Array, f: Array) -> Array:
        """Return c/(1 + width·c) with the curvature c of ℓ at z, which is 1/width at a corner."""
        y, f = as_numbers(y, f)
        xp = namespace(f)
        if isinstance(self.loss, CornerLoss):
            pieces, r = self.loss.pieces(y), y - f
            beta = pieces.prox_slope(r, self.width)
            free = (beta > pieces.lower) & (beta < pieces.upper) & (abs(r) >= pieces.epsilon)
            return free / self.width + 0.0 * f
        z = self.loss.prox(y, f, self.width)
        step = NEAR * (abs(z) + abs(y) + abs(f - z)) + float(np.finfo(float).tiny) ** 0.5
        low, high = self.loss.slope(y, z - step), self.loss.slope(y, z + step)
        rise = xp.where(high - low > ROUNDING * (abs(low) + abs(high)), high - low, 0.0)
        return rise / (2.0 * step + self.width * rise)

    def majorant(self, y: Array, f: Array) -> Array:
        """Return 1/width; far from the corners of a piecewise linear loss, half their jump over the distance.

        A parabola of curvature m is above a corner at distance d, of which the slope jumps by j, if 2md ≥ j.
        """
        y, f = as_numbers(y, f)
        most = 1.0 / self.width + 0.0 * f
        if not isinstance(self.loss, CornerLoss):
            return most
        pieces, r, xp = self.loss.pieces(y), y - f, namespace(f)
        above = r - pieces.epsilon - self.width * pieces.upper
        below = self.width * pieces.lower - pieces.epsilon - r
        distance = xp.maximum(above, below)
        jump = 0.5 * (pieces.upper - pieces.lower) + 0.0 * f
        return xp.where(distance > 0, xp.minimum(jump / xp.where(distance > 0, distance, 1.0), most), most)

    def conjugate(self, y: Array, s: Array) -> Array:
        """Return ℓ*(y, s) + width·s²/2."""
        y, s = as_numbers(y, s)
        return self.loss.conjugate(y, s) + self.width * s**2 / 2.0

    def domain(self, y: Array) -> tuple[Any, Any]:
        """Return that of ℓ."""
        return self.loss.domain(y)

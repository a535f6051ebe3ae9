"""The pinball loss of quantile regression."""

from __future__ import annotations

from typing import ClassVar

from mercer.arrays import Array

from ..corners import CornerLoss, SlopeBox
from ..levels import Level


class Quantile(CornerLoss):
    """max(τr, (τ − 1)r), the pinball loss: a share τ of all y is below the best f.

    Parameters
    ----------
    level : float, default=0.5
        τ between 0 and 1; one half is half the absolute loss, and predicts the median.

    Examples
    --------
    >>> Quantile(0.75).value([4.0, -4.0], 0.0)
    array([3., 1.])
    """

    level: Level = 0.5

    predicts: ClassVar[str] = "a quantile"

    def pieces(self, y: Array) -> SlopeBox:
        """Return the box from τ − 1 to τ."""
        return SlopeBox(self.level - 1.0, float(self.level))

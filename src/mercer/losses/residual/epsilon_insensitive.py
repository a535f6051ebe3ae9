"""The ε-insensitive loss of support vector regression."""

from __future__ import annotations

from typing import ClassVar

from mercer.arrays import Array
from mercer.formula.parameters import NotNegative

from ..corners import CornerLoss, SlopeBox


class EpsilonInsensitive(CornerLoss):
    """max(0, abs(r) − ε): errors up to ε cost nothing, those beyond in proportion; support vector regression.

    Parameters
    ----------
    width : float, default=0.1
        ε ≥ 0, in the unit of y.

    Examples
    --------
    >>> EpsilonInsensitive(0.5).value([0.5, 1.5], 0.0)
    array([0., 1.])
    """

    width: NotNegative = 0.1

    predicts: ClassVar[str] = "the median, to the width"

    def pieces(self, y: Array) -> SlopeBox:
        """Return the box from −1 to 1."""
        return SlopeBox(-1.0, 1.0, float(self.width))

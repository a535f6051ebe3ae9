"""The absolute loss."""

from __future__ import annotations

from typing import ClassVar

from mercer.arrays import Array

from ..corners import CornerLoss, SlopeBox


class Absolute(CornerLoss):
    """abs(r), which predicts the median.

    Examples
    --------
    >>> Absolute().value([3.0, -1.0], 1.0)
    array([2., 2.])
    """

    predicts: ClassVar[str] = "the median"

    def pieces(self, y: Array) -> SlopeBox:
        """Return the box from −1 to 1."""
        return SlopeBox(-1.0, 1.0)

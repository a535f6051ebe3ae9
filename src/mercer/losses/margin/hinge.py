"""The hinge loss of support vector machines."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from mercer.arrays import Array

from ..base import Task
from ..corners import CornerLoss, SlopeBox
from . import check_signs


class Hinge(CornerLoss):
    """max(0, 1 − m): nothing beyond the margin, and in proportion to what is missing before it.

    With t = y = ±1 and r = t − f it is max of βr over 0 ≤ tβ ≤ 1.

    Examples
    --------
    >>> Hinge().value([1.0, -1.0], [0.25, 0.25])
    array([0.75, 1.25])
    """

    task: ClassVar[Task] = "classification"
    of_residual: ClassVar[bool] = False
    predicts: ClassVar[str] = "the sign of the more likely class"

    def pieces(self, y: Array) -> SlopeBox:
        """Return the boxes of both signs."""
        return SlopeBox(y.clip(None, 0.0), y.clip(0.0, None))

    def check_targets(self, y: np.ndarray, owner: str = "") -> None:
        """Raise unless all targets are −1 or 1."""
        check_signs(self, y, owner)

"""The squared hinge loss."""

from __future__ import annotations

from typing import ClassVar

from mercer.arrays import Array
from mercer.arrays.namespace import namespace

from ..base import inside
from . import LikelihoodLoss


class SquaredHinge(LikelihoodLoss):
    """max(0, 1 − m)², whose slope has no jumps; the best f is 2p − 1 for the probability p of class 1.

    Examples
    --------
    >>> SquaredHinge().value([1.0, -1.0], [0.5, 0.5])
    array([0.25, 2.25])
    """

    has_flat_parts: ClassVar[bool] = True
    most_curvature: ClassVar[float | None] = 2.0
    predicts: ClassVar[str] = "twice the probability of class 1, less 1"

    def of(self, m: Array) -> Array:
        """Return max(0, 1 − m)²."""
        return (1.0 - m).clip(0.0, None) ** 2

    def slope_of(self, m: Array) -> Array:
        """Return −2 max(0, 1 − m)."""
        return -2.0 * (1.0 - m).clip(0.0, None)

    def curvature_of(self, m: Array) -> Array:
        """Return 2 before the margin and 0 beyond."""
        return 2.0 * (m <= 1.0) + 0.0 * m

    def conjugate_of(self, t: Array) -> Array:
        """Return t + t²/4 for t ≤ 0."""
        return inside(t, -float("inf"), 0.0, t + t**2 / 4.0)

    def predict_proba(self, f: Array) -> Array:
        """Return (1 ∓ f)/2, no less than 0 and no more than 1."""
        half = 0.5 * (1.0 + f.clip(-1.0, 1.0))
        return namespace(f).concat([1.0 - half, half], axis=1)

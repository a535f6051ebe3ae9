"""The gamma loss of positive amounts."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from mercer.arrays import Array
from mercer.arrays.namespace import namespace

from ..base import Loss, as_numbers, entropy


class Gamma(Loss):
    """ye^(−f) + f, minus the log-likelihood of amounts y > 0 with errors in proportion; f is the logarithm of the mean.

    Examples
    --------
    >>> Gamma().value([1.0, 2.0], 0.0)
    array([1., 2.])
    """

    predicts: ClassVar[str] = "the logarithm of the mean"

    def value(self, y: Array, f: Array) -> Array:
        """Return ye^(−f) + f."""
        y, f = as_numbers(y, f)
        return y * namespace(f).exp(-f) + f

    def slope(self, y: Array, f: Array) -> Array:
        """Return 1 − ye^(−f)."""
        y, f = as_numbers(y, f)
        return 1.0 - y * namespace(f).exp(-f)

    def curvature(self, y: Array, f: Array) -> Array:
        """Return ye^(−f)."""
        y, f = as_numbers(y, f)
        return y * namespace(f).exp(-f)

    def conjugate(self, y: Array, s: Array) -> Array:
        """Return u ln(u/y) − u with u = 1 − s ≥ 0."""
        y, s = as_numbers(y, s)
        u = 1.0 - s
        return y * entropy(u / y) - u

    def domain(self, y: Array) -> tuple[Any, Any]:
        """Return −∞ and 1."""
        return -np.inf, 1.0

    def predict(self, f: Array) -> Array:
        """Return the mean e^f."""
        return namespace(f).exp(f)

    def check_targets(self, y: np.ndarray, owner: str = "") -> None:
        """Raise unless all targets are positive."""
        if not (y > 0).all():
            raise self.refuse(
                owner, "positive targets", y, ~(y > 0), "leave such rows out, or use Poisson(), which takes zeros"
            )

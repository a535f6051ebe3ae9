"""The Poisson loss of counts."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from mercer.arrays import Array
from mercer.arrays.namespace import namespace

from ..base import Loss, as_numbers, entropy


class Poisson(Loss):
    """e^f − yf, minus the log-likelihood of counts y ≥ 0 (up to a constant); f is the logarithm of their rate.

    Examples
    --------
    >>> Poisson().value([0.0, 2.0], 0.0), Poisson().predict(np.zeros(1))
    (array([1., 1.]), array([1.]))
    """

    predicts: ClassVar[str] = "the logarithm of the rate"

    def value(self, y: Array, f: Array) -> Array:
        """Return e^f − yf."""
        y, f = as_numbers(y, f)
        return namespace(f).exp(f) - y * f

    def slope(self, y: Array, f: Array) -> Array:
        """Return e^f − y."""
        y, f = as_numbers(y, f)
        return namespace(f).exp(f) - y

    def curvature(self, y: Array, f: Array) -> Array:
        """Return e^f."""
        y, f = as_numbers(y, f)
        return namespace(f).exp(f + 0.0 * y)

    def conjugate(self, y: Array, s: Array) -> Array:
        """Return u ln u − u with u = s + y ≥ 0."""
        y, s = as_numbers(y, s)
        return entropy(s + y) - (s + y)

    def domain(self, y: Array) -> tuple[Any, Any]:
        """Return −y and ∞."""
        return -as_numbers(y, y)[0], np.inf

    def predict(self, f: Array) -> Array:
        """Return the rate e^f."""
        return namespace(f).exp(f)

    def check_targets(self, y: np.ndarray, owner: str = "") -> None:
        """Raise unless no target is negative, and some are positive."""
        if (y < 0).any():
            raise self.refuse(
                owner, "counts, which are not negative", y, y < 0,
                "use another loss such as Squared() or Huber(), or shift the targets",
            )  # fmt: skip
        if not (y > 0).any():
            name = f"{owner}: " if owner else ""
            raise ValueError(
                f"{name}all counts are 0, so that the best rate is 0 and its logarithm no number; leave such targets out"
            )

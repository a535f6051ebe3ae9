"""Losses of the margin m = yf, where y = ±1 is one of two classes."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from mercer.arrays import Array
from mercer.arrays.namespace import namespace

from ..base import Loss, Task, as_numbers

INSTEAD = "for more than two classes use loss='Softmax', or KernelClassifier, which takes one class against the others"


def check_signs(loss: Loss, y: np.ndarray, owner: str) -> None:
    """Raise unless all targets are −1 or 1."""
    wrong = ~np.isin(y, (-1.0, 1.0))
    if wrong.any():
        raise loss.refuse(owner, "targets of two classes, -1 and 1", y, wrong, INSTEAD)


class MarginLoss(Loss):
    """ψ(m) with m = yf and y = ±1; a subclass writes ψ, its derivatives and its conjugate ψ*(t), and the ends of ψ'."""

    task: ClassVar[Task] = "classification"
    predicts: ClassVar[str] = "the sign of the more likely class"
    slopes: ClassVar[tuple[float, float]] = (-np.inf, 0.0)  # between which ψ' is

    def of(self, m: Array) -> Array:
        """Return ψ(m)."""
        raise NotImplementedError

    def slope_of(self, m: Array) -> Array:
        """Return ψ'(m)."""
        raise NotImplementedError

    def curvature_of(self, m: Array) -> Array:
        """Return ψ''(m)."""
        raise NotImplementedError

    def conjugate_of(self, t: Array) -> Array:
        """Return ψ*(t), the largest tm − ψ(m)."""
        raise NotImplementedError

    def value(self, y: Array, f: Array) -> Array:
        """Return ψ(yf)."""
        y, f = as_numbers(y, f)
        return self.of(y * f)

    def slope(self, y: Array, f: Array) -> Array:
        """Return yψ'(yf)."""
        y, f = as_numbers(y, f)
        return y * self.slope_of(y * f)

    def curvature(self, y: Array, f: Array) -> Array:
        """Return ψ''(yf)."""
        y, f = as_numbers(y, f)
        return self.curvature_of(y * f)

    def conjugate(self, y: Array, s: Array) -> Array:
        """Return ψ*(ys)."""
        y, s = as_numbers(y, s)
        return self.conjugate_of(y * s)

    def domain(self, y: Array) -> tuple[Any, Any]:
        """Return the ends of yψ'."""
        y, (low, high) = as_numbers(y, y)[0], self.slopes
        xp = namespace(y)
        return xp.where(y > 0, low, -high), xp.where(y > 0, high, -low)

    def check_targets(self, y: np.ndarray, owner: str = "") -> None:
        """Raise unless all targets are −1 or 1."""
        check_signs(self, y, owner)


class LikelihoodLoss(MarginLoss):
    """A loss of margins whose best f says how likely the class 1 is."""

    def predict_proba(self, f: Array) -> Array:
        """Return the probabilities of −1 and of 1, of shape (n, 2), of outputs of shape (n, 1)."""
        raise NotImplementedError

    def predict_log_proba(self, f: Array) -> Array:
        """Return their logarithms."""
        p = self.predict_proba(f)
        with np.errstate(divide="ignore"):
            return namespace(p).log(p)

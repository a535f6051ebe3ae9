"""The hinge and its kin: piecewise linear losses of r = t − f(x) − b, as support vector machines minimise them.

All of them are φ(r) = max of βr − ε|β| over a box l ≤ β ≤ u with l ≤ 0 ≤ u: u(r − ε) above ε, l(r + ε) below −ε, and 0
in between.  The slope β is the coefficient of a point in the dual, and the conjugate φ*(β) = ε|β| inside of the box.

=================== ==== ======= ============
loss                t    ε       box
=================== ==== ======= ============
C-SVC               ±1   0       0 ≤ tβ ≤ C
ν-SVC, one-class    0    0       0 ≤ yβ ≤ 1
ε-SVR               y    epsilon −C ≤ β ≤ C
ν-SVR, β and β*     y    0       one side each
=================== ==== ======= ============
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Hinge:
    """max(lr, ur): u·max(0, r) where errors above 0 cost something, −l·max(0, −r) where those below do.

    With t = y = ±1 and the box 0 ≤ yβ ≤ C this is C·max(0, 1 − y(f + b)); with t = 0 the loss of ν machines, whose
    margin is the sum of β.

    Parameters
    ----------
    lower, upper : array of shape (n,) or float
        The box l ≤ 0 ≤ u.
    epsilon : float
        ε, the size of errors that cost nothing.

    Examples
    --------
    >>> abs(Hinge(0.0, 2.0).value(np.array([-1.0, 0.5])))
    array([0., 1.])
    """

    lower: np.ndarray | float
    upper: np.ndarray | float
    epsilon: float = 0.0

    def value(self, r: np.ndarray) -> np.ndarray:
        """Return φ(r) = max(u·max(0, r − ε), l·min(0, r + ε))."""
        return np.maximum(
            self.upper * np.maximum(r - self.epsilon, 0.0), self.lower * np.minimum(r + self.epsilon, 0.0)
        )

    def slope(self, r: np.ndarray) -> np.ndarray:
        """Return the derivative by r; 0 at the corners, where any number up to that of the next piece is one."""
        return np.where(r > self.epsilon, self.upper, np.where(r < -self.epsilon, self.lower, 0.0))

    def conjugate(self, beta: np.ndarray) -> np.ndarray:
        """Return φ*(β) = max over r of βr − φ(r): ε|β| inside of the box, ∞ outside."""
        inside = (self.lower <= beta) & (beta <= self.upper)
        return np.where(inside, self.epsilon * np.abs(beta), np.inf)


class EpsilonInsensitive(Hinge):
    """C·max(0, |r| − ε): errors up to ε cost nothing, those beyond in proportion.

    Parameters
    ----------
    C : array of shape (n,) or float
        The price of a unit of error.
    epsilon : float
        ε ≥ 0.

    Examples
    --------
    >>> EpsilonInsensitive(2.0, 0.1).value(np.array([-0.6, 0.4, 0.2])).round(2)
    array([1. , 0.6, 0.2])
    """

    def __init__(self, C: np.ndarray | float, epsilon: float) -> None:
        super().__init__(-C, C, epsilon)

"""A factor of Newton's equations that is kept from step to step, with what the steps have shown of the curvature since.

To make and factorise the equations takes as long as many passes over the rows, and near the minimum they hardly change.
The steps that are taken meanwhile know better: along each, the gradient has changed by the true curvature times the
step.  The inverse of the factor is corrected to agree with the last of these (limited-memory BFGS), so that an old
factor, or one of some of the rows, still leads to the minimum about as quickly as conjugate gradients would.
"""

from __future__ import annotations

from collections.abc import Callable

from mercer.arrays import Array
from mercer.arrays.namespace import vdot

PAIRS = 8  # of the last steps that are remembered
FALL = 0.25  # of its squared norm, that a step must take the gradient to; else the next one has a factor of its own
OFF = 0.5  # of its length, by which a step may have been too short or too long; finding that out takes many passes
BENT = 1e-12  # of the product of their lengths, that a step and the change of the gradient must agree by


class Secants:
    """The inverse of a curvature, corrected by steps.

    Parameters
    ----------
    invert : callable
        The inverse of a positive definite matrix, about that of the curvature.

    Examples
    --------
    >>> import numpy as np
    >>> A = np.diag([1.0, 4.0])  # the curvature of ½wᵀAw − wᵀb, of which the inverse given knows nothing
    >>> b, w, secants = np.ones(2), np.zeros(2), Secants(lambda V: V)
    >>> for _ in range(3):
    ...     found = secants.follow(w, b - A @ w)
    ...     step = secants.solve(b - A @ w)
    ...     w = w + step * (step @ (b - A @ w)) / (step @ A @ step)
    >>> w.round(12)
    array([1.  , 0.25])
    """

    def __init__(self, invert: Callable[[Array], Array]) -> None:
        self._invert = invert
        self._pairs: list[tuple[Array, Array, float]] = []  # steps, changes of the gradient, and their products
        self._last: tuple[Array, Array] | None = None  # the point before, and the residual there
        self._found: Array | None = None  # the step from there, of which some length was taken

    def follow(self, coef: Array, residual: Array) -> bool:
        """Learn from the step that led to a point, where −∇F is the residual, and say if it was a good one."""
        before, self._last = self._last, (coef, residual)
        if before is None:
            return True
        step, change = coef - before[0], before[1] - residual
        product = vdot(step, change)
        if product > BENT * (vdot(step, step) * vdot(change, change)) ** 0.5:
            self._pairs = [*self._pairs[1 - PAIRS :], (step, change, product)]
        if self._found is not None:
            size = vdot(self._found, self._found)
            if abs(vdot(step, self._found) - size) > OFF * size:
                return False
        return vdot(residual, residual) <= FALL * vdot(before[1], before[1])

    def solve(self, residual: Array) -> Array:
        """Return the step."""
        shares = []
        for step, change, product in reversed(self._pairs):
            shares.append(vdot(step, residual) / product)
            residual = residual - shares[-1] * change
        found = self._invert(residual)
        for (step, change, product), share in zip(self._pairs, reversed(shares), strict=True):
            found = found + (share - vdot(change, found) / product) * step
        self._found = found
        return found

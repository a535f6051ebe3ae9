"""Search directions of conjugate gradients whose preconditioner is only nearly the same map at every step."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mercer.arrays.columns import dots, like, zeros


class Directions:
    """The directions of several columns: p = z + βp with β by Polak and Ribière, never below 0.

    β = zᵀ(r − r₋)/z₋ᵀr₋ forgives a preconditioner that rounds and residuals that are replaced by recomputed ones.

    Parameters
    ----------
    residuals : array or tensor of shape (n, systems)
        The residuals, a column for each system; only their shape and kind matter.
    """

    def __init__(self, residuals: Any) -> None:
        self._direction, self._before = zeros(residuals), zeros(residuals)
        self._slope = np.full(residuals.shape[1], math.inf)

    def restart(self) -> None:
        """Let the next direction be the preconditioned residual itself."""
        self._slope[:] = math.inf

    def next(self, Z: Any, R: Any, columns: Any) -> Any:
        """Return the directions of some columns, from their residuals R and what the preconditioner made of them."""
        slope = dots(Z, R)
        beta = np.maximum((slope - dots(Z, self._before[:, columns])) / self._slope[columns], 0.0)
        P = Z + like(Z, beta) * self._direction[:, columns]
        self._direction[:, columns], self._before[:, columns], self._slope[columns] = P, R, slope
        return P

"""Search directions of conjugate gradients whose preconditioner is only nearly the same map at every step."""

from __future__ import annotations

import math

import numpy as np


class Directions:
    """The directions of several columns: p = z + βp with β by Polak and Ribière, never below 0.

    β = zᵀ(r − r₋)/z₋ᵀr₋ forgives a preconditioner that rounds and residuals that are replaced by recomputed ones.

    Parameters
    ----------
    shape : tuple of two int
        The shape of the residuals, a column for each system.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._direction, self._before = np.zeros(shape), np.zeros(shape)
        self._slope = np.full(shape[1], math.inf)

    def restart(self) -> None:
        """Let the next direction be the preconditioned residual itself."""
        self._slope[:] = math.inf

    def next(self, Z: np.ndarray, R: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return the directions of some columns, from their residuals R and what the preconditioner made of them."""
        slope = dots(Z, R)
        beta = np.maximum((slope - dots(Z, self._before[:, columns])) / self._slope[columns], 0.0)
        P = Z + beta * self._direction[:, columns]
        self._direction[:, columns], self._before[:, columns], self._slope[columns] = P, R, slope
        return P


def dots(U: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Return the inner product of each column of U with the same of V."""
    return np.einsum("ij,ij->j", U, V)

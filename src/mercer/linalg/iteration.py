"""Conjugate gradients: the recurrence alone.  When to stop, and what to trust, is said by those who step it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.arrays.columns import dots, like
from mercer.arrays.namespace import namespace, put_beside
from mercer.arrays.tensors import host_array

Columns = Any  # a slice, or positions of columns
_KEPT = ("residual", "x", "_direction", "_before", "_energy")
Map = Callable[[Array, Columns], Array]
Update = Callable[[Array, Array, np.ndarray, Columns], Array]


def shorten(R: Array, image: Array, lengths: np.ndarray, columns: Columns) -> Array:
    """Return residuals after steps of these lengths along directions with these images."""
    return R - like(R, lengths) * image


class ConjugateGradients:
    """Ax = b for several columns at once, each a system of its own; A may differ from column to column.

    Directions are p = z + βp with β by Polak and Ribière, zᵀ(r − r₋)/z₋ᵀr₋, never below 0, which forgives a
    preconditioner that is only nearly the same map at every step, and residuals that are replaced by recomputed ones.
    The maps are given to each step and not kept, so that what owns both is freed as soon as nobody needs it.

    Parameters
    ----------
    residual : array of shape (n, columns)
        b − Ax at the start; it is taken over.
    x : array of shape (n, columns), optional
        The start, 0 if not given; it is taken over.

    Examples
    --------
    >>> import numpy as np
    >>> A = np.array([[2.0, 1.0], [1.0, 3.0]])
    >>> state = ConjugateGradients(np.array([[3.0], [4.0]]))
    >>> for _ in range(2):
    ...     _ = state.turn(lambda R, _: R), state.advance(lambda P, _: A @ P)
    >>> state.x.round(6).tolist()
    [[1.0], [1.0]]
    """

    def __init__(self, residual: Array, x: Array | None = None) -> None:
        xp = namespace(residual)
        self.residual, self.x = residual, xp.zeros_like(residual) if x is None else x
        self._direction, self._before = xp.zeros_like(residual), xp.zeros_like(residual)
        self._energy = np.full(residual.shape[1], math.inf)

    def snapshot(self) -> dict[str, np.ndarray]:
        """Return all that the next step depends on, on the host."""
        return {name: np.array(host_array(getattr(self, name))) for name in _KEPT}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Go on from a snapshot of the same system."""
        for name in _KEPT:
            getattr(self, name)[...] = put_beside(self.residual, state[name]) if name != "_energy" else state[name]

    def restart(self) -> None:
        """Let the next direction be the preconditioned residual itself."""
        self._energy[:] = math.inf

    def turn(self, precondition: Map, columns: Columns = slice(None)) -> np.ndarray:
        """Find the next directions of some columns, and return rᵀz, their residuals in the preconditioner's norm.

        ``precondition(R, columns)`` returns about A⁻¹ times their residuals.
        """
        R = self.residual[:, columns]
        Z = precondition(R, columns)
        energy = dots(Z, R)
        with np.errstate(invalid="ignore", divide="ignore"):
            beta = np.maximum((energy - dots(Z, self._before[:, columns])) / self._energy[columns], 0.0)
        self._direction[:, columns] = Z + like(Z, beta) * self._direction[:, columns]
        self._before[:, columns], self._energy[columns] = R, energy
        return energy

    def advance(self, apply: Map, columns: Columns = slice(None), update: Update = shorten) -> np.ndarray:
        """Go along the directions, and return which columns have no minimum along them; these stay where they are.

        ``apply(P, columns)`` returns A times the directions, ``update(R, image, lengths, columns)`` the new residuals.
        """
        P, R = self._direction[:, columns], self.residual[:, columns]
        image = apply(P, columns)
        curvature = dots(P, image)
        wrong = ~(curvature > 0)
        lengths = np.where(wrong, 0.0, dots(P, R) / np.where(wrong, 1.0, curvature))
        self.x[:, columns] += like(P, lengths) * P
        self.residual[:, columns] = update(R, image, lengths, columns)
        return wrong


def bound_iterations(condition: float, tolerance: float) -> float:
    """Return how many iterations take an error down to a share of it at most, in the norm of A: ½√κ ln(2/tolerance).

    Examples
    --------
    >>> round(bound_iterations(100.0, 1e-6), 1)
    72.5
    """
    return 0.5 * math.sqrt(condition) * math.log(2 / tolerance)

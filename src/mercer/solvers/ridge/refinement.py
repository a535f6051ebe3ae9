"""Refinement: conjugate gradients on the true matrix in float64, with a factor of it as the preconditioner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mercer.arrays.columns import dots, units
from mercer.linalg.directions import Directions

from ..residuals import ROUNDING, Product, gap_ratios, product_rounding, ratios, target_spread


@dataclass
class Refined:
    """What refinement has reached: c, b, the certificate √(rᵀWr/S) of each column, and the products used."""

    coef: np.ndarray
    intercept: np.ndarray
    residuals: np.ndarray
    n_iter: int


@dataclass(frozen=True)
class System:
    """The equations (K + diag(shift))c + b = y, with 1ᵀc = 0 if there is a b.

    Parameters
    ----------
    gram : Gram or array
        K, in float64.
    shift : array of shape (n, 1)
        The diagonal αW⁻¹.
    constant : bool
        Whether there is a b.
    diagonal : array of shape (n, 1)
        The diagonal of K.
    """

    gram: Product
    shift: np.ndarray
    constant: bool
    diagonal: np.ndarray

    def apply(self, V: np.ndarray) -> np.ndarray:
        """Return (K + diag(shift))V."""
        return self.gram @ V + self.shift * V

    def level(self, r: np.ndarray) -> np.ndarray:
        """Return the b that leaves the least of r by the weights, which are one over the shift; 0 if there is none."""
        if not self.constant:
            return np.zeros(r.shape[1])
        weights = self.shift.min() / self.shift
        return np.asarray((weights * r).sum(axis=0) / weights.sum())

    def centred(self, r: np.ndarray) -> np.ndarray:
        """Return r without what b can take up."""
        return r - self.level(r)

    def relative(self, r: np.ndarray, coef: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return ‖r‖/‖αW⁻¹c‖ of each column in the norm of W, 0 where both are nothing but the rounding of y."""
        norm, size = self._norms(r), self._norms(y)
        return ratios(norm, self._norms(self.shift * coef), ROUNDING * size)

    def certify(self, r: np.ndarray, coef: np.ndarray, y: np.ndarray, intercept: np.ndarray) -> np.ndarray:
        """Return √(rᵀWr/S) of each column, with what rounding may hide of r; 0 where all is the rounding of y."""
        errors = r + self.shift * coef
        image = y - intercept - errors
        # Divided by α: W is the inverse of the shift then.
        objective = self._norms(errors) ** 2 + np.abs(np.sum(coef * image, axis=0))
        blind = product_rounding(self.shift**-0.5, np.abs(self.diagonal), coef)
        spread = target_spread(self.centred(y), 1.0 / self.shift)
        return gap_ratios(np.hypot(self._norms(r), blind), objective, spread, ROUNDING * self._norms(y))

    def _norms(self, V: np.ndarray) -> np.ndarray:
        """Return √(VᵀWV/α) of each column."""
        return np.asarray(np.sqrt(np.sum(V**2 / self.shift, axis=0)))


def refine(
    system: System,
    y: np.ndarray,
    solve: Callable[[np.ndarray], np.ndarray],
    tolerance: float = 1e-8,
    patience: int = 8,
    max_iter: int = 60,
) -> Refined:
    """Solve a system for all columns of y at once, given an approximate inverse ``solve``.

    With an unpenalised b the iteration stays in the space 1ᵀc = 0, preconditioned by M⁻¹ − ηηᵀ/1ᵀη with η = M⁻¹1: that
    is the inverse of the bordered matrix, so that a constant needs no solution of its own.

    Parameters
    ----------
    system : System
        The equations.
    y : array of shape (n, q)
        Right-hand sides.
    solve : callable
        An approximate inverse of K + diag(shift), applied to arrays of shape (n, r).
    tolerance : float
        The residual to aim at, relative to ‖αW⁻¹c‖ in the norm of W.
    patience : int
        Stop if the residual has not halved in so many iterations.
    max_iter : int
        Stop after so many iterations.

    Returns
    -------
    Refined

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.ridge.refinement import System, refine
    >>> K, y = np.array([[4.0, 2.0], [2.0, 3.0]]), np.array([[8.0], [8.0]])
    >>> found = refine(System(K, np.ones((2, 1)), False, np.array([[4.0], [3.0]])), y, lambda r: r / 5.0)
    >>> bool(found.residuals.max() <= 1e-8), found.coef.round(6).ravel().tolist()
    (True, [1.0, 1.5])
    """
    unit = units(y)
    y = y / unit
    eta = solve(np.ones((len(y), 1))) if system.constant else None

    def precondition(r: np.ndarray) -> np.ndarray:
        z = solve(r)
        return z if eta is None else z - eta * (z.sum(axis=0) / eta.sum())

    coef = precondition(system.centred(y))
    left = y - system.apply(coef)  # the true residual, before b: this one is reported
    residual = system.centred(left)
    relative = system.relative(residual, coef, y)
    small = relative <= tolerance
    best, best_coef, mark = relative.copy(), coef.copy(), relative.copy()
    n_iter, waiting, exact = 1, 0, True
    directions = Directions(coef)
    while not small.all() and n_iter < max_iter and waiting < patience:
        open_ = np.flatnonzero(~small)
        r = residual[:, open_]
        p = directions.next(precondition(r), r, open_)
        image = system.apply(p)
        curvature = dots(p, image)
        if not (curvature > 0).all():
            break
        step = dots(p, r) / curvature
        coef[:, open_] += step * p
        residual[:, open_] = system.centred(r - step * image)
        n_iter, exact = n_iter + 1, False
        relative = system.relative(residual, coef, y)
        small = relative <= tolerance
        if small.all():
            # So far the residual was updated; what counts is the one of the coefficients themselves.
            left, exact = y - system.apply(coef), True
            residual = system.centred(left)
            relative = system.relative(residual, coef, y)
            small = relative <= tolerance
            directions.restart()
        better = relative < best
        best[better], best_coef[:, better] = relative[better], coef[:, better]
        waiting += 1
        if (best[~small] <= 0.5 * mark[~small]).all():
            waiting, mark = 0, best.copy()
    if not (exact and small.all()):
        coef = best_coef
        left = y - system.apply(coef)
    intercept = system.level(left)
    residuals = system.certify(left - intercept, coef, y, intercept)
    return Refined(coef * unit, intercept * unit, residuals, n_iter)

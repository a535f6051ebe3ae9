"""Refinement: conjugate gradients on the true matrix in float64, with a factor of it as the preconditioner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mercer.arrays import Array
from mercer.arrays.columns import dots, like, norms, sums, units
from mercer.arrays.namespace import namespace
from mercer.linalg.iteration import Columns, ConjugateGradients, shorten

from ..residuals import ROUNDING, Multiplier, gap_ratios, in_squares, product_rounding, ratios, target_spread

SEEN = 0.03  # of a residual, up to which rounding may hide what is not computed anew


@dataclass
class Refined:
    """What refinement has reached: c, b, certificate and objective of each column, products used, and η = M⁻¹1."""

    coef: Array
    intercept: np.ndarray
    residuals: np.ndarray  # √(rᵀWr/S)
    parts: np.ndarray  # loss and penalty, divided by α
    n_iter: int
    eta: Array | None = None


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

    gram: Multiplier
    shift: Array
    constant: bool
    diagonal: Array

    def apply(self, V: Array) -> Array:
        """Return (K + diag(shift))V."""
        return self.gram @ V + self.shift * V

    def level(self, r: Array) -> np.ndarray:
        """Return the b that leaves the least of r by the weights, which are one over the shift; 0 if there is none."""
        if not self.constant:
            return np.zeros(r.shape[1])
        weights = self.shift.min() / self.shift
        return sums(weights * r) / float(weights.sum())

    def centre(self, r: Array) -> Array:
        """Return r without what b can take up."""
        return r - like(r, self.level(r)) if self.constant else r

    def relative(self, r: Array, coef: Array, y: Array) -> np.ndarray:
        """Return ‖r‖/‖αW⁻¹c‖ of each column in the norm of W, 0 where both are nothing but the rounding of y."""
        return ratios(self.size(r), self.size(self.shift * coef), ROUNDING * self.size(y))

    def hidden(self, moved: Array) -> np.ndarray:
        """Return what rounding of products with so much, added up without signs, may hide, in the norm of W."""
        return product_rounding(self.shift**-0.5, abs(self.diagonal), moved)

    def certificates(self, r: Array, coef: Array, y: Array) -> np.ndarray:
        """Return √(rᵀWr/S) of each column, whatever b is, because 1ᵀc = 0 where there is one."""
        return self.certify(r, coef, y, np.zeros(y.shape[1]), self.hidden(coef))[0]

    def certify(
        self, r: Array, coef: Array, y: Array, intercept: np.ndarray, hidden: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return √(rᵀWr/S) of each column, with what rounding may hide of r, and loss and penalty, divided by α.

        The certificate is 0 where all is the rounding of y.
        """
        errors = r + self.shift * coef
        image = y - like(y, intercept) - errors
        # Divided by α: W is the inverse of the shift then.
        parts = np.array([self.size(errors) ** 2, dots(coef, image)])
        spread = target_spread(self.centre(y), 1.0 / self.shift)
        root, objective = np.hypot(self.size(r), hidden), np.abs(parts).sum(axis=0)
        return gap_ratios(root, objective, spread, ROUNDING * self.size(y)), parts

    def size(self, V: Array) -> np.ndarray:
        """Return √(VᵀWV/α) of each column: its length in the norm of W."""
        return norms(V / self.shift**0.5)


def refine(
    system: System,
    y: Array,
    solve: Callable[[Array], Array],
    tolerance: float = 1e-8,
    patience: int = 8,
    max_iter: int = 60,
    *,
    by_certificate: bool = False,
    on_judgement: Callable[[float], None] | None = None,
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
    by_certificate : bool
        Whether the certificate is to reach the tolerance instead, which it does sooner.
    on_judgement : callable, optional
        Told the largest of what is to reach the tolerance, before the next correction is asked for.

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
    unit, xp = units(y), namespace(y)
    y = y / like(y, unit)
    first, eta = system.centre(y), None
    if system.constant:  # both at once: a factor is read once for all columns
        first = solve(xp.concat([first, xp.ones((len(y), 1), dtype=xp.float64, device=y.device)], axis=1))
        first, eta = first[:, :-1], first[:, -1:]
    else:
        first = solve(first)

    def project(z: Array) -> Array:
        return z if eta is None else z - eta * (z.sum(0) / eta.sum())

    def precondition(r: Array, _: Columns) -> Array:
        return project(solve(r))

    def apply(V: Array, _: Columns) -> Array:
        return system.apply(V)

    level = np.zeros(y.shape[1])  # b

    def drop_level(r: Array, columns: Columns) -> Array:
        more = system.level(r)
        level[columns] += more
        return r - like(r, more)

    def update(r: Array, image: Array, lengths: np.ndarray, columns: Columns) -> Array:
        return drop_level(shorten(r, image, lengths, columns), columns)

    def compute_residual(coef: Array) -> Array:
        level[:] = 0.0
        return drop_level(y - system.apply(coef), slice(None))

    coef = project(first) + 0.0  # changed in place
    state = ConjugateGradients(compute_residual(coef), coef)
    moved = abs(coef)  # what the products that made the residual were of
    judge = system.certificates if by_certificate else system.relative
    relative = judge(state.residual, coef, y)
    small = relative <= tolerance
    best, best_coef, mark = relative.copy(), coef + 0.0, relative.copy()
    n_iter, waiting, exact = 1, 0, True
    while not small.all() and n_iter < max_iter and waiting < patience:
        open_ = np.flatnonzero(~small)
        if on_judgement is not None:
            on_judgement(float(relative.max()))
        state.turn(precondition, open_)
        before = coef + 0.0
        if state.advance(apply, open_, update).any():
            break
        n_iter, exact = n_iter + 1, False
        moved += abs(coef - before) + abs(coef)  # a product, and coefficients that are rounded
        relative = judge(state.residual, coef, y)
        small = relative <= tolerance
        if small.all():
            # So far the residual was updated.  What counts is the one of the coefficients themselves, and after a few
            # steps these are the same.
            exact = True
            if (system.hidden(moved) > SEEN * system.size(state.residual)).any():
                state.residual, moved = compute_residual(coef), abs(coef)
                relative = judge(state.residual, coef, y)
                small = relative <= tolerance
                state.restart()
        better = relative < best
        best[better], best_coef[:, better] = relative[better], coef[:, better]
        waiting += 1
        if (best[~small] <= 0.5 * mark[~small]).all():
            waiting, mark = 0, best.copy()
    if not (exact and small.all()):
        coef = best_coef
        state.residual, moved = compute_residual(coef), abs(coef)
    residuals, parts = system.certify(state.residual, coef, y, level, system.hidden(moved))
    return Refined(coef * like(coef, unit), level * unit, residuals, in_squares(parts, unit), n_iter, eta)
